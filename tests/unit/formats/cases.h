// Pieces of which the cases' small traces are made.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"

namespace hunch::formats {

// A complete event; `args` are the members of its args, `more` further members of its own.
inline std::string event(const std::string& category, const std::string& name, const std::string& ts,
                         const std::string& dur, const std::string& args = {}, const std::string& pid = "1",
                         const std::string& tid = "1") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
      category, name, pid, tid, ts, dur, args);
}

inline std::string list(const std::vector<std::string>& events) {
  std::string text;
  for (const auto& one : events) text += (text.empty() ? "" : ",\n") + one;
  return text;
}

inline std::string object(const std::vector<std::string>& events, const std::string& before = {},
                          const std::string& behind = {}) {
  return "{" + before + R"("traceEvents": [)" + list(events) + "]" + behind + "}";
}

inline trace::Trace read_case(const std::string& text) {
  auto trace = read_trace_bytes(text, "case.json");
  EXPECT_TRUE(trace) << base::describe(trace.error());
  return trace ? std::move(*trace) : trace::Trace{};
}

}  // namespace hunch::formats
