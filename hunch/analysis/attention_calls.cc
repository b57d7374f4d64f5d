// See the header. Ops are gathered below their call by their parents, never by their place in the file.
#include "hunch/analysis/attention_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "hunch/analysis/attention_ops.h"
#include "hunch/analysis/forward_threads.h"
#include "hunch/analysis/op_inputs.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;

bool is_sdpa(std::string_view name) {
  return name == "aten::scaled_dot_product_attention" || name == "scaled_dot_product_attention";
}

// "aten::_scaled_dot_product_flash_attention_for_cpu", and no backward of it.
bool is_backend_op(std::string_view name) {
  return name.starts_with("aten::_scaled_dot_product_") && !name.ends_with("_backward") &&
         !attention_backend_of_op(name).empty();
}

// PyTorch's and Inductor's names of compiled regions, and of autograd's node around one.
bool is_compiled_region(std::string_view name) {
  return name.find("Torch-Compiled Region") != std::string_view::npos ||
         name.find("CompiledFxGraph") != std::string_view::npos || name == "CompiledFunction";
}

class Finder {
 public:
  explicit Finder(const Analysis& analysis)
      : analysis_(analysis),
        trace_(*analysis.trace),
        processes_(number_processes(trace_)),
        threads_(trace_, analysis.timeline, processes_) {}

  std::vector<AttentionCall> find() {
    for (EventId event = 0; event < trace_.size(); ++event)
      if (trace_.kind[event] == EventKind::op) take(event);
    mark_launches();
    for (AttentionCall& call : calls_) {
      auto& inner = inner_[call.op];
      std::sort(inner.begin(), inner.end(), [&](EventId a, EventId b) { return earlier(a, b); });
      if (!call.direct) {
        const auto found = std::find_if(inner.begin(), inner.end(), [&](EventId op) {
          return !attention_backend_of_op(trace_.name_of(op)).empty();
        });
        if (found != inner.end()) call.backend_op = *found;
      }
      if (call.backend_op != kNone) call.backend = attention_backend_of_op(trace_.name_of(call.backend_op));
      tell_gradients(call, inner);
    }
    return std::move(calls_);
  }

 private:
  bool earlier(EventId a, EventId b) const {
    return trace_.start[a] != trace_.start[b] ? trace_.start[a] < trace_.start[b] : a < b;
  }

  int64_t number_of(EventId op) const {
    const trace::OpDetail* const detail = trace_.op_detail(op);
    return detail == nullptr ? -1 : detail->sequence_number;
  }

  bool is_backward(EventId op) const {
    const trace::OpDetail* const detail = trace_.op_detail(op);
    return detail != nullptr && detail->sequence_number >= 0 && detail->forward_thread > 0;
  }

  void take(EventId event) {
    const std::string_view name = trace_.name_of(event);
    const trace::OpDetail* const detail = trace_.op_detail(event);
    ops_[trace_.track[event]].push_back(event);
    if (is_backward(event) && !name.starts_with("autograd::"))
      nodes_[{processes_.of_track[trace_.track[event]], detail->sequence_number}].push_back(event);
    EventId around = kNone;  // the innermost call around it
    bool in_backend_op = false, compiled = false;
    for (EventId up = analysis_.timeline.parent[event]; up != kNone; up = analysis_.timeline.parent[up]) {
      const std::string_view above = trace_.name_of(up);
      if (around == kNone && trace_.kind[up] == EventKind::op && is_sdpa(above)) around = up;
      in_backend_op = in_backend_op || !attention_backend_of_op(above).empty();
      compiled = compiled || is_compiled_region(above);
    }
    if (around != kNone) inner_[around].push_back(event);
    const bool direct = !is_sdpa(name);
    if (around != kNone || (direct && (in_backend_op || !is_backend_op(name)))) return;
    AttentionCall call;
    call.op = event;
    call.direct = direct;
    call.compiled = compiled;
    if (direct) call.backend_op = event;
    calls_.push_back(std::move(call));
  }

  void mark_launches() {
    std::map<EventId, std::size_t> places;
    for (std::size_t i = 0; i < calls_.size(); ++i) places[calls_[i].op] = i;
    for (EventId event = 0; event < trace_.size() && !places.empty(); ++event) {
      if (!trace::is_api_call(trace_.kind[event])) continue;
      for (EventId up = analysis_.timeline.parent[event]; up != kNone; up = analysis_.timeline.parent[up])
        if (const auto found = places.find(up); found != places.end()) calls_[found->second].launches = true;
    }
  }

  // What efficient's and cudnn's ops are told: compute_log_sumexp, only where a backward will want it.
  std::optional<bool> wants_log_sumexp(const AttentionCall& call) const {
    if (call.backend_op == kNone) return std::nullopt;
    const auto values = input_values(trace_, call.backend_op);
    const bool has_flag = (call.backend == "efficient" && values.size() == 8) ||
                          (call.backend == "cudnn" && values.size() == 9);  // 7 in PyTorch 2.4, without it
    if (!has_flag || (values[4] != "True" && values[4] != "False")) return std::nullopt;
    return values[4] == "True";
  }

  // The flag speaks of query, key and value alone: a mask may have a gradient without it.
  bool has_float_mask(const AttentionCall& call) const {
    const auto types = input_types(trace_, call.backend_op);
    return types.size() > 3 && !types[3].empty() && types[3] != "bool" && types[3] != "Scalar";
  }

  // Autograd's node of a fused backend's op.
  EventId node_of(const AttentionCall& call) const {
    if (call.backend_op == kNone || call.backend == "math") return kNone;
    const auto at = nodes_.find({processes_.of_track[trace_.track[call.op]], number_of(call.backend_op)});
    if (at == nodes_.end()) return kNone;
    for (const EventId node : at->second) {
      if (attention_backend_of_op(trace_.name_of(node)) != call.backend) continue;
      const uint32_t track = threads_.track_of(node);
      if (track == kNone || track == trace_.track[call.op]) return node;
    }
    return kNone;
  }

  // The first op behind the call, on its thread, that has a number. `beside`: no op without one stands
  // between, in which nodes may be made unseen.
  EventId next_of(EventId op, bool& beside) {
    auto& ops = ops_[trace_.track[op]];
    if (!sorted_[trace_.track[op]]) {
      std::sort(ops.begin(), ops.end(), [&](EventId a, EventId b) { return earlier(a, b); });
      sorted_[trace_.track[op]] = true;
    }
    const auto behind = std::partition_point(
        ops.begin(), ops.end(), [&](EventId other) { return trace_.start[other] < trace_.end(op); });
    const auto next = std::find_if(
        behind, ops.end(), [&](EventId other) { return number_of(other) >= 0 && !is_backward(other); });
    beside = next == behind && next != ops.end();
    return next == ops.end() ? kNone : *next;
  }

  // The math path adds a mask between its products: a number used up before tells of query or key.
  Gradients of_math(int64_t number, const std::vector<EventId>& inner) const {
    for (const EventId op : inner) {
      const int64_t here = number_of(op);
      if (here < 0) continue;
      if (here > number) return Gradients::needed;
      const std::string_view name = trace_.name_of(op);
      if (name != "aten::add" && name != "aten::add_") continue;
      const auto behind = std::find_if(inner.begin(), inner.end(), [&](EventId other) {
        return trace_.start[other] >= trace_.end(op) && number_of(other) >= 0;
      });
      return behind != inner.end() && number_of(*behind) > number ? Gradients::mask_only : Gradients::needed;
    }
    return Gradients::needed;
  }

  void tell_gradients(AttentionCall& call, const std::vector<EventId>& inner) {
    const auto tell = [&](Gradients gradients, std::string because) {
      call.gradients = gradients;
      call.because = std::move(because);
    };
    const auto row = [&](EventId event) { return trace_.source_index[event]; };
    const auto wants = wants_log_sumexp(call);
    if (wants && (*wants || !has_float_mask(call)))
      return tell(*wants ? Gradients::needed : Gradients::not_needed,
                  fmt::format("compute_log_sumexp of event {} is {}", row(call.backend_op),
                              *wants ? "True" : "False"));
    const Gradients some = wants ? Gradients::mask_only : Gradients::needed;  // where a node was made
    if (call.compiled)
      return tell(Gradients::not_told, "in compiled code, whose backend was chosen when it was compiled");
    const int64_t number = number_of(call.op);
    if (number < 0)
      return tell(Gradients::not_needed, "the call has no number of autograd's, as under torch.no_grad()");
    // Before backwards are looked for: these carry a number that all calls before the one that used it up
    // have.
    bool beside = false;
    const EventId next = next_of(call.op, beside);
    if (next != kNone && number_of(next) == number)
      return tell(Gradients::not_needed,
                  fmt::format("autograd's number is still {} at event {}, behind it", number, row(next)));
    if (const EventId node = node_of(call); node != kNone)
      return tell(some, fmt::format("event {} is its backward", row(node)));
    EventId later = kNone;  // an op that shows that the call used up a number
    for (const EventId op : inner)
      if (later == kNone && number_of(op) > number) later = op;
    if (later == kNone && beside && number_of(next) > number) later = next;
    if (later != kNone)
      return tell(call.backend == "math" ? of_math(number, inner) : some,
                  fmt::format("autograd's number moves on from {} to {} by event {}", number,
                              number_of(later), row(later)));
    tell(Gradients::not_told, "neither a backward of it nor an op right behind it is in the trace");
  }

  const Analysis& analysis_;
  const trace::Trace& trace_;
  Processes processes_;
  ForwardThreads threads_;
  std::vector<AttentionCall> calls_;
  std::map<EventId, std::vector<EventId>> inner_;                       // by call: all ops below it
  std::map<std::pair<uint32_t, int64_t>, std::vector<EventId>> nodes_;  // by process and number: backwards
  std::map<uint32_t, std::vector<EventId>> ops_;                        // by track
  std::map<uint32_t, bool> sorted_;
};

}  // namespace

std::string_view name_of(Gradients gradients) {
  switch (gradients) {
    case Gradients::needed:
      return "needed";
    case Gradients::mask_only:
      return "of the mask only";
    case Gradients::not_needed:
      return "not needed";
    case Gradients::not_told:
      break;
  }
  return "not told";
}

std::vector<AttentionCall> attention_calls(const Analysis& analysis) { return Finder(analysis).find(); }

}  // namespace hunch::analysis
