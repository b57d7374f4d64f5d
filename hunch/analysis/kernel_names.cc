// Puts the facts together: the tables name the kernel, the readers beside them (names/) add dtype, tile,
// architecture and Tensor Cores, and a readable name is made of what was found. Nothing is filled in that no
// reader found.
#include "hunch/analysis/kernel_names.h"

#include <algorithm>
#include <array>

#include "hunch/analysis/names/dtype.h"
#include "hunch/analysis/names/functor.h"
#include "hunch/analysis/names/parsed_name.h"
#include "hunch/analysis/names/shape.h"
#include "hunch/analysis/names/table.h"
#include "hunch/base/strings.h"

namespace hunch::analysis {
namespace {

using names::ParsedName;
using names::Row;

constexpr auto kFamilies = std::to_array<std::string_view>({
    "attention_forward",
    "attention_backward",
    "attention_combine",
    "attention_other",
    "kv_cache",
    "matmul",
    "matmul_other",
    "convolution",
    "softmax",
    "masked_fill",
    "where",
    "mask_build",
    "elementwise",
    "copy",
    "cast",
    "concat",
    "fill",
    "memcpy",
    "memset",
    "reduction",
    "norm",
    "rotary",
    "index",
    "random",
    "quantize",
    "routing",
    "communication",
    "unnamed",
    "unknown",
});
static_assert(kFamilies.size() == static_cast<std::size_t>(Family::unknown) + 1);

constexpr std::size_t kLongest = 60;  // characters of a kernel's own name in a readable one

std::string shortened(std::string_view text) {
  if (text.size() <= kLongest) return std::string(text);
  return std::string(text.substr(0, kLongest - 3)) + "...";
}

bool is_attention(Family family) {
  return family == Family::attention_forward || family == Family::attention_backward ||
         family == Family::attention_combine || family == Family::attention_other;
}

// The kernel's own name: of wrappers that only start another function object, the object's.
std::string own_name(const ParsedName& name) {
  std::string_view text = name.base;
  std::string_view rest = name.arguments;
  const auto wraps = [](std::string_view base) {
    return base == "Kernel" || base == "Kernel2" || base == "device_kernel" || base == "kentry" ||
           base == "kernel" || base.starts_with("enable_sm");
  };
  while (wraps(text)) {
    const auto arguments = names::split_arguments(rest);
    const auto object = std::find_if(arguments.begin(), arguments.end(), [](std::string_view argument) {
      return !argument.empty() && !(argument.front() >= '0' && argument.front() <= '9') &&
             argument.front() != '(' && argument != "true" && argument != "false" && argument != "int" &&
             argument != "float";
    });
    if (object == arguments.end()) break;
    const auto open = object->find('<');
    std::string_view head = object->substr(0, open);
    if (const auto separator = head.rfind("::"); separator != std::string_view::npos)
      head.remove_prefix(separator + 2);
    rest = open == std::string_view::npos ? std::string_view{}
                                          : object->substr(open + 1, object->rfind('>') - open - 1);
    text = head;
    if (open == std::string_view::npos) break;
  }
  return shortened(text.empty() ? std::string_view(name.raw) : text);
}

// "add_cos_sin" of "triton_poi_fused_add_cos_sin_0".
std::string inductor_operations(std::string_view base) {
  const auto fused = base.find("_fused_");
  if (fused == std::string_view::npos) return {};
  base.remove_prefix(fused + 6);
  if (const auto number = base.rfind('_'); base::parse_int(base.substr(number + 1)))
    base = base.substr(0, number);
  while (base.starts_with('_')) base.remove_prefix(1);
  return std::string(base);
}

void append(std::string& text, std::string_view part) {
  if (part.empty()) return;
  if (!text.empty()) text += ' ';
  text += part;
}

std::string readable_name(const ParsedName& name, const KernelFacts& facts, std::string_view label) {
  std::string text(label);
  if (facts.family == Family::memcpy || facts.family == Family::memset) return text.empty() ? name.raw : text;
  if (text.empty()) text = own_name(name);
  // How hunch's own kernels go about a layout is no part of what they do.
  if (facts.provider == "hunch")
    for (const std::string_view way : {"_tiles", "_shared", "_long"})
      if (text.ends_with(way)) text.resize(text.size() - way.size());
  if (facts.provider == "inductor") {
    append(text, shortened(inductor_operations(name.base)));
    return text;
  }
  const bool named_by_itself = label.empty();  // holds its numbers already
  if (is_attention(facts.family) && !named_by_itself) {
    std::string architecture = facts.architecture;
    std::erase(architecture, '_');
    append(text, architecture);
    append(text, facts.tile);
  } else if ((facts.family == Family::matmul || facts.family == Family::convolution) && !named_by_itself) {
    const auto sizes = base::split(facts.tile, 'x');
    if (sizes.size() >= 2) append(text, std::string(sizes[0]) + "x" + std::string(sizes[1]));
  }
  const bool told =
      !facts.dtype.empty() && !base::contains(text, facts.dtype) && facts.family != Family::unknown;
  if (told && !(facts.backend == "cudnn" && facts.dtype == "16-bit")) append(text, facts.dtype);
  if (facts.family == Family::matmul && facts.tensor_cores == false && !named_by_itself)
    append(text, "(CUDA cores)");
  return text;
}

KernelFacts facts_of_functor(const ParsedName& name, const names::Functor& functor) {
  KernelFacts facts;
  facts.family = functor.family;
  facts.provider = names::provider_of(name);
  facts.dtype = functor.dtype;
  std::string text;
  if (functor.family == Family::cast) {
    text = functor.from.empty() ? "cast" : "cast " + functor.from;
    if (!functor.dtype.empty()) text += " to " + functor.dtype;
  } else {
    if (functor.family == Family::elementwise) text = "elementwise";
    if (functor.family == Family::reduction) text = functor.word == "reduce" ? "" : "reduce";
    append(text, functor.word);
    append(text, functor.dtype);
  }
  facts.readable = text;
  return facts;
}

// The tables in the order in which they are asked, after PyTorch's template kernels.
const Row* find_row(const ParsedName& name) {
  for (const auto rows : {names::memory_rows(), names::generated_rows(), names::cache_rows(),
                          names::attention_rows(), names::communication_rows(), names::convolution_rows(),
                          names::matmul_rows(), names::general_rows()}) {
    if (const Row* row = names::find_row(rows, name)) return row;
  }
  return nullptr;
}

}  // namespace

std::string_view name_of(Family family) { return kFamilies[static_cast<std::size_t>(family)]; }

std::optional<Family> parse_family(std::string_view name) {
  const auto found = std::find(kFamilies.begin(), kFamilies.end(), name);
  if (found == kFamilies.end()) return std::nullopt;
  return static_cast<Family>(found - kFamilies.begin());
}

KernelFacts kernel_facts(std::string_view text) {
  const ParsedName name = names::parse_name(text);
  if (text.empty()) {
    KernelFacts nameless;
    nameless.family = Family::unnamed;
    return nameless;
  }
  if (const auto functor = names::functor_of(name)) return facts_of_functor(name, *functor);

  KernelFacts facts;
  const Row* row = find_row(name);
  if (row != nullptr) {
    facts.family = row->family;
    facts.backend = row->backend;
    facts.provider = row->provider;
  }
  if (facts.family == Family::memcpy || facts.family == Family::memset) {
    facts.readable = readable_name(name, facts, row->label);
    return facts;
  }
  if (facts.provider.empty()) facts.provider = names::provider_of(name);
  // These projects name their attention after themselves.
  if (is_attention(facts.family) && facts.backend.empty() &&
      (facts.provider == "aiter" || facts.provider == "ck" || facts.provider == "flashinfer")) {
    facts.backend = facts.provider;
  }
  facts.dtype = names::dtype_of(name, facts.family);
  std::string label(row == nullptr ? std::string_view{} : row->label);
  // cast<from, to>, on a GPU with more; PyTorch's copy_<from, to> on the CPU.
  if (facts.family == Family::cast && label == "cast") {
    const auto types = names::split_arguments(name.arguments);
    if (types.size() >= 2) {
      facts.dtype = names::dtype_of_type(types[1]);
      label = "cast " + names::dtype_of_type(types[0]) + " to " + facts.dtype;
    }
  }
  facts.architecture = names::architecture_of(name);
  const auto tile = names::tile_of(name, facts.family);
  facts.tile = tile.text;
  facts.stages = tile.stages;
  facts.tensor_cores = names::tensor_cores_of(name, facts.family, facts.dtype, facts.architecture,
                                              row == nullptr ? names::Units::not_told : row->units);
  facts.readable = readable_name(name, facts, label);
  return facts;
}

}  // namespace hunch::analysis
