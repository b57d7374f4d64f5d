#include "hunch/trace/string_pool.h"

#include <cstring>

#include "hunch/base/check.h"

namespace hunch::trace {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

uint64_t load8(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

uint64_t load4(const char* p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

__extension__ typedef unsigned __int128 Wide;

// Both halves of a 64 x 64 bit product, folded: every input bit reaches every output bit.
uint64_t mix(uint64_t a, uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_of(std::string_view text) {
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

}  // namespace

StringId StringPool::intern(std::string_view text) {
  if (slots_.size() < 2 * (texts_.size() + 1)) grow();
  const uint64_t hash = hash_of(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.id == UINT32_MAX) {
      HUNCH_CHECK(texts_.size() < UINT32_MAX, "more than 2^32 - 1 distinct strings");
      slot = Slot{tag, static_cast<StringId>(texts_.size())};
      texts_.push_back(keep(text));
      return slot.id;
    }
    if (slot.hash == tag && texts_[slot.id] == text) return slot.id;
  }
}

void StringPool::grow() {
  std::vector<Slot> bigger(slots_.empty() ? 256 : 2 * slots_.size());
  const std::size_t mask = bigger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == UINT32_MAX) continue;
    std::size_t at = hash_of(texts_[slot.id]) & mask;
    while (bigger[at].id != UINT32_MAX) at = (at + 1) & mask;
    bigger[at] = slot;
  }
  slots_ = std::move(bigger);
}

std::string_view StringPool::keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > kChunk / 4) {  // a chunk of its own; the current one stays in use
    auto own = std::make_unique<char[]>(text.size());
    std::memcpy(own.get(), text.data(), text.size());
    const std::string_view kept(own.get(), text.size());
    chunks_.push_back(std::move(own));
    return kept;
  }
  if (free_size_ < text.size()) {
    chunks_.push_back(std::make_unique<char[]>(kChunk));
    free_ = chunks_.back().get();
    free_size_ = kChunk;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view kept(free_, text.size());
  free_ += text.size();
  free_size_ -= text.size();
  return kept;
}

}  // namespace hunch::trace
