// One window of sound events: index it, then hand its elements to the decoder. The unit of all fast reading.
#pragma once

#include <cstddef>
#include <string_view>

#include "hunch/formats/chrome_json/event_decoder.h"
#include "hunch/formats/chrome_json/structural_index.h"

namespace hunch::formats::chrome_json {

inline constexpr std::size_t kWindow = std::size_t{256} << 10;  // its text and tokens stay in the cache

enum class Step {
  window_done,  // every element of the window was taken
  list_done,    // the list's "]" was passed
  damaged,      // the element that comes next is no sound JSON, or the window as a whole is not
  out,          // the window ends inside of an element
};

class EventWindow {
 public:
  explicit EventWindow(EventDecoder& decoder) : decoder_(decoder) {}

  // Takes the elements in [at, end) of `text`; moves `at` behind the last one that was taken.
  Step take(std::string_view text, std::size_t& at, std::size_t end);

 private:
  EventDecoder& decoder_;
  StructuralIndex index_;
};

}  // namespace hunch::formats::chrome_json
