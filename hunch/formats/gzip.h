// Unpacks gzip with libdeflate, which works on whole buffers and is the fastest there is for that.
//
// In:  the bytes of a gzip file: one member or several in a row. The size that a member claims is a hint
// only. Out: the unpacked bytes. Errors: parse, with the byte of the member that is cut or corrupt,
// unsupported
//      where the result would not fit this machine's memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "hunch/base/result.h"

namespace hunch::formats {

class Unpacked {
 public:
  std::string_view bytes() const { return {data_.get(), size_}; }
  // Bytes of the input behind the last member that are neither gzip nor zero padding.
  std::size_t garbage() const { return garbage_; }

 private:
  friend base::Result<Unpacked> gunzip(std::string_view packed);
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };
  std::unique_ptr<char, Free> data_;  // not zeroed before use: unpacking writes it once
  std::size_t size_ = 0;
  std::size_t garbage_ = 0;
};

bool is_gzip(std::string_view bytes);

base::Result<Unpacked> gunzip(std::string_view packed);

}  // namespace hunch::formats
