// Question: do the ops of a CUDA device run at the memory's speed, and its products at the library's? Each op
// over attention's score matrix (8 x 16 x 1024 x 1024), beside a cudaMemcpyAsync of the same bytes in the
// same run. Times are medians by CUDA events over single calls; calls rotate over tensors that together are
// several times larger than the second cache. tools/cuda/ops_bench.py puts PyTorch's same ops beside them.
//
// In: the number of repetitions (30). Out: tab-separated lines "op, microseconds, bytes, flops".
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/ops.h"
#include "hunch/tensor/cuda.h"
#include "hunch/tensor/cuda_check.h"

namespace {

namespace ops = hunch::ops;
using hunch::tensor::CudaDevice;
using hunch::tensor::Device;
using hunch::tensor::DType;
using hunch::tensor::Shape;
using hunch::tensor::Tensor;

constexpr int64_t kBatch = 8, kHeads = 16, kLength = 1024, kHeadDim = 64;
const Shape kScores = {kBatch, kHeads, kLength, kLength};
constexpr int kSets = 3;  // of 268 MB each in bf16: what a call reads was last touched two calls before

class Bench {
 public:
  Bench(CudaDevice& device, int repetitions) : device_(device), repetitions_(repetitions) {
    HUNCH_CUDA_CHECK(cudaEventCreate(&begin_));
    HUNCH_CUDA_CHECK(cudaEventCreate(&end_));
  }

  // body(set) for set 0, 1, 2, 0, ...
  void time(const std::string& name, double bytes, double flops, const std::function<void(int)>& body) {
    auto* const stream = static_cast<cudaStream_t>(device_.stream());
    std::vector<float> times;
    for (int i = 0; i < repetitions_ + kSets; ++i) {
      HUNCH_CUDA_CHECK(cudaEventRecord(begin_, stream));
      body(i % kSets);
      HUNCH_CUDA_CHECK(cudaEventRecord(end_, stream));
      HUNCH_CUDA_CHECK(cudaEventSynchronize(end_));
      float milliseconds = 0;
      HUNCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (i >= kSets) times.push_back(milliseconds);
    }
    std::nth_element(times.begin(), times.begin() + repetitions_ / 2, times.end());
    fmt::print("{}\t{:.2f}\t{:.0f}\t{:.0f}\n", name, times[static_cast<std::size_t>(repetitions_ / 2)] * 1e3,
               bytes, flops);
  }

 private:
  CudaDevice& device_;
  int repetitions_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

Tensor random_tensor(Device& device, DType dtype, const Shape& shape, unsigned seed) {
  // A row of random numbers, repeated along the first dimensions by a copy: data need only not be alike.
  Shape row = shape;
  for (int dim = 0; dim + 2 < shape.rank(); ++dim) row[dim] = 1;
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(row.numel()));
  for (float& value : values) value = static_cast<float>(random()) * 0x1p-30F - 2.0F;
  return ops::clone(Tensor::from_floats(device, dtype, row, values).expand(shape));
}

void elementwise(Bench& bench, Device& device, DType dtype) {
  const std::string type = "<" + std::string(hunch::tensor::name_of(dtype)) + ">";
  const auto size = static_cast<double>(hunch::tensor::size_of(dtype));
  const auto count = static_cast<double>(kScores.numel());
  std::vector<Tensor> x;
  for (unsigned set = 0; set < kSets; ++set) x.push_back(random_tensor(device, dtype, kScores, set));
  const Tensor yes = ops::full(device, DType::boolean, {}, 1.0),
               no = ops::full(device, DType::boolean, {}, 0.0);
  const Tensor seen = ops::tril(ops::ones(device, DType::boolean, {kLength, kLength}));
  const Tensor hidden = ops::where(seen, no, yes);
  const Tensor bias = random_tensor(device, dtype, {kLength, kLength}, 9);
  const auto at = [&x](int set) { return x[static_cast<std::size_t>(set)]; };
  bench.time("memcpy" + type, 2 * size * count, 0, [&](int set) { ops::clone(at(set)); });
  bench.time("mul" + type, 2 * size * count, 0, [&](int set) { ops::mul(at(set), 0.125); });
  bench.time("add" + type, 2 * size * count, 0, [&](int set) { ops::add(at(set), bias); });
  bench.time("softmax" + type, 2 * size * count, 0, [&](int set) { ops::softmax(at(set)); });
  bench.time("is_neg_inf" + type, (size + 1) * count, 0, [&](int set) { ops::is_neg_inf(at(set)); });
  bench.time("transposed_copy" + type, 2 * size * count, 0,
             [&](int set) { ops::clone(at(set).transpose(-1, -2)); });
  const Tensor rows = ops::all(ops::is_neg_inf(x[0]));
  const Tensor zero = ops::full(device, dtype, {}, 0.0);
  bench.time("where_rows" + type, 2 * size * count, 0, [&](int set) { ops::where(rows, zero, at(set)); });
  const DType other = dtype == DType::f32 ? DType::bf16 : DType::f32;
  bench.time("cast" + type, 6 * count, 0, [&](int set) { ops::cast(at(set), other); });
  // At least the hidden half is written.
  bench.time("masked_fill_causal" + type, size * count / 2, 0,
             [&](int set) { ops::masked_fill_(at(set), hidden, -std::numeric_limits<double>::infinity()); });
  std::vector<Tensor> flags;
  for (int set = 0; set < kSets; ++set) flags.push_back(ops::is_neg_inf(at(set)));
  bench.time("all" + type, count, 0, [&](int set) { ops::all(flags[static_cast<std::size_t>(set)]); });
  // Heads inside: [batch, length, heads, dim] to heads outside, as projections leave them.
  const Shape projected = {kBatch * 8, kLength, kHeads, kHeadDim};
  std::vector<Tensor> inside;
  for (unsigned set = 0; set < kSets; ++set) inside.push_back(random_tensor(device, dtype, projected, set));
  bench.time("heads_copy" + type, 2 * size * static_cast<double>(projected.numel()), 0,
             [&](int set) { ops::clone(inside[static_cast<std::size_t>(set)].transpose(1, 2)); });
}

void products(Bench& bench, Device& device, DType dtype, int choices) {
  const std::string type = "<" + std::string(hunch::tensor::name_of(dtype)) + ">";
  const Shape heads = {kBatch, kHeads, kLength, kHeadDim};
  const auto size = static_cast<double>(hunch::tensor::size_of(dtype));
  const double flops = 2.0 * static_cast<double>(kScores.numel()) * kHeadDim;
  const double bytes = size * static_cast<double>(kScores.numel() + 2 * heads.numel());
  std::vector<Tensor> q, k, scores;
  for (unsigned set = 0; set < kSets; ++set) {
    q.push_back(random_tensor(device, dtype, heads, set));
    k.push_back(random_tensor(device, dtype, heads, set + 10));
    scores.push_back(ops::softmax(random_tensor(device, dtype, kScores, set)));
  }
  for (int choice = 0; choice < choices; ++choice) {
    ops::cuda::set_matmul_choice(choice);
    const std::string suffix = choice == 0 ? "" : fmt::format(" choice {}", choice);
    bench.time("matmul_qk" + type + suffix, bytes, flops, [&](int set) {
      const auto i = static_cast<std::size_t>(set);
      ops::matmul(q[i], k[i].transpose(-1, -2));
    });
    bench.time("matmul_wv" + type + suffix, bytes, flops, [&](int set) {
      const auto i = static_cast<std::size_t>(set);
      ops::matmul(scores[i], k[i]);
    });
  }
  ops::cuda::set_matmul_choice(0);
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
  auto opened = hunch::tensor::open_cuda();
  if (!opened) {
    fmt::print(stderr, "bench_ops_cuda: {}\n", hunch::base::describe(opened.error()));
    return 2;
  }
  if (const std::string missing = ops::cuda::matmul_missing(); !missing.empty()) {
    fmt::print(stderr, "bench_ops_cuda: {}\n", missing);
    return 2;
  }
  Device& device = **opened;
  Bench bench(*device.as_cuda(), repetitions);
  for (const DType dtype : {DType::bf16, DType::f32}) {
    elementwise(bench, device, dtype);
    products(bench, device, dtype, 8);
  }
}
