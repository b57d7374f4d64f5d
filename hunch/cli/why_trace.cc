// See the header. Shapes, types and scalars come from the op scaled_dot_product_attention, the backend from
// the attention op inside of it. Holds: calls are grouped only where all that the trace tells of them is
// alike; what it does not tell (strides, gradients, the mask's gradient) is said, not guessed.
#include "hunch/cli/why_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hunch/analysis/attention_ops.h"
#include "hunch/analysis/op_inputs.h"
#include "hunch/base/strings.h"

namespace hunch::cli {
namespace {

using trace::EventId;
using trace::EventKind;

bool is_sdpa(std::string_view name) {
  return name == "aten::scaled_dot_product_attention" || name == "scaled_dot_product_attention";
}

std::optional<sdpa::DType> dtype_of(std::string_view type) {
  if (type == "c10::BFloat16") return sdpa::DType::bf16;
  if (type == "c10::Half") return sdpa::DType::f16;
  return sdpa::parse_dtype(type);
}

// The problem, or nothing where the shapes are not those of 4-dimensional query, key and value.
std::optional<sdpa::Problem> problem_of(const trace::Trace& trace, EventId op) {
  const auto shapes = analysis::input_shapes(trace, op);
  const auto types = analysis::input_types(trace, op);
  if (shapes.size() < 3 || types.size() < 3) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i)
    if (!shapes[i] || shapes[i]->size() != 4) return std::nullopt;
  const auto dtype = dtype_of(types[0]);
  if (!dtype) return std::nullopt;
  const auto &q = *shapes[0], &k = *shapes[1], &v = *shapes[2];
  sdpa::Problem p;
  p.batch = q[0], p.heads = q[1], p.length = q[2], p.head_dim = q[3];
  p.kv_heads = k[1], p.kv_length = k[2], p.value_dim = v[3];
  p.dtype = *dtype;
  p.mask = sdpa::MaskKind::none;
  if (shapes.size() > 3 && shapes[3] && !shapes[3]->empty()) {
    p.mask = types.size() > 3 && types[3] == "bool" ? sdpa::MaskKind::boolean : sdpa::MaskKind::floating;
    p.mask_shape = *shapes[3];
  }
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] || !sdpa::validate(p))
    return std::nullopt;
  return p;
}

// The backend of the first attention op inside `op`, on its thread.
std::string took(const analysis::Analysis& analysis, EventId op) {
  const trace::Trace& trace = *analysis.trace;
  for (EventId at = op + 1; at < trace.size(); ++at) {
    if (trace.kind[at] != EventKind::op || trace.track[at] != trace.track[op]) continue;
    if (trace.start[at] > trace.end(op)) break;
    for (EventId up = analysis.timeline.parent[at]; up != trace::kNone; up = analysis.timeline.parent[up]) {
      if (up != op) continue;
      const auto backend = analysis::attention_backend_of_op(trace.name_of(at));
      if (!backend.empty()) return std::string(backend);
      break;
    }
  }
  return {};
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
  if (!given_arch) {
    const trace::DeviceProperties* gpu = nullptr;
    for (const auto& device : trace.devices)
      if (!device.is_cpu && device.compute_major > 0 && gpu == nullptr) gpu = &device;
    const bool device_work =
        std::find(trace.kind.begin(), trace.kind.end(), EventKind::kernel) != trace.kind.end();
    if (gpu != nullptr && gpu->warp_size == 32) {
      setup.sm = gpu->compute_major * 10 + gpu->compute_minor;
    } else if (gpu == nullptr && !device_work) {
      setup.sm = 0;
      found.notes.emplace_back("the trace has no device work: judged for the CPU; --arch tells another");
    } else {
      found.notes.push_back(fmt::format(
          "the trace names no GPU of NVIDIA's: judged for {}; --arch tells another", setup.arch_text()));
    }
  }
  if (!given_torch) {
    const std::string version = metadata(trace, {"pytorch_version", "torch_version", "PyTorch version"});
    if (!version.empty() && sdpa::set_torch(setup, version)) {
      if (!given_cudnn) setup.cudnn = sdpa::bundled_cudnn(setup.torch);
    } else {
      found.notes.push_back(
          fmt::format("the trace does not tell PyTorch's version: judged as {}; --torch tells "
                      "another",
                      setup.torch_text));
    }
  }
  if (!given_cudnn && setup.cudnn && setup.sm != 0)
    found.notes.push_back(
        fmt::format("cuDNN is taken to be {}, which that PyTorch brings; --cudnn tells another",
                    sdpa::cudnn_text(*setup.cudnn)));
  std::map<std::string, std::size_t> places;
  std::size_t without_shapes = 0, calls = 0;
  for (EventId op = 0; op < trace.size(); ++op) {
    if (trace.kind[op] != EventKind::op || !is_sdpa(trace.name_of(op))) continue;
    ++calls;
    const auto problem = problem_of(trace, op);
    if (!problem) {
      ++without_shapes;
      continue;
    }
    const std::string backend = took(analysis, op);
    const auto [at, fresh] = places.try_emplace(problem->text() + "|" + backend, found.calls.size());
    if (fresh) found.calls.push_back({{*problem, setup}, backend, {}});
    found.calls[at->second].events.push_back(trace.source_index[op]);
  }
  if (found.calls.empty())
    return base::fail(base::Error{
        base::ErrorCode::usage,
        calls == 0
            ? "no call of scaled_dot_product_attention in it"
            : fmt::format("{} calls of scaled_dot_product_attention, none with shapes that it can read",
                          calls),
        trace.source,
        {},
        calls == 0 ? "a trace of a program that calls it" : "record with record_shapes=True"});
  if (without_shapes > 0)
    found.notes.push_back(fmt::format("{} of {} calls have no shapes that hunch can read, and are left out",
                                      without_shapes, calls));
  found.notes.emplace_back(
      "a trace does not tell strides, gradients, dropout, is_causal, enable_gqa, or what was switched off: "
      "dense tensors "
      "without gradients are taken, so a backend that was refused for one of these shows as usable");
  return found;
}

}  // namespace hunch::cli
