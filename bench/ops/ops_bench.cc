// Question: do the elementwise ops run at memory speed? Each over a score matrix of 8 x 16 x 512 x 512,
// larger than the caches, with its launch and its wait. GB/s counts the bytes that must be read and
// written once; `clone` is the device's memcpy, the ceiling to compare with in the same run.
// Build with -DHUNCH_BENCH=ON, run bench_ops.
//
// On 16 cores of a Xeon with AVX-512, bf16, GB/s: clone 257, masked_fill_ 409, add 239, is_neg_inf 222, casts
// 210 to 233, where 184, mul 181, transposed copy 78, softmax 57 (f32: 84; its exp is what takes the time).
#include <benchmark/benchmark.h>

#include <limits>
#include <random>
#include <vector>

#include "hunch/ops/ops.h"
#include "hunch/tensor/cpu_device.h"

namespace {

namespace ops = hunch::ops;
using hunch::tensor::CpuDevice;
using hunch::tensor::DType;
using hunch::tensor::Shape;
using hunch::tensor::Tensor;

const Shape kScores = {8, 16, 512, 512};

CpuDevice& device() {
  static CpuDevice cpu;
  return cpu;
}

const Tensor& scores(DType dtype) {
  static std::vector<Tensor> tensors = [] {
    std::mt19937 random(1);
    std::vector<float> values(static_cast<std::size_t>(kScores.numel()));
    for (float& value : values) value = static_cast<float>(random()) * 0x1p-30F - 2.0F;
    std::vector<Tensor> made;
    for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::boolean})
      made.push_back(Tensor::from_floats(device(), type, kScores, values));
    return made;
  }();
  return tensors[static_cast<std::size_t>(dtype)];
}

template <class Body>
void measure(benchmark::State& state, double bytes_an_element, const Body& body) {
  body();
  device().synchronize();
  for (auto _ : state) {
    body();
    device().synchronize();
  }
  state.counters["GB/s"] =
      benchmark::Counter(bytes_an_element * static_cast<double>(kScores.numel() * state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate);
}

void add_all() {
  const auto add = [](const std::string& name, double bytes, auto body) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [bytes, body](benchmark::State& state) { measure(state, bytes, body); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const std::string type = "<" + std::string(hunch::tensor::name_of(dtype)) + ">";
    const auto size = static_cast<double>(hunch::tensor::size_of(dtype));
    const Tensor x = scores(dtype);
    const Tensor mask = scores(DType::boolean).slice(0, 0, 1).slice(1, 0, 1);
    add("clone" + type, 2 * size, [x] { ops::clone(x); });
    add("mul" + type, 2 * size, [x] { ops::mul(x, 0.125); });
    add("add" + type, 3 * size, [x] { ops::add(x, x); });
    add("masked_fill_" + type, 2 * size, [x, mask] { ops::masked_fill_(x, mask, -1.0); });
    add("softmax" + type, 2 * size, [x] { ops::softmax(x); });
    add("is_neg_inf" + type, size + 1, [x] { ops::is_neg_inf(x); });
    add("where" + type, 2 * size, [x, mask] { ops::where(mask, x, x.slice(3, 0, 1)); });
    add("transposed_copy" + type, 2 * size, [x] { ops::clone(x.transpose(2, 3)); });
    if (dtype == DType::f32) continue;
    add("cast" + type + "_to_f32", size + 4, [x] { ops::cast(x, DType::f32); });
    add("cast_f32_to" + type, size + 4, [dtype] { ops::cast(scores(DType::f32), dtype); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_all();
  benchmark::RunSpecifiedBenchmarks();
}
