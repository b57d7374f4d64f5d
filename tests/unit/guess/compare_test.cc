// Judging: for each metric a guess that holds and one that misses with its evidence, on a small trace with
// known answers; then what cannot be judged, references, ranges and the order of verdicts.
#include <gtest/gtest.h>

#include "hunch/guess/guess.h"
#include "hunch/guess/metrics.h"
#include "hunch/guess/sequence.h"
#include "hunch/trace/builder.h"

namespace hunch::guess {
namespace {

using trace::DeviceDetail;
using trace::EventKind;

// One range "fwd" that ran twice: matmul, masked_fill (a copy and a kernel), a memset, matmul on an H200.
class TraceMaker {
 public:
  TraceMaker() {
    host_ = builder_.track("1", "1");
    device_ = builder_.track("0", "7");
    trace::DeviceProperties h200;
    h200.name = "NVIDIA H200";
    h200.compute_major = 9;
    h200.multiprocessors = 132;
    h200.max_threads_per_block = 1024;
    h200.max_threads_per_multiprocessor = 2048;
    h200.registers_per_multiprocessor = 65536;
    h200.shared_bytes_per_block = 49152;
    h200.shared_bytes_per_block_optin = 232448;
    h200.shared_bytes_per_multiprocessor = 233472;
    builder_.trace().devices.push_back(h200);
  }

  void host(EventKind kind, std::string_view name, int64_t start, int64_t duration,
            uint64_t correlation = 0) {
    builder_.add({kind, name, host_, start, duration, correlation, 0, index_++, nullptr, nullptr});
  }
  void device(EventKind kind, std::string_view name, int64_t start, int64_t duration, uint64_t correlation) {
    DeviceDetail detail;
    detail.device = 0;
    detail.stream = 7;
    if (kind == EventKind::kernel) {
      detail.registers = 255;
      detail.shared_bytes = 49152;
      detail.grid = {1024, 1, 1};
      detail.block = {128, 1, 1};
    } else {
      detail.bytes = 1024;
    }
    builder_.add({kind, name, device_, start, duration, correlation, 0, index_++, &detail, nullptr});
  }

  trace::Trace forward_twice() {
    for (int run = 0; run < 2; ++run) {
      const int64_t t = run * 100000;
      const auto id = [&](int i) { return static_cast<uint64_t>(run * 100 + i); };
      host(EventKind::annotation, "fwd", t, 50000);
      host(EventKind::op, "aten::matmul", t + 1000, 5000);
      host(EventKind::runtime_call, "cudaLaunchKernel", t + 2000, 1000, id(1));
      host(EventKind::op, "aten::masked_fill", t + 10000, 20000);
      host(EventKind::op, "aten::clone", t + 11000, 8000);
      host(EventKind::op, "aten::copy_", t + 12000, 6000);
      host(EventKind::runtime_call, "cudaMemcpyAsync", t + 13000, 1000, id(2));
      host(EventKind::op, "aten::masked_fill_", t + 20000, 8000);
      host(EventKind::runtime_call, "cudaLaunchKernel", t + 21000, 1000, id(3));
      host(EventKind::runtime_call, "cudaMemsetAsync", t + 31000, 1000, id(4));
      host(EventKind::op, "aten::matmul", t + 33000, 5000);
      host(EventKind::runtime_call, "cudaLaunchKernel", t + 34000, 1000, id(5));
      device(EventKind::kernel,
             "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_"
             "kernel",
             t + 60000, 5000, id(1));
      device(EventKind::memcpy, "Memcpy DtoD (Device -> Device)", t + 66000, 2000, id(2));
      device(EventKind::kernel,
             "void at::native::vectorized_elementwise_kernel<4, at::native::masked_fill_kernel>()", t + 70000,
             1000, id(3));
      device(EventKind::memset, "Memset (Device)", t + 72000, 500, id(4));
      device(EventKind::kernel,
             "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_"
             "kernel",
             t + 73000, 4000, id(5));
    }
    return builder_.finish();
  }

  trace::TraceBuilder builder_;
  uint32_t host_ = 0;
  uint32_t device_ = 0;
  uint32_t index_ = 0;
};

class Compare : public ::testing::Test {
 protected:
  Compare() : trace_(TraceMaker().forward_twice()), analysis_(analysis::analyze(trace_)) {}

  Verdict judge(const std::string& words) {
    const auto guess = parse_guess_words(words);
    EXPECT_TRUE(guess) << base::describe(guess.error());
    const auto verdicts = compare(*guess, analysis_, {});
    EXPECT_TRUE(verdicts) << base::describe(verdicts.error());
    EXPECT_EQ(verdicts->size(), 1u);
    return verdicts->front();
  }

  trace::Trace trace_;
  analysis::Analysis analysis_;
};

TEST_F(Compare, RightGuessesHold) {
  for (const char* words :
       {"kernels=3", "memcpy=1", "memset=1", "kernels=1..3", "sequence=matmul,memcpy,masked_fill,matmul",
        "device_time='<= 12500 ns'", "busy_time='<= 12500 ns'", "host_time='50 us..50 us'",
        "tensor_cores=true", "dtype=bf16", "occupancy='12..13'"}) {
    const auto verdict = judge(words);
    EXPECT_EQ(verdict.outcome, Outcome::holds) << words << ": seen " << verdict.seen << " " << verdict.why;
    EXPECT_FALSE(verdict.seen.empty()) << words;
  }
}

TEST_F(Compare, WrongGuessesMissWithEvidence) {
  for (const char* words : {"kernels=5", "memcpy=0", "memset=0", "sequence=matmul,masked_fill,matmul",
                            "device_time='< 12500 ns'", "busy_time='< 12500 ns'", "host_time='< 50 us'",
                            "tensor_cores=false", "dtype=f16", "occupancy='100 %'"}) {
    const auto verdict = judge(words);
    EXPECT_EQ(verdict.outcome, Outcome::misses) << words << ": seen " << verdict.seen << " " << verdict.why;
    EXPECT_FALSE(verdict.events.empty()) << words;
    EXPECT_FALSE(verdict.seen.empty()) << words;
  }
}

TEST_F(Compare, NamesTheEventsThatWereNotGuessed) {
  const auto copies = judge("memcpy=0");
  ASSERT_EQ(copies.events.size(), 1u);
  EXPECT_EQ(trace_.kind[copies.events[0]], EventKind::memcpy);
  EXPECT_EQ(copies.seen, "1");

  // The copy inside masked_fill is the extra event, not the kernel of masked_fill.
  const auto sequence = judge("sequence=matmul,masked_fill,matmul");
  ASSERT_EQ(sequence.events.size(), 1u);
  EXPECT_EQ(trace_.kind[sequence.events[0]], EventKind::memcpy);
  EXPECT_EQ(sequence.why, "not guessed: memcpy");
  const auto missing = judge("sequence=matmul,memcpy,masked_fill,softmax,matmul");
  EXPECT_EQ(missing.why, "not run: softmax");
}

TEST(Sequence, OfAWholeTraceIsAlignedStepByStep) {
  trace::TraceBuilder builder;
  constexpr int kPairs = 10'000;
  for (int i = 0; i < kPairs; ++i)
    for (const char* name : {"hunch::matmul<f32>", "hunch::softmax<f32>"}) {
      trace::Event event;
      event.kind = EventKind::kernel;
      event.name = name;
      event.track = builder.track("0", "7");
      event.start = static_cast<base::Ns>(builder.trace().size());
      event.duration = 1;
      builder.add(event);
    }
  const trace::Trace trace = builder.finish();
  const analysis::Analysis analysis = analysis::analyze(trace);
  analysis::ForwardRun run;
  run.work = analysis.timeline.device_order;
  std::vector<std::string> guess;
  for (int i = 0; i < kPairs; ++i) {
    guess.emplace_back("matmul");
    if (i == 4000) guess.emplace_back("rotary");  // nowhere
    if (i != 7000) guess.emplace_back("softmax");
  }
  const SequenceDifference difference = align(guess, analysis, run);
  EXPECT_EQ(difference.missing, std::vector<std::string>{"rotary"});
  EXPECT_EQ(difference.extra, std::vector<analysis::EventId>{2 * 7000 + 1});
  EXPECT_TRUE(difference.seen.ends_with("softmax, and 19500 more"))
      << difference.seen.substr(difference.seen.size() - 40);
  guess.resize(2);
  EXPECT_EQ(align(guess, analysis, run).extra.size(), 2u * kPairs - 2);
}

TEST_F(Compare, SaysWhyItCannotJudge) {
  const auto memory = judge("peak_memory='< 1 MiB'");
  EXPECT_EQ(memory.outcome, Outcome::unknown);
  EXPECT_NE(memory.why.find("memory events"), std::string::npos);
  const auto reference = judge("device_time='< naive'");
  EXPECT_EQ(reference.outcome, Outcome::unknown);
  EXPECT_NE(reference.why.find("naive"), std::string::npos);
}

TEST(CompareRuns, JudgesTheBackendAndTheMemoryPeak) {
  TraceMaker maker;
  maker.host(EventKind::annotation, "fwd", 0, 50000);
  maker.host(EventKind::op, "aten::scaled_dot_product_attention", 1000, 40000);
  maker.host(EventKind::op, "aten::_scaled_dot_product_flash_attention", 2000, 30000);
  maker.host(EventKind::runtime_call, "cudaLaunchKernel", 9000, 1000, 1);
  maker.device(
      EventKind::kernel,
      "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>()",
      60000, 5000, 1);
  maker.builder_.add_memory({3000, maker.host_, 4096, 8192, 0});
  maker.builder_.add_memory({40500, maker.host_, -1024, 7168, 0});
  const auto trace = maker.builder_.finish();
  const auto analysis = analysis::analyze(trace);
  const auto judge = [&](const char* words) {
    const auto verdicts = compare(*parse_guess_words(words), analysis, {});
    EXPECT_TRUE(verdicts);
    return verdicts->front();
  };
  EXPECT_EQ(judge("backend=flash").outcome, Outcome::holds);
  const auto backend = judge("backend=cudnn");
  EXPECT_EQ(backend.outcome, Outcome::misses);
  EXPECT_EQ(backend.seen, "flash");
  ASSERT_EQ(backend.events.size(), 1u);
  EXPECT_EQ(trace.kind[backend.events[0]], EventKind::kernel);
  EXPECT_EQ(judge("peak_memory='<= 4 KiB'").outcome, Outcome::holds);
  const auto memory = judge("peak_memory='< 4 KiB'");
  EXPECT_EQ(memory.outcome, Outcome::misses);
  EXPECT_EQ(memory.seen, "4.00 KiB (reached in aten::_scaled_dot_product_flash_attention)");
  ASSERT_EQ(memory.events.size(), 1u);
  EXPECT_EQ(trace.name_of(memory.events[0]), "aten::_scaled_dot_product_flash_attention");
}

TEST(CompareRuns, JudgesTimesByTheirMedianAndCountsInEveryRun) {
  TraceMaker maker;
  for (int run = 0; run < 3; ++run) {
    const int64_t t = run * 100000;
    const auto id = static_cast<uint64_t>(run + 1);
    maker.host(EventKind::annotation, "fwd", t, 50000);
    maker.host(EventKind::runtime_call, "cudaLaunchKernel", t + 1000, 1000, id);
    maker.device(EventKind::kernel, "softmax_warp_forward", t + 60000, run == 1 ? 9000 : 2000, id);
    if (run == 2) {
      maker.host(EventKind::runtime_call, "cudaMemsetAsync", t + 3000, 1000, 10);
      maker.device(EventKind::memset, "Memset (Device)", t + 70000, 1, 10);
    }
  }
  const auto trace = maker.builder_.finish();
  const auto analysis = analysis::analyze(trace);
  const auto guess = parse_guess_words("device_time='<= 2001 ns' memset=0 host_time='< 50 us'");
  ASSERT_TRUE(guess);
  const auto verdicts = compare(*guess, analysis, {});
  ASSERT_TRUE(verdicts);
  ASSERT_EQ(verdicts->size(), 3u);
  for (const auto& verdict : *verdicts)
    EXPECT_EQ(verdict.outcome, verdict.metric == "device_time" ? Outcome::holds : Outcome::misses)
        << verdict.metric;
  EXPECT_EQ(verdicts->back().seen, "2.00 us (2.00 us..9.00 us)");
}

TEST_F(Compare, ReferencesOtherTraces) {
  const auto guess = parse_guess_words("device_time='< other' kernels='<= other'");
  ASSERT_TRUE(guess);
  const Reference others[] = {{"other", &analysis_}};
  const auto verdicts = compare(*guess, analysis_, {}, others);
  ASSERT_TRUE(verdicts);
  EXPECT_EQ((*verdicts)[0].metric, "device_time");
  EXPECT_EQ((*verdicts)[0].outcome, Outcome::misses);
  EXPECT_EQ((*verdicts)[0].expected, "< other (12.5 us)");
  EXPECT_EQ((*verdicts)[1].outcome, Outcome::holds);
}

TEST_F(Compare, ExplainsAMissByItsFinding) {
  const auto guess = parse_guess_words("memcpy=0");
  analysis::rules::Finding finding;
  finding.rule = "hidden_copy";
  finding.range = "fwd";
  finding.claim = "1 copy per forward";
  finding.cause = "aten::masked_fill clones its input";
  const auto verdicts = compare(*guess, analysis_, {finding});
  ASSERT_TRUE(verdicts);
  EXPECT_NE(verdicts->front().why.find("hidden_copy: 1 copy per forward (aten::masked_fill"),
            std::string::npos);
  finding.range = "another";
  const auto elsewhere = compare(*guess, analysis_, {finding});
  EXPECT_EQ(elsewhere->front().why.find("hidden_copy"), std::string::npos);
}

TEST_F(Compare, PutsTheMostSurprisingMissFirst) {
  const auto guess = parse_guess_words("kernels=3 memcpy=0 memset=100 kernels=3 ");
  ASSERT_FALSE(guess);  // twice
  const auto good = parse_guess_words("kernels=3 memcpy=0 memset=100 peak_memory='<1 MiB'");
  ASSERT_TRUE(good);
  const auto verdicts = compare(*good, analysis_, {});
  ASSERT_TRUE(verdicts);
  EXPECT_EQ((*verdicts)[0].metric, "memset");
  EXPECT_EQ((*verdicts)[1].metric, "memcpy");
  EXPECT_EQ((*verdicts)[2].outcome, Outcome::unknown);
  EXPECT_EQ((*verdicts)[3].outcome, Outcome::holds);
}

TEST_F(Compare, AsksForARangeThatExists) {
  const auto guess = parse_guess_words("range=fwdd kernels=3");
  const auto verdicts = compare(*guess, analysis_, {});
  ASSERT_FALSE(verdicts);
  EXPECT_EQ(verdicts.error().code, base::ErrorCode::usage);
  EXPECT_NE(verdicts.error().remedy.find("fwd"), std::string::npos);
}

}  // namespace
}  // namespace hunch::guess
