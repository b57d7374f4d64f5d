// Reads the sound stretches of a long list of events with several threads: each takes the next chunk, cut
// between two events, into a part of its own; the parts are joined in order, so that the Trace is the same
// as one thread makes it.
//
// In:  the input and where an element starts.
// Out: how far the list was taken, and where ordinary reading must go on before this may try again.
// Holds: a chunk counts only if all of it is sound and its cut was a true one; else it is left, unread.
#pragma once

#include <cstddef>

#include "hunch/formats/chrome_json/event_decoder.h"
#include "hunch/formats/reader.h"

namespace hunch::formats::chrome_json {

struct Taken {
  std::size_t at = 0;      // behind the last chunk taken
  std::size_t resume = 0;  // the end of the chunk that could not be taken; `at` where the list's end is near
};

inline constexpr std::size_t kChunk = std::size_t{4} << 20;

Taken read_in_parallel(Input& input, std::size_t at, trace::TraceBuilder& builder, EventDecoder& decoder,
                       int threads);

}  // namespace hunch::formats::chrome_json
