#include "hunch/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hunch::base {
namespace {

Error file_error(ErrorCode code, const std::string& path, std::string message, std::string remedy) {
  return Error{code, std::move(message), path, {}, std::move(remedy)};
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string bytes;
  char chunk[1 << 16];
  while (true) {
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(file_error(ErrorCode::io, path, std::string("cannot read: ") + std::strerror(errno), {}));
    if (n == 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  MappedFile file;
  if (path == "-") {
    HUNCH_ASSIGN(file.owned_, read_all(STDIN_FILENO, "standard input"));
    return file;
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int reason = errno;
    if (reason == ENOENT || reason == ENOTDIR)
      return fail(file_error(ErrorCode::not_found, path, "no such file", "check the path"));
    return fail(file_error(ErrorCode::io, path, std::string("cannot open: ") + std::strerror(reason),
                           "check its permissions"));
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int reason = errno;
    ::close(fd);
    return fail(file_error(ErrorCode::io, path, std::string("cannot stat: ") + std::strerror(reason), {}));
  }
  if (S_ISDIR(info.st_mode)) {
    ::close(fd);
    return fail(file_error(ErrorCode::io, path, "is a directory, not a file", "name one file in it"));
  }
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    void* mapping = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping != MAP_FAILED) {
      ::close(fd);
      ::madvise(mapping, static_cast<std::size_t>(info.st_size), MADV_SEQUENTIAL);
      file.mapping_ = mapping;
      file.size_ = static_cast<std::size_t>(info.st_size);
      return file;
    }
  }
  auto bytes = read_all(fd, path);
  ::close(fd);
  if (!bytes) return fail(bytes.error());
  file.owned_ = std::move(*bytes);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    if (mapping_ != nullptr) ::munmap(mapping_, size_);
    mapping_ = std::exchange(other.mapping_, nullptr);
    size_ = std::exchange(other.size_, 0);
    forgotten_ = std::exchange(other.forgotten_, 0);
    owned_ = std::move(other.owned_);
  }
  return *this;
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, size_);
}

void MappedFile::forget_before(std::size_t offset) const {
  if (mapping_ == nullptr) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t end = std::min(offset, size_) / page * page;
  // Only what is new: to give back all from the front each time takes time that grows with the file's square.
  // A little before it comes along, as the system maps pages around one that is read.
  constexpr std::size_t kAround = std::size_t{1} << 20;
  const std::size_t begin = forgotten_ > kAround ? (forgotten_ - kAround) / page * page : 0;
  if (end <= forgotten_) return;
  ::madvise(static_cast<char*>(mapping_) + begin, end - begin, MADV_DONTNEED);
  forgotten_ = end;
}

std::string_view MappedFile::bytes() const {
  if (mapping_ != nullptr) return {static_cast<const char*>(mapping_), size_};
  return owned_;
}

}  // namespace hunch::base
