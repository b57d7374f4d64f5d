// Which type a name tells, per naming scheme: cuDNN, Tensile, xmma, cuBLAS and CUTLASS schemes have readers
// of their own, C++ names are read argument by argument, everything else word by word. A scheme that does not
// tell ("nvjet") gives nothing, whatever letters it holds.
#include "hunch/analysis/names/dtype.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "hunch/base/strings.h"

namespace hunch::analysis::names {
namespace {

using base::contains;
using Pair = std::pair<std::string_view, std::string_view>;

// C++ types without their namespaces.
constexpr auto kTypes = std::to_array<Pair>({
    {"BFloat16", "bf16"},
    {"bfloat16_t", "bf16"},
    {"__nv_bfloat16", "bf16"},
    {"nv_bfloat16", "bf16"},
    {"__hip_bfloat16", "bf16"},
    {"hip_bfloat16", "bf16"},
    {"__bf16", "bf16"},
    {"__nv_bfloat162", "bf16"},
    {"bf16", "bf16"},
    {"bhalf_t", "bf16"},
    {"bf16_t", "bf16"},
    {"Half", "f16"},
    {"half_t", "f16"},
    {"__half", "f16"},
    {"half", "f16"},
    {"__half2", "f16"},
    {"half2", "f16"},
    {"_Float16", "f16"},
    {"fp16_t", "f16"},
    {"f16", "f16"},
    {"float", "f32"},
    {"float2", "f32"},
    {"float4", "f32"},
    {"f32", "f32"},
    {"double", "f64"},
    {"f64", "f64"},
    {"tfloat32_t", "tf32"},
    {"tf32_t", "tf32"},
    {"Float8_e4m3fn", "fp8"},
    {"Float8_e5m2", "fp8"},
    {"Float8_e4m3fnuz", "fp8"},
    {"Float8_e5m2fnuz", "fp8"},
    {"__nv_fp8_e4m3", "fp8"},
    {"__nv_fp8_e5m2", "fp8"},
    {"float_e4m3_t", "fp8"},
    {"float_e5m2_t", "fp8"},
    {"fp8_e4m3", "fp8"},
    {"fp8_t", "fp8"},
    {"bf8_t", "fp8"},
    {"__hip_fp8_e4m3_fnuz", "fp8"},
    {"float_ue4m3_t", "fp8"},
    {"float_e2m1_t", "fp4"},
    {"__nv_fp4_e2m1", "fp4"},
    {"nv_float4_t", "fp4"},
    {"mx_float4_t", "mxfp4"},
    {"mx_float8_t", "mxfp8"},
    {"int8_t", "int8"},
    {"int", "int32"},
    {"int32_t", "int32"},
    {"long", "int64"},
    {"int64_t", "int64"},
    {"short", "int16"},
    {"uint8_t", "uint8"},
    {"bool", "bool"},
    {"uint16_t", "16-bit"},
    {"__int128", ""},
});

// Words in names that are no C++: "ampere_bf16_s16816gemm", "ncclKernel_AllReduce_RING_LL_Sum_float".
constexpr auto kTokens = std::to_array<Pair>({
    {"bf16", "bf16"},   {"bfloat16", "bf16"}, {"bf16bf16", "bf16"}, {"fp16", "f16"},     {"f16", "f16"},
    {"half", "f16"},    {"float16", "f16"},   {"f16f16", "f16"},    {"hgemm", "f16"},    {"fp32", "f32"},
    {"f32", "f32"},     {"float", "f32"},     {"float32", "f32"},   {"sgemm", "f32"},    {"scudnn", "f32"},
    {"f32f32", "f32"},  {"tf32", "tf32"},     {"tf32f32", "tf32"},  {"tf32x3", "tf32"},  {"f64", "f64"},
    {"fp64", "f64"},    {"double", "f64"},    {"dgemm", "f64"},     {"d884gemm", "f64"}, {"fp8", "fp8"},
    {"e4m3", "fp8"},    {"e5m2", "fp8"},      {"e4m3fn", "fp8"},    {"f8f8", "fp8"},     {"f8", "fp8"},
    {"float8", "fp8"},  {"int8", "int8"},     {"i8", "int8"},       {"s8", "int8"},      {"i8i8", "int8"},
    {"fp4", "fp4"},     {"nvfp4", "fp4"},     {"e2m1", "fp4"},      {"mxfp4", "mxfp4"},  {"mxfp8", "mxfp8"},
    {"int4", "int4"},   {"i4", "int4"},       {"s4", "int4"},       {"4bit", "4-bit"},   {"8bit", "8-bit"},
    {"int32", "int32"}, {"int64", "int64"},   {"uint8", "uint8"},   {"u8", "uint8"},     {"ushort", "16-bit"},
});

std::string_view find(std::span<const Pair> pairs, std::string_view text) {
  const auto row =
      std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair.first == text; });
  return row == pairs.end() ? std::string_view{} : row->second;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) == 0) ++at;
    const std::size_t begin = at;
    while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0) ++at;
    if (at > begin) tokens.push_back(text.substr(begin, at - begin));
  }
  return tokens;
}

bool is_index_type(std::string_view dtype) {
  return dtype == "int32" || dtype == "int64" || dtype == "bool" || dtype == "int16";
}

// The first element type in `text`; integers and bool only where `indices` and nothing better follows.
std::string first_type_in(std::string_view text, bool indices) {
  std::string fallback;
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    // "(int)128", "unsigned int" and "unsigned long" are counts; "char" is raw memory.
    const bool cast = begin > 0 && text[begin - 1] == '(' && at < text.size() && text[at] == ')';
    if (word == "unsigned") {
      const auto rest = base::trim(text.substr(at));
      if (rest.starts_with("char")) return "uint8";
      if (rest.starts_with("short")) return "16-bit";
      while (at < text.size() && !is_word(text[at]) && text[at] != ',') ++at;
      while (at < text.size() && is_word(text[at])) ++at;
      continue;
    }
    if (cast) continue;
    if (word == "OpaqueType" && at < text.size() && text[at] == '<') {
      const std::string size(text.substr(at + 1, text.find_first_of("u>", at + 1) - at - 1));
      const auto bytes =
          base::parse_int(base::trim(size.starts_with("(") ? size.substr(size.find(')') + 1) : size));
      if (bytes && *bytes > 0 && *bytes <= 16) return std::to_string(*bytes * 8) + "-bit";
    }
    const std::string_view dtype = find(kTypes, word);
    if (dtype.empty()) continue;
    if (!is_index_type(dtype)) return std::string(dtype);
    if (indices && fallback.empty()) fallback = dtype;
  }
  return fallback;
}

// Tensile: the letters after the index order, "Cijk_Ailk_Bjlk_BBS_BH_...".
std::string tensile_dtype(const ParsedName& name) {
  const auto tokens = base::split(name.base, '_');
  const auto first =
      std::find_if(tokens.begin(), tokens.end(), [](std::string_view token) { return token == "Cijk"; });
  if (std::distance(first, tokens.end()) < 4) return {};
  const std::string_view letters = *(first + 3);
  constexpr auto kLetters = std::to_array<Pair>({{"F8", "fp8"},
                                                 {"B8", "fp8"},
                                                 {"I8", "int8"},
                                                 {"4xi8", "int8"},
                                                 {"F4", "fp4"},
                                                 {"F6", "fp6"},
                                                 {"B", "bf16"},
                                                 {"H", "f16"},
                                                 {"S", "f32"},
                                                 {"D", "f64"},
                                                 {"C", "complex64"},
                                                 {"Z", "complex128"}});
  for (const auto& [letter, dtype] : kLetters) {
    if (letters.starts_with(letter)) return std::string(dtype);
  }
  return {};
}

// cuBLAS and CUTLASS names: an instruction like s16816gemm with the type beside it, or without one.
std::string gemm_dtype(const ParsedName& name) {
  const std::string& full = name.full_lower;
  for (const std::string_view token : tokens_of(full)) {
    std::string dtype = dtype_of_token(token);
    if (!dtype.empty() && dtype != "f32") return dtype;
  }
  if (contains(full, "h16816") || contains(full, "h1688") || contains(full, "h884") ||
      contains(full, "hgemm") || contains(full, "hcudnn"))
    return "f16";
  if (contains(full, "d884") || contains(full, "d1688") || contains(full, "d16816") ||
      contains(full, "dgemm"))
    return "f64";
  if (contains(full, "i16832") || contains(full, "i8816") || contains(full, "imma")) return "int8";
  if (contains(full, "cgemm")) return "complex64";
  if (contains(full, "zgemm")) return "complex128";
  if (contains(full, "s1688gemm") || contains(full, "s1688fprop") || contains(full, "s1688dgrad") ||
      contains(full, "s1688wgrad"))
    return "tf32";
  if (contains(full, "sgemm") || contains(full, "scudnn")) return "f32";
  return {};
}

// "..._gemm_bf16bf16_bf16f32_f32_tn_...": the types of A and B come first.
std::string xmma_dtype(const ParsedName& name) {
  if (contains(name.base_lower, "tf32")) return "tf32";
  for (const std::string_view token : tokens_of(name.base_lower)) {
    if (auto dtype = dtype_of_token(token); !dtype.empty()) return dtype;
    for (const std::string_view start : {"bf16", "f16", "e4m3", "e5m2", "f32", "f64", "i8", "u8"}) {
      if (token.starts_with(start) && token.size() > start.size() && token.size() < 10 &&
          !token.starts_with("f32x"))
        return dtype_of_token(start);
    }
  }
  return {};
}

// Camel case of NVIDIA's generated kernels: "QkvE4m3OBfloat16", "MxE4m3", "Fp16".
std::string generated_dtype(const ParsedName& name) {
  struct Word {
    std::string_view text, dtype;
  };
  constexpr auto kWords = std::to_array<Word>({{"E4m3", "fp8"},
                                               {"E5m2", "fp8"},
                                               {"E2m1", "fp4"},
                                               {"Bfloat16", "bf16"},
                                               {"Bf16", "bf16"},
                                               {"Fp16", "f16"},
                                               {"Half", "f16"},
                                               {"Fp32", "f32"}});
  std::string_view best;
  std::size_t place = std::string::npos;
  for (const Word& word : kWords) {
    const auto at = name.base.find(word.text);
    if (at < place) {
      place = at;
      best = word.dtype;
    }
  }
  return std::string(best);
}

std::string first_token_dtype(std::string_view text) {
  for (const std::string_view token : tokens_of(text)) {
    if (auto dtype = dtype_of_token(token); !dtype.empty()) return dtype;
    if (const auto cross = token.find('x'); cross != std::string_view::npos) {  // "bf16xbf16xmxfp4"
      if (auto dtype = dtype_of_token(token.substr(0, cross)); !dtype.empty()) return dtype;
    }
  }
  return {};
}

// The narrowest type that the name tells: what a quantization makes.
std::string quantized_dtype(const ParsedName& name) {
  for (const std::string_view wanted : {"mxfp4", "fp4", "mxfp8", "fp8", "int4", "int8"}) {
    for (const std::string_view token : tokens_of(name.full_lower)) {
      if (dtype_of_token(token) == wanted) return std::string(wanted);
    }
    for (const std::string& word : name.words) {
      if (dtype_of_token(word) == wanted) return std::string(wanted);
    }
  }
  return {};
}

}  // namespace

std::string dtype_of_type(std::string_view type) { return first_type_in(type, true); }

std::string first_type(std::string_view text) { return first_type_in(text, true); }

std::string dtype_of_token(std::string_view token) { return std::string(find(kTokens, token)); }

std::string dtype_of(const ParsedName& name, Family family) {
  const std::string& base = name.base_lower;
  const std::string& full = name.full_lower;
  if (family == Family::memcpy || family == Family::memset || family == Family::unnamed ||
      family == Family::unknown)
    return {};
  if (base.starts_with("triton_")) return {};
  if (contains(base, "cudnn_generated") && (contains(base, "_f16") || contains(base, "f16_")))
    return "16-bit";  // either of the two
  if (base.starts_with("nvjet")) return {};
  if (contains(base, "cijk_")) return tensile_dtype(name);
  if (contains(base, "xmma_")) return xmma_dtype(name);
  if (base.starts_with("fmhasm") || base.starts_with("bmm_") || base.starts_with("gemm_")) {
    if (auto dtype = generated_dtype(name); !dtype.empty()) return dtype;
  }
  if (base.starts_with("batched_transpose") && base.ends_with("_half"))
    return "16-bit";  // MIOpen's word for two bytes
  if (family == Family::quantize) {
    if (auto dtype = quantized_dtype(name); !dtype.empty() && !contains(base, "dequant")) return dtype;
  }
  // cuBLAS names its vectors' types last, after accumulators.
  if (const auto tensor = name.full.find("cublasGemvTensor"); tensor != std::string::npos) {
    if (auto dtype = first_type_in(std::string_view(name.full).substr(tensor), false); !dtype.empty())
      return dtype;
  }
  if (family ==
      Family::matmul_other) {  // partial sums are float; the 16-bit type beside them is the result's
    for (const std::string_view argument : split_arguments(name.arguments)) {
      auto dtype = first_type_in(argument, false);
      if (dtype == "bf16" || dtype == "f16") return dtype;
    }
  }
  const bool product =
      family == Family::matmul || family == Family::convolution || family == Family::matmul_other;
  if (product && (contains(full, "gemm_") || contains(full, "gemm<") || contains(full, "cutlass_") ||
                  contains(full, "cudnn_") || contains(full, "tensorop") || contains(full, "gemm"))) {
    const bool types = name.full.find("_t") != std::string::npos && contains(full, "cutlass::") &&
                       !contains(full, "cutlass_");
    const bool plain =
        split_arguments(name.arguments).size() < 2;  // "Kernel2<cutlass_80_...>" and names without arguments
    if (!types && (plain || first_type_in(name.arguments, false).empty())) {
      if (auto dtype = gemm_dtype(name); !dtype.empty()) return dtype;
    }
  }
  const bool indices = family == Family::fill || family == Family::elementwise ||
                       family == Family::reduction || family == Family::copy ||
                       family == Family::mask_build || family == Family::where || family == Family::concat;
  if (auto dtype = first_type_in(name.arguments, indices); !dtype.empty()) return dtype;
  if (auto dtype = first_type_in(name.full.substr(std::min(name.full.size(), name.full.find('<'))), false);
      !dtype.empty())
    return dtype;
  if (auto dtype = first_token_dtype(base); !dtype.empty()) return dtype;
  for (const std::string& word : name.words) {
    if (auto dtype = dtype_of_token(word); !dtype.empty()) return dtype;
  }
  return {};
}

}  // namespace hunch::analysis::names
