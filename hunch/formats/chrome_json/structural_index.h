// Where JSON's tokens start: simdjson's first stage, run over one window of the file at a time. Only this
// file's .cc knows simdjson. A window keeps memory flat: an index of a whole file would be as large as it.
//
// In:  a window of bytes.
// Out: the offset of every bracket, colon, comma, string and scalar outside of strings, in order.
// Holds: the bytes are valid UTF-8, strings close within the window and have no raw control characters;
//        where that does not hold, index() says no and the tolerant scanner (event_repair.h) takes over.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace hunch::formats::chrome_json {

class StructuralIndex {
 public:
  // One more entry than tokens stands behind the span: the window's length.
  static constexpr std::size_t kMaxWindow = std::size_t{1} << 30;

  StructuralIndex();
  ~StructuralIndex();
  StructuralIndex(StructuralIndex&&) noexcept;
  StructuralIndex& operator=(StructuralIndex&&) noexcept;

  bool index(std::string_view window);
  std::span<const uint32_t> tokens() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hunch::formats::chrome_json
