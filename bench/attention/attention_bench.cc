// How fast are the fused CPU kernels, and against what the same cores can multiply?
//
// In:  --problem BxHxSxD (may repeat), --kv-length N, --kv-heads N, --dtype f32|bf16|f16,
//      --mask none|causal|bool|float, --threads N, --rounds N, --csv.
// Out: GFLOP/s of flash, of efficient, and of the matrix library's products of the same type and shape (Q K^T
//      and weights times V) and of a square product in f32, all as medians over rounds; and ratios, as
//      medians of the ratios within each round. Causal counts half of the work of a square problem.
// Each round times every subject once, in turn, so a machine that is slow for a while is slow for all.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/attention/backend.h"
#include "hunch/base/clock.h"
#include "hunch/ops/ops.h"
#include "hunch/tensor/cpu_device.h"

namespace {

using hunch::attention::Call;
using hunch::attention::Problem;
using hunch::tensor::CpuDevice;
using hunch::tensor::DType;
using hunch::tensor::Tensor;

struct Options {
  std::vector<Problem> problems;
  int threads = hunch::base::ThreadPool::hardware_threads();
  int rounds = 7;
  bool csv = false;
};

struct Subject {
  std::string name;
  double flops = 0;
  std::function<void()> run;
  std::vector<double> rates = {};  // GFLOP/s, one a round
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

[[noreturn]] void usage(const std::string& what) {
  fmt::print(stderr, "bench_attention: {}\n", what);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  std::vector<std::string> sizes;
  Problem shared;
  shared.dtype = DType::f32;
  int64_t kv_length = 0, kv_heads = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--csv") {
      options.csv = true;
      continue;
    }
    if (i + 1 == argc) usage(fmt::format("{} needs a value", name));
    const std::string value = argv[++i];
    if (name == "--problem") {
      sizes.push_back(value);
    } else if (name == "--kv-length") {
      kv_length = std::atoll(value.c_str());
    } else if (name == "--kv-heads") {
      kv_heads = std::atoll(value.c_str());
    } else if (name == "--threads") {
      options.threads = std::max(1, std::atoi(value.c_str()));
    } else if (name == "--rounds") {
      options.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (name == "--dtype") {
      const auto dtype = hunch::tensor::parse_dtype(value);
      if (!dtype) usage("no such dtype: " + value);
      shared.dtype = *dtype;
    } else if (name == "--mask") {
      const auto mask = hunch::attention::parse_mask(value);
      if (!mask) usage("no such mask: " + value);
      shared.mask = *mask;
    } else {
      usage(fmt::format("no such option: {}", name));
    }
  }
  if (sizes.empty()) sizes = {"1x2x4096x64", "1x4x1024x64", "1x2x2048x128"};
  for (const std::string& size : sizes) {
    auto problem = hunch::attention::parse_problem(size);
    if (!problem) usage(problem.error().message);
    problem->dtype = shared.dtype;
    problem->mask = shared.mask;
    if (kv_length > 0) problem->kv_length = kv_length;
    if (kv_heads > 0) problem->kv_heads = kv_heads;
    options.problems.push_back(*problem);
  }
  return options;
}

// One forward or product a time until a tenth of a second is full; the fastest counts.
double rate(CpuDevice& device, const Subject& subject) {
  constexpr hunch::base::Ns kEnough = 100'000'000;
  hunch::base::Ns total = 0, best = 0;
  for (int i = 0; i < 1000 && (i < 2 || total < kEnough); ++i) {
    const auto start = hunch::base::now_ns();
    subject.run();
    device.synchronize();
    const auto took = hunch::base::now_ns() - start;
    total += took;
    best = i == 0 ? took : std::min(best, took);
  }
  return subject.flops / static_cast<double>(best);
}

void measure(CpuDevice& device, const Options& options, const Problem& problem) {
  const Call call = hunch::attention::make_call(device, problem, 1);
  std::vector<Subject> subjects;
  for (const char* name : {"flash", "efficient"}) {
    const auto* backend = hunch::attention::find_backend(name);
    if (!backend->refusals(call).empty()) usage(fmt::format("{} refuses the problem", name));
    subjects.push_back({name, problem.flops(),
                        [backend, prepared = backend->prepare(call)] { backend->forward(prepared); }});
  }
  // Products of one query head's shape over all key heads: the library's own rate, nothing else.
  const auto random = [&](int64_t rows, int64_t columns, DType dtype, int64_t batch) {
    std::vector<float> values(static_cast<std::size_t>(batch * rows * columns));
    uint32_t state = 1;
    for (float& value : values)
      value = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;
    return Tensor::from_floats(device, dtype, {batch, rows, columns}, values);
  };
  const int64_t l = problem.length, s = problem.kv_length, d = problem.head_dim;
  const double product_flops = 2.0 * static_cast<double>(problem.kv_heads) * static_cast<double>(l * s * d);
  const Tensor q = random(l, d, problem.dtype, problem.kv_heads),
               k = random(s, d, problem.dtype, problem.kv_heads);
  const Tensor p = random(l, s, problem.dtype, problem.kv_heads);
  subjects.push_back({"product_qk", product_flops, [=] { hunch::ops::matmul(q, k.transpose(-2, -1)); }});
  subjects.push_back({"product_pv", product_flops, [=] { hunch::ops::matmul(p, k); }});
  constexpr int64_t kSquare = 1024;
  const Tensor square = random(kSquare, kSquare, DType::f32, options.threads);
  subjects.push_back({"square_f32", 2.0 * kSquare * kSquare * kSquare * options.threads,
                      [=] { hunch::ops::matmul(square, square); }});

  for (int round = -1; round < options.rounds; ++round)
    for (Subject& subject : subjects) {
      const double seen = rate(device, subject);
      if (round >= 0) subject.rates.push_back(seen);  // round -1 warms up
    }
  const auto against = [&](std::size_t i, std::size_t j) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < subjects[i].rates.size(); ++r)
      ratios.push_back(subjects[i].rates[r] / subjects[j].rates[r]);
    return median(ratios);
  };
  if (options.csv) {
    for (const Subject& subject : subjects) fmt::print("{},{:.2f}\n", subject.name, median(subject.rates));
    return;
  }
  fmt::print("{}, {} threads\n", problem.text(), options.threads);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    fmt::print("  {:<11}{:8.1f} GFLOP/s", subjects[i].name, median(subjects[i].rates));
    if (i < 2)
      fmt::print("   {:.2f} of q*k', {:.2f} of p*v, {:.2f} of a square f32 product", against(i, 2),
                 against(i, 3), against(i, 4));
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  CpuDevice device(options.threads);
  for (const Problem& problem : options.problems) measure(device, options, problem);
}
