// Names of attention ops, and the pattern of attention by hand; see attention_ops.h.
#include "hunch/analysis/attention_ops.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>

#include "hunch/analysis/names/table.h"
#include "hunch/base/strings.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;

// "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0" and
// "aten::_scaled_dot_product_flash_attention" to one form: "scaleddotproductflashattention..." in lower case.
std::string plain_form(std::string_view op) {
  const auto colon = op.rfind(':');
  if (colon != std::string_view::npos) op.remove_prefix(colon + 1);
  std::string plain;
  for (const char c : op)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

struct OpName {
  std::string_view part;  // of the plain form
  std::string_view backend;
};
constexpr std::array kOpNames = {
    OpName{"scaleddotproductflashattention", "flash"},
    OpName{"scaleddotproductefficientattention", "efficient"},
    OpName{"scaleddotproductcudnnattention", "cudnn"},
    OpName{"scaleddotproductattentionmath", "math"},
    OpName{"scaleddotproductfusedattentionoverrideable", "overrideable"},
    OpName{"flashattentionforward", "flash"},
    OpName{"flashattentionbackward", "flash"},
    OpName{"efficientattentionforward", "efficient"},
    OpName{"efficientattentionbackward", "efficient"},
    OpName{"cudnnattentionforward", "cudnn"},
    OpName{"cudnnattentionbackward", "cudnn"},
    OpName{"flashattnforward", "flash"},
    OpName{"flashattnbackward", "flash"},
    OpName{"flashattnvarlenforward", "flash"},
    OpName{"flashattnvarlenbackward", "flash"},
    OpName{"flashattnfunc", "flash"},
    OpName{"flashattnvarlenfunc", "flash"},
};

// Layers' products and log-softmax belong to no attention, whatever stands beside them.
constexpr std::array<std::string_view, 6> kLayerOps = {"linear",         "addmm",       "AddmmBackward",
                                                       "LinearBackward", "log_softmax", "LogSoftmax"};
constexpr std::array<std::string_view, 2> kLayerKernels = {"LogSoftMax", "log_softmax"};

template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](std::string_view part) { return base::contains(text, part); });
}

}  // namespace

std::vector<std::string_view> known_backends() {
  // Attention by hand, and projects that name it after themselves (kernel_names.cc); then ops and kernels.
  std::set<std::string_view> names = {"naive", "aiter", "ck", "flashinfer"};
  for (const OpName& op : kOpNames) names.insert(op.backend);
  for (const auto rows : {names::generated_rows(), names::cache_rows(), names::attention_rows()})
    for (const names::Row& row : rows)
      if (!row.backend.empty()) names.insert(row.backend);
  return {names.begin(), names.end()};
}

std::string_view attention_backend_of_op(std::string_view op) {
  const std::string plain = plain_form(op);
  if (plain.find("att") == std::string::npos) return {};
  for (const OpName& name : kOpNames)
    if (plain.find(name.part) != std::string::npos) return name.backend;
  return {};
}

BackendCollector::BackendCollector(const Analysis& analysis) : analysis_(analysis) {
  const auto& trace = *analysis.trace;
  const std::size_t names = trace.strings.size();
  std::vector<bool> is_op(names, false), is_work(names, false);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.kind[i] == EventKind::op) is_op[trace.name[i]] = true;
    if (trace.kind[i] == EventKind::kernel) is_work[trace.name[i]] = true;
  }
  by_name_.resize(names);
  is_layer_.resize(names, false);
  for (trace::StringId id = 0; id < names; ++id) {
    const std::string_view name = trace.strings.view(id);
    if (is_op[id]) by_name_[id] = attention_backend_of_op(name);
    any_ = any_ || !by_name_[id].empty();
    is_layer_[id] =
        (is_op[id] && contains_any(name, kLayerOps)) || (is_work[id] && contains_any(name, kLayerKernels));
  }
  roles_.resize(trace.size(), Role::between);
  for (const EventId work : analysis.timeline.device_order) roles_[work] = role_of(work);
}

std::string_view BackendCollector::backend_of(trace::StringId name) const { return by_name_[name]; }

bool BackendCollector::inside_attention_op(EventId device_event) const {
  if (!any_) return false;
  const auto& trace = *analysis_.trace;
  EventId at = analysis_.timeline.launch[device_event];
  while (at != kNone && by_name_[trace.name[at]].empty()) at = analysis_.timeline.parent[at];
  return at != kNone;
}

BackendCollector::Role BackendCollector::role_of(EventId device_event) const {
  const auto& trace = *analysis_.trace;
  if (trace.kind[device_event] != EventKind::kernel) return Role::between;
  Role role = Role::other;
  switch (analysis_.facts_of(device_event).family) {
    case Family::matmul:
      role = Role::product;
      break;
    case Family::softmax:
      role = Role::softmax;
      break;
    case Family::matmul_other:  // the second half of a split product
    case Family::masked_fill:
    case Family::where:
    case Family::mask_build:
    case Family::elementwise:
    case Family::copy:
    case Family::cast:
    case Family::fill:
    case Family::random:
      return Role::between;
    default:
      return Role::other;
  }
  if (is_layer_[trace.name[device_event]]) return Role::other;
  for (EventId at = analysis_.timeline.launch[device_event]; at != kNone; at = analysis_.timeline.parent[at])
    if (is_layer_[trace.name[at]] || !by_name_[trace.name[at]].empty()) return Role::other;
  return role;
}

bool BackendCollector::has_attention_by_hand(const ForwardRun& run) const {
  enum class Seen { nothing, product, softmax } seen = Seen::nothing;
  for (const EventId work : run.work) {
    switch (roles_[work]) {
      case Role::between:
        break;
      case Role::other:
        seen = Seen::nothing;
        break;
      case Role::softmax:
        seen = seen == Seen::product ? Seen::softmax : Seen::nothing;
        break;
      case Role::product:
        if (seen == Seen::softmax) return true;
        seen = Seen::product;
        break;
    }
  }
  return false;
}

std::string BackendCollector::backend(const Forward& forward, std::span<const EventId> attention_ops) const {
  const auto& trace = *analysis_.trace;
  std::set<std::string> backends;
  for (const EventId op : attention_ops) backends.emplace(backend_of(trace.name[op]));
  bool by_hand = false;
  for (const ForwardRun& run : forward.runs) {
    for (const EventId work : run.work) {
      const KernelFacts& facts = analysis_.facts_of(work);
      if (!facts.backend.empty() && backends.count(facts.backend) == 0 && !inside_attention_op(work))
        backends.insert(facts.backend);
    }
    by_hand = by_hand || has_attention_by_hand(run);
  }
  if (by_hand) backends.insert("naive");
  std::string joined;
  for (const auto& backend : backends) joined += (joined.empty() ? "" : "+") + backend;
  return joined;
}

}  // namespace hunch::analysis
