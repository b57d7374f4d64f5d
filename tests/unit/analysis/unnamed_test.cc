// Forwards that nothing names, in traces made by hand: what is found, and what must not be claimed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hand_made.h"
#include "hunch/analysis/layers.h"
#include "hunch/analysis/repetition.h"

namespace hunch::analysis {
namespace {

// One kernel a letter, each launched by a call of its own.
trace::Trace kernels(const std::string& letters, const std::string& op = {}) {
  HandMade made;
  double at = 0;
  uint64_t correlation = 1;
  for (const char letter : letters) {
    const std::string name(1, letter);
    if (letter == 'e') made.op("aten::embedding", at, at + 8);
    if (!op.empty()) made.op(op, at, at + 9);
    made.call(correlation, at + 1, at + 3);
    made.kernel(correlation++, at + 4, at + 7, "kernel_" + name);
    at += 10;
  }
  return made.finish();
}

std::string found_in(const trace::Trace& trace) {
  const Analysis a = analyze(trace);
  std::size_t work = a.unattributed.size();
  std::string text;
  for (const Forward& forward : a.forwards) {
    for (const ForwardRun& run : forward.runs) work += run.work.size();
    text += (text.empty() ? "" : ", ") + forward.range + " x" + std::to_string(forward.runs.size());
  }
  EXPECT_EQ(work, a.timeline.device_order.size()) << "set-up, bodies and tail add up";
  return text;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Unnamed, SetUpBodiesTail) {
  EXPECT_EQ(found_in(kernels("xy" + repeated("abcbd", 3) + "z")), "repetition of 5 kernels x3");
  EXPECT_EQ(found_in(kernels(repeated("abcbd", 2) + "abc")), "repetition of 5 kernels x2");
}

TEST(Unnamed, ForwardsNotTheirLayers) {
  const std::string forward = "i" + repeated("abcd", 8) + "h";
  EXPECT_EQ(found_in(kernels(repeated(forward, 3))), "repetition of 34 kernels x3");
  EXPECT_EQ(found_in(kernels("pppq" + repeated(forward, 50) + "i")), "repetition of 34 kernels x50");
}

TEST(Unnamed, LayersOfOneForwardAreNone) {
  EXPECT_EQ(found_in(kernels("e" + repeated("abcd", 8) + "h")), "whole trace x1");
  EXPECT_EQ(found_in(kernels(repeated("abcd", 8), "autograd::engine::evaluate_function: X")),
            "whole trace x1");
}

TEST(Unnamed, ThreeProductsInARowAreNone) {
  EXPECT_EQ(found_in(kernels("mmmfm")), "whole trace x1");
  EXPECT_EQ(found_in(kernels("rrrf")), "whole trace x1");
  EXPECT_EQ(found_in(kernels("fff")), "repetition of 1 kernel x3");
  EXPECT_EQ(found_in(kernels("rrr" + repeated("f", 10))), "repetition of 1 kernel x10");
}

TEST(Unnamed, NoiseIsTheWholeTrace) {
  EXPECT_EQ(found_in(kernels("abcdefghabxcdzfgh")), "whole trace x1");
  EXPECT_EQ(found_in(kernels("abcdabce")), "whole trace x1");
  EXPECT_EQ(found_in(kernels("abcdabcd" + std::string("uvwstxyz"))), "whole trace x1") << "half is not most";
}

TEST(Unnamed, CopiesThatNotAllHave) {
  HandMade made;
  double at = 0;
  uint64_t correlation = 1;
  for (int run = 0; run < 3; ++run)
    for (const char letter : std::string(run == 1 ? "abMcd" : "abcd")) {
      made.op("op", at, at + 9);
      made.call(correlation, at + 1, at + 3);
      made.device_work(letter == 'M' ? trace::EventKind::memcpy : trace::EventKind::kernel, correlation++,
                       at + 4, at + 7, letter == 'M' ? "Memcpy DtoD" : std::string(1, letter));
      at += 10;
    }
  const trace::Trace trace = made.finish();
  const Analysis a = analyze(trace);
  ASSERT_EQ(a.forwards.size(), 1u);
  ASSERT_EQ(a.forwards[0].runs.size(), 3u);
  EXPECT_EQ(a.forwards[0].runs[1].memcpys, 1);
  for (const ForwardRun& run : a.forwards[0].runs) EXPECT_EQ(run.kernels, 4);
  EXPECT_THAT(a.unattributed, testing::IsEmpty());
}

trace::Trace replays(int count, bool sampling) {
  HandMade made;
  double at = 0;
  uint64_t correlation = 1;
  for (int i = 0; i < count; ++i) {
    made.call(correlation, at, at + 2, "1", "100", trace::EventKind::runtime_call, "cudaGraphLaunch");
    for (int k = 0; k < 12; ++k)
      made.kernel(correlation, at + 3 + k, at + 3.5 + k, k % 3 == 0 ? "a" : k % 3 == 1 ? "b" : "c");
    ++correlation;
    if (sampling) {
      made.call(correlation, at + 16, at + 17);
      made.kernel(correlation++, at + 18, at + 19, "sample");
    }
    at += 20;
  }
  return made.finish();
}

TEST(Unnamed, AReplayIsAForward) {
  EXPECT_EQ(found_in(replays(1, false)), "graph replay of 12 kernels x1") << "not its four layers";
  EXPECT_EQ(found_in(replays(3, false)), "graph replay of 12 kernels x3");
  EXPECT_EQ(found_in(replays(3, true)), "repetition of 13 kernels x3") << "what goes with it belongs to it";
}

TEST(Unnamed, ModulesThatRepeat) {
  HandMade made;
  double at = 0;
  uint64_t correlation = 1;
  for (int run = 0; run < 2; ++run) {
    made.host(trace::EventKind::python_frame, "nn.Module: Model_0", at, at + 39);
    for (int layer = 0; layer < 3; ++layer) {
      made.host(trace::EventKind::python_frame, "nn.Module: Layer_" + std::to_string(layer), at + 1, at + 9);
      made.host(trace::EventKind::python_frame, "nn.Module: ReLU_0", at + 2, at + 8);
      made.call(correlation, at + 3, at + 4);
      made.kernel(correlation++, at + 5, at + 6, "k");
      at += 10;
    }
    at += 20;
  }
  const trace::Trace trace = made.finish();
  EXPECT_EQ(found_in(trace), "nn.Module: Model_0 x2");
  const Analysis a = analyze(trace);
  EXPECT_EQ(a.forwards[0].source, ForwardSource::module);
  const Layers layers = find_layers(a, a.forwards[0].runs[1]);
  EXPECT_EQ(layers.source, LayerSource::module);
  ASSERT_EQ(layers.rows.size(), 3u);
  EXPECT_EQ(layers.rows[2].name, "Layer_2");
  EXPECT_EQ(layers.rows[2].device_ns, 1000);
}

TEST(Unnamed, RunsHaveTheirPartOfTheHost) {
  const trace::Trace trace = kernels(repeated("abcd", 3), "op");
  const Analysis a = analyze(trace);
  const auto& runs = a.forwards.at(0).runs;
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[1].host_start, 40'000);
  EXPECT_EQ(runs[1].host_ns, 39'000);
  for (EventId i = 0; i < trace.size(); ++i) {
    if (trace.kind[i] != trace::EventKind::op) continue;
    EXPECT_EQ(a.lies_in(runs[1], i), trace.start[i] >= 40'000 && trace.start[i] < 79'000);
  }
}

// Against the definition, tried at every place with every period.
TEST(Repetition, IsTheBestOfAll) {
  uint32_t state = 1;
  const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 24; };
  int found_some = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint32_t> symbols, weights;
    const std::size_t length = 2 + random() % 24, period = 1 + random() % 8;
    for (std::size_t i = 0; i < length; ++i) {
      symbols.push_back(i < period || random() % 16 == 0 ? random() % 3 : symbols[i - period]);
      weights.push_back(1 + symbols.back());
    }
    uint64_t total = 0, best = 0;
    std::size_t shortest = 0;
    for (const uint32_t weight : weights) total += weight;
    for (std::size_t p = 1; 2 * p <= length; ++p)
      for (std::size_t first = 0; first + 2 * p <= length; ++first) {
        std::size_t end = first + p;
        while (end < length && symbols[end] == symbols[end - p]) ++end;
        const std::size_t count = (end - first) / p;
        if (count < 2) continue;
        uint64_t covered = 0;
        for (std::size_t i = first; i < first + count * p; ++i) covered += weights[i];
        if (2 * covered > total && covered > best) {
          best = covered;
          shortest = p;
        }
      }
    const auto found = find_repetition(symbols, weights, [](const Repetition&) { return true; });
    ASSERT_EQ(found.has_value(), best > 0) << "round " << round;
    if (!found) continue;
    ++found_some;
    for (std::size_t i = found->first + found->period; i < found->end() + found->slack; ++i)
      ASSERT_EQ(symbols[i], symbols[i - found->period]);
    uint64_t covered = 0;
    for (std::size_t i = found->first; i < found->end(); ++i) covered += weights[i];
    ASSERT_EQ(covered, best) << "round " << round;
    ASSERT_EQ(found->period, shortest) << "round " << round;
  }
  EXPECT_GT(found_some, 500);
}

TEST(Repetition, AMillionSymbols) {
  std::vector<uint32_t> symbols, weights(1'000'000, 1);
  for (std::size_t i = 0; i < weights.size(); ++i) symbols.push_back(static_cast<uint32_t>(i % 333 % 41));
  const auto found = find_repetition(symbols, weights, [](const Repetition&) { return true; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 333u);
  EXPECT_EQ(found->count, 3003u);
}

}  // namespace
}  // namespace hunch::analysis
