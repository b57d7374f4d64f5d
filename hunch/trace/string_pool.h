// Interned strings: each distinct text once, found again by a small number.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

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

 private:
  std::deque<std::string> texts_;  // a deque never moves its strings, so the views below stay valid
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace hunch::trace
