// No time is rounded away: wall times are accounted for to the nanosecond on every real trace, and device
// times are the integer sums of the decimal texts in the file, added up here without hunch's reader.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "hunch/formats/gzip.h"
#include "hunch/formats/reader.h"
#include "hunch/report/report.h"

namespace hunch::report {
namespace {

using simdjson::dom::element;

std::vector<std::filesystem::path> real_traces() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(HUNCH_TEST_DATA "/traces"))
    if (entry.path().extension() == ".gz") paths.push_back(entry.path());
  return paths;
}

ExplainReport explain_text(std::string_view bytes, Per per = Per::none) {
  const auto trace = formats::read_trace_bytes(bytes, "made.json");
  EXPECT_TRUE(trace.has_value());
  return explain(analysis::analyze(*trace), {}, per);
}

element parse(simdjson::dom::parser& parser, const std::string& text) {
  element root;
  EXPECT_EQ(parser.parse(text).get(root), simdjson::SUCCESS);
  return root;
}

int64_t number(element object, const char* key) {
  int64_t value = -1;
  EXPECT_EQ(object[key].get(value), simdjson::SUCCESS) << key;
  return value;
}

// `count` kernels of `dur` microseconds (as text), one after the other.
std::string kernels_of(int count, const std::string& dur) {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < count; ++i)
    text += fmt::format(
        R"({}{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5204627728{:03}.397,"dur":{},)"
        R"("args":{{"device":0,"stream":7,"correlation":{}}}}})",
        i == 0 ? "" : ",", i, dur, i + 1);
  return text + "]}";
}

TEST(Accounting, PartsAddUpToTheWallTimeOnEveryRealTrace) {
  std::size_t forwards = 0;
  for (const auto& path : real_traces()) {
    const auto trace = formats::read_trace(path.string());
    ASSERT_TRUE(trace.has_value()) << path;
    const auto report = explain(analysis::analyze(*trace), {});
    simdjson::dom::parser parser;
    const std::string text = find_renderer("json")->render(report, {});
    for (const element forward : parse(parser, text)["forwards"]) {
      const element account = forward["accounting"];
      int64_t sum = 0;
      for (const char* part :
           {"kernel_ns", "memcpy_ns", "memset_ns", "busy_other_ns", "wait_host_ns", "wait_sync_ns",
            "wait_launch_ns", "wait_device_ns", "after_work_ns", "unknown_ns"}) {
        EXPECT_GE(number(account, part), 0) << path << part;
        sum += number(account, part);
      }
      EXPECT_EQ(sum, number(account, "wall_ns")) << path;
      EXPECT_EQ(sum, number(account, "sum_ns")) << path;
      const int64_t recorded = number(account, "kernel_sum_ns") + number(account, "memcpy_sum_ns") +
                               number(account, "memset_sum_ns");
      EXPECT_EQ(recorded - number(account, "overlap_ns"),
                number(account, "kernel_ns") + number(account, "memcpy_ns") + number(account, "memset_ns"));
      ++forwards;
    }
  }
  EXPECT_GE(forwards, 18U);
}

TEST(Accounting, SplitsAddUpToTheirRun) {
  for (const char* name : {"llama_sdpa_prefill.json.gz", "naive.json.gz"}) {
    const auto trace = formats::read_trace(std::string(HUNCH_TEST_DATA "/traces/") + name);
    ASSERT_TRUE(trace.has_value());
    const auto analysis = analysis::analyze(*trace);
    for (const Per per : {Per::op, Per::layer, Per::step}) {
      const auto report = explain(analysis, {}, per);
      for (std::size_t i = 0; i < report.forwards.size(); ++i) {
        const ForwardRow& row = report.forwards[i];
        const auto& runs = analysis.forwards[i].runs;
        if (row.per.empty()) continue;
        if (per == Per::step) {
          ASSERT_EQ(row.per.size(), runs.size());
          for (std::size_t k = 0; k < runs.size(); ++k) {
            EXPECT_EQ(row.per[k].kernels, runs[k].kernels);
            EXPECT_EQ(row.per[k].device_ns, runs[k].device_ns);
            EXPECT_EQ(row.per[k].host_ns, runs[k].host_ns);
          }
          continue;
        }
        const auto& run = runs.at(static_cast<std::size_t>(row.per_run - 1));
        Ns device = 0;
        int64_t kernels = 0;
        for (const PerRow& one : row.per) device += one.device_ns, kernels += one.kernels;
        EXPECT_EQ(device, run.device_ns) << name << " " << name_of(per);
        EXPECT_EQ(kernels, run.kernels) << name << " " << name_of(per);
      }
    }
  }
}

TEST(Accounting, CountsCallsOfAnOpAndNotItsKernels) {
  const auto trace = formats::read_trace(HUNCH_TEST_DATA "/traces/naive.json.gz");
  ASSERT_TRUE(trace.has_value());
  const auto report = explain(analysis::analyze(*trace), {}, Per::op);
  const auto& rows = report.forwards.at(0).per;
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [](const PerRow& row) { return row.name == "aten::masked_fill"; });
  ASSERT_NE(found, rows.end());
  EXPECT_EQ(found->calls, 1);
  EXPECT_EQ(found->kernels, 1);
  EXPECT_EQ(found->memcpy, 1);
}

TEST(Exactness, KernelsOf200NanosecondsAreNotNothing) {
  // Rounded to whole microseconds, as tools do by default, every one of these is 0.
  const auto report = explain_text(kernels_of(100, "0.2"));
  EXPECT_EQ(report.statistics.device_ns, 20'000);
  ASSERT_EQ(report.kernels.size(), 1U);
  const ForwardRow& forward = report.forwards.at(0);
  EXPECT_EQ(forward.device_ns.median * forward.runs, 20'000);
  EXPECT_EQ(forward.accounting->kernel_sum_ns * forward.runs, 20'000);
}

TEST(Exactness, OverlapCountsOnce) {
  const auto report = explain_text(kernels_of(10, "1.5"));  // each starts 1 us after the one before
  const auto& account = report.forwards.at(0).accounting;
  ASSERT_TRUE(account.has_value());
  if (report.forwards[0].runs == 1) {
    EXPECT_EQ(account->kernel_sum_ns, 15'000);
    EXPECT_EQ(account->parts[0].ns, 10'500);
    EXPECT_EQ(account->overlap_ns, 4'500);
  }
  EXPECT_EQ(account->sum_ns, account->wall_ns);
}

// The nanoseconds of a decimal text in microseconds, by its digits.
int64_t ns_of(std::string_view text) {
  const auto dot = text.find('.');
  std::string digits(text.substr(0, dot));
  std::string fraction = dot == std::string_view::npos ? "" : std::string(text.substr(dot + 1));
  while (!fraction.empty() && (fraction.back() < '0' || fraction.back() > '9')) fraction.pop_back();
  EXPECT_LE(fraction.size(), 3U) << text;
  fraction.resize(3, '0');
  return std::stoll(digits) * 1000 + std::stoll(fraction);
}

TEST(Exactness, DeviceTimeIsTheSumOfTheFilesOwnDigits) {
  for (const auto& path : real_traces()) {
    std::ifstream file(path, std::ios::binary);
    const std::string packed{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = formats::gunzip(packed);
    ASSERT_TRUE(bytes.has_value()) << path;
    const simdjson::padded_string json(bytes->bytes());
    simdjson::ondemand::parser parser;
    auto document = parser.iterate(json);
    std::map<int64_t, int64_t> ns_of_event;
    int64_t kernels = 0, all = 0, index = -1;
    for (auto value : document["traceEvents"]) {
      ++index;
      auto event = value.get_object();
      std::string_view phase, category;
      if (event["ph"].get(phase) != simdjson::SUCCESS || phase != "X") continue;
      if (event["cat"].get(category) != simdjson::SUCCESS) continue;
      const bool kernel = category == "kernel";
      if (!kernel && category != "gpu_memcpy" && category != "gpu_memset") continue;
      simdjson::ondemand::value duration;
      ASSERT_EQ(event["dur"].get(duration), simdjson::SUCCESS);
      std::string_view digits = duration.raw_json_token();
      const int64_t ns = ns_of(digits);
      all += ns;
      if (kernel) kernels += ns;
      ns_of_event[index] = ns;
    }
    ASSERT_GT(kernels, 0) << path;
    const auto trace = formats::read_trace(path.string());
    ASSERT_TRUE(trace.has_value());
    const auto report = explain(analysis::analyze(*trace), {});
    simdjson::dom::parser reader;
    const std::string text = find_renderer("json")->render(report, {});
    const element root = parse(reader, text);
    EXPECT_EQ(number(root["statistics"], "device_ns"), all) << path;
    for (const element forward : root["forwards"])
      for (const element step : forward["sequence"])
        EXPECT_EQ(number(step, "device_ns"), ns_of_event.at(number(step, "event"))) << path;
  }
}

}  // namespace
}  // namespace hunch::report
