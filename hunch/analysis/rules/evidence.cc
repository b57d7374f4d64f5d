// The arithmetic is exact: times are sums of integer nanoseconds, medians are values that a run had.
#include "hunch/analysis/rules/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {

using trace::EventKind;

bool Selection::empty() const {
  return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run.empty(); });
}

std::vector<EventId> Selection::evidence() const {
  const auto first = std::find_if(runs.begin(), runs.end(), [](const auto& run) { return !run.empty(); });
  return first == runs.end() ? std::vector<EventId>{} : *first;
}

Selection Gathered::of_runs(std::size_t all_runs) const {
  Selection selection;
  selection.runs.resize(all_runs);
  for (const auto& [run, event] : events_) selection.runs[run].push_back(event);
  return selection;
}

Selection select(const Forward& forward, const std::function<bool(EventId)>& wanted) {
  Selection selection;
  for (const ForwardRun& run : forward.runs) {
    auto& events = selection.runs.emplace_back();
    std::copy_if(run.work.begin(), run.work.end(), std::back_inserter(events), wanted);
  }
  return selection;
}

int64_t median(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int64_t median_count(const Selection& selection) {
  std::vector<int64_t> counts;
  for (const auto& run : selection.runs) counts.push_back(static_cast<int64_t>(run.size()));
  return median(std::move(counts));
}

Ns median_ns(const Analysis& analysis, const Selection& selection) {
  std::vector<int64_t> sums;
  for (const auto& run : selection.runs) {
    Ns sum = 0;
    for (const EventId event : run) sum += analysis.trace->duration[event];
    sums.push_back(sum);
  }
  return median(std::move(sums));
}

Ns median_device_ns(const Forward& forward) {
  std::vector<int64_t> times;
  for (const ForwardRun& run : forward.runs) times.push_back(run.device_ns);
  return median(std::move(times));
}

Ns median_host_ns(const Forward& forward) {
  std::vector<int64_t> times;
  for (const ForwardRun& run : forward.runs) times.push_back(run.host_ns);
  return median(std::move(times));
}

std::optional<int64_t> median_bytes(const Selection& selection,
                                    const std::function<std::optional<int64_t>(EventId)>& bytes) {
  std::vector<int64_t> sums;
  for (const auto& run : selection.runs) {
    int64_t sum = 0;
    for (const EventId event : run) {
      const auto one = bytes(event);
      if (!one || __builtin_add_overflow(sum, *one, &sum)) return std::nullopt;
    }
    sums.push_back(sum);
  }
  return median(std::move(sums));
}

std::string count_text(const Selection& selection, std::string_view one, std::string_view many) {
  std::size_t least = SIZE_MAX;
  std::size_t most = 0;
  for (const auto& run : selection.runs) {
    least = std::min(least, run.size());
    most = std::max(most, run.size());
  }
  if (least < most) return fmt::format("{} to {} {} per forward", least, most, many);
  return fmt::format("{} {} per forward", most, most == 1 ? one : many);
}

double share_pct(Ns part, Ns whole) {
  return whole <= 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent_text(double percent) {
  if (percent >= 9.95) return fmt::format("{:.0f} %", percent);
  if (percent >= 0.095) return fmt::format("{:.1f} %", percent);
  return "under 0.1 %";
}

std::string cost_text(const Analysis& analysis, const Forward& forward, const Selection& selection) {
  const Ns cost = median_ns(analysis, selection);
  return fmt::format("{} ({} of the forward)", base::format_ns(cost),
                     percent_text(share_pct(cost, median_device_ns(forward))));
}

Words words_of(const Analysis& analysis, EventId device_event) {
  return analysis.chains.words(analysis.chains.of(device_event));
}

bool has_word(Words words, std::initializer_list<std::string_view> wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  });
}

std::vector<EventId> ops_of(const Analysis& analysis, EventId device_event) {
  return ops_around(analysis, analysis.timeline.launch[device_event]);
}

EventId op_at(const Analysis& analysis, EventId device_event, std::size_t place) {
  std::size_t outwards = analysis.chains.names(analysis.chains.of(device_event)).size() - place;
  EventId at = analysis.timeline.launch[device_event];
  while (analysis.trace->kind[at] != EventKind::op || --outwards > 0) at = analysis.timeline.parent[at];
  return at;
}

std::vector<EventId> ops_around(const Analysis& analysis, EventId host) {
  const trace::Trace& trace = *analysis.trace;
  std::vector<EventId> ops;
  for (EventId at = host; at != kNone; at = analysis.timeline.parent[at]) {
    if (trace.kind[at] == EventKind::op) ops.push_back(at);
    if ((trace.kind[at] == EventKind::annotation || trace.kind[at] == EventKind::step) && !ops.empty()) break;
  }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

// A name of thousands of letters says no more than its beginning.
void append_op(std::string& text, std::string_view name) {
  constexpr std::size_t kLongest = 500;
  text += name.substr(0, kLongest);
  if (name.size() > kLongest) text += "...";
}

std::string chain_text(const Analysis& analysis, const std::vector<EventId>& ops, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < ops.size(); ++i) {
    if (!text.empty()) text += " > ";
    append_op(text, analysis.trace->name_of(ops[i]));
  }
  return text;
}

std::string chain_text(const Analysis& analysis, uint32_t chain, std::size_t first) {
  std::string text;
  for (const trace::StringId name : analysis.chains.names(chain).subspan(first)) {
    if (!text.empty()) text += " > ";
    append_op(text, analysis.trace->strings.view(name));
  }
  return text;
}

std::optional<std::size_t> find_op(const Analysis& analysis, const std::vector<EventId>& ops,
                                   std::string_view word) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (op_word(analysis.trace->name_of(ops[i])) == word) return i;
  }
  return std::nullopt;
}

std::string place_text(const Analysis& analysis, EventId host) {
  const trace::Trace& trace = *analysis.trace;
  std::string_view frame;
  std::string_view module;
  for (EventId at = host; at != kNone; at = analysis.timeline.parent[at]) {
    if (trace.kind[at] != EventKind::python_frame) continue;
    const std::string_view name = trace.name_of(at);
    constexpr std::string_view kModule = "nn.Module: ";
    if (module.empty() && name.starts_with(kModule)) module = name.substr(kModule.size());
    const bool of_torch = name.starts_with("torch/") || base::contains(name, "/torch/");
    if (frame.empty() && base::contains(name, ".py(") && !of_torch) frame = name;
  }
  if (frame.empty() && module.empty()) return {};
  if (frame.empty()) return fmt::format(", in {}", module);
  return fmt::format(", from {}{}", frame, module.empty() ? "" : fmt::format(" in {}", module));
}

EventId math_path_of(const Analysis& analysis, EventId device_event) {
  const Words words = words_of(analysis, device_event);
  const auto path = std::find_if(words.begin(), words.end(),
                                 [](std::string_view word) { return word.ends_with("attention_math"); });
  if (path == words.end()) return kNone;
  return op_at(analysis, device_event, static_cast<std::size_t>(path - words.begin()));
}

int64_t elements(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::optional<int64_t> bytes_of_type(std::string_view type) {
  constexpr auto kSizes = std::to_array<std::pair<std::string_view, int64_t>>({{"c10::BFloat16", 2},
                                                                               {"c10::Half", 2},
                                                                               {"float", 4},
                                                                               {"double", 8},
                                                                               {"long int", 8},
                                                                               {"long", 8},
                                                                               {"int", 4},
                                                                               {"bool", 1},
                                                                               {"unsigned char", 1},
                                                                               {"signed char", 1},
                                                                               {"bf16", 2},
                                                                               {"f16", 2},
                                                                               {"f32", 4},
                                                                               {"f64", 8},
                                                                               {"16-bit", 2},
                                                                               {"int64", 8},
                                                                               {"int32", 4}});
  for (const auto& [name, size] : kSizes) {
    if (name == type) return size;
  }
  return std::nullopt;
}

bool is_16_bit(std::string_view dtype) {
  return dtype == "bf16" || dtype == "f16" || dtype == "16-bit" || dtype == "c10::BFloat16" ||
         dtype == "c10::Half";
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

const trace::DeviceProperties* device_of(const Analysis& analysis, const Forward& forward) {
  for (const ForwardRun& run : forward.runs) {
    for (const EventId work : run.work) {
      const trace::DeviceDetail* detail = analysis.trace->device_detail(work);
      if (detail != nullptr) return analysis.trace->device(detail->device);
    }
  }
  return nullptr;
}

bool lies_in(const Analysis& analysis, const ForwardRun& run, EventId host) {
  return analysis.lies_in(run, host);
}

std::vector<EventId> calls_in(const Analysis& analysis, const ForwardRun& run,
                              const std::vector<EventId>& calls) {
  const trace::Trace& trace = *analysis.trace;
  if (run.range == kNone) {
    std::vector<EventId> inside;
    for (const EventId call : calls)
      if (lies_in(analysis, run, call)) inside.push_back(call);
    return inside;
  }
  const auto begin = std::make_pair(trace.track[run.range], trace.start[run.range]);
  const auto first = std::partition_point(calls.begin(), calls.end(), [&](EventId call) {
    return std::make_pair(trace.track[call], trace.start[call]) < begin;
  });
  auto last = first;
  while (last != calls.end() && lies_in(analysis, run, *last)) ++last;
  return {first, last};
}

std::string launch_text(const Analysis& analysis, EventId device_event) {
  const std::string chain = chain_text(analysis, ops_of(analysis, device_event));
  return (chain.empty() ? "" : ": " + code(chain)) +
         place_text(analysis, analysis.timeline.launch[device_event]);
}

std::string limits_text(std::string_view limited_by) {
  std::string text;
  for (const std::string_view part : base::split(limited_by, '+'))
    text += (text.empty() ? "" : " and ") + std::string(part);
  return text;
}

std::string library_text(std::string_view provider) {
  if (provider == "cublas") return "cuBLAS";
  if (provider == "cudnn") return "cuDNN";
  return std::string(provider);
}

std::string code(std::string_view text) { return fmt::format("`{}`", text); }

}  // namespace hunch::analysis::rules
