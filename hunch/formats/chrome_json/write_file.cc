// write_chrome_json and chrome_json_text: the text into a file, whole or not at all.
//
// In:  a Trace and a path; ".gz" at its end asks for gzip, "-" is standard output.
// Out: the file, through a temporary one beside it and a rename; what is no plain file (a pipe, /dev/null)
// is written to directly, since a rename would put a file in its place.
// Holds: after an error the path is as it was before, and the temporary file is gone. Errors: io, with the
// path as it was given.
#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "hunch/formats/chrome_json/writer.h"
#include "hunch/formats/writer.h"

namespace hunch::formats {
namespace {

constexpr int kGzipLevel = 6;  // gzip's own default

base::Error io_error(const std::string& path, const std::string& what, int reason, std::string remedy = {}) {
  return {base::ErrorCode::io, what + ": " + std::strerror(reason), path, {}, std::move(remedy)};
}

base::Result<std::string> gzip(std::string_view text, const std::string& path) {
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(
      libdeflate_alloc_compressor(kGzipLevel), libdeflate_free_compressor);
  if (compressor == nullptr) return base::fail(io_error(path, "cannot compress the trace", ENOMEM));
  std::string packed(libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  const std::size_t size =
      libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), packed.data(), packed.size());
  if (size == 0) return base::fail(io_error(path, "cannot compress the trace", ENOSPC));
  packed.resize(size);
  return packed;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

base::Status write_directly(int file, std::string_view bytes, const std::string& path, bool close_it) {
  const bool written = write_all(file, bytes);
  const int reason = errno;
  if (close_it) ::close(file);
  if (!written) return base::fail(io_error(path, "cannot write the trace", reason));
  return {};
}

base::Status write_beside(const std::string& target, std::string_view bytes, const std::string& path) {
  static std::atomic<unsigned> number{0};
  const std::string temporary =
      target + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    const int reason = errno;
    return base::fail(io_error(path, "cannot create the file", reason,
                               reason == ENOENT ? "create the folder first" : "another folder"));
  }
  bool done = write_all(file, bytes);
  int reason = errno;
  if (::close(file) != 0 && done) {
    done = false;
    reason = errno;
  }
  if (done && ::rename(temporary.c_str(), target.c_str()) != 0) {
    done = false;
    reason = errno;
  }
  if (done) return {};
  ::unlink(temporary.c_str());
  return base::fail(io_error(path, "cannot write the trace", reason));
}

}  // namespace

std::string chrome_json_text(const trace::Trace& trace) { return chrome_json::write(trace); }

base::Status write_chrome_json(const trace::Trace& trace, const std::string& path) {
  std::string bytes = chrome_json_text(trace);
  if (path == "-") return write_directly(STDOUT_FILENO, bytes, path, false);
  if (path.ends_with(".gz")) {
    HUNCH_ASSIGN(bytes, gzip(bytes, path));
  }

  std::string target = path;
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      return base::fail(io_error(path, "cannot write the trace", EISDIR, "a file's name"));
    if (!S_ISREG(status.st_mode)) {
      const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (file < 0) return base::fail(io_error(path, "cannot open the file", errno));
      return write_directly(file, bytes, path, true);
    }
    std::error_code failed;  // through a link, so that the link stays one
    const auto real = std::filesystem::canonical(path, failed);
    if (!failed) target = real.string();
  }
  return write_beside(target, bytes, path);
}

}  // namespace hunch::formats
