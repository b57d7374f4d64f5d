// Which calls of CUDA's two interfaces a recording keeps, and what they are called.
//
// In:  the names that the library gives its callback ids. Out: by id, a name in torch.profiler's form or
// nothing. Holds: kept is what launches, copies, sets, waits, allocates, loads code or handles graphs;
// queries and settings are not, since each recorded call costs time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/record/cupti/library.h"

namespace hunch::record::cupti {

class ApiCalls {
 public:
  explicit ApiCalls(const Library& library);

  // Empty where calls of this id are not kept.
  std::string_view name(bool driver, uint32_t id) const {
    const auto& names = driver ? driver_ : runtime_;
    return id < names.size() ? std::string_view(names[id]) : std::string_view();
  }
  uint32_t size(bool driver) const {
    return static_cast<uint32_t>(driver ? driver_.size() : runtime_.size());
  }

 private:
  std::vector<std::string> runtime_;
  std::vector<std::string> driver_;
};

}  // namespace hunch::record::cupti
