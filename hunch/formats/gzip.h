// Unpacks gzip with igzip (ISA-L): as fast as unpacking whole buffers, and in a stream, so that reading goes
// on while the rest is unpacked on another core and a cut file gives what it holds.
//
// In:  the bytes of a gzip file: one member or several in a row. The sizes that members claim are hints only.
// Out: the unpacked bytes, in order; at most a fixed amount more than the reader asked for is in memory.
// Errors: parse, with the byte where the data is cut or corrupt; unsupported where what must be held at once
//         would not fit this machine's memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "hunch/base/result.h"
#include "hunch/formats/input.h"

namespace hunch::formats {

bool is_gzip(std::string_view bytes);

class GunzipInput final : public Input {
 public:
  // `packed` must outlive this. Errors: environment, where no address space is to be had.
  static base::Result<std::unique_ptr<GunzipInput>> open(std::string_view packed);
  ~GunzipInput() override;

  std::string_view first(std::size_t size) override;
  void forget_before(std::size_t offset) override;
  std::size_t expected_size() const override;
  int own_threads() const override;

  // Unpacks to the end, giving up what comes, and says how that went. Views are no longer valid then.
  base::Status drain();
  // After the end was seen. Error, or nothing; and the bytes of the input behind the last member that are
  // neither gzip nor zero padding.
  base::Status status() const;
  std::size_t garbage() const;
  // How many bytes were unpacked.
  std::size_t size() const;

 private:
  struct State;
  explicit GunzipInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// All of it at once.
class Unpacked {
 public:
  std::string_view bytes() const { return input_->all(); }
  std::size_t garbage() const { return input_->garbage(); }

 private:
  friend base::Result<Unpacked> gunzip(std::string_view packed);
  std::unique_ptr<GunzipInput> input_;
};

base::Result<Unpacked> gunzip(std::string_view packed);

}  // namespace hunch::formats
