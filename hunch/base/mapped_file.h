// A file's bytes, read-only: mapped where the file can be, read into memory where it cannot (a pipe, "-").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::base {

class MappedFile {
 public:
  // `path` "-" is standard input. Errors: not_found, io (a directory, no permission), each with the path.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const;

  // A hint that bytes before `offset` will not be read soon: a mapped file's pages leave this process's
  // memory (and come back from the file when they are read after all). Called by one thread.
  void forget_before(std::size_t offset) const;

 private:
  MappedFile() = default;
  void* mapping_ = nullptr;
  std::size_t size_ = 0;
  mutable std::size_t forgotten_ = 0;  // pages before this have left already
  std::string owned_;                  // used when mapping_ is null
};

}  // namespace hunch::base
