// The text of every document at narrow, usual and wide terminals: it fits, ends cleanly, and says what it
// must.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hunch/base/strings.h"
#include "hunch/report/terminal/blocks.h"
#include "hunch/report/utf8.h"
#include "sample_reports.h"

namespace hunch::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Document> all_documents() {
  return {sample_explain(6), sample_explain(60), ExplainReport{}, sample_run(),   RunReport{}, sample_check(),
          CheckReport{},     sample_doctor(),    DoctorReport{},  sample_names(), NameReport{}};
}

std::string text(const Document& document, int width = 100, bool color = false) {
  Style style;
  style.width = width;
  style.color = color;
  return find_renderer("text")->render(document, style);
}

class Widths : public testing::TestWithParam<int> {};

TEST_P(Widths, LinesFitAndEndCleanly) {
  const auto width = static_cast<std::size_t>(GetParam());
  for (const Document& document : all_documents()) {
    const std::string out = text(document, GetParam());
    EXPECT_TRUE(out.empty() || out.back() == '\n');
    for (const auto line : base::split(out, '\n')) {
      const bool one_word = base::trim(line).find(' ') == std::string_view::npos;
      EXPECT_TRUE(display_width(line) <= width || one_word) << document.index() << ": " << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
      EXPECT_EQ(line.find('\x1b'), std::string_view::npos);
    }
  }
}

TEST_P(Widths, ColourAddsOnlyColour) {
  for (const Document& document : all_documents()) {
    const std::string colored = text(document, GetParam(), true);
    std::string plain;
    for (std::size_t i = 0; i < colored.size(); ++i) {
      if (colored[i] == '\x1b')
        i = colored.find('m', i);
      else
        plain += colored[i];
    }
    EXPECT_EQ(plain, text(document, GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Terminal, Widths, testing::Values(60, 80, 120));

TEST(Counts, ReadAsOneSpeaksThem) {
  using terminal::work_text;
  EXPECT_EQ(work_text({5, 5, 5}, {1, 1, 1}, {0, 0, 0}), "5 + 1 copy");
  EXPECT_EQ(work_text({5, 5, 5}, {2, 2, 2}, {1, 1, 1}), "5 + 2 copies (+ 1 memset)");
  EXPECT_EQ(work_text({20, 20, 20}, {0, 0, 0}, {0, 0, 0}), "20");
  EXPECT_EQ(work_text({5, 6, 7}, {0, 1, 1}, {2, 2, 2}), "5..7 + 0..1 copies (+ 2 memsets)");
}

TEST(Occupancy, TellsWrongZerosAndSmallGrids) {
  using terminal::occupancy_text;
  EXPECT_EQ(occupancy_text(OccupancyCell{0.0, 18.75, 18.75, "registers"}), "18.8 %, not 0");
  EXPECT_EQ(occupancy_text(OccupancyCell{13.0, 12.5, 12.5, "registers"}), "12.5 %");
  EXPECT_EQ(occupancy_text(OccupancyCell{3.0, 62.5, 3.125, "registers"}), "62.5 % (grid 3.1 %)");
  // A grid so small that 0 is right to the nearest percent: not called wrong.
  EXPECT_EQ(occupancy_text(OccupancyCell{0.0, 100.0, 0.01, "threads"}), "100 % (grid <0.1 %)");
  EXPECT_EQ(occupancy_text(OccupancyCell{13.0, std::nullopt, std::nullopt, ""}), "13 % (reported)");
  EXPECT_EQ(occupancy_text(std::nullopt), "");
}

TEST(ShortOp, NamesWhatAutogradCalls) {
  EXPECT_EQ(terminal::short_op("autograd::engine::evaluate_function: MmBackward0"), "MmBackward0");
  EXPECT_EQ(terminal::short_op("aten::mm"), "aten::mm");
}

TEST(EvidenceText, SaysASharedOpOnce) {
  using terminal::evidence_text;
  const Evidence fill = sample_evidence(35, "Memcpy DtoD", "aten::masked_fill");
  const Evidence add = sample_evidence(36, "add", "aten::add");
  EXPECT_EQ(evidence_text({fill}, 3), "event 35: Memcpy DtoD (127 us), launched by aten::masked_fill");
  EXPECT_EQ(evidence_text({fill, fill, fill}, 2),
            "event 35: Memcpy DtoD (127 us); event 35: Memcpy DtoD (127 us); and 1 more, all launched by "
            "aten::masked_fill");
  EXPECT_EQ(
      evidence_text({fill, add}, 3),
      "event 35: Memcpy DtoD (127 us), launched by aten::masked_fill; event 36: add (127 us), launched by "
      "aten::add");
  EXPECT_EQ(evidence_text({}, 3), "");
}

TEST(Explain, SaysWhatRanAndWhatSurprises) {
  const std::string out = text(sample_explain(6), 140);
  EXPECT_THAT(out, HasSubstr("naive.json.gz"));
  EXPECT_THAT(out, HasSubstr("NVIDIA H200 (sm_90), 1,234 events over 12.3 ms"));
  EXPECT_THAT(out, HasSubstr("attn_fwd: 3 runs"));
  EXPECT_THAT(out, HasSubstr("5 + 1 copy (+ 0..1 memsets)"));
  EXPECT_THAT(out, HasSubstr("1.06 ms (1.06 ms to 1.07 ms)"));
  EXPECT_THAT(out, HasSubstr("the first run; the runs differ:"));
  EXPECT_THAT(out, HasSubstr("  op (aten) "));
  EXPECT_THAT(out, HasSubstr("  masked_fill > copy_ "));
  EXPECT_THAT(out, HasSubstr("16.7 %"));
  EXPECT_THAT(out, HasSubstr("hidden_copy: 1 copy per forward"));
  EXPECT_THAT(out, HasSubstr("event 35: Memcpy DtoD (127 us), launched by aten::masked_fill"));
  EXPECT_THAT(out, HasSubstr("127 us and 256 MiB per forward"));
  EXPECT_THAT(out, HasSubstr("3 skipped"));
  EXPECT_THAT(out, HasSubstr("7 (12.0 us) in none"));
  EXPECT_THAT(out, HasSubstr("5 without a launch call"));
  EXPECT_THAT(out, HasSubstr("skipped: event without a name (3)"));
  EXPECT_THAT(out, HasSubstr("warning: the file was cut off"));
}

TEST(Explain, GroupsLongForwardsAndSaysWhatItLeavesOut) {
  ExplainReport report = sample_explain(60);
  for (std::size_t i = 0; i < report.kernels.size(); ++i)
    report.kernels[i].readable = "kernel " + std::to_string(i);
  Style style;
  style.top = 10;
  const std::string out = find_renderer("text")->render(report, style);
  EXPECT_THAT(out, HasSubstr("and 50 more kinds: 50 calls, 6.35 ms"));
  EXPECT_THAT(out, Not(HasSubstr("kernel 11 ")));
  style.top = 0;
  const std::string all = find_renderer("text")->render(report, style);
  EXPECT_THAT(all, HasSubstr("kernel 59 "));
  EXPECT_THAT(all, Not(HasSubstr("more kinds")));
}

// What no op launched was launched all the same, unless the trace lacks the call.
TEST(Explain, SaysWhetherAnOpOrALaunchIsMissing) {
  for (const std::size_t events : {2, 60}) {
    ExplainReport report = sample_explain(events);
    for (KernelRow& row : report.kernels) row.op = row.inner_op = "";
    for (Step& step : report.forwards[0].sequence) step.op = step.inner_op = "";
    EXPECT_THAT(text(report, 140), Not(HasSubstr("(no op)"))) << events;  // the column would say nothing
    report.forwards[0].sequence[0].op = report.kernels[0].op = "aten::add";
    EXPECT_THAT(text(report, 140), HasSubstr("(no op)")) << events;
    EXPECT_THAT(text(report, 140), Not(HasSubstr("(no launch)"))) << events;
    for (KernelRow& row : report.kernels) row.launched = false;
    for (Step& step : report.forwards[0].sequence) step.launched = false;
    EXPECT_THAT(text(report, 140), HasSubstr("(no launch)")) << events;
    EXPECT_THAT(text(report, 140), Not(HasSubstr("(no op)"))) << events;
  }
}

TEST(Explain, SaysWhatAttentionThereIsWithoutABackend) {
  ExplainReport report = sample_explain(2);
  report.forwards[0].backend.clear();
  EXPECT_THAT(text(report, 140), HasSubstr("none recognised"));
  report.kernels[1].family = "attention_forward";
  report.kernels[1].readable = "unified attention";
  EXPECT_THAT(text(report, 140), HasSubstr("of no known backend: unified attention"));
}

TEST(Explain, FullNamesOnlyWhenAsked) {
  Style style;
  EXPECT_THAT(find_renderer("text")->render(sample_explain(2), style),
              Not(HasSubstr("vectorized_elementwise_kernel")));
  style.full_names = true;
  EXPECT_THAT(find_renderer("text")->render(sample_explain(2), style),
              HasSubstr("vectorized_elementwise_kernel"));
}

TEST(Explain, SaysWhenThereIsNoDeviceWork) {
  EXPECT_THAT(text(ExplainReport{}), HasSubstr("No device work in this trace"));
}

TEST(Run, ShowsEachVariantAtAGlance) {
  const std::string out = text(sample_run());
  EXPECT_THAT(out, HasSubstr("1 x 8 x 512 x 64, bf16, causal"));
  EXPECT_THAT(out, HasSubstr("AMD EPYC 7763 64-Core Processor, 2 threads, AVX2"));
  EXPECT_THAT(out, HasSubstr("naive_inplace  5 + 1 copy"));
  EXPECT_THAT(out, HasSubstr("0.0039 ok"));
  EXPECT_THAT(out, HasSubstr("misses 1 of 3"));
  EXPECT_THAT(
      out,
      HasSubstr("not available: the device is a CPU and cuDNN runs on NVIDIA GPUs; this build has no cuDNN"));
  EXPECT_THAT(out, HasSubstr("What the trace reveals"));
  EXPECT_THAT(out, HasSubstr("traces/naive_inplace.json.gz"));
  EXPECT_LT(out.find("MISS"), out.find("holds"));
}

TEST(Run, AnErrorBeyondItsBoundIsLoud) {
  RunReport report = sample_run();
  report.variants[0].error_ok = false;
  report.variants[0].max_abs_error = 0.031;
  EXPECT_THAT(text(report), HasSubstr("0.031 OVER 0.0078"));
}

TEST(Run, AMissPointsAtTheFindingThatExplainsIt) {
  RunReport report = sample_run();
  const auto& finding = report.variants[0].findings[0].finding;
  report.variants[0].guess[0].verdict.why =
      "not guessed: memcpy; " + finding.rule + ": " + finding.claim + " (" + finding.cause + ")";
  EXPECT_THAT(text(report), HasSubstr("because   not guessed: memcpy; hidden_copy, 1 below"));
}

TEST(Run, TopLimitsTheFindingsAndSaysSo) {
  RunReport report = sample_run();
  report.variants[0].findings.assign(3, sample_finding("attn_fwd"));
  Style style;
  style.top = 1;
  EXPECT_THAT(find_renderer("text")->render(report, style),
              HasSubstr("and 2 more findings; --top 0 tells all"));
  style.top = 0;
  EXPECT_THAT(find_renderer("text")->render(report, style), Not(HasSubstr("--top")));
}

TEST(Run, NarrowTablesSayWhatTheyLeaveOut) {
  EXPECT_THAT(text(sample_run(), 60), HasSubstr("left out at this width"));
}

TEST(Check, SaysTheOutcomeFirst) {
  EXPECT_THAT(text(sample_check()),
              testing::StartsWith("guess.toml against naive.json.gz: misses 1 of 3; 1 cannot be judged\n"));
  CheckReport good = sample_check();
  good.verdicts.erase(good.verdicts.begin(), good.verdicts.begin() + 2);
  EXPECT_THAT(text(good), testing::StartsWith("guess.toml against naive.json.gz: holds, all 1 of it\n"));
}

TEST(Doctor, KeepsItsColumns) {
  EXPECT_EQ(text(sample_doctor(), 60),
            "CUDA         off      not in this build; traces of a GPU can\n"
            "                      be read all the same, and explained in\n"
            "                      full\n"
            "oneDNN       ok       2.6.3\n"
            "this folder  missing  cannot be written\n");
}

TEST(Name, UntoldIsADash) {
  const std::string out = text(sample_names());
  EXPECT_THAT(out, HasSubstr("tensor cores   yes"));
  EXPECT_THAT(out, HasSubstr("family         unknown"));
  EXPECT_THAT(out, HasSubstr("backend        -"));
}

}  // namespace
}  // namespace hunch::report
