// What a trace says of itself around its events: versions, rank, name, base time, the devices.
//
// In:  members of the top-level object, as text.
// Out: Trace::metadata (scalars as text, members of distributedInfo as "distributedInfo.rank"),
//      Trace::devices, and the base time.
#pragma once

#include <optional>
#include <string_view>

#include "hunch/base/clock.h"
#include "hunch/formats/chrome_json/structural_index.h"
#include "hunch/trace/builder.h"

namespace hunch::formats::chrome_json {

class Metadata {
 public:
  explicit Metadata(trace::TraceBuilder& builder) : builder_(builder) {}

  // `key` is the inside of its quotes, `value` the whole text of the value.
  void member(std::string_view key, std::string_view value);

  base::Ns base_time() const { return base_time_.value_or(0); }
  bool has_base_time() const { return base_time_.has_value(); }

 private:
  void keep(std::string_view key, std::string_view value);
  void devices(std::string_view value);
  void distributed(std::string_view value);

  trace::TraceBuilder& builder_;
  StructuralIndex index_;
  std::optional<base::Ns> base_time_;
};

}  // namespace hunch::formats::chrome_json
