// Interned strings: each distinct text once, found again by a small number.
//
// In:  texts of any bytes, up to 4 GiB each; a reader interns one for every event, so a lookup must be cheap.
// Out: ids from 0 in order of first sight; view(id) stays valid as long as the pool (moves included).
// How: texts are copied into large chunks; an open-addressing table of ids finds them by a 64-bit hash.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hunch::trace {

using StringId = uint32_t;

class StringPool {
 public:
  StringPool() = default;
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  StringId intern(std::string_view text);
  std::string_view view(StringId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return bytes_; }  // of all texts

 private:
  // A slot keeps half of the hash, so that a probe rarely has to look at a text that differs.
  struct Slot {
    uint32_t hash = 0;
    StringId id = UINT32_MAX;  // UINT32_MAX: empty
  };

  void grow();
  std::string_view keep(std::string_view text);

  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;  // the rest of the last chunk
  std::size_t free_size_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace hunch::trace
