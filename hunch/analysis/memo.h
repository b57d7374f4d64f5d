// What is worked out once for each of a row of small numbers (names, chains of ops) and then looked up: rules
// ask the same of hundreds of thousands of events that differ in few names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace hunch::analysis {

// tell(key) for keys below `size`, each called at most once; nothing is kept until the first is asked.
template <class Tell>
class Memo {
 public:
  using Value = std::invoke_result_t<Tell&, uint32_t>;

  Memo(std::size_t size, Tell tell) : size_(size), tell_(std::move(tell)) {}

  const Value& operator()(uint32_t key) {
    if (values_.empty()) values_.resize(size_);
    auto& value = values_[key];
    if (!value) value.emplace(tell_(key));
    return *value;
  }

 private:
  std::size_t size_;
  Tell tell_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace hunch::analysis
