// See the header. Shapes, types, strides and scalars come from the op scaled_dot_product_attention (or from
// the backend's own, where it was called directly), the backend from the op inside of it, gradients from what
// autograd leaves (analysis/attention_calls.h). Holds: calls are grouped only where all that the trace tells
// of them is alike; what it does not tell is said, not guessed.
#include "hunch/cli/why_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hunch/analysis/attention_calls.h"
#include "hunch/analysis/op_inputs.h"
#include "hunch/base/strings.h"
#include "hunch/sdpa/choose.h"

namespace hunch::cli {
namespace {

using analysis::AttentionCall;
using analysis::Gradients;
using trace::EventId;
using trace::EventKind;

std::optional<sdpa::DType> dtype_of(std::string_view type) {
  if (type == "c10::BFloat16") return sdpa::DType::bf16;
  if (type == "c10::Half") return sdpa::DType::f16;
  return sdpa::parse_dtype(type);
}

// Where an op's inputs stand, from 0 behind query, key and value; 0: it has no such input.
struct Places {
  std::size_t mask = 0, dropout = 0, causal = 0, scale = 0, gqa = 0;
};
Places places_of(const AttentionCall& call, std::string_view op, std::size_t inputs) {
  if (!call.direct) return {3, 4, 5, 6, 7};
  if (call.backend == "math") return {3, 4, 5, 7, 8};
  if (call.backend == "efficient") return {3, 5, 6, 7, 0};
  if (call.backend == "cudnn" && inputs > 7) return {3, 5, 6, 8, 0};
  if (op.ends_with("_for_cpu")) return {5, 3, 4, 6, 0};
  return {0, 3, 4, 6, 0};
}

template <class T>
const T* at(const std::vector<T>& list, std::size_t place) {
  return place > 0 && place < list.size() ? &list[place] : nullptr;
}

std::optional<sdpa::Strides> strides_at(const std::vector<std::optional<analysis::Shape>>& strides,
                                        std::size_t place) {
  if (place >= strides.size() || !strides[place] || strides[place]->size() != 4) return std::nullopt;
  const analysis::Shape& s = *strides[place];
  return sdpa::Strides{s[0], s[1], s[2], s[3]};
}

// The mask that stands at `place`; false where it is one that hunch cannot read.
bool take_mask(const trace::Trace& trace, EventId op, std::size_t place, sdpa::Problem& p) {
  const auto types = analysis::input_types(trace, op);
  const auto shapes = analysis::input_shapes(trace, op);
  const std::string* const type = at(types, place);
  const auto* const shape = at(shapes, place);
  const bool is_tensor = type != nullptr && !type->empty() && *type != "Scalar";
  if (shape == nullptr || !*shape || (*shape)->empty()) return !is_tensor;
  p.mask = is_tensor && *type == "bool" ? sdpa::MaskKind::boolean : sdpa::MaskKind::floating;
  p.mask_shape = **shape;
  const auto strides = analysis::input_strides(trace, op);
  if (const auto* const given = at(strides, place); given != nullptr && *given) p.mask_strides = **given;
  return true;
}

void take_values(const std::vector<std::string>& values, const Places& places, TraceCall& call) {
  sdpa::Problem& p = call.question.problem;
  const auto value = [&](std::size_t place) {
    const std::string* const text = at(values, place);
    return text != nullptr ? *text : std::string();
  };
  if (value(places.causal) == "True" && p.mask == sdpa::MaskKind::none) p.mask = sdpa::MaskKind::causal;
  if (const auto rate = base::parse_double(value(places.dropout)); rate && *rate >= 0 && *rate < 1)
    p.dropout = *rate;
  const std::string gqa = value(places.gqa);
  if (gqa == "True" || (gqa == "False" && p.heads != p.kv_heads)) p.gqa = gqa == "True";
  call.scale = value(places.scale);
}

// The question, or nothing where the shapes are not those of 4-dimensional query, key and value.
std::optional<TraceCall> question_of(const trace::Trace& trace, const AttentionCall& from) {
  const EventId op = from.op;
  const auto shapes = analysis::input_shapes(trace, op);
  const auto types = analysis::input_types(trace, op);
  if (shapes.size() < 3 || types.size() < 3) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i)
    if (!shapes[i] || shapes[i]->size() != 4) return std::nullopt;
  const auto dtype = dtype_of(types[0]);
  if (!dtype) return std::nullopt;
  const auto &q = *shapes[0], &k = *shapes[1], &v = *shapes[2];
  TraceCall call;
  sdpa::Problem& p = call.question.problem;
  p.batch = q[0], p.heads = q[1], p.length = q[2], p.head_dim = q[3];
  p.kv_heads = k[1], p.kv_length = k[2], p.value_dim = v[3];
  p.dtype = *dtype;
  p.mask = sdpa::MaskKind::none;
  const Places places = places_of(from, trace.name_of(op), shapes.size());
  if (!take_mask(trace, op, places.mask, p)) return std::nullopt;
  const auto values = analysis::input_values(trace, op);
  if (values.empty()) {
    call.not_told.emplace_back(
        "is_causal, dropout_p, scale and enable_gqa: the trace has no \"Concrete Inputs\" (judged without)");
  } else {
    call.values_told = true;
    take_values(values, places, call);
  }
  const auto strides = analysis::input_strides(trace, op);
  if (strides.empty())
    call.not_told.emplace_back("strides: the trace has no \"Input Strides\" (judged as dense)");
  p.query_strides = strides_at(strides, 0);
  p.key_strides = strides_at(strides, 1);
  p.value_strides = strides_at(strides, 2);
  p.grad = from.gradients == Gradients::needed;
  p.mask_grad = from.gradients == Gradients::mask_only && p.mask == sdpa::MaskKind::floating;
  call.gradients = std::string(analysis::name_of(from.gradients));
  call.because = from.because;
  if (from.gradients == Gradients::not_told) call.because += " (judged without)";
  if (p.mask == sdpa::MaskKind::floating && !p.mask_grad && from.gradients != Gradients::not_needed)
    call.not_told.emplace_back("whether the mask has a gradient (judged without)");
  call.took = std::string(from.backend);
  call.direct = from.direct;
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] || !sdpa::validate(p))
    return std::nullopt;
  return call;
}

// What alone would make PyTorch take what the trace shows, among what the trace does not tell.
std::vector<std::string> explanations(const TraceCall& call, bool version_told) {
  std::vector<std::string> found;
  const auto takes = [&](const sdpa::Problem& problem, const sdpa::Setup& setup) {
    const sdpa::Choice choice = sdpa::choose(problem, setup);
    return choice.settled && choice.takes ? std::string(sdpa::name_of(*choice.takes)) : std::string();
  };
  const sdpa::Problem& problem = call.question.problem;
  const sdpa::Setup& setup = call.question.setup;
  if (call.took.empty() || takes(problem, setup) == call.took || takes(problem, setup).empty()) return found;
  if (!version_told) {
    std::vector<std::string> versions;
    for (int release = sdpa::kOldestTorch; release <= sdpa::kNewestTorch; release += 100) {
      sdpa::Setup other = setup;
      const std::string text = fmt::format("2.{}", release / 100 % 100);
      if (!sdpa::set_torch(other, text)) continue;
      other.cudnn = sdpa::bundled_cudnn(other.torch);
      if (takes(problem, other) == call.took) {
        versions.push_back(text);
      } else if (!versions.empty()) {
        break;  // the oldest run of them is enough
      }
    }
    if (!versions.empty())
      found.push_back("PyTorch " + versions.front() + (versions.size() > 1 ? " to " + versions.back() : ""));
  }
  const auto with = [&](std::string_view words, auto change) {
    sdpa::Problem other = problem;
    change(other);
    if (sdpa::validate(other) && takes(other, setup) == call.took) found.emplace_back(words);
  };
  if (call.gradients == analysis::name_of(Gradients::not_told))
    with("gradients", [](sdpa::Problem& p) { p.grad = true; });
  if (problem.mask == sdpa::MaskKind::floating && !problem.mask_grad)
    with("a mask with a gradient", [](sdpa::Problem& p) { p.mask_grad = true; });
  if (!call.values_told && problem.mask == sdpa::MaskKind::none)
    with("is_causal=True", [](sdpa::Problem& p) { p.mask = sdpa::MaskKind::causal; });
  sdpa::Setup strict = setup;
  strict.deterministic = true;
  if (takes(problem, strict) == call.took) found.emplace_back("torch.use_deterministic_algorithms(True)");
  std::vector<std::string> before;  // of those that are asked first
  for (const sdpa::Opinion& opinion : sdpa::choose(problem, setup).opinions) {
    const std::string name(sdpa::name_of(opinion.backend));
    if (name == call.took) {
      if (opinion.usable.value_or(false) && !before.empty())
        found.push_back(
            fmt::format("{} switched off (sdpa_kernel, torch.backends.cuda)", base::join(before, ", ")));
      break;
    }
    if (opinion.usable.value_or(true)) before.push_back(name);
  }
  return found;
}

std::string metadata(const trace::Trace& trace, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto at = trace.metadata.find(name); at != trace.metadata.end()) return at->second;
  return {};
}

}  // namespace

base::Result<TraceCalls> calls_of(const analysis::Analysis& analysis, const sdpa::Setup& given,
                                  bool given_arch, bool given_torch, bool given_cudnn) {
  const trace::Trace& trace = *analysis.trace;
  TraceCalls found;
  sdpa::Setup setup = given;
  found.told_device = true;
  if (!given_arch) {
    const trace::DeviceProperties* gpu = nullptr;
    for (const auto& device : trace.devices)
      if (!device.is_cpu && device.compute_major > 0 && gpu == nullptr) gpu = &device;
    const bool device_work =
        std::find(trace.kind.begin(), trace.kind.end(), EventKind::kernel) != trace.kind.end();
    if (gpu != nullptr && gpu->has_sm()) {
      setup.sm = gpu->compute_major * 10 + gpu->compute_minor;
    } else if (gpu == nullptr && !device_work) {
      setup.sm = 0;
      found.notes.emplace_back("the trace has no device work: judged for the CPU; --arch tells another");
    } else {
      found.told_device = false;
      found.notes.push_back(fmt::format(
          "the trace names no GPU of NVIDIA's: judged for {}; --arch tells another", setup.arch_text()));
    }
  }
  found.told_torch = given_torch;
  if (!given_torch) {
    const std::string version = metadata(trace, {"pytorch_version", "torch_version", "PyTorch version"});
    if (!version.empty() && sdpa::set_torch(setup, version)) {
      found.told_torch = true;
      if (!given_cudnn) setup.cudnn = sdpa::bundled_cudnn(setup.torch);
    } else {
      found.notes.push_back(
          fmt::format("the trace does not tell PyTorch's version: judged as {}; --torch tells "
                      "another",
                      setup.torch_text));
    }
  }
  const auto own_cudnn = sdpa::parse_cudnn(metadata(trace, {"cudnn_version"}));
  if (!given_cudnn && own_cudnn) setup.cudnn = *own_cudnn;
  if (!given_cudnn && !own_cudnn && setup.cudnn && setup.sm != 0)
    found.notes.push_back(
        fmt::format("cuDNN is taken to be {}, which that PyTorch brings; --cudnn tells another",
                    sdpa::cudnn_text(*setup.cudnn)));
  const bool has_api_calls = std::any_of(trace.kind.begin(), trace.kind.end(), trace::is_api_call);
  std::map<std::string, std::size_t> places;
  std::size_t without_shapes = 0;
  const auto calls = analysis::attention_calls(analysis);
  for (const AttentionCall& from : calls) {
    auto call = question_of(trace, from);
    if (!call) {
      ++without_shapes;
      continue;
    }
    call->question.setup = setup;
    // On a machine with a GPU a call may yet have been the CPU's: it is where its op says so, or where the
    // trace has calls of the device's API and none inside.
    const bool for_cpu =
        from.backend_op != analysis::kNone && trace.name_of(from.backend_op).ends_with("_for_cpu");
    if (!given_arch && (for_cpu || (has_api_calls && !from.launches))) call->question.setup.sm = 0;
    std::string key = fmt::format("{}|{}|{}|{}|{}", call->question.setup.sm, call->took, call->gradients,
                                  call->direct, call->scale);
    for (const auto& [name, value] : why_fields(call->question.problem))
      key += fmt::format("|{}={}", name, value);
    const auto [place, fresh] = places.try_emplace(key, found.calls.size());
    if (fresh) {
      if (found.told_device) call->explanations = explanations(*call, found.told_torch);
      found.calls.push_back(std::move(*call));
    }
    found.calls[place->second].events.push_back(trace.source_index[from.op]);
    found.calls[place->second].ops.push_back(from.op);
  }
  if (found.calls.empty())
    return base::fail(base::Error{
        base::ErrorCode::usage,
        calls.empty()
            ? "no call of scaled_dot_product_attention in it"
            : fmt::format("{} calls of scaled_dot_product_attention, none with shapes that it can read",
                          calls.size()),
        trace.source,
        {},
        calls.empty() ? "a trace of a program that calls it" : "record with record_shapes=True"});
  if (without_shapes > 0)
    found.notes.push_back(fmt::format("{} of {} calls have no shapes that hunch can read, and are left out",
                                      without_shapes, calls.size()));
  found.notes.emplace_back(
      "a trace does not tell what was switched off (sdpa_kernel, torch.backends.cuda) nor deterministic "
      "algorithms: all backends are taken as allowed");
  return found;
}

}  // namespace hunch::cli
