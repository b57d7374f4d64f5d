// Every backend of backends() over random problems, judged by the double-precision reference, on the CPU and
// on a GPU where there is one. In:  HUNCH_SEED chooses the problems (the default is fixed, so that a failure
// repeats), HUNCH_CASES how many,
//      HUNCH_CASE runs one alone. Out: a table of what ran, what was refused, and the worst error over its
//      bound.
// Holds: a refused problem counts as refused, never as passed; outputs are poisoned before they are written;
// inputs must come out as they went in; two runs must give the same bits. A new backend is taken up by
// itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "cases.h"
#include "hunch/attention/backend.h"
#include "hunch/attention/dispatch.h"
#include "hunch/base/strings.h"
#include "hunch/tensor/cpu_device.h"
#include "hunch/tensor/cuda.h"
#include "judge.h"

namespace hunch::conformance {
namespace {

using attention::Backend;
using attention::Output;

constexpr int64_t kDefaultCases = 640;
constexpr int64_t kLeastComputed = 500;
constexpr int kMostFailures = 12;  // printed for each backend; the rest is counted

struct Tally {
  int64_t run = 0;
  int64_t refused = 0;
  int64_t failed = 0;
  int64_t lse_run = 0;
  double worst_ratio = 0;
  std::map<std::string, int64_t> reasons;
};

int64_t from_environment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const auto value = base::parse_int(text);
  EXPECT_TRUE(value.has_value()) << name << " is not a whole number: " << text;
  return value.value_or(otherwise);
}

// Of a contiguous tensor.
std::string bytes_of(const Tensor& tensor) {
  std::string bytes(static_cast<std::size_t>(tensor.numel()) * tensor::size_of(tensor.dtype()), '\0');
  tensor.device().download(bytes.data(), tensor.data(), bytes.size());
  return bytes;
}

// The words without their numbers, so that reasons can be counted; "f32" stays.
std::string kind_of(const std::string& reason) {
  std::string kind;
  bool in_word = false;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !in_word) {
      if (kind.empty() || kind.back() != '#') kind += '#';
    } else {
      kind += c;
      in_word = digit || (c >= 'a' && c <= 'z');
    }
  }
  return kind;
}

// What one backend makes of one case; empty when it passes.
std::string run_one(const Backend& backend, const Call& call, const attention::reference::Result& exact,
                    double bound, Tally& tally) {
  const auto prepared = backend.prepare(call);
  const Output output = attention::run_backend(backend, prepared).value();
  const Output again = attention::run_backend(backend, prepared).value();
  ++tally.run;
  const Shape expected = {call.query.size(0), call.query.size(1), call.query.size(2), call.value.size(3)};
  if (!(output.out.shape() == expected))
    return fmt::format("shape {}, not {}", output.out.shape().text(), expected.text());
  if (output.out.dtype() != call.query.dtype()) return "the output has another dtype than the query";
  // With no keys at all, by hand the last product sums over nothing: zero, not NaN.
  const auto empty_rows = backend.by_hand() && call.key.size(2) > 0 ? EmptyRows::nan : EmptyRows::zero;
  const Verdict verdict = judge_out(output.out.to_doubles(), exact, bound, empty_rows);
  tally.worst_ratio = std::max(tally.worst_ratio, verdict.worst / bound);
  if (!verdict.ok()) return verdict.why + fmt::format(" ({:.3g} of bound {:.3g})", verdict.worst, bound);
  if (!output.out.is_contiguous() || !again.out.is_contiguous()) return "the output is not contiguous";
  if (bytes_of(output.out) != bytes_of(again.out)) return "two runs differ";
  if (!call.want_lse) return {};
  ++tally.lse_run;
  if (!output.lse) return "no log-sum-exp, which was asked for";
  if (output.lse->dtype() != DType::f32) return "the log-sum-exp is not f32";
  if (!(output.lse->shape() == Shape{expected[0], expected[1], expected[2]}))
    return "the log-sum-exp has a wrong shape";
  if (const Verdict lse = judge_lse(output.lse->to_doubles(), exact); !lse.ok()) return lse.why;
  if (bytes_of(*output.lse) != bytes_of(*again.lse)) return "the log-sum-exp of two runs differs";
  return {};
}

void print_table(const std::map<std::string, Tally>& tallies) {
  fmt::print("{:<16}{:>8}{:>8}{:>10}{:>9}{:>20}\n", "backend", "run", "lse", "refused", "failed",
             "worst error/bound");
  for (const Backend* backend : attention::backends()) {
    const Tally& tally = tallies.at(std::string(backend->name()));
    fmt::print("{:<16}{:>8}{:>8}{:>10}{:>9}{:>20}\n", backend->name(), tally.run, tally.lse_run,
               tally.refused, tally.failed, tally.run == 0 ? "-" : fmt::format("{:.3f}", tally.worst_ratio));
    for (const auto& [reason, count] : tally.reasons) fmt::print("    refused {:>5} x {}\n", count, reason);
  }
}

// A small call of the plainest kind: a backend that refuses it cannot run on this device at all.
bool runs_here(const Backend& backend, tensor::Device& device) {
  attention::Problem plain;
  plain.heads = plain.kv_heads = 2;
  plain.length = plain.kv_length = 16;
  plain.head_dim = 64;
  return backend.refusals(attention::make_call(device, plain, 1)).empty();
}

// `share` of the cases at least must be taken by a backend that takes the plainest one.
void hold_every_backend(tensor::Device& device, double share) {
  const auto seed = static_cast<uint64_t>(from_environment("HUNCH_SEED", 20261130));
  const int64_t only = from_environment("HUNCH_CASE", -1);
  const int64_t cases = from_environment("HUNCH_CASES", kDefaultCases);
  const char* only_backend = std::getenv("HUNCH_BACKEND");
  const bool verbose = from_environment("HUNCH_VERBOSE", 0) != 0;
  fmt::print("HUNCH_SEED={} HUNCH_CASES={}\n", seed, cases);
  std::fflush(stdout);
  device.set_poison(true);
  std::map<std::string, Tally> tallies;
  for (const Backend* backend : attention::backends()) tallies[std::string(backend->name())] = {};

  for (int64_t index = only < 0 ? 0 : only; index < (only < 0 ? cases : only + 1); ++index) {
    const Case one = CaseMaker(device, seed, static_cast<uint64_t>(index)).make();
    const auto valid = attention::validate(one.call);
    ASSERT_TRUE(valid.has_value()) << valid.error().message << "\n" << one.text;
    const auto exact = attention::reference::attention(one.call);
    const double bound =
        attention::reference::error_bound(exact.out, attention::reference::attention_in_dtype(one.call));
    std::vector<std::string> before;
    for (const Tensor& tensor : one.storage) before.push_back(bytes_of(tensor));

    for (const Backend* backend : attention::backends()) {
      if (only_backend != nullptr && backend->name() != only_backend) continue;
      if (verbose) fmt::print(stderr, "HUNCH_CASE={} {}: {}\n", index, backend->name(), one.text);
      Tally& tally = tallies[std::string(backend->name())];
      // Its one known difference, and no refusal can see it: see cudnn_cuda.cc on lowest masks.
      if (backend->name() == "cudnn" && base::contains(one.text, "(lowest)")) continue;
      Call call = one.call;
      auto refusals = backend->refusals(call);
      if (!refusals.empty() && call.want_lse) {  // perhaps it takes the call without
        call.want_lse = false;
        refusals = backend->refusals(call);
      }
      if (!refusals.empty()) {
        ++tally.refused;
        for (const auto& reason : refusals) ++tally.reasons[kind_of(reason)];
        continue;
      }
      std::string why = run_one(*backend, call, exact, bound, tally);
      for (std::size_t i = 0; i < before.size() && why.empty(); ++i)
        if (bytes_of(one.storage[i]) != before[i]) why = fmt::format("it wrote into input {}", i);
      if (why.empty()) continue;
      if (++tally.failed <= kMostFailures)
        ADD_FAILURE() << backend->name() << ": " << why << "\n  HUNCH_SEED=" << seed
                      << " HUNCH_CASE=" << index << ": " << one.text;
    }
  }
  print_table(tallies);
  if (only >= 0 || only_backend != nullptr || cases < kDefaultCases) return;
  int64_t computed = 0;
  for (const Backend* backend : attention::backends()) {
    const Tally& tally = tallies[std::string(backend->name())];
    computed += tally.run;
    EXPECT_EQ(tally.failed, 0) << backend->name();
    const auto least =
        runs_here(*backend, device) ? static_cast<int64_t>(share * static_cast<double>(cases)) : 0;
    EXPECT_GE(tally.run, least) << backend->name() << " refuses too much to be tested";
  }
  EXPECT_GE(computed, kLeastComputed);
}

TEST(Conformance, EveryBackendOnRandomProblems) {
  tensor::CpuDevice device(2);
  hold_every_backend(device, 0.5);
}

// The fused backends refuse more here: f32, or elements that are not side by side.
TEST(Conformance, EveryBackendOnRandomProblemsOnAGpu) {
  const auto device = tensor::open_cuda();
  if (!device) GTEST_SKIP() << base::describe(device.error());
  hold_every_backend(**device, 0.1);
}

}  // namespace
}  // namespace hunch::conformance
