// Feeds any bytes to the reader of traces. It must not crash, hang or leak, whatever they are; and where it
// makes a Trace of them, the Trace must hold together.
//
// In:  the fuzzer's bytes: JSON, gzip or noise.
// Out: nothing; a violated invariant aborts.
#include <cstdint>
#include <string_view>

#include "fuzz/hold_together.h"
#include "hunch/base/check.h"
#include "hunch/formats/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool salvage : {false, true}) {
    const auto trace = hunch::formats::read_trace_bytes(bytes, "fuzz", {.salvage = salvage, .threads = 0});
    if (trace) {
      hunch::fuzz::hold_together(*trace);
    } else {
      HUNCH_CHECK(!trace.error().message.empty());
      HUNCH_CHECK(!trace.error().byte || *trace.error().byte <= size ||
                  static_cast<uint8_t>(data[0]) == 0x1f);
    }
  }
  return 0;
}
