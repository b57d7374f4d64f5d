// Where results go: --format, --output, --also, --color and --top of every verb that reports, and the writing
// itself. One run gives one document, in as many formats as are asked for. A file is written under another
// name beside its place and renamed: never half a file. A closed pipe is no error.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/cli/command.h"
#include "hunch/report/report.h"

namespace hunch::cli {

inline constexpr std::array<Option, 4> kOutputOptions = {{
    {"--format", "-f", "FORMAT", "text (default), json, csv or markdown", false},
    {"--output", "-o", "FILE", "write there instead of standard output", false},
    {"--also", "", "FORMAT=FILE", "the same in another format, from the same run; repeats", true},
    {"--color", "", "WHEN", "auto (default), always or never", false},
}};

class Presentation {
 public:
  // Checks the options, and that the output can be written, before any work is done. Errors: usage, io.
  static base::Result<Presentation> from(const Arguments& arguments);
  // Of another document: what FORMAT=FILE of a repeating option says, and nothing where it is not given. No
  // file may be one of `taken`'s.
  static base::Result<Presentation> from(const Arguments& arguments, std::string_view option,
                                         const Presentation& taken);

  bool empty() const { return targets_.empty(); }
  // --output last: where it is read through a pipe, the files are there when it ends.
  base::Status show(const report::Document& document) const;

 private:
  struct Target {
    const report::Renderer* renderer = nullptr;
    report::Style style;
    std::string path;  // "-": standard output
  };
  base::Status add(const Arguments& arguments, std::string_view option, std::string_view format,
                   std::string path);
  base::Status add_all(const Arguments& arguments, std::string_view option);

  std::vector<Target> targets_;
};

// Whether something can be written to the path that `option` names, before the work for it is done. Errors:
// usage, io.
base::Status check_output(const std::string& path, std::string_view option = "--output");

// `path` "-" is standard output. Errors: io.
base::Status write_text(std::string_view text, const std::string& path);

}  // namespace hunch::cli
