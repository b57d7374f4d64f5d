// See the header.
#include "hunch/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "hunch/base/strings.h"

namespace hunch::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

// Under mpirun a process writes to a terminal of mpirun's own making, whatever that passes it on to.
bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1 && environment("OMPI_COMM_WORLD_SIZE").empty();
}

}  // namespace

base::Result<ColorMode> parse_color(std::string_view text) {
  if (text == "auto") return ColorMode::automatic;
  if (text == "always") return ColorMode::always;
  if (text == "never") return ColorMode::never;
  return base::fail(base::ErrorCode::usage, fmt::format("--color {}: unknown", text),
                    "auto, always or never");
}

bool use_color(ColorMode mode, bool to_stdout) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return to_stdout && stdout_is_terminal() && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

int output_width(bool to_stdout) {
  int64_t width = base::parse_int(environment("COLUMNS")).value_or(0);
  if (width <= 0 && to_stdout && stdout_is_terminal()) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  }
  if (width <= 0) width = 100;
  return static_cast<int>(std::clamp<int64_t>(width, 40, 200));
}

bool unicode_terminal() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;  // the first that is set decides
    return base::contains(value, "UTF-8") || base::contains(value, "utf8") || base::contains(value, "utf-8");
  }
  return false;
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace hunch::cli
