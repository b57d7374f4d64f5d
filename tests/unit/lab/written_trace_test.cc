// What the laboratory recorded, written and read again: the same, and of a form that viewers can draw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "hunch/formats/reader.h"
#include "hunch/formats/writer.h"
#include "hunch/lab/lab.h"
#include "hunch/tensor/cpu_device.h"
#include "tests/unit/formats/same_trace.h"

namespace hunch::lab {
namespace {

using trace::EventId;
using trace::Trace;

Trace record(const std::string& variant) {
  tensor::CpuDevice device(2);
  Options options;
  options.problem.heads = options.problem.kv_heads = 2;
  options.problem.length = options.problem.kv_length = 33;
  options.problem.head_dim = 8;
  options.variants = {variant};
  auto recordings = run(device, options, {});
  if (!recordings || !recordings->front().trace) {
    ADD_FAILURE() << variant << " gave no trace";
    return {};
  }
  return std::move(*recordings->front().trace);
}

class WrittenTrace : public testing::TestWithParam<const char*> {};

TEST_P(WrittenTrace, ReadsBackAsItWas) {
  const Trace trace = record(GetParam());
  const auto again = formats::read_trace_bytes(formats::chrome_json_text(trace), "written");
  ASSERT_TRUE(again) << base::describe(again.error());
  formats::expect_same_trace(trace, *again, true);
  EXPECT_EQ(again->stats.skipped, 0u);
  EXPECT_TRUE(again->devices.at(0).is_cpu);
  EXPECT_FALSE(again->memory.empty());
}

// Viewers drop a slice that begins inside another of its track and ends outside.
TEST_P(WrittenTrace, SlicesOfATrackNestInTheirOrder) {
  const Trace trace = record(GetParam());
  std::map<uint32_t, std::vector<EventId>> open;
  for (EventId row = 0; row < trace.size(); ++row) {
    auto& stack = open[trace.track[row]];
    while (!stack.empty() && trace.end(stack.back()) <= trace.start[row]) stack.pop_back();
    if (!stack.empty()) {
      EXPECT_LE(trace.start[stack.back()], trace.start[row]) << "rows of a track are sorted";
      EXPECT_LE(trace.end(row), trace.end(stack.back()))
          << trace.name_of(row) << " crosses " << trace.name_of(stack.back());
    }
    stack.push_back(row);
  }
  EXPECT_EQ(open.size(), 2u) << "one host thread, one stream";
}

INSTANTIATE_TEST_SUITE_P(Variants, WrittenTrace,
                         testing::Values("naive", "naive_inplace", "math", "efficient", "flash"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace hunch::lab
