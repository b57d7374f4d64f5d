#include "hunch/formats/chrome_json/event_window.h"

#include "hunch/formats/chrome_json/token_walker.h"

namespace hunch::formats::chrome_json {

Step EventWindow::take(std::string_view text, std::size_t& at, std::size_t end) {
  const std::size_t start = at;
  const std::string_view window = text.substr(start, end - start);
  if (!index_.index(window)) return Step::damaged;
  const TokenWalker walker(window, index_.tokens());
  uint32_t i = 0;
  while (i < walker.count()) {
    at = start + walker.offset(i);
    const char c = walker.kind(i);
    if (c == ']') {
      ++at;
      return Step::list_done;
    }
    if (c == ',') {
      ++i;
      continue;
    }
    if (c == '[' && walker.kind(i + 1) == '{') return Step::damaged;  // a bracket too many before an event
    const uint32_t behind = c == '{' ? decoder_.event(walker, i) : walker.skip(i);
    if (behind == TokenWalker::kOut) return Step::out;
    if (behind == TokenWalker::kBroken) return Step::damaged;
    if (c != '{') decoder_.skip_element("not an object");
    i = behind;
    const char next = walker.kind(i);
    if (next != ',' && next != ']' && next != '\0') {
      at = start + walker.offset(i);
      return Step::damaged;
    }
  }
  at = end;
  return Step::window_done;
}

}  // namespace hunch::formats::chrome_json
