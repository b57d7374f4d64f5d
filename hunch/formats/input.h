// What a reader reads: bytes that are all there, or that still arrive while the first of them are read (gzip
// unpacked by a thread of its own).
//
// In:  bytes in memory, a mapped file, or a derived class that makes them.
// Out: a view of what is there. Views of one input start at the same address and stay valid; only bytes that
//      the reader gave up by forget_before() may no longer be looked at.
// Holds: first() and all() may be called from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hunch/base/mapped_file.h"

namespace hunch::formats {

class Input {
 public:
  virtual ~Input() = default;

  // Waits until the first `size` bytes are there and returns all that are; fewer than `size` only where the
  // input ends.
  virtual std::string_view first(std::size_t size) = 0;
  std::string_view all() { return first(SIZE_MAX); }

  // Bytes before `offset` are no longer needed.
  virtual void forget_before(std::size_t offset) = 0;

  // About how many bytes there will be, to reserve memory by. May be wrong.
  virtual std::size_t expected_size() const = 0;

  // Threads that make the bytes while they are read.
  virtual int own_threads() const { return 0; }
};

// Bytes that are all there.
class WholeInput final : public Input {
 public:
  // `file` is the mapping that `bytes` are, or null.
  explicit WholeInput(std::string_view bytes, const base::MappedFile* file = nullptr)
      : bytes_(bytes), file_(file) {}

  std::string_view first(std::size_t) override { return bytes_; }
  void forget_before(std::size_t offset) override {
    if (file_ != nullptr) file_->forget_before(offset);
  }
  std::size_t expected_size() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
  const base::MappedFile* file_;
};

}  // namespace hunch::formats
