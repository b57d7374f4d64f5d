// Question: which library should multiply matrices on the CPU? oneDNN's sgemm and OpenBLAS's, one thread a
// batch item on the same workers, over the two products of attention (scores: long x long x head_dim, and
// output: long x head_dim x long); and beside them hunch::ops::matmul, in f32 and bf16, with its launch.
// Build with -DHUNCH_BENCH=ON, run bench_matmul: it prints GFLOP/s; compare numbers of one run only.
// OpenBLAS is left out where it is not installed.
//
// GFLOP/s.                      AMD EPYC, AVX2, 2 cores   Xeon with AMX, 16 cores (the op: f32, bf16)
//                               OpenBLAS   oneDNN         OpenBLAS   oneDNN   op f32   op bf16
//   64 x (1024 x 1024 x   64)         96       96              216      632     1152      1544
//   64 x (1024 x   64 x 1024)         95      109              213      903     1285      5160
//    8 x (4096 x 4096 x   64)         86      128               98      268     1179      1457
//    8 x (4096 x   64 x 4096)         93      105               81      418     1212      5639
// (Eight items leave half of sixteen cores idle; the op cuts each into blocks.)
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <dnnl.h>

#include <random>
#include <vector>

#include "hunch/base/thread_pool.h"
#include "hunch/ops/ops.h"
#include "hunch/tensor/cpu_device.h"

#ifdef HUNCH_HAVE_OPENBLAS
extern "C" {
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a,
                 int lda, const float* b, int ldb, float beta, float* c, int ldc);
void openblas_set_num_threads(int threads);
}
#endif

namespace {

using hunch::tensor::CpuDevice;
using hunch::tensor::DType;
using hunch::tensor::Tensor;

struct Product {
  int64_t batch, m, n, k;
  double flops() const { return 2.0 * static_cast<double>(batch * m * n * k); }
};
Product product_of(const benchmark::State& state) {
  return {state.range(0), state.range(1), state.range(2), state.range(3)};
}

std::vector<float> random_floats(int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

void report(benchmark::State& state, const Product& p) {
  state.counters["GFLOP/s"] = benchmark::Counter(p.flops() * static_cast<double>(state.iterations()) / 1e9,
                                                 benchmark::Counter::kIsRate);
}

template <class Multiply>
void over_workers(benchmark::State& state, const Multiply& multiply) {
  const Product p = product_of(state);
  const auto a = random_floats(p.batch * p.m * p.k), b = random_floats(p.batch * p.k * p.n);
  std::vector<float> c(static_cast<std::size_t>(p.batch * p.m * p.n));
  hunch::base::ThreadPool pool(hunch::base::ThreadPool::hardware_threads());
  for (auto _ : state)
    pool.parallel_for(p.batch, [&](int64_t i, int) {
      multiply(p, a.data() + i * p.m * p.k, b.data() + i * p.k * p.n, c.data() + i * p.m * p.n);
    });
  report(state, p);
}

void onednn(benchmark::State& state) {
  auto* set_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  over_workers(state, [set_threads](const Product& p, const float* a, const float* b, float* c) {
    if (set_threads != nullptr) set_threads(1);
    dnnl_sgemm('N', 'N', p.m, p.n, p.k, 1.0F, a, p.k, b, p.n, 0.0F, c, p.n);
  });
}

#ifdef HUNCH_HAVE_OPENBLAS
void openblas(benchmark::State& state) {
  constexpr int kRowMajor = 101, kAsIs = 111;
  openblas_set_num_threads(1);
  over_workers(state, [](const Product& p, const float* a, const float* b, float* c) {
    const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    cblas_sgemm(kRowMajor, kAsIs, kAsIs, m, n, k, 1.0F, a, k, b, n, 0.0F, c, n);
  });
}
#endif

void op(benchmark::State& state, DType dtype) {
  const Product p = product_of(state);
  CpuDevice device;
  const Tensor a =
      Tensor::from_floats(device, dtype, {p.batch, p.m, p.k}, random_floats(p.batch * p.m * p.k));
  const Tensor b =
      Tensor::from_floats(device, dtype, {p.batch, p.k, p.n}, random_floats(p.batch * p.k * p.n));
  for (auto _ : state) {
    hunch::ops::matmul(a, b);
    device.synchronize();
  }
  report(state, p);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"batch", "m", "n", "k"})
      ->Args({64, 1024, 1024, 64})
      ->Args({64, 1024, 64, 1024})
      ->Args({8, 4096, 4096, 64})
      ->Args({8, 4096, 64, 4096})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK(onednn)->Apply(shapes);
#ifdef HUNCH_HAVE_OPENBLAS
BENCHMARK(openblas)->Apply(shapes);
#endif
BENCHMARK_CAPTURE(op, f32, DType::f32)->Apply(shapes);
BENCHMARK_CAPTURE(op, bf16, DType::bf16)->Apply(shapes);
BENCHMARK_CAPTURE(op, f16, DType::f16)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
