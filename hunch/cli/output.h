// Where results go: --format, --output, --color and --top of every verb that reports, and the writing itself.
// A file is written under another name beside its place and renamed: never half a file. A closed pipe is no
// error.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "hunch/cli/command.h"
#include "hunch/report/report.h"

namespace hunch::cli {

inline constexpr std::array<Option, 3> kOutputOptions = {{
    {"--format", "-f", "FORMAT", "text (default), json, csv or markdown", false},
    {"--output", "-o", "FILE", "write there instead of standard output", false},
    {"--color", "", "WHEN", "auto (default), always or never", false},
}};

class Presentation {
 public:
  // Checks the options, and that the output can be written, before any work is done. Errors: usage, io.
  static base::Result<Presentation> from(const Arguments& arguments);

  base::Status show(const report::Document& document) const;

 private:
  const report::Renderer* renderer_ = nullptr;
  report::Style style_;
  std::string output_ = "-";
};

// Whether something can be written to `path`, before the work for it is done. Errors: usage, io.
base::Status check_output(const std::string& path);

// `path` "-" is standard output. Errors: io.
base::Status write_text(std::string_view text, const std::string& path);

}  // namespace hunch::cli
