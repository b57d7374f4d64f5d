#include "hunch/trace/string_pool.h"

#include <cstring>

#include "hunch/base/check.h"
#include "hunch/base/text_hash.h"

namespace hunch::trace {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

}  // namespace

StringId StringPool::intern(std::string_view text) {
  if (slots_.size() < 2 * (texts_.size() + 1)) grow();
  const uint64_t hash = base::text_hash(text);
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
    std::size_t at = base::text_hash(texts_[slot.id]) & mask;
    while (bigger[at].id != UINT32_MAX) at = (at + 1) & mask;
    bigger[at] = slot;
  }
  slots_ = std::move(bigger);
}

std::string_view StringPool::keep(std::string_view text) {
  if (text.empty()) return {};
  bytes_ += text.size();
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
