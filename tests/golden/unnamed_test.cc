// Real traces as if nobody had annotated them: the forwards that are found must count as the annotated ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "hunch/analysis/layers.h"
#include "hunch/formats/reader.h"
#include "stripped.h"

namespace hunch {
namespace {

using analysis::ForwardSource;

trace::Trace read(const std::string& path) {
  auto trace = formats::read_trace(path);
  EXPECT_TRUE(trace) << path;
  return trace ? std::move(*trace) : trace::Trace{};
}

void expect_adds_up(const analysis::Analysis& a) {
  std::size_t work = a.unattributed.size();
  for (const auto& forward : a.forwards)
    for (const auto& run : forward.runs) work += run.work.size();
  EXPECT_EQ(work, a.timeline.device_order.size());
}

TEST(Unnamed, RepetitionFindsTheAnnotatedForwards) {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(HUNCH_TEST_DATA) + "/traces")) {
    if (entry.path().extension() != ".gz") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto named_trace = read(entry.path().string());
    const auto named = analysis::analyze(named_trace);
    const auto bare_trace = without(read(entry.path().string()), names_a_forward_or_frame);
    const auto bare = analysis::analyze(bare_trace);
    ASSERT_EQ(bare.forwards.size(), 1u);
    const auto& found = bare.forwards[0];
    EXPECT_EQ(found.source, ForwardSource::repetition);
    ASSERT_EQ(found.runs.size(), 3u);
    // Ranges beside each other (fwd, bwd) are one forward; of nested ones (train_step) the outer counts.
    const bool beside = named.forwards[0].range == "fwd";
    for (std::size_t r = 0; r < 3; ++r) {
      int64_t kernels = 0, memcpys = 0, memsets = 0, device_ns = 0;
      for (std::size_t f = 0; f < (beside ? 2u : 1u); ++f) {
        const auto& run = named.forwards[f].runs[r];
        kernels += run.kernels, memcpys += run.memcpys, memsets += run.memsets, device_ns += run.device_ns;
      }
      EXPECT_EQ(found.runs[r].kernels, kernels);
      EXPECT_EQ(found.runs[r].memcpys, memcpys);
      EXPECT_EQ(found.runs[r].memsets, memsets);
      EXPECT_EQ(found.runs[r].device_ns, device_ns);
      EXPECT_GT(found.runs[r].host_ns, 0);
    }
    EXPECT_EQ(found.range, "repetition of " + std::to_string(found.runs[0].kernels) +
                               (found.runs[0].kernels == 1 ? " kernel" : " kernels"));
    EXPECT_EQ(bare.unattributed.size(), named.unattributed.size());
    expect_adds_up(bare);
  }
}

TEST(Unnamed, ModuleFramesComeBeforeRepetition) {
  const auto trace =
      without(read(std::string(HUNCH_TEST_DATA) + "/traces/llama_sdpa_prefill.json.gz"), names_a_forward);
  const auto a = analysis::analyze(trace);
  ASSERT_EQ(a.forwards.size(), 1u);
  EXPECT_EQ(a.forwards[0].source, ForwardSource::module);
  EXPECT_EQ(a.forwards[0].range, "nn.Module: LlamaForCausalLM_0");
  ASSERT_EQ(a.forwards[0].runs.size(), 3u);
  for (const auto& run : a.forwards[0].runs) EXPECT_EQ(run.kernels, 333);
}

TEST(Unnamed, LayersAddUpAndTheTwoWaysAgree) {
  const std::string path = std::string(HUNCH_TEST_DATA) + "/traces/llama_sdpa_prefill.json.gz";
  const auto framed = read(path);
  const auto bare = without(read(path), names_a_forward_or_frame);
  for (const auto* trace : {&framed, &bare}) {
    const auto a = analysis::analyze(*trace);
    for (const auto& run : a.forwards.at(0).runs) {
      const auto layers = analysis::find_layers(a, run);
      EXPECT_EQ(layers.source,
                trace == &framed ? analysis::LayerSource::module : analysis::LayerSource::repetition);
      std::size_t work = 0, bodies = 0;
      int64_t ns = 0;
      for (const auto& row : layers.rows) {
        work += row.work.size();
        ns += row.device_ns;
        if (row.is_layer) {
          ++bodies;
          EXPECT_EQ(row.work.size(), 41u) << row.name;
        }
      }
      EXPECT_EQ(bodies, 8u);
      EXPECT_EQ(work, run.work.size());
      EXPECT_EQ(ns, run.device_ns);
    }
  }
}

}  // namespace
}  // namespace hunch
