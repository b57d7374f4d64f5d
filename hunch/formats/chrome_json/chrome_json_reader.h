// Reads Chrome's Trace Event Format as PyTorch's profiler (Kineto) writes it, of all years and vendors: an
// object with "traceEvents" among metadata, or a bare array of events.
#pragma once

#include "hunch/formats/reader.h"

namespace hunch::formats::chrome_json {

class ChromeJsonReader final : public Reader {
 public:
  std::string_view name() const override { return "chrome_json"; }
  bool sniff(std::string_view first_bytes) const override;
  base::Status read(Input& input, trace::TraceBuilder& builder, const ReadOptions& options) const override;
};

}  // namespace hunch::formats::chrome_json
