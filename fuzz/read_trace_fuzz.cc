// Feeds any bytes to the reader of traces. It must not crash, hang or leak, whatever they are; and where it
// makes a Trace of them, the Trace must hold together.
//
// In:  the fuzzer's bytes: JSON, gzip or noise.
// Out: nothing; a violated invariant aborts.
#include <cstdint>
#include <string_view>

#include "hunch/base/check.h"
#include "hunch/formats/reader.h"

namespace {

void hold_together(const hunch::trace::Trace& trace) {
  const std::size_t rows = trace.size();
  HUNCH_CHECK(trace.duration.size() == rows && trace.name.size() == rows && trace.kind.size() == rows);
  HUNCH_CHECK(trace.track.size() == rows && trace.correlation.size() == rows &&
              trace.external_id.size() == rows);
  HUNCH_CHECK(trace.detail.size() == rows && trace.source_index.size() == rows);
  for (hunch::trace::EventId event = 0; event < rows; ++event) {
    HUNCH_CHECK(trace.name[event] < trace.strings.size());
    HUNCH_CHECK(trace.track[event] < trace.tracks.size());
    HUNCH_CHECK(trace.duration[event] >= 0 && trace.end(event) >= trace.start[event]);
    HUNCH_CHECK(trace.source_index[event] < trace.stats.events);
    HUNCH_CHECK(event == 0 || trace.source_index[event - 1] < trace.source_index[event]);
    (void)trace.device_detail(event);
    if (const auto* op = trace.op_detail(event))
      HUNCH_CHECK(op->input_dims == hunch::trace::kNone || op->input_dims < trace.strings.size());
  }
  for (const auto& memory : trace.memory) HUNCH_CHECK(memory.track < trace.tracks.size());
  uint64_t skipped = 0;
  for (const auto& [reason, count] : trace.stats.reasons) skipped += count;
  HUNCH_CHECK(skipped == trace.stats.skipped);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool salvage : {false, true}) {
    const auto trace = hunch::formats::read_trace_bytes(bytes, "fuzz", {.salvage = salvage, .threads = 0});
    if (trace) {
      hold_together(*trace);
    } else {
      HUNCH_CHECK(!trace.error().message.empty());
      HUNCH_CHECK(!trace.error().byte || *trace.error().byte <= size ||
                  static_cast<uint8_t>(data[0]) == 0x1f);
    }
  }
  return 0;
}
