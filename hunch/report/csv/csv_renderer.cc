// One table for each kind of document: the device work of all ranges (or the rows of --per), the ranges of
// each rank, the variants, the verdicts, the facts of names, the items of a diff, the doctor's list.
#include "hunch/report/csv/csv_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "hunch/base/strings.h"

namespace hunch::report::csv {
namespace {

class Sheet {
 public:
  explicit Sheet(const std::vector<std::string_view>& titles) : columns_(titles.size()) {
    for (const std::string_view title : titles) *this << title;
  }
  Sheet& operator<<(std::string_view text) {
    const bool quote = text.find_first_of(",\"\r\n") != std::string_view::npos ||
                       (!text.empty() && (text.front() == ' ' || text.back() == ' '));
    if (quote) {
      out_ += '"';
      for (const char c : text) {
        if (c == '"') out_ += '"';
        out_ += c;
      }
      out_ += '"';
    } else {
      out_ += text;
    }
    at_ = (at_ + 1) % columns_;
    out_ += at_ == 0 ? "\r\n" : ",";
    return *this;
  }
  Sheet& operator<<(const std::string& text) { return *this << std::string_view(text); }
  Sheet& operator<<(const char* text) { return *this << std::string_view(text); }
  Sheet& operator<<(int64_t value) { return *this << std::string_view(fmt::format("{}", value)); }
  Sheet& operator<<(int value) { return *this << static_cast<int64_t>(value); }
  Sheet& operator<<(double value) {
    return *this << std::string_view(std::isfinite(value) ? fmt::format("{}", value) : std::string("NaN"));
  }
  Sheet& operator<<(bool value) { return *this << (value ? "true" : "false"); }
  template <class T>
  Sheet& operator<<(const std::optional<T>& value) {
    return value ? *this << *value : *this << std::string_view();
  }
  std::string take() { return std::move(out_); }

 private:
  std::size_t columns_;
  std::size_t at_ = 0;
  std::string out_;
};

// A known number, or nothing for the -1 of what the trace does not say.
std::optional<int64_t> known(int64_t value) {
  return value >= 0 ? std::optional<int64_t>(value) : std::nullopt;
}

bool left_out(const Style& style, std::size_t shown) {
  return style.top_given && style.top > 0 && shown >= static_cast<std::size_t>(style.top);
}

std::string split_up(const ExplainReport& report, const Style& style) {
  Sheet sheet({"range", std::string_view(name_of(report.per)), "calls", "kernels", "memcpy", "memset",
               "device_ns", "host_ns", "busy_ns"});
  for (const ForwardRow& forward : report.forwards) {
    std::size_t shown = 0;
    for (const PerRow& row : forward.per) {
      if (left_out(style, shown++)) break;
      sheet << forward.range << row.name << row.calls << row.kernels << row.memcpy << row.memset
            << row.device_ns << row.host_ns << row.busy_ns;
    }
  }
  return sheet.take();
}

std::string render(const ExplainReport& report, const Style& style) {
  if (report.per != Per::none) return split_up(report, style);
  Sheet sheet({"range", "kind", "family", "readable", "name", "op", "inner_op", "calls", "device_ns",
               "registers", "shared_bytes", "block", "grid", "reported_occupancy_pct",
               "theoretical_occupancy_pct", "grid_limited_occupancy_pct", "limited_by"});
  std::map<std::string_view, std::size_t> shown;
  for (const KernelRow& row : report.kernels) {
    if (left_out(style, shown[row.range]++)) continue;
    const OccupancyCell none;
    const OccupancyCell& occupancy = row.occupancy ? *row.occupancy : none;
    sheet << row.range << row.kind << row.family << row.readable << row.name << row.op << row.inner_op
          << row.calls << row.device_ns << known(row.registers) << known(row.shared_bytes) << row.block
          << row.grid << occupancy.reported_pct << occupancy.theoretical_pct << occupancy.grid_limited_pct
          << occupancy.limited_by;
  }
  return sheet.take();
}

std::string render(const RunReport& report, const Style&) {
  Sheet sheet({"variant",       "available",   "reasons",  "kernels",          "memcpy",
               "memset",        "device_ns",   "host_ns",  "peak_bytes",       "occupancy_pct",
               "max_abs_error", "error_bound", "error_ok", "guess_holds",      "guess_misses",
               "guess_unknown", "findings",    "trace",    "first_prepare_ns", "first_host_ns",
               "provider"});
  const auto median = [](const std::optional<Spread>& value) {
    return value ? std::optional<int64_t>(value->median) : std::nullopt;
  };
  for (const VariantRow& row : report.variants) {
    const auto outcomes = [&](guess::Outcome outcome) {
      return static_cast<int64_t>(
          std::count_if(row.guess.begin(), row.guess.end(),
                        [&](const VerdictRow& each) { return each.verdict.outcome == outcome; }));
    };
    std::vector<std::string> rules;
    for (const FindingRow& finding : row.findings)
      if (std::find(rules.begin(), rules.end(), finding.finding.rule) == rules.end())
        rules.push_back(finding.finding.rule);
    sheet << row.name << row.available << base::join(row.reasons, "; ") << median(row.kernels)
          << median(row.memcpy) << median(row.memset) << median(row.device_ns) << median(row.host_ns)
          << median(row.peak_bytes)
          << (row.occupancy ? row.occupancy->theoretical_pct : std::optional<double>()) << row.max_abs_error
          << row.error_bound << row.error_ok << outcomes(guess::Outcome::holds)
          << outcomes(guess::Outcome::misses) << outcomes(guess::Outcome::unknown) << base::join(rules, ";")
          << row.trace_file
          << (row.first_call ? std::optional<int64_t>(row.first_call->prepare_ns) : std::nullopt)
          << (row.first_call ? row.first_call->host_ns : std::nullopt) << row.provider;
  }
  return sheet.take();
}

// Of several ranks, with the rank and its file behind the other columns.
std::string render(const CheckReport& report, const Style&) {
  std::vector<std::string_view> titles = {"range", "metric", "expected", "seen", "verdict", "why"};
  if (report.ranks > 0) titles.insert(titles.end(), {"rank", "source"});
  Sheet sheet(titles);
  for (const VerdictRow& row : report.verdicts) {
    sheet << row.verdict.range << row.verdict.metric << row.verdict.expected << row.verdict.seen
          << guess::name_of(row.verdict.outcome) << row.verdict.why;
    if (report.ranks > 0) sheet << row.rank << row.source;
  }
  return sheet.take();
}

// A row for each range on each rank; counts are medians over its runs.
std::string render(const RanksReport& report, const Style&) {
  Sheet sheet({"range", "rank", "runs", "kernels", "memcpy", "memset", "device_ns", "host_ns", "busy_ns",
               "wall_ns", "idle_ns", "compute_ns", "communication_ns", "exposed_communication_ns",
               "waited_ns", "busy_pct", "source"});
  for (const RanksForward& forward : report.forwards)
    for (const RankForward& row : forward.ranks) {
      const RankTrace& rank = report.ranks[row.rank];
      sheet << forward.range << rank.identity.rank << row.runs << row.kernels.median << row.memcpy.median
            << row.memset.median << row.device_ns << row.host_ns << row.busy_ns << row.wall_ns << row.idle_ns
            << row.compute_ns << row.communication_ns << row.exposed_ns << row.waited_ns << row.busy_pct
            << rank.trace.source;
    }
  return sheet.take();
}

// A row for each reason of each backend; `problem` counts from 1.
std::string render(const WhyReport& report, const Style&) {
  Sheet sheet({"problem", "dispatcher", "takes", "settled", "backend", "order", "usable", "stand", "reason",
               "change", "took", "problem_text", "kernel", "gradients", "not_told"});
  int64_t number = 0;
  for (const WhyProblem& problem : report.problems) {
    ++number;
    for (const WhyDispatcher& dispatcher : problem.dispatchers)
      for (const WhyBackend& backend : dispatcher.backends)
        for (const WhyReason& reason : backend.reasons)
          sheet << number << dispatcher.name << dispatcher.takes << dispatcher.settled << backend.name
                << backend.order << backend.usable << reason.stand << reason.text << reason.change
                << problem.took << problem.text << backend.kernel << problem.gradients
                << base::join(problem.not_told, "; ");
  }
  return sheet.take();
}

std::string render(const DoctorReport& report, const Style&) {
  Sheet sheet({"name", "status", "detail"});
  for (const DoctorItem& item : report.items) sheet << item.name << item.status << item.detail;
  return sheet.take();
}

std::string render(const NameReport& report, const Style&) {
  Sheet sheet({"name", "readable", "family", "provider", "backend", "dtype", "tensor_cores", "tile",
               "architecture", "stages"});
  for (const NameRow& row : report.names)
    sheet << row.name << row.facts.readable << analysis::name_of(row.facts.family) << row.facts.provider
          << row.facts.backend << row.facts.dtype << row.facts.tensor_cores << row.facts.tile
          << row.facts.architecture << row.facts.stages;
  return sheet.take();
}

// Every item, also what differs only within noise; its changes as "dtype: f32 -> bf16".
std::string render(const DiffReport& report, const Style& style) {
  Sheet sheet({"before_range", "after_range", "difference", "work", "family", "op", "before", "after",
               "calls", "before_ns", "after_ns", "beyond_noise", "changes"});
  for (const DiffForward& forward : report.forwards) {
    std::size_t shown = 0;
    for (const auto& item : forward.diff.items) {
      if (left_out(style, shown++)) break;
      std::vector<std::string> changes;
      for (const auto& change : item.changes)
        changes.push_back(fmt::format("{}: {} -> {}", change.fact, change.before, change.after));
      const bool paired = item.kind == analysis::diff::ItemKind::paired;
      sheet << forward.diff.before_range << forward.diff.after_range << analysis::diff::name_of(item.kind)
            << item.work << item.family << item.op << item.before_name << item.after_name << item.calls
            << item.before.value << item.after.value << (!paired || item.time.differs())
            << base::join(changes, "; ");
    }
  }
  return sheet.take();
}

}  // namespace

std::string CsvRenderer::render(const Document& document, const Style& style) const {
  return std::visit([&](const auto& report) { return csv::render(report, style); }, document);
}

}  // namespace hunch::report::csv
