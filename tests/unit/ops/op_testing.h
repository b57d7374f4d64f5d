// What the tests of ops share: random tensors in every layout, plain loops to hold results against, and a
// Probe that writes down what it is told. The same tests are built twice: for the CPU, and with
// HUNCH_TEST_ON_CUDA for a GPU, where all of them are skipped if there is none.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "hunch/base/probe.h"
#include "hunch/ops/ops.h"
#include "hunch/tensor/cpu_device.h"
#include "hunch/tensor/cuda.h"

namespace hunch::ops::testing {

using tensor::CpuDevice;

#ifdef HUNCH_TEST_ON_CUDA
inline constexpr bool kOnCuda = true;

// Never closed: buffers of static tensors may outlive it.
inline const base::Result<std::unique_ptr<Device>>& opened() {
  static const auto* const device = new base::Result<std::unique_ptr<Device>>(tensor::open_cuda());
  return *device;
}

// Skips each test, visibly, where there is no GPU.
class NeedsCuda final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    if (!opened()) GTEST_SKIP() << base::describe(opened().error());
  }
};
inline const bool kNeedsCuda = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new NeedsCuda);
  return true;
}();
#else
inline constexpr bool kOnCuda = false;
#endif

// Shared by the tests of one program; poisoned, so that an element nobody wrote reads as NaN.
inline Device& device() {
#ifdef HUNCH_TEST_ON_CUDA
  // Without a GPU fixtures are built all the same, before their tests are skipped.
  static Device& shared = opened() ? **opened() : *new CpuDevice(1);
#else
  static CpuDevice shared(3);
#endif
  shared.set_poison(true);
  return shared;
}

enum class Layout { dense, transposed, sliced, expanded, permuted };
inline constexpr Layout kLayouts[] = {Layout::dense, Layout::transposed, Layout::sliced, Layout::expanded,
                                      Layout::permuted};
inline constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  float normal() { return std::normal_distribution<float>(0.0F, 1.5F)(engine_); }
  template <class T, std::size_t N>
  T one_of(const T (&choices)[N]) {
    return choices[static_cast<std::size_t>(integer(0, static_cast<int64_t>(N) - 1))];
  }
  DType dtype() { return one_of(kFloats); }
  Layout layout() { return one_of(kLayouts); }

  Shape shape(int rank, int64_t largest) {
    Shape shape;
    for (int dim = 0; dim < rank; ++dim) shape.push_back(integer(1, largest));
    return shape;
  }
  // A shape that broadcasts to `whole`: some sizes 1, some leading dimensions missing.
  Shape broadcastable(const Shape& whole) {
    Shape shape;
    for (int dim = static_cast<int>(integer(0, whole.rank())); dim < whole.rank(); ++dim)
      shape.push_back(integer(0, 2) == 0 ? 1 : whole[dim]);
    return shape;
  }

  // Normal values; booleans true three times in four.
  Tensor tensor(DType dtype, const Shape& shape, Layout layout = Layout::dense) {
    switch (layout) {
      case Layout::dense:
        break;
      case Layout::transposed:
        if (shape.rank() < 2) break;
        return swapped(dtype, shape, -1, -2);
      case Layout::permuted:
        if (shape.rank() < 3) break;
        return swapped(dtype, shape, -1, static_cast<int>(integer(0, shape.rank() - 1)));
      case Layout::sliced: {
        Shape larger = shape;
        for (int dim = 0; dim < shape.rank(); ++dim) larger[dim] = shape[dim] * 2 + 3;
        Tensor view = dense(dtype, larger);
        for (int dim = 0; dim < shape.rank(); ++dim)
          view = integer(0, 1) == 0 ? view.slice(dim, 2, 2 + shape[dim])
                                    : view.slice(dim, 1, 1 + 2 * shape[dim], 2);
        return view;
      }
      case Layout::expanded: {
        if (shape.rank() == 0) break;
        Shape smaller = shape;
        const int dim = static_cast<int>(integer(0, shape.rank() - 1));
        if (shape[dim] == 0) break;
        smaller[dim] = 1;
        return dense(dtype, smaller).expand(shape);
      }
    }
    return dense(dtype, shape);
  }

 private:
  Tensor dense(DType dtype, const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(shape.numel()));
    for (float& value : values)
      value = dtype == DType::boolean ? (integer(0, 3) > 0 ? 1.0F : 0.0F) : normal();
    return Tensor::from_floats(device(), dtype, shape, values);
  }
  Tensor swapped(DType dtype, const Shape& shape, int a, int b) {
    Shape other = shape;
    std::swap(other[a], other[b]);
    return dense(dtype, other).transpose(a, b);
  }

  std::mt19937_64 engine_;
};

// The values of a dense row-major tensor `from`, repeated to the larger shape that it broadcasts to.
inline std::vector<double> broadcast(const Tensor& from, const Shape& to) {
  const std::vector<double> values = from.to_doubles();
  std::vector<double> out;
  for (int64_t i = 0; i < to.numel(); ++i) {
    int64_t rest = i, index = 0, step = 1;
    for (int dim = to.rank() - 1; dim >= 0; --dim) {
      const int64_t at = rest % to[dim];
      rest /= to[dim];
      const int own = dim - (to.rank() - from.rank());
      if (own < 0) continue;
      if (from.size(own) != 1) index += at * step;
      step *= from.size(own);
    }
    out.push_back(values[static_cast<std::size_t>(index)]);
  }
  return out;
}

// What a float becomes when it is stored.
inline double rounded(DType dtype, float value) {
  switch (dtype) {
    case DType::bf16:
      return tensor::float_of_bf16(tensor::bf16_of_float(value));
    case DType::f16:
      return tensor::float_of_f16(tensor::f16_of_float(value));
    case DType::boolean:
      return value != 0.0F;
    default:
      return value;
  }
}

// Half a unit in the last place, relative.
inline double epsilon(DType dtype) {
  return dtype == DType::f32 ? 0x1p-24 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
}

struct Work {
  std::string api, name;
  base::WorkKind kind;
  int64_t bytes;
  uint32_t tiles;
};

// One thread launches, the stream's thread writes `ran`; read it after Device::synchronize.
// Keeps spans ("outer>inner"), launches, and which of them ran on the device.
class Ledger final : public base::Probe {
 public:
  void begin_span(base::SpanKind, std::string_view name, std::string_view dims) override {
    path_.push_back(std::string(name));
    std::string path;
    for (const auto& part : path_) path += (path.empty() ? "" : ">") + part;
    spans.push_back(path);
    span_dims.emplace_back(dims);
  }
  void end_span() override { path_.pop_back(); }
  uint64_t launch_begin(std::string_view api, const base::WorkInfo& work) override {
    launches.push_back({std::string(api), std::string(work.name), work.kind, work.bytes, work.grid[0]});
    launch_paths.push_back(path_.empty() ? "" : path_.back());
    return launches.size();
  }
  void launch_end(uint64_t correlation) override { ended.push_back(correlation); }
  void device_work(uint64_t correlation, const base::WorkInfo&, int64_t stream, base::Ns start,
                   base::Ns end) override {
    ran.push_back(correlation);
    ok = ok && stream == CpuDevice::kStream && start <= end;
  }
  void host_wait(std::string_view api, base::Ns, base::Ns) override { waits.emplace_back(api); }
  void memory(int64_t, int64_t in_use) override { levels.push_back(in_use); }

  std::vector<std::string> spans, span_dims, launch_paths, waits;
  std::vector<Work> launches;
  std::vector<uint64_t> ended, ran;
  std::vector<int64_t> levels;
  bool ok = true;

 private:
  std::vector<std::string> path_;
};

// Runs `body` under a Ledger until its work is done.
template <class Body>
Ledger record(const Body& body) {
  device().synchronize();
  Ledger ledger;
  {
    const base::ScopedProbe probe(&ledger);
    body();
    device().synchronize();
  }
  return ledger;
}

}  // namespace hunch::ops::testing
