// See the header. Every error names its option, the value, and an example of a good one.
#include "hunch/cli/why_options.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "hunch/attention/problem.h"
#include "hunch/base/strings.h"
#include "hunch/cli/device_option.h"
#include "hunch/report/json/json_writer.h"

namespace hunch::cli {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

constexpr std::array<Option, 31> kOptions = {{
    {"--problem", "-p", "SIZES", "batch x heads x length x head_dim, as 8x16x1024x64", false},
    {"--dtype", "", "TYPE", "bf16 (default), f16, f32 or f64", false},
    {"--mask", "", "KIND", "none, causal (default), bool or float", false},
    {"--mask-shape", "", "SIZES", "of a tensor mask, as 8x1x1x1024 (length x kv_length)", false},
    {"--mask-strides", "", "STRIDES", "of the mask, as 1024,0,0,1 (dense)", false},
    {"--mask-grad", "", "", "the mask requires a gradient", false},
    {"--kv-heads", "", "COUNT", "key and value heads", false},
    {"--kv-length", "", "LENGTH", "length of key and value", false},
    {"--value-dim", "", "SIZE", "value's head_dim, where it differs", false},
    {"--gqa", "", "SWITCH", "enable_gqa: on or off (on where the heads differ)", false},
    {"--dropout", "", "RATE", "dropout_p (0)", false},
    {"--grad", "", "", "query, key and value require gradients", false},
    {"--layout", "", "ORDER", "of query, key and value in memory: bhsd (default), bshd, packed, expand, ...",
     false},
    {"--strides", "", "STRIDES", "the same as numbers: batch,head,length,dim for each of the three", false},
    {"--window", "", "KEYS", "causal: a query sees the last so many of its keys; hunch's own alone", false},
    {"--softcap", "", "NUMBER", "scores become NUMBER * tanh(score / NUMBER); hunch's own alone", false},
    {"--scale", "", "NUMBER", "of the scores (1/sqrt(head_dim)); PyTorch's choice does not look at it",
     false},
    {"--nested", "", "", "nested tensors", false},
    {"--torch", "", "VERSION", "PyTorch's version (2.11)", false},
    {"--arch", "", "ARCH", "sm_90 (default), sm_80, sm_121, ... or cpu", false},
    {"--cudnn", "", "VERSION", "cuDNN's version, as 9.19 (what PyTorch's wheels bring)", false},
    {"--cuda", "", "VERSION", "CUDA's version of the build, as 13.0; told, not needed so far", false},
    {"--enable", "", "NAMES", "only these, as sdpa_kernel() does: flash,efficient,math,cudnn", false},
    {"--priority", "", "NAMES", "these first, as set_priority=True does", false},
    {"--deterministic", "", "", "torch.use_deterministic_algorithms(True)", false},
    {"--env", "", "NAME=VALUE", "a variable of PyTorch's environment; repeats", true},
    {"--dispatcher", "", "NAME", "pytorch, hunch, or both (default)", false},
    {"--device", "", "NAME", "of hunch's own dispatcher: cpu, cuda or cuda:1 (else what --arch says)", false},
    {"--problems", "", "FILE", "a JSON object a line, or - for standard input; an answer a line in JSON",
     false},
    {"--from-trace", "", "FILE", "the attention calls of a trace that has shapes", false},
    {"--threads", "", "COUNT", "threads of hunch's CPU device", false},
}};

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

Result<std::vector<int64_t>> numbers(std::string_view option, std::string_view text, char separator,
                                     std::string_view example) {
  std::vector<int64_t> out;
  for (const std::string_view part : base::split(text, separator)) {
    const auto value = base::parse_int(base::trim(part));
    if (!value || *value < 0)
      return fail(ErrorCode::usage, fmt::format("{} {}: '{}' is no size", option, text, part),
                  std::string(example));
    out.push_back(*value);
  }
  return out;
}

Status set_sizes(sdpa::Problem& p, std::string_view text) {
  auto parsed = attention::parse_problem(text);
  if (!parsed) return fail(named(parsed.error(), fmt::format("--problem {}", text)));
  p.batch = parsed->batch;
  p.heads = p.kv_heads = parsed->heads;
  p.length = p.kv_length = parsed->length;
  p.head_dim = p.value_dim = parsed->head_dim;
  return {};
}

Status set_layout(sdpa::Problem& p, std::string_view layout) {
  const auto query = sdpa::strides_of({p.batch, p.heads, p.length, p.head_dim}, layout);
  if (!query)
    return fail(ErrorCode::usage, fmt::format("--layout {}: unknown", layout),
                "bhsd, bshd, sbhd, another order of these letters, packed or expand");
  p.query_strides = query;
  p.key_strides = sdpa::strides_of({p.batch, p.kv_heads, p.kv_length, p.head_dim}, layout);
  p.value_strides = sdpa::strides_of({p.batch, p.kv_heads, p.kv_length, p.value_dim}, layout);
  return {};
}

Status set_strides(sdpa::Problem& p, std::string_view text) {
  HUNCH_ASSIGN(const auto given, numbers("--strides", text, ',', "--strides 65536,64,1024,1"));
  if (given.size() != 4 && given.size() != 12)
    return fail(ErrorCode::usage, fmt::format("--strides {}: {} numbers", text, given.size()),
                "4 for all three, or 12: query's, key's, value's");
  const auto at = [&](std::size_t first) {
    return sdpa::Strides{given[first], given[first + 1], given[first + 2], given[first + 3]};
  };
  p.query_strides = at(0);
  p.key_strides = at(given.size() == 12 ? 4 : 0);
  p.value_strides = at(given.size() == 12 ? 8 : 0);
  return {};
}

std::string list(const std::vector<int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }
std::string list(const sdpa::Strides& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

}  // namespace

const std::span<const Option> kWhyOptions = kOptions;

Result<sdpa::Problem> why_problem(const Arguments& arguments) {
  sdpa::Problem p;
  HUNCH_RETURN_IF_ERROR(set_sizes(p, arguments.text("--problem").value_or("")));
  HUNCH_ASSIGN(p.kv_heads, arguments.integer("--kv-heads", p.kv_heads, 1, kMost));
  HUNCH_ASSIGN(p.kv_length, arguments.integer("--kv-length", p.kv_length, 0, kMost));
  HUNCH_ASSIGN(p.value_dim, arguments.integer("--value-dim", p.value_dim, 0, kMost));
  if (const auto text = arguments.text("--dtype")) {
    const auto dtype = sdpa::parse_dtype(*text);
    if (!dtype)
      return fail(ErrorCode::usage, fmt::format("--dtype {}: unknown", *text), "bf16, f16, f32 or f64");
    p.dtype = *dtype;
  }
  if (const auto text = arguments.text("--mask")) {
    const auto mask = sdpa::parse_mask(*text);
    if (!mask)
      return fail(ErrorCode::usage, fmt::format("--mask {}: unknown", *text), "none, causal, bool or float");
    p.mask = *mask;
  }
  if (const auto text = arguments.text("--mask-shape")) {
    HUNCH_ASSIGN(p.mask_shape, numbers("--mask-shape", *text, 'x', "--mask-shape 8x1x1x1024"));
  }
  if (const auto text = arguments.text("--mask-strides")) {
    HUNCH_ASSIGN(p.mask_strides, numbers("--mask-strides", *text, ',', "--mask-strides 1024,0,0,1"));
  }
  p.mask_grad = arguments.has("--mask-grad");
  p.grad = arguments.has("--grad");
  p.nested = arguments.has("--nested");
  if (const auto text = arguments.text("--gqa")) {
    if (*text != "on" && *text != "off")
      return fail(ErrorCode::usage, fmt::format("--gqa {}: unknown", *text), "on or off");
    p.gqa = *text == "on";
  }
  if (const auto text = arguments.text("--dropout")) {
    const auto rate = base::parse_double(base::trim(*text));
    if (!rate || !(*rate >= 0 && *rate < 1))
      return fail(ErrorCode::usage, fmt::format("--dropout {}: expected a rate from 0 to below 1", *text),
                  "--dropout 0.1");
    p.dropout = *rate;
  }
  if (arguments.has("--layout") && arguments.has("--strides"))
    return fail(ErrorCode::usage, "--layout and --strides are both given", "one of the two");
  if (const auto text = arguments.text("--layout")) HUNCH_RETURN_IF_ERROR(set_layout(p, *text));
  if (const auto text = arguments.text("--strides")) HUNCH_RETURN_IF_ERROR(set_strides(p, *text));
  if (auto valid = sdpa::validate(p); !valid) return fail(named(valid.error(), "why"));
  return p;
}

Result<sdpa::Setup> why_setup(const Arguments& arguments) {
  sdpa::Setup setup;
  if (const auto text = arguments.text("--torch"))
    if (auto ok = sdpa::set_torch(setup, *text); !ok) return fail(named(ok.error(), "why"));
  const auto take = [&](std::string_view option, auto parse, auto& field) -> Status {
    const auto text = arguments.text(option);
    if (!text) return {};
    auto value = parse(*text);
    if (!value) return fail(named(value.error(), "why"));
    field = *value;
    return {};
  };
  HUNCH_RETURN_IF_ERROR(take("--arch", sdpa::parse_arch, setup.sm));
  HUNCH_RETURN_IF_ERROR(take("--cudnn", sdpa::parse_cudnn, setup.cudnn));
  HUNCH_RETURN_IF_ERROR(take("--cuda", sdpa::parse_cuda, setup.cuda));
  HUNCH_RETURN_IF_ERROR(take("--enable", sdpa::parse_backends, setup.enabled));
  HUNCH_RETURN_IF_ERROR(take("--priority", sdpa::parse_backends, setup.priority));
  if (!setup.cudnn) setup.cudnn = sdpa::bundled_cudnn(setup.torch);
  setup.deterministic = arguments.has("--deterministic");
  for (const std::string& pair : arguments.all("--env")) {
    const auto equal = pair.find('=');
    if (equal == std::string::npos || equal == 0)
      return fail(ErrorCode::usage, fmt::format("--env {}: expected NAME=VALUE", pair),
                  "--env TORCH_CUDNN_SDPA_DEPRIORITIZED=1");
    setup.environment[pair.substr(0, equal)] = pair.substr(equal + 1);
  }
  return setup;
}

std::vector<std::pair<std::string, std::string>> why_fields(const sdpa::Problem& p) {
  const auto number = [](int64_t value) { return fmt::format("{}", value); };
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  std::vector<std::pair<std::string, std::string>> fields = {
      {"batch", number(p.batch)},
      {"heads", number(p.heads)},
      {"kv_heads", number(p.kv_heads)},
      {"length", number(p.length)},
      {"kv_length", number(p.kv_length)},
      {"head_dim", number(p.head_dim)},
      {"value_dim", number(p.value_dim)},
      {"dtype", report::json::quoted(sdpa::name_of(p.dtype))},
      {"mask", report::json::quoted(sdpa::name_of(p.mask))},
      {"gqa", flag(p.grouped())},
      {"dropout", fmt::format("{}", p.dropout)},
      {"grad", flag(p.grad)}};
  if (p.tensor_mask()) {
    fields.emplace_back("mask_shape", list(p.mask_sizes()));
    if (!p.mask_strides.empty()) fields.emplace_back("mask_strides", list(p.mask_strides));
    fields.emplace_back("mask_grad", flag(p.mask_grad));
  }
  if (p.query_strides) fields.emplace_back("query_strides", list(*p.query_strides));
  if (p.key_strides) fields.emplace_back("key_strides", list(*p.key_strides));
  if (p.value_strides) fields.emplace_back("value_strides", list(*p.value_strides));
  if (p.nested) fields.emplace_back("nested", "true");
  return fields;
}

}  // namespace hunch::cli
