// UTF-8 decoding and display widths. The width table holds the blocks that matter for names in traces:
// combining marks (0 columns), CJK, Hangul, full-width forms and emoji (2 columns); everything else takes
// one.
#include "hunch/report/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hunch::report {
namespace {

struct Block {
  char32_t first;
  char32_t last;
};

constexpr std::array<Block, 12> kZero = {{{0x0300, 0x036F},
                                          {0x0483, 0x0489},
                                          {0x0591, 0x05BD},
                                          {0x0610, 0x061A},
                                          {0x064B, 0x065F},
                                          {0x1AB0, 0x1AFF},
                                          {0x1DC0, 0x1DFF},
                                          {0x200B, 0x200F},
                                          {0x20D0, 0x20FF},
                                          {0xFE00, 0xFE0F},
                                          {0xFE20, 0xFE2F},
                                          {0xFEFF, 0xFEFF}}};

constexpr std::array<Block, 11> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0x4DBF},
                                          {0x4E00, 0x9FFF},
                                          {0xA000, 0xA4CF},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};

template <std::size_t N>
bool in_blocks(const std::array<Block, N>& blocks, char32_t value) {
  const auto after = std::upper_bound(blocks.begin(), blocks.end(), value,
                                      [](char32_t v, const Block& block) { return v < block.first; });
  return after != blocks.begin() && value <= std::prev(after)->last;
}

constexpr CodePoint kInvalid = {0xFFFD, 1, false};

}  // namespace

CodePoint decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  if (first >= 0xC2 && first <= 0xDF && follows(1))
    return {((first & 0x1F) << 6) | (byte(1) & 0x3F), 2, true};
  if (first >= 0xE0 && first <= 0xEF && follows(1) && follows(2)) {
    const char32_t value = ((first & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    return value < 0x800 || surrogate ? kInvalid : CodePoint{value, 3, true};
  }
  if (first >= 0xF0 && first <= 0xF4 && follows(1) && follows(2) && follows(3)) {
    const char32_t value =
        ((first & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F);
    return value < 0x10000 || value > 0x10FFFF ? kInvalid : CodePoint{value, 4, true};
  }
  return kInvalid;
}

int columns_of(char32_t value) {
  if (value < 0x300) return 1;
  if (in_blocks(kZero, value)) return 0;
  return in_blocks(kWide, value) ? 2 : 1;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    width += static_cast<std::size_t>(columns_of(point.value));
    at += point.length;
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    const bool control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0);
    const bool direction = point.value >= 0x202A && point.value <= 0x202E;  // would reorder what follows
    if (!point.valid) {
      out += "\xEF\xBF\xBD";
    } else if (point.value == '\n' || point.value == '\r' || point.value == '\t') {
      out += ' ';
    } else if (control) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(point.value));
    } else if (!direction) {
      out += text.substr(at, point.length);
    }
    at += point.length;
  }
  return out;
}

}  // namespace hunch::report
