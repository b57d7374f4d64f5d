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

base::Status check_output(const std::string& path, std::string_view option) {
  if (path == "-" || is_special(path)) return {};
  struct stat info {};
  if (path.empty())
    return base::fail(base::ErrorCode::usage, fmt::format("{}: the file's name is empty", option));
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

base::Status Presentation::add(const Arguments& arguments, std::string_view option, std::string_view format,
                               std::string path) {
  Target target;
  target.renderer = report::find_renderer(format);
  if (target.renderer == nullptr) {
    std::vector<std::string_view> names;
    for (const auto* renderer : report::renderers()) names.push_back(renderer->name());
    return base::fail(base::ErrorCode::usage, fmt::format("{} {}: no such format", option, format),
                      base::did_you_mean(format, names));
  }
  HUNCH_RETURN_IF_ERROR(check_output(path, option));
  for (const Target& other : targets_)
    if (other.path == path && !is_special(path))
      return base::fail(
          base::ErrorCode::usage,
          fmt::format("{}: {} is written twice", option, path == "-" ? "standard output" : path),
          "a file of its own for each format");
  const bool to_stdout = path == "-";
  HUNCH_ASSIGN(const ColorMode color, parse_color(arguments.text("--color").value_or("auto")));
  HUNCH_ASSIGN(const int64_t top, arguments.integer("--top", 20, 0, 1'000'000));
  target.style.color = use_color(color, to_stdout);
  target.style.width = output_width(to_stdout);
  target.style.unicode = unicode_terminal();
  target.style.top = static_cast<int>(top);
  target.style.top_given = arguments.has("--top");
  target.style.full_names = arguments.has("--full-names");
  target.path = std::move(path);
  targets_.push_back(std::move(target));
  return {};
}

base::Status Presentation::add_all(const Arguments& arguments, std::string_view option) {
  for (const std::string& word : arguments.all(option)) {
    const auto equal = word.find('=');
    if (equal == std::string::npos || equal == 0)
      return base::fail(base::ErrorCode::usage, fmt::format("{} {}: expected FORMAT=FILE", option, word),
                        fmt::format("{} json=report.json", option));
    HUNCH_RETURN_IF_ERROR(
        add(arguments, option, std::string_view(word).substr(0, equal), word.substr(equal + 1)));
  }
  return {};
}

base::Result<Presentation> Presentation::from(const Arguments& arguments) {
  Presentation presentation;
  HUNCH_RETURN_IF_ERROR(presentation.add(arguments, "--format", arguments.text("--format").value_or("text"),
                                         arguments.text("--output").value_or("-")));
  HUNCH_RETURN_IF_ERROR(presentation.add_all(arguments, "--also"));
  return presentation;
}

base::Result<Presentation> Presentation::from(const Arguments& arguments, std::string_view option,
                                              const Presentation& taken) {
  Presentation presentation = taken;
  HUNCH_RETURN_IF_ERROR(presentation.add_all(arguments, option));
  const auto first = static_cast<std::ptrdiff_t>(taken.targets_.size());
  presentation.targets_.erase(presentation.targets_.begin(), presentation.targets_.begin() + first);
  return presentation;
}

base::Status Presentation::show(const report::Document& document) const {
  for (auto target = targets_.rbegin(); target != targets_.rend(); ++target)
    HUNCH_RETURN_IF_ERROR(write_text(target->renderer->render(document, target->style), target->path));
  return {};
}

}  // namespace hunch::cli
