// The list of events, from behind its "[" to behind its "]": window by window through the index, and with
// the tolerant scanner where a window is damaged.
//
// In:  the input, which may still be arriving, and where the list starts.
// Out: events in the decoder; the offset behind the list. Errors: parse, where the list never ends.
// Holds: every event is taken at most once and in order; the work is bounded by a fixed multiple of the size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hunch/base/result.h"
#include "hunch/formats/chrome_json/event_decoder.h"
#include "hunch/formats/chrome_json/event_repair.h"
#include "hunch/formats/chrome_json/event_window.h"
#include "hunch/formats/chrome_json/structural_index.h"
#include "hunch/formats/reader.h"

namespace hunch::formats::chrome_json {

class EventList {
 public:
  EventList(Input& input, bool top_level_array, trace::TraceBuilder& builder, EventDecoder& decoder,
            const ReadOptions& options);

  // `at` is behind the "[".
  base::Result<std::size_t> read(std::size_t at);
  // Whether the text ended inside of the list, and what came before was kept.
  bool salvaged() const { return salvaged_; }
  // Hands over what was repaired.
  void finish();

 private:
  // Long sound stretches, with several threads where the machine has them.
  std::size_t take_in_parallel(std::size_t at);
  base::Result<std::size_t> list_cut(std::size_t at, bool inside_event);
  // Whether there is text behind what was seen so far, and then more of it is seen.
  bool grew(std::size_t to);
  // One element, tolerantly. False where the text ends in it.
  bool lenient_element(std::size_t& at, bool& list_done);
  void resynchronise(std::size_t start, std::size_t damage, std::size_t& at, bool& list_done, bool& found);
  bool tired() const { return rescanned_ > 8 * text_.size() + (std::size_t{16} << 20); }
  void note_damage(std::size_t from, std::size_t to);
  void release(std::size_t at);

  Input& input_;
  std::string_view text_;  // what of it is there
  bool top_level_array_;
  trace::TraceBuilder& builder_;
  EventDecoder& decoder_;
  const ReadOptions& options_;
  EventWindow window_;
  StructuralIndex repaired_index_;
  std::string repaired_json_;
  RepairCounts repairs_;
  std::size_t rescanned_ = 0;  // bytes looked at more than once after damage
  std::size_t released_ = 0;
  std::size_t sequential_until_ = 0;  // one thread up to here: a stretch that was not sound
  int failed_chunks_ = 0;
  uint64_t damaged_ = 0;
  bool salvaged_ = false;
};

}  // namespace hunch::formats::chrome_json
