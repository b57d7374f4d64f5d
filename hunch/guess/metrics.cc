// Each metric reads one number or word off a run, with the events it comes from. What a trace does not
// tell is said, never filled in.
#include "hunch/guess/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "hunch/analysis/op_inputs.h"

namespace hunch::guess {
namespace {

using analysis::Analysis;
using analysis::EventId;
using analysis::Family;
using analysis::Forward;
using analysis::ForwardRun;
using trace::EventKind;

std::vector<EventId> of_kind(const Analysis& a, const ForwardRun& run, EventKind kind) {
  std::vector<EventId> events;
  for (const EventId event : run.work)
    if (a.trace->kind[event] == kind) events.push_back(event);
  return events;
}

Measurement number(double value, std::vector<EventId> evidence) {
  Measurement m;
  m.number = value;
  m.evidence = std::move(evidence);
  return m;
}

Measurement unknown(std::string why) {
  Measurement m;
  m.why = std::move(why);
  return m;
}

Measurement kernels(const Analysis& a, const Forward&, const ForwardRun& run) {
  return number(static_cast<double>(run.kernels), of_kind(a, run, EventKind::kernel));
}
Measurement memcpys(const Analysis& a, const Forward&, const ForwardRun& run) {
  return number(static_cast<double>(run.memcpys), of_kind(a, run, EventKind::memcpy));
}
Measurement memsets(const Analysis& a, const Forward&, const ForwardRun& run) {
  return number(static_cast<double>(run.memsets), of_kind(a, run, EventKind::memset));
}
Measurement device_time(const Analysis&, const Forward&, const ForwardRun& run) {
  return number(static_cast<double>(run.device_ns), run.work);
}
Measurement busy_time(const Analysis&, const Forward&, const ForwardRun& run) {
  return number(static_cast<double>(run.busy_ns), run.work);
}
Measurement host_time(const Analysis&, const Forward&, const ForwardRun& run) {
  return number(static_cast<double>(run.host_ns),
                run.range == analysis::kNone ? std::vector<EventId>{} : std::vector<EventId>{run.range});
}
// The innermost op that was open when memory in use first stood at its highest in this run, or the range.
EventId peak_op(const Analysis& a, const ForwardRun& run) {
  const trace::Trace& t = *a.trace;
  const trace::Ns start = run.host_start;
  const trace::Ns end = run.host_end;
  const trace::MemoryEvent* highest = nullptr;
  for (const auto& event : t.memory)
    if (event.time >= start && event.time <= end && event.device >= 0 &&
        (highest == nullptr || event.in_use_bytes > highest->in_use_bytes))
      highest = &event;
  EventId innermost = run.range;
  if (highest == nullptr) return innermost;
  for (EventId op = 0; op < t.size(); ++op)
    if (t.kind[op] == EventKind::op && t.track[op] == highest->track && t.start[op] <= highest->time &&
        t.end(op) >= highest->time &&
        (innermost == analysis::kNone || innermost == run.range || t.start[op] >= t.start[innermost]))
      innermost = op;
  return innermost;
}

Measurement peak_memory(const Analysis& a, const Forward&, const ForwardRun& run) {
  if (!run.peak_bytes) return unknown("the trace has no memory events (profile_memory was off)");
  Measurement m = number(static_cast<double>(*run.peak_bytes), {});
  if (const EventId op = peak_op(a, run); op != analysis::kNone) {
    m.evidence = {op};
    if (op != run.range) m.why = fmt::format("reached in {}", a.trace->name_of(op));
  }
  return m;
}

bool is_product(Family family) {
  return family == Family::matmul || family == Family::attention_forward ||
         family == Family::attention_backward;
}

std::vector<EventId> products(const Analysis& a, const ForwardRun& run) {
  std::vector<EventId> events;
  for (const EventId event : of_kind(a, run, EventKind::kernel))
    if (is_product(a.facts_of(event).family)) events.push_back(event);
  return events;
}

std::string join(const std::set<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : "+") + word;
  return text;
}

Measurement backend(const Analysis& a, const Forward& forward, const ForwardRun& run) {
  if (forward.backend.empty()) return unknown("no attention was found in this range");
  Measurement m;
  m.text = forward.backend;
  m.evidence = products(a, run);
  return m;
}

// The type of the inputs that the ops around a kernel's launch say they got, where all of them agree.
std::string input_dtype(const Analysis& a, EventId event) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTypes = {
      {{"c10::BFloat16", "bf16"}, {"c10::Half", "f16"}, {"float", "f32"}}};
  const EventId op = analysis::launching_op(*a.trace, a.timeline, event);
  if (op == analysis::kNone) return {};
  const auto inputs = analysis::input_types(*a.trace, op);
  std::string found;
  for (const auto& [type, name] : kTypes) {
    if (std::find(inputs.begin(), inputs.end(), type) == inputs.end()) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

Measurement dtype(const Analysis& a, const Forward&, const ForwardRun& run) {
  Measurement m;
  std::set<std::string> seen;
  const auto events = products(a, run);
  if (events.empty()) return unknown("no matrix product or attention kernel was found in this range");
  for (const EventId event : events) {
    const auto& facts = a.facts_of(event);
    std::string type = facts.dtype;
    // "16-bit" says that it is one of two: the op's own inputs say which, where the trace has them.
    if (type.empty() || type == "16-bit") type = input_dtype(a, event);
    if (type.empty() || (facts.dtype == "16-bit" && type == "f32"))
      return unknown(
          fmt::format("the name of '{}' does not tell its dtype, and the trace has no input types for its op",
                      facts.readable));
    seen.insert(type);
  }
  m.text = join(seen);
  m.evidence = events;
  return m;
}

// False as soon as one product is known to run without Tensor Cores; true only when all are known to use
// them.
Measurement tensor_cores(const Analysis& a, const Forward&, const ForwardRun& run) {
  std::vector<EventId> idle;
  std::string untold;
  const auto events = products(a, run);
  if (events.empty()) return unknown("no matrix product or attention kernel was found in this range");
  for (const EventId event : events) {
    const auto& facts = a.facts_of(event);
    if (!facts.tensor_cores) untold = facts.readable;
    if (facts.tensor_cores == false) idle.push_back(event);
  }
  if (idle.empty() && !untold.empty())
    return unknown(fmt::format("the name of '{}' does not tell whether it uses Tensor Cores", untold));
  Measurement m;
  m.text = idle.empty() ? "true" : "false";
  m.evidence = idle.empty() ? events : idle;
  return m;
}

// Of the kernel that takes the most time in the run: recomputed where the trace allows it, reported
// otherwise.
Measurement occupancy(const Analysis& a, const Forward&, const ForwardRun& run) {
  std::map<std::string_view, std::pair<analysis::Ns, EventId>> by_name;
  for (const EventId event : of_kind(a, run, EventKind::kernel)) {
    auto& [time, first] = by_name.try_emplace(a.trace->name_of(event), 0, event).first->second;
    time += a.trace->duration[event];
  }
  if (by_name.empty()) return unknown("no kernel ran in this range");
  const auto longest = std::max_element(by_name.begin(), by_name.end(), [](const auto& x, const auto& y) {
    return x.second.first < y.second.first;
  });
  const EventId event = longest->second.second;
  const auto* detail = a.trace->device_detail(event);
  const auto* device = detail == nullptr ? nullptr : a.trace->device(detail->device);
  if (device != nullptr && device->is_cpu) return unknown("a CPU device has no occupancy");
  Measurement m;
  m.evidence = {event};
  m.why = a.facts_of(event).readable;
  if (device != nullptr) {
    if (const auto computed = analysis::compute_occupancy(*detail, *device)) {
      m.number = computed->theoretical_pct;
      return m;
    }
  }
  if (detail != nullptr && detail->reported_occupancy_pct > 0) {
    m.number = detail->reported_occupancy_pct;
    return m;
  }
  return unknown(fmt::format("the trace does not say what '{}' needs of a multiprocessor", m.why));
}

const std::vector<Metric>& table() {
  static const std::vector<Metric> kMetrics = {
      {"kernels",
       ValueKind::count,
       "kernels per forward",
       {"layout_copy", "safe_softmax", "mask_rebuilt", "fp32_upcast", "unfused_attention"},
       kernels},
      {"memcpy",
       ValueKind::count,
       "copies per forward",
       {"hidden_copy", "layout_copy", "host_sync"},
       memcpys},
      {"memset", ValueKind::count, "memsets per forward", {"workspace_memset"}, memsets},
      {"sequence",
       ValueKind::sequence,
       "kernels and copies in launch order, by family or op",
       {"hidden_copy", "layout_copy", "safe_softmax", "mask_rebuilt", "fp32_upcast"},
       nullptr},
      {"backend", ValueKind::text, "attention backend", {"attention_backend", "unfused_attention"}, backend},
      {"dtype",
       ValueKind::text,
       "type that matrix products and attention compute in",
       {"fp32_upcast"},
       dtype},
      {"tensor_cores",
       ValueKind::flag,
       "whether all matrix products and attention use Tensor Cores",
       {"tensor_cores_idle"},
       tensor_cores},
      {"device_time",
       ValueKind::time,
       "sum of device work per forward",
       {"unfused_attention", "tensor_cores_idle", "hidden_copy", "layout_copy", "fp32_upcast",
        "safe_softmax"},
       device_time},
      {"busy_time",
       ValueKind::time,
       "device work per forward, overlaps counted once",
       {"unfused_attention", "tensor_cores_idle", "hidden_copy", "layout_copy"},
       busy_time},
      {"host_time",
       ValueKind::time,
       "the range's own duration on the host",
       {"host_sync", "first_call", "host_moved", "launch_bound"},
       host_time},
      {"occupancy",
       ValueKind::percent,
       "theoretical occupancy of the kernel that takes the most time",
       {"occupancy_by_design", "occupancy_misreported"},
       occupancy},
      {"peak_memory",
       ValueKind::bytes,
       "device memory in use above the forward's start, at its highest",
       {},
       peak_memory},
  };
  return kMetrics;
}

}  // namespace

std::span<const Metric> metrics() { return table(); }

const Metric* find_metric(std::string_view name) {
  for (const auto& metric : table())
    if (metric.name == name) return &metric;
  return nullptr;
}

}  // namespace hunch::guess
