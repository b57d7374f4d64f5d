// Reading: a format is a folder here and a line in formats.cc. sniff() looks at the first bytes only, never
// at a file's name; read() fills a TraceBuilder. Compressed input is unpacked before a reader sees it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hunch/base/result.h"
#include "hunch/trace/builder.h"

namespace hunch::formats {

class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::string_view name() const = 0;                     // "chrome_json"
  virtual bool sniff(std::string_view first_bytes) const = 0;    // up to 4 KiB
  // Errors: parse, with the byte; events that cannot be used are counted in the builder and are no error.
  virtual base::Status read(std::string_view bytes, trace::TraceBuilder& builder) const = 0;
};

std::span<const Reader* const> readers();

// Opens, unpacks gzip (told by its bytes), picks the reader and reads. Errors name the file.
base::Result<trace::Trace> read_trace(const std::string& path);
// The same for bytes in memory; `name` stands in errors and in Trace::source.
base::Result<trace::Trace> read_trace_bytes(std::string_view bytes, const std::string& name);

// Writes a Trace as Chrome JSON in the form of PyTorch's profiler; gzip where the path ends in ".gz".
// Written to a temporary file beside it and renamed: never half a file. Errors: io.
base::Status write_chrome_json(const trace::Trace& trace, const std::string& path);
std::string chrome_json(const trace::Trace& trace);

}  // namespace hunch::formats
