// Feeds any bytes to the reader of spools, and what it gives to the maker of Traces. They must not crash or
// hang; what is cut lies within the bytes, and the Trace can be written and read again.
//
// In:  the fuzzer's bytes, behind the mark that a spool begins with. Out: nothing; a violated invariant
// aborts.
#include <cstdint>
#include <string>
#include <string_view>

#include "hunch/base/check.h"
#include "hunch/formats/reader.h"
#include "hunch/formats/writer.h"
#include "hunch/record/spool/spool_reader.h"
#include "hunch/record/spool/spool_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(hunch::record::spool::kMagic);
  bytes.append(reinterpret_cast<const char*>(data), size);
  auto spool = hunch::record::spool::read_spool(bytes, "fuzz.spool");
  HUNCH_CHECK(static_cast<bool>(spool));
  HUNCH_CHECK(!spool->cut || *spool->cut <= bytes.size());
  const std::size_t work = spool->activity.work.size();
  const hunch::trace::Trace trace = hunch::record::spool::trace_of(std::move(*spool));
  HUNCH_CHECK(trace.size() >= work);
  const auto again = hunch::formats::read_trace_bytes(hunch::formats::chrome_json_text(trace), "written");
  HUNCH_CHECK(static_cast<bool>(again));
  return 0;
}
