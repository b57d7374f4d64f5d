// The laboratory on the CPU device: every count below is read from the recorded traces.
#include "hunch/lab/lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hunch/tensor/cpu_device.h"

namespace hunch::lab {
namespace {

using attention::MaskKind;
using tensor::CpuDevice;
using tensor::DType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::EventId;
using trace::EventKind;
using trace::Trace;

Options options(std::vector<std::string> variants, MaskKind mask = MaskKind::causal,
                DType dtype = DType::bf16) {
  Options options;
  options.problem.batch = 2;
  options.problem.heads = options.problem.kv_heads = 3;
  options.problem.length = options.problem.kv_length = 40;
  options.problem.head_dim = 16;
  options.problem.dtype = dtype;
  options.problem.mask = mask;
  options.variants = std::move(variants);
  options.schedule = {1, 1, 2};
  return options;
}

struct Counts {
  int kernels = 0, memcpys = 0, memsets = 0;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.kernels << " kernels, " << counts.memcpys << " memcpys, " << counts.memsets << " memsets";
}

bool inside(const Trace& trace, EventId inner, EventId outer) {
  return trace.track[inner] == trace.track[outer] && trace.start[inner] >= trace.start[outer] &&
         trace.end(inner) <= trace.end(outer);
}

std::vector<EventId> events_of(const Trace& trace, EventKind kind, std::string_view name = {}) {
  std::vector<EventId> found;
  for (EventId i = 0; i < trace.size(); ++i)
    if (trace.kind[i] == kind && (name.empty() || trace.name_of(i) == name)) found.push_back(i);
  return found;
}

// What each "attn_fwd" launched: the launch call lies inside, the work has its correlation.
std::vector<Counts> forwards(const Trace& trace) {
  std::vector<Counts> counts;
  for (const EventId range : events_of(trace, EventKind::annotation, "attn_fwd")) {
    Counts count;
    for (const EventId call : events_of(trace, EventKind::runtime_call)) {
      if (!inside(trace, call, range)) continue;
      for (EventId work = 0; work < trace.size(); ++work) {
        if (trace.correlation[work] != trace.correlation[call]) continue;
        count.kernels += trace.kind[work] == EventKind::kernel;
        count.memcpys += trace.kind[work] == EventKind::memcpy;
        count.memsets += trace.kind[work] == EventKind::memset;
      }
    }
    counts.push_back(count);
  }
  return counts;
}

std::map<std::string, Recording> run_all(const Options& asked) {
  CpuDevice device(2);
  auto recordings = run(device, asked, {});
  if (!recordings) {
    ADD_FAILURE() << describe(recordings.error());
    return {};
  }
  EXPECT_EQ(recordings->size(), asked.variants.size());
  std::map<std::string, Recording> by_name;
  for (auto& recording : *recordings) by_name[recording.variant] = std::move(recording);
  return by_name;
}

void expect_forwards(const Recording& recording, const Counts& expected) {
  ASSERT_TRUE(recording.trace.has_value()) << recording.variant;
  EXPECT_THAT(forwards(*recording.trace), ElementsAre(expected, expected)) << recording.variant;
  EXPECT_TRUE(recording.error_ok) << recording.variant << ": " << recording.max_abs_error << " is over "
                                  << recording.error_bound;
  EXPECT_GT(recording.error_bound, 0);
  EXPECT_THAT(recording.trace->stats.warnings, IsEmpty()) << recording.variant;
}

TEST(Lab, CausalInBf16) {
  const auto recordings = run_all(options({"naive", "naive_inplace", "math", "efficient", "flash"}));
  ASSERT_EQ(recordings.size(), 5u);
  expect_forwards(recordings.at("naive"), {5, 1, 0});
  expect_forwards(recordings.at("naive_inplace"), {5, 0, 0});
  expect_forwards(recordings.at("math"), {20, 0, 0});
  expect_forwards(recordings.at("efficient"), {1, 0, 0});
  expect_forwards(recordings.at("flash"), {1, 0, 0});
}

TEST(Lab, MathByMask) {
  expect_forwards(run_all(options({"math"}, MaskKind::none)).at("math"), {14, 0, 0});
  expect_forwards(run_all(options({"math"}, MaskKind::boolean)).at("math"), {18, 0, 0});
  expect_forwards(run_all(options({"math"}, MaskKind::floating)).at("math"), {15, 0, 0});
  expect_forwards(run_all(options({"math"}, MaskKind::causal, DType::f32)).at("math"), {15, 0, 0});
}

TEST(Lab, MathWithGroupedHeads) {
  Options grouped = options({"math"});
  grouped.problem.heads = 6;
  expect_forwards(run_all(grouped).at("math"), {22, 0, 0});
}

TEST(Lab, ARecordingHasPyTorchsForm) {
  const auto recordings = run_all(options({"naive"}));
  const Trace& trace = *recordings.at("naive").trace;
  const auto steps = events_of(trace, EventKind::step);
  const auto ranges = events_of(trace, EventKind::annotation, "attn_fwd");
  const auto waits = events_of(trace, EventKind::runtime_call, "hunchStreamSynchronize");
  ASSERT_EQ(steps.size(), 2u) << "the active steps alone";
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(trace.name_of(steps[0]), "ProfilerStep#2");
  EXPECT_EQ(trace.name_of(steps[1]), "ProfilerStep#3");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(inside(trace, ranges[i], steps[i]));
    int inside_step = 0;
    for (const EventId wait : waits) {
      EXPECT_FALSE(inside(trace, wait, ranges[i])) << "the wait is not part of the forward";
      inside_step += inside(trace, wait, steps[i]);
    }
    EXPECT_EQ(inside_step, 1);
  }
  // Every piece of work has a launch, and the External id of an op that encloses that launch.
  std::map<uint64_t, EventId> ops;
  for (const EventId op : events_of(trace, EventKind::op)) ops[trace.external_id[op]] = op;
  std::map<uint64_t, EventId> calls;
  for (const EventId call : events_of(trace, EventKind::runtime_call)) calls[trace.correlation[call]] = call;
  int work_count = 0;
  for (EventId i = 0; i < trace.size(); ++i) {
    if (!trace::is_device_work(trace.kind[i])) continue;
    ++work_count;
    ASSERT_TRUE(calls.count(trace.correlation[i]));
    ASSERT_TRUE(ops.count(trace.external_id[i]));
    const EventId call = calls[trace.correlation[i]];
    EXPECT_TRUE(inside(trace, call, ops[trace.external_id[i]]));
    EXPECT_GE(trace.start[i], trace.start[call]) << "no work starts before its launch";
    EXPECT_NE(trace.track[i], trace.track[call]);
  }
  EXPECT_EQ(work_count, 12);
  for (const EventId copy : events_of(trace, EventKind::memcpy))
    EXPECT_EQ(trace.device_detail(copy)->bytes, 2 * 3 * 40 * 40 * 2) << "the score matrix in bf16";

  // Memory: each step gives back what it took.
  ASSERT_FALSE(trace.memory.empty());
  int64_t balance = 0;
  for (const auto& change : trace.memory) balance += change.delta_bytes;
  EXPECT_EQ(balance, 0);

  ASSERT_EQ(trace.devices.size(), 1u);
  EXPECT_TRUE(trace.devices[0].is_cpu);
  EXPECT_EQ(trace.devices[0].multiprocessors, 2);
  EXPECT_EQ(trace.metadata.at("hunch_variant"), "naive");
  EXPECT_EQ(trace.metadata.at("hunch_problem"), "2 x 3 x 40 x 16, bf16, causal");
  EXPECT_EQ(trace.metadata.at("hunch_steps"), "1,1,2");
}

TEST(Lab, TheFirstCallIsRecordedApart) {
  const auto recordings = run_all(options({"naive"}));
  const Recording& recording = recordings.at("naive");
  ASSERT_TRUE(recording.first_call.has_value());
  const Trace& first = *recording.first_call;
  EXPECT_EQ(events_of(first, EventKind::annotation, "attn_prepare").size(), 1u);
  const auto steps = events_of(first, EventKind::step);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(first.name_of(steps[0]), "ProfilerStep#0");
  EXPECT_THAT(forwards(first), ElementsAre(Counts{5, 1, 0}));
  EXPECT_EQ(first.metadata.at("hunch_variant"), "naive");
  EXPECT_THAT(recording.notes, IsEmpty()) << "nothing lacks on the CPU";

  // Where the first step is an active one, it is in the trace, and preparing alone is apart.
  Options at_once = options({"naive"});
  at_once.schedule = {0, 0, 1};
  const auto now = run_all(at_once);
  EXPECT_THAT(forwards(*now.at("naive").trace), ElementsAre(Counts{5, 1, 0}));
  EXPECT_THAT(forwards(*now.at("naive").first_call), IsEmpty());
  EXPECT_EQ(events_of(*now.at("naive").first_call, EventKind::annotation, "attn_prepare").size(), 1u);
}

TEST(Lab, RefusalsAreRecordedWithAllReasons) {
  const auto recordings = run_all(options({"cudnn", "naive"}));
  const Recording& cudnn = recordings.at("cudnn");
  EXPECT_FALSE(cudnn.refusals.empty());
  EXPECT_FALSE(cudnn.trace.has_value());
  EXPECT_TRUE(recordings.at("naive").trace.has_value());
}

TEST(Lab, AnUnknownVariantGetsAHint) {
  CpuDevice device(1);
  const auto failed = run(device, options({"naive", "flahs"}), {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, base::ErrorCode::usage);
  EXPECT_THAT(failed.error().message, HasSubstr("no variant is named 'flahs'"));
  EXPECT_EQ(failed.error().remedy, "did you mean 'flash'?");
  const auto far = run(device, options({"zzzzzzzzzz"}), {});
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().remedy, HasSubstr("one of naive, naive_inplace"));
}

TEST(Lab, InputsThatDoNotFitAreRefusedWithNumbers) {
  CpuDevice device(1);
  Options huge = options({"flash"});
  huge.problem.batch = 1 << 20;
  huge.problem.length = huge.problem.kv_length = 1 << 14;
  const auto failed = run(device, huge, {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, base::ErrorCode::unsupported);
  EXPECT_THAT(failed.error().message, HasSubstr("TiB"));
  EXPECT_THAT(failed.error().message, HasSubstr("free"));
  Options wrong = options({"flash"});
  wrong.problem.heads = 5;
  wrong.problem.kv_heads = 2;
  const auto invalid = run(device, wrong, {});
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().code, base::ErrorCode::usage);
}

TEST(Lab, AScoreMatrixThatDoesNotFitIsARefusalOfThatVariant) {
  CpuDevice device(2);
  Options large = options({"naive", "flash"}, MaskKind::none);
  large.problem.batch = 1;
  large.problem.heads = large.problem.kv_heads = 1;
  // As long as needed for one score matrix to exceed what is free.
  const double free_bytes = static_cast<double>(device.available_bytes());
  int64_t length = 1024;
  while (static_cast<double>(length) * static_cast<double>(length) * 2 <= free_bytes) length *= 2;
  large.problem.length = large.problem.kv_length = length;
  large.problem.head_dim = 1;
  large.variants = {"naive"};
  const auto recordings = run(device, large, {});
  ASSERT_TRUE(recordings) << describe(recordings.error());
  ASSERT_EQ(recordings->size(), 1u);
  EXPECT_FALSE((*recordings)[0].trace.has_value());
  EXPECT_THAT((*recordings)[0].refusals, testing::Contains(HasSubstr("iB")));
}

TEST(Lab, ProgressRisesToItsTotal) {
  CpuDevice device(1);
  std::vector<int> done;
  std::set<int> totals;
  const auto recordings =
      run(device, options({"naive", "cudnn", "flash"}), [&](const std::string& what, int at, int total) {
        EXPECT_FALSE(what.empty());
        done.push_back(at);
        totals.insert(total);
      });
  ASSERT_TRUE(recordings);
  EXPECT_THAT(totals, ElementsAre(15));
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 15);
}

TEST(Lab, TheSameSeedGivesTheSameErrors) {
  const Options asked = options({"naive"});
  const auto a = run_all(asked), b = run_all(asked);
  EXPECT_EQ(a.at("naive").max_abs_error, b.at("naive").max_abs_error);
  EXPECT_EQ(a.at("naive").error_bound, b.at("naive").error_bound);
  Options other = asked;
  other.seed = 2;
  EXPECT_NE(run_all(other).at("naive").max_abs_error, a.at("naive").max_abs_error);
}

}  // namespace
}  // namespace hunch::lab
