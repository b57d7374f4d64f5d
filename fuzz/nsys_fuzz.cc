// Feeds SQLite databases to the reader of Nsight Systems' exports: damaged pages, odd schemas, circular
// trees. It must not crash, hang or leak; and where it makes a Trace of them, the Trace must hold together.
//
// In:  the fuzzer's bytes, given SQLite's header where they lack it. Out: nothing; a violated invariant
// aborts.
#include <cstdint>
#include <cstring>
#include <string>

#include "fuzz/hold_together.h"
#include "hunch/formats/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 16) std::memcpy(bytes.data(), "SQLite format 3", 16);
  for (const bool salvage : {false, true}) {
    const auto trace = hunch::formats::read_trace_bytes(bytes, "fuzz", {.salvage = salvage, .threads = 0});
    if (trace) {
      hunch::fuzz::hold_together(*trace);
    } else {
      HUNCH_CHECK(!trace.error().message.empty());
    }
  }
  return 0;
}
