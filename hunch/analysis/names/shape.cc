// Reads the numbers in names: each naming scheme says in its own way which of its "128x64" is the tile, so
// the schemes are asked from the most exact (a word such as "tilesize" beside the number) to the plainest.
#include "hunch/analysis/names/shape.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "hunch/base/strings.h"

namespace hunch::analysis::names {
namespace {

using base::contains;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// "128x64x32" within a text, with the letters right before it and where it lies.
struct Group {
  std::vector<int> values;
  std::string prefix;
  std::size_t begin = 0, end = 0;
};

std::vector<Group> groups_of(std::string_view text) {
  std::vector<Group> groups;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    Group group;
    group.begin = at;
    for (std::size_t letters = at; letters > 0 && is_letter(text[letters - 1]); --letters)
      group.prefix.insert(0, 1, text[letters - 1]);
    while (at < text.size() && is_digit(text[at])) {
      int value = 0;
      while (at < text.size() && is_digit(text[at]))
        value = std::min(value * 10 + (text[at++] - '0'), 1000000);
      group.values.push_back(value);
      if (at + 1 < text.size() && text[at] == 'x' && is_digit(text[at + 1])) ++at;
    }
    group.end = at;
    if (group.values.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

std::string joined(const std::vector<int>& values, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < std::min(count, values.size()); ++i)
    text += (i == 0 ? "" : "x") + std::to_string(values[i]);
  return text;
}

// The number that follows `word` in `text`, or nothing.
std::optional<int> number_after(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    std::size_t digit = at + word.size();
    int value = 0;
    const std::size_t begin = digit;
    while (digit < text.size() && is_digit(text[digit]) && digit - begin < 6)
      value = value * 10 + (text[digit++] - '0');
    if (digit > begin) return value;
  }
  return std::nullopt;
}

// A template argument that is a number: "64", "(int)64", "64u", "C<64>".
std::optional<int> number_of(std::string_view argument) {
  argument = base::trim(argument);
  if (argument.starts_with('(')) {
    const auto close = argument.find(')');
    if (close == std::string_view::npos) return std::nullopt;
    argument.remove_prefix(close + 1);
  }
  while (!argument.empty() && (argument.back() == 'u' || argument.back() == 'l')) argument.remove_suffix(1);
  const auto value = base::parse_int(argument);
  if (!value || *value < 0 || *value > 1000000) return std::nullopt;
  return static_cast<int>(*value);
}

// The numbers among the template arguments that follow `opening`, up to the first that is none.
std::vector<int> numbers_after(std::string_view text, std::string_view opening) {
  std::vector<int> numbers;
  const auto at = text.find(opening);
  if (at == std::string_view::npos) return numbers;
  for (const auto argument : split_arguments(text.substr(at + opening.size()))) {
    const auto number = number_of(argument);
    if (!number) break;
    numbers.push_back(*number);
  }
  return numbers;
}

// Rows x keys x head_dim. FlashAttention 2: traits<head_dim, block_m, block_n, warps, ...>.
std::string flash_tile(std::string_view full) {
  for (const std::string_view traits :
       {"Flash_fwd_kernel_traits<", "Flash_bwd_kernel_traits<", "Flash_kernel_traits<"}) {
    const auto numbers = numbers_after(full, traits);
    if (numbers.size() >= 3) return joined({numbers[1], numbers[2], numbers[0]}, 3);
  }
  // hunch's own: the type comes before the same three; of few rows, a warp's keys and the warps.
  constexpr std::string_view kFewRows = "sm80::FewRowsShape<";
  constexpr std::string_view kShapes[] = {"sm80::FlashShape<", "sm80::EfficientShape<", "sm90::Shape90<",
                                          kFewRows};
  for (const std::string_view shape : kShapes) {
    const auto at = full.find(shape);
    if (at == std::string_view::npos) continue;
    const auto arguments = split_arguments(full.substr(at + shape.size()));
    std::vector<int> numbers;
    for (std::size_t i = 1; i < arguments.size() && i < 4; ++i)
      if (const auto number = number_of(arguments[i])) numbers.push_back(*number);
    if (numbers.size() != 3) continue;
    if (shape != kFewRows) return joined({numbers[1], numbers[2], numbers[0]}, 3);
    if (numbers[1] > 1024 || numbers[2] > 32) continue;  // no such kernel
    return joined({16, numbers[1] * numbers[2], numbers[0]}, 3);
  }
  return {};
}

// CUTLASS 3: the first shape of three static sizes that is no cluster; CUTLASS 2: the first GemmShape.
std::string cute_tile(std::string_view full) {
  for (const std::string_view opening : {"GemmShape<", "GemmShape, "}) {
    if (const auto shape = numbers_after(full, opening); shape.size() >= 3) return joined(shape, 3);
  }
  std::vector<int> sizes;
  std::size_t last = 0;
  for (std::size_t at = full.find("C<"); at != std::string_view::npos; at = full.find("C<", at + 1)) {
    const auto close = full.find('>', at);
    if (close == std::string_view::npos) break;
    const auto size = number_of(full.substr(at + 2, close - at - 2));
    const bool adjacent = sizes.empty() || !contains(full.substr(last, at - last), "tuple");
    if (!adjacent) sizes.clear();
    if (!size) continue;
    sizes.push_back(*size);
    last = close;
    if (sizes.size() < 3) continue;
    if (sizes[0] >= 16 && sizes[1] >= 8 && sizes[2] >= 8) return joined(sizes, 3);
    sizes.clear();
  }
  return {};
}

// "128x64_64x6": MxN, then K x stages; between them only words of cuBLAS's scheme.
bool only_scheme_words(std::string_view between) {
  for (const std::string_view token : base::split(between, '_')) {
    const bool load = token.starts_with("ldg") || token == "stages" || token == "relu" || token == "f2f" ||
                      token == "gelu" || token.empty();
    if (!load) return false;
  }
  return true;
}

Tile plain_tile(std::string_view text) {
  const auto groups = groups_of(text);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    if (group.values[0] < 8 || group.values[1] < 8) continue;
    const std::string prefix = lower(group.prefix);
    if (prefix == "cga" || prefix == "w" || prefix == "warpsize" || prefix == "mi" || prefix == "tensor" ||
        prefix == "m" || prefix == "et")
      continue;
    if (group.values.size() > 2) return {joined(group.values, 3), std::nullopt};
    if (i + 1 < groups.size() && groups[i + 1].values.size() == 2 && groups[i + 1].prefix.empty() &&
        only_scheme_words(text.substr(group.end, groups[i + 1].begin - group.end))) {
      const auto& next = groups[i + 1].values;
      return {joined({group.values[0], group.values[1], next[0]}, 3), next[1]};
    }
    return {joined(group.values, 2), std::nullopt};
  }
  return {};
}

bool may_have_tile(Family family) {
  switch (family) {
    case Family::matmul:
    case Family::convolution:
    case Family::attention_forward:
    case Family::attention_backward:
    case Family::attention_other:
      return true;
    default:
      return false;
  }
}

constexpr std::string_view kYes[] = {
    "tensorop",      "wgmma",    "gmma",       "wmma",           "umma",    "hmma",   "imma",
    "mfma",          "tcgen05",  "tensor16x8", "tensor8x8",      "_xdl",    "xdlops", "gtcx",
    "warpgroupsize", "s16816",   "s1688",      "s884",           "h16816",  "h1688",  "h884",
    "d884",          "i16832",   "i8816",      "i16864",         "s161616", "s16832", "e16832",
    "_mi16x16",      "_mi32x32", "_mi4x4",     "warpspecialized"};
constexpr std::string_view kNo[] = {"ffma",  "sgemm", "scudnn", "dgemm", "cgemm",
                                    "zgemm", "hgemm", "hcudnn", "dffma"};

}  // namespace

Tile tile_of(const ParsedName& name, Family family) {
  if (!may_have_tile(family)) return {};
  Tile tile;
  // Names that say which of their numbers is the tile.
  struct Word {
    std::string_view prefix;
    std::string_view base;  // what the name starts with or holds
  };
  constexpr auto kWords = std::to_array<Word>({{"tilesize", ""},
                                               {"MT", "Cijk"},
                                               {"bt", "igemm"},
                                               {"t", "bmm_"},
                                               {"t", "gemm_"},
                                               {"tile", ""},
                                               {"b", "fmha_"}});
  for (const Group& group : groups_of(name.base)) {
    const bool known = std::any_of(kWords.begin(), kWords.end(), [&](const Word& word) {
      return group.prefix == word.prefix && contains(name.base, word.base);
    });
    if (!known || group.values[0] < 4) continue;
    tile.text = joined(group.values, 3);
    break;
  }
  if (tile.text.empty() && name.base.starts_with("fmhaSm")) {
    const auto queries = number_after(name.base, "Q");
    const auto keys = number_after(name.base, "Kv");
    const auto head = number_after(name.base, "H");
    if (queries && keys) tile.text = joined({*queries, *keys}, 2) + (head ? "x" + std::to_string(*head) : "");
  }
  if (tile.text.empty()) tile.text = flash_tile(name.full);
  if (tile.text.empty()) tile.text = cute_tile(name.full);
  if (tile.text.empty()) {
    const bool wrapper =
        name.base_lower == "kernel" || name.base_lower == "kernel2" || name.base_lower == "device_kernel";
    if (!wrapper || contains(name.arguments, "cutlass_"))
      tile = plain_tile(wrapper ? name.arguments : name.base);
  }
  if (!tile.stages && contains(name.base, "tilesize")) tile.stages = number_after(name.base_lower, "_stage");
  if (!tile.stages && (name.base.starts_with("bmm_") || name.base.starts_with("gemm_")))
    tile.stages = number_after(name.base, "_s");
  if (!tile.stages) {
    for (const std::string_view mainloop : {"CollectiveMainloopFwdSm90<", "CollectiveMainloopBwdSm90<",
                                            "MainloopSm90TmaGmmaWarpSpecialized<"}) {
      const auto numbers = numbers_after(name.full, mainloop);
      if (!numbers.empty()) tile.stages = numbers.front();
    }
  }
  return tile;
}

std::string architecture_of(const ParsedName& name) {
  for (const std::string* text : {&name.base, &name.full}) {
    for (std::size_t at = 0; at + 3 < text->size(); ++at) {
      const std::string_view rest = std::string_view(*text).substr(at);
      if (!(rest.starts_with("sm") || rest.starts_with("Sm") || rest.starts_with("SM"))) continue;
      const char before = at == 0 ? '_' : (*text)[at - 1];
      if (rest[0] == 's' && is_letter(before)) continue;
      if (rest[0] == 'S' && std::isupper(static_cast<unsigned char>(before)) != 0) continue;
      std::size_t digit = rest[2] == '_' ? 3 : 2;
      const std::size_t begin = digit;
      while (digit < rest.size() && is_digit(rest[digit])) ++digit;
      // Three digits start with 1: "SM_750" in CUB's namespaces counts differently.
      if (digit - begin < 2 || digit - begin > 3 || rest[begin] == '0' ||
          (digit - begin == 3 && rest[begin] != '1'))
        continue;
      std::string architecture = "sm_" + std::string(rest.substr(begin, digit - begin));
      const bool suffix = digit < rest.size() && (rest[digit] == 'a' || rest[digit] == 'f');
      const bool ends =
          digit + 1 >= rest.size() || std::islower(static_cast<unsigned char>(rest[digit + 1])) == 0;
      if (suffix && ends && !(digit + 1 < rest.size() && is_digit(rest[digit + 1])))
        architecture += rest[digit];
      return architecture;
    }
  }
  const std::string& full = name.full_lower;
  if (const auto number = number_after(full, "cutlass_"); number && *number >= 50 && *number < 200)
    return "sm_" + std::to_string(*number);
  struct Word {
    std::string_view text, architecture;
  };
  constexpr auto kWords = std::to_array<Word>({{"maxwell_", "sm_50"},
                                               {"pascal_", "sm_60"},
                                               {"volta_", "sm_70"},
                                               {"turing_", "sm_75"},
                                               {"ampere_", "sm_80"},
                                               {"hopper_", "sm_90"},
                                               {"_gtcx2_", "gfx90a"},
                                               {"_gtcx_", "gfx908"},
                                               {"_gtcx3_", "gfx94x"}});
  for (const Word& word : kWords) {
    if (contains(name.base_lower, word.text)) return std::string(word.architecture);
  }
  for (const std::string_view word : {"_isa", "gfx"}) {
    const auto at = name.full_lower.find(word);
    if (at == std::string::npos) continue;
    std::size_t end = at + word.size();
    while (end < full.size() && std::isxdigit(static_cast<unsigned char>(full[end])) != 0) ++end;
    if (end < full.size() && full[end] == 'x') ++end;  // "gfx94x"
    const std::string number = full.substr(at + word.size(), end - at - word.size());
    if (number.size() >= 3 && number.size() <= 4) return "gfx" + number;
  }
  return {};
}

std::optional<bool> tensor_cores_of(const ParsedName& name, Family family, std::string_view dtype,
                                    std::string_view architecture, Units row) {
  if (!may_have_tile(family)) return std::nullopt;
  const std::string& full = name.full_lower;
  if (name.base_lower.starts_with(
          "fmha_cutlass")) {  // its float path before sm_80, and all before sm_70, is plain
    if (architecture == "sm_50" || (dtype == "f32" && architecture != "sm_80")) return false;
    if (dtype == "bf16" || dtype == "f16") return true;
    return std::nullopt;
  }
  if (contains(full, "simt")) return false;
  for (const std::string_view word : kYes) {
    if (contains(full, word)) return true;
  }
  if (!contains(full, "lora")) {
    for (const std::string_view word : kNo) {
      if (contains(full, word)) return false;
    }
  }
  switch (row) {
    case Units::tensor_cores:
      return true;
    case Units::plain:
      return false;
    case Units::not_told:
      break;
  }
  return std::nullopt;
}

}  // namespace hunch::analysis::names
