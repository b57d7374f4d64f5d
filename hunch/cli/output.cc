// See the header. Standard output is written with write(2): a reader that went away (EPIPE) ends the output,
// not the run, and any other failure (a full disk) is reported instead of lost in a buffer.
#include "hunch/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hunch/base/strings.h"
#include "hunch/cli/terminal.h"

namespace hunch::cli {
namespace {

base::Error output_error(const std::string& path, std::string what, int reason) {
  base::Error error;
  error.code = base::ErrorCode::io;
  error.file = path;
  error.message = reason == 0 ? std::move(what) : fmt::format("{}: {}", what, std::strerror(reason));
  error.remedy =
      reason == ENOENT || reason == ENOTDIR ? "make its folder first" : "check the path and its permissions";
  return error;
}

// True when all was written or the reader has gone; else errno says why not.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EPIPE;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A device, a pipe or a socket is written in place; renaming over it would replace it.
bool is_special(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

base::Status write_in_place(std::string_view text, const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return base::fail(output_error(path, "cannot open", errno));
  const bool written = write_all(fd, text);
  const int reason = errno;
  ::close(fd);
  if (!written) return base::fail(output_error(path, "cannot write", reason));
  return {};
}

base::Status write_and_rename(std::string_view text, const std::string& path) {
  // A link stays a link: the file that it names is replaced.
  std::string target = path;
  if (char* resolved = ::realpath(path.c_str(), nullptr); resolved != nullptr) {
    target = resolved;
    std::free(resolved);
  }
  std::string temporary = target + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return base::fail(output_error(path, "cannot write", errno));
  struct stat old {};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = ::stat(target.c_str(), &old) == 0 ? (old.st_mode & 0777) : (0666 & ~mask);
  bool good = write_all(fd, text) && ::fchmod(fd, mode) == 0;
  int reason = errno;
  if (::close(fd) != 0 && good) {
    good = false;
    reason = errno;
  }
  if (good && ::rename(temporary.c_str(), target.c_str()) != 0) {
    good = false;
    reason = errno;
  }
  if (good) return {};
  ::unlink(temporary.c_str());
  return base::fail(output_error(path, "cannot write", reason));
}

}  // namespace

base::Status check_output(const std::string& path) {
  if (path == "-" || is_special(path)) return {};
  struct stat info {};
  if (path.empty()) return base::fail(base::ErrorCode::usage, "--output: the file's name is empty");
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return base::fail(output_error(path, "cannot write: is a folder", 0));
  if (::access(folder_of(path).c_str(), W_OK) != 0)
    return base::fail(output_error(path, "cannot write", errno));
  return {};
}

base::Status write_text(std::string_view text, const std::string& path) {
  if (path == "-") {
    if (write_all(STDOUT_FILENO, text)) return {};
    return base::fail(output_error("standard output", "cannot write", errno));
  }
  return is_special(path) ? write_in_place(text, path) : write_and_rename(text, path);
}

base::Result<Presentation> Presentation::from(const Arguments& arguments) {
  Presentation presentation;
  const std::string format = arguments.text("--format").value_or("text");
  presentation.renderer_ = report::find_renderer(format);
  if (presentation.renderer_ == nullptr) {
    std::vector<std::string_view> names;
    for (const auto* renderer : report::renderers()) names.push_back(renderer->name());
    return base::fail(base::ErrorCode::usage, fmt::format("--format {}: no such format", format),
                      base::did_you_mean(format, names));
  }
  presentation.output_ = arguments.text("--output").value_or("-");
  HUNCH_RETURN_IF_ERROR(check_output(presentation.output_));
  HUNCH_ASSIGN(const ColorMode color, parse_color(arguments.text("--color").value_or("auto")));
  HUNCH_ASSIGN(const int64_t top, arguments.integer("--top", 20, 0, 1'000'000));
  presentation.style_.color = use_color(color, presentation.output_ == "-");
  presentation.style_.width = output_width(presentation.output_ == "-");
  presentation.style_.unicode = unicode_terminal();
  presentation.style_.top = static_cast<int>(top);
  presentation.style_.top_given = arguments.has("--top");
  presentation.style_.full_names = arguments.has("--full-names");
  return presentation;
}

base::Status Presentation::show(const report::Document& document) const {
  return write_text(renderer_->render(document, style_), output_);
}

}  // namespace hunch::cli
