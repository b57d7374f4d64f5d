// A 64-bit hash of a text, fast for the short ones that names are. For tables in memory: it is no checksum,
// and may change from one version to the next.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hunch::base {

namespace text_hash_detail {

inline uint64_t load8(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

inline uint64_t load4(const char* p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

__extension__ typedef unsigned __int128 Wide;

// Both halves of a 64 x 64 bit product, folded: every input bit reaches every output bit.
inline uint64_t mix(uint64_t a, uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace text_hash_detail

inline uint64_t text_hash(std::string_view text) {
  using namespace text_hash_detail;
  constexpr uint64_t kFirst = 0x9E3779B97F4A7C15, kSecond = 0xD1B54A32D192ED03;
  const char* p = text.data();
  std::size_t n = text.size();
  uint64_t state = n * kSecond;
  while (n > 16) {
    state = mix(load8(p) ^ kFirst ^ state, load8(p + 8) ^ kSecond);
    p += 16;
    n -= 16;
  }
  uint64_t low = 0, high = 0;
  if (n >= 8) {
    low = load8(p);
    high = load8(p + n - 8);
  } else if (n >= 4) {
    low = load4(p);
    high = load4(p + n - 4);
  } else if (n > 0) {
    low = static_cast<uint8_t>(p[0]) | static_cast<uint64_t>(static_cast<uint8_t>(p[n / 2])) << 8 |
          static_cast<uint64_t>(static_cast<uint8_t>(p[n - 1])) << 16;
  }
  return mix(low ^ kFirst ^ state, high ^ kSecond);
}

}  // namespace hunch::base
