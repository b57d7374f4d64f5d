// How PyTorch's template kernels are read: a table of functors for what is known by name, and for the rest
// the word before "_kernel". Types come from the functor's own template arguments, else from the lambda that
// takes values; the lambdas that wrap it take indices and come later in the text.
#include "hunch/analysis/names/functor.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "hunch/analysis/names/dtype.h"
#include "hunch/base/strings.h"

namespace hunch::analysis::names {
namespace {

using base::contains;

// Words and suffixes around the one that says what a functor does.
struct Known {
  std::string_view text;  // in the functor's text, lower case
  Family family;
  std::string_view word;
};

constexpr auto kKnown = std::to_array<Known>({
    {"masked_fill", Family::masked_fill, "masked_fill"},
    {"where_kernel", Family::where, "where"},
    {"masked_scatter", Family::index, "masked_scatter"},
    {"fillfunctor", Family::fill, "fill"},
    {"arange_cuda", Family::fill, "arange"},
    {"linspace", Family::fill, "linspace"},
    {"logspace", Family::fill, "logspace"},
    {"range_cuda", Family::fill, "range"},
    {"triu_tril", Family::mask_build, "tril"},
    {"batch_norm", Family::norm, "batch_norm"},
    {"group_norm", Family::norm, "group_norm"},
    {"groupnorm", Family::norm, "group_norm"},
    {"layer_norm", Family::norm, "layer_norm"},
    {"dropout", Family::random, "dropout"},
    {"bernoulli", Family::random, "bernoulli"},
    {"uniform_", Family::random, "uniform"},
    {"normal_", Family::random, "normal"},
    {"normal_and_transform", Family::random, "normal"},
    {"exponential_", Family::random, "exponential"},
    {"random_from_to", Family::random, "random"},
    {"random_kernel", Family::random, "random"},
    {"random_full", Family::random, "random"},
    {"distribution_nullary", Family::random, "random"},
    {"index_put", Family::index, "index_put"},
    {"index_kernel", Family::index, "index"},
    {"index_copy", Family::index, "index_copy"},
    {"index_fill", Family::index, "index_fill"},
    {"take_kernel", Family::index, "take"},
    {"roll_cuda", Family::copy, "roll"},
    {"flip_kernel", Family::copy, "flip"},
    {"isneginf", Family::elementwise, "is_neg_inf"},
    {"isposinf", Family::elementwise, "is_pos_inf"},
    {"nan_to_num", Family::elementwise, "nan_to_num"},
    {"compareeqfunctor", Family::elementwise, "compare eq"},
    {"comparefunctor", Family::elementwise, "compare"},
    {"compare_scalar", Family::elementwise, "compare"},
    {"launch_clamp", Family::elementwise, "clamp"},
    {"mulfunctor", Family::elementwise, "mul"},
    {"divfunctor", Family::elementwise, "div"},
    {"addfunctor", Family::elementwise, "add"},
    {"cudafunctor_add", Family::elementwise, "add"},
    {"cudafunctoronself_add", Family::elementwise, "add"},
    {"cudafunctoronother_add", Family::elementwise, "add"},
    {"bitwiseandfunctor", Family::elementwise, "bitwise and"},
    {"bitwiseorfunctor", Family::elementwise, "bitwise or"},
    {"bitwisexorfunctor", Family::elementwise, "bitwise xor"},
    {"pow_tensor", Family::elementwise, "pow"},
    {"threshold_kernel", Family::elementwise, "threshold"},
    {"_to_float", Family::cast, "cast"},
    {"_to_half", Family::cast, "cast"},
    {"_to_bf16", Family::cast, "cast"},
    {"float_to_", Family::cast, "cast"},
});

constexpr auto kReductions = std::to_array<Known>({
    {"meanops", Family::reduction, "mean"},
    {"sum_functor", Family::reduction, "sum"},
    {"and_kernel", Family::reduction, "all"},
    {"or_kernel", Family::reduction, "any"},
    {"argmax", Family::reduction, "argmax"},
    {"argmin", Family::reduction, "argmin"},
    {"maxops", Family::reduction, "max"},
    {"max_values", Family::reduction, "max"},
    {"maxnanfunctor", Family::reduction, "max"},
    {"minnanfunctor", Family::reduction, "min"},
    {"minops", Family::reduction, "min"},
    {"min_values", Family::reduction, "min"},
    {"welford", Family::reduction, "var"},
    {"norm", Family::reduction, "vector norm"},
    {"prod", Family::reduction, "prod"},
    {"xor_sum", Family::reduction, "xor"},
});

// "silu" of "...::silu_kernel(at::TensorIteratorBase&)::..." or of "silu_kernel_cuda<float>(...)".
std::string word_before_kernel(std::string_view text) {
  const std::string all = lower(text);
  for (const std::string_view suffix : {"_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_kernel"}) {
    for (std::size_t at = all.find(suffix); at != std::string::npos; at = all.find(suffix, at + 1)) {
      std::size_t begin = at;
      while (begin > 0 &&
             (std::isalnum(static_cast<unsigned char>(all[begin - 1])) != 0 || all[begin - 1] == '_'))
        --begin;
      std::string word = all.substr(begin, at - begin);
      if (word.empty() || word == "elementwise" || word == "gpu" || word.starts_with("gpu_") ||
          contains(word, "elementwise"))
        continue;
      return word;
    }
  }
  return {};
}

// The type in the innermost "lambda(T, ...)": the last one that takes values rather than indices.
std::string lambda_type(std::string_view text) {
  std::string found;
  for (std::size_t at = text.find("lambda("); at != std::string_view::npos;
       at = text.find("lambda(", at + 1)) {
    const std::size_t begin = at + 7;
    const std::size_t end = text.find(')', begin);
    if (end == std::string_view::npos) break;
    const auto types = split_arguments(text.substr(begin, end - begin));
    // lambda(int) and lambda(int, bool) with an index also wrap the functor; they come after it.
    std::string type;
    for (const auto one : types) {
      const std::string name = dtype_of_type(one);
      if (!name.empty() && (type.empty() || (type == "bool" && name != "bool"))) type = name;
    }
    if (!type.empty() && (found.empty() || found == "bool")) found = type;
  }
  return found;
}

Functor copy_functor(const ParsedName& name, const std::string& text) {
  const std::string& full = name.full_lower;
  Functor functor{Family::copy, "copy", lambda_type(name.arguments), {}};
  struct Cast {
    std::string_view text, to, from;
  };
  constexpr auto kCasts = std::to_array<Cast>({
      {"bfloat16tofloat32_copy", "f32", "bf16"},
      {"float16tofloat32_copy", "f32", "f16"},
      {"bfloat16_copy", "bf16", "f32"},
      {"float16_copy", "f16", "f32"},
      {"float8_copy", "fp8", ""},
      {"float8tofloat", "f32", "fp8"},
  });
  for (const Cast& one : kCasts) {
    if (!contains(text, one.text)) continue;
    return {Family::cast, "cast", std::string(one.to), std::string(one.from)};
  }
  // The kernel with a cast inside loads and stores through a type known at run time only.
  const bool casts = contains(full, "loadwithcast") || contains(full, "gpu_kernel_impl<");
  if (casts) {
    functor.family = Family::cast;
    functor.word = "cast";
  }
  return functor;
}

}  // namespace

std::optional<Functor> functor_of(const ParsedName& name) {
  const std::string& base = name.base_lower;
  const bool reducer = base == "reduce_kernel" || base == "reduce_1block_kernel";
  const bool pointwise = contains(base, "elementwise_kernel") && !contains(base, "index_elementwise") &&
                         !contains(base, "scatter_gather") && !contains(base, "batch_norm");
  const bool torch = contains(name.full_lower, "at::native") ||
                     contains(name.raw_lower, "at::tensoriterator") ||
                     contains(name.full_lower, "fbgemm_gpu");
  if (!torch || (!reducer && !pointwise) || name.arguments.empty()) return std::nullopt;
  const std::string text = lower(name.arguments);

  if (reducer) {
    Functor functor{Family::reduction, "reduce", {}, {}};
    for (const Known& known : kReductions) {
      if (!contains(text, known.text)) continue;
      functor.word = known.word;
      break;
    }
    functor.dtype = first_type(name.arguments);
    return functor;
  }
  if (contains(text, "_copy_kernel") || contains(text, "direct_copy")) return copy_functor(name, text);

  Functor functor{Family::elementwise, {}, {}, {}};
  const auto known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& row) { return contains(text, row.text); });
  if (known != kKnown.end()) {
    functor.family = known->family;
    functor.word = known->word;
  } else if (contains(base, "distribution")) {
    functor.family = Family::random;
    functor.word = "random";
  } else {
    functor.word = word_before_kernel(name.arguments);
  }
  functor.dtype = lambda_type(name.arguments);
  // Functors that are structs carry their types as template arguments; their lambdas, if any, wrap indices.
  for (const std::string_view structure :
       {"Functor<", "FunctorOnSelf_add<", "FunctorOnOther_add<", "Functor_add<"}) {
    const auto at = name.arguments.find(structure);
    if (at == std::string::npos) continue;
    if (const auto type = first_type(std::string_view(name.arguments).substr(at)); !type.empty())
      functor.dtype = type;
    break;
  }
  if (functor.family == Family::cast && contains(text, "_to_float")) {
    functor.dtype = "f32";
    if (contains(text, "fp8")) functor.from = "fp8";
  }
  return functor;
}

}  // namespace hunch::analysis::names
