// Reading: a format is a folder here and a line in formats.cc. sniff() looks at the first bytes only, never
// at a file's name; read() fills a TraceBuilder. A reader sees compressed input unpacked, while it unpacks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hunch/base/result.h"
#include "hunch/formats/input.h"
#include "hunch/formats/writer.h"
#include "hunch/trace/builder.h"

namespace hunch::formats {

struct ReadOptions {
  // A file that ends in the middle of its events, or whose gzip data does, is an error; with salvage it is
  // read up to there, with a warning.
  bool salvage = false;
  // Threads that read a large file; 0: as many as the machine grants. The Trace is the same for any number.
  int threads = 0;
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::string_view name() const = 0;                   // "chrome_json"
  virtual bool sniff(std::string_view first_bytes) const = 0;  // up to 4 KiB
  // Errors: parse, with the byte; events that cannot be used are counted in the builder and are no error.
  virtual base::Status read(Input& input, trace::TraceBuilder& builder, const ReadOptions& options) const = 0;
};

std::span<const Reader* const> readers();

// Opens, unpacks gzip (told by its bytes), picks the reader and reads. Errors name the file.
base::Result<trace::Trace> read_trace(const std::string& path, const ReadOptions& options = {});
// The same for bytes in memory; `name` stands in errors and in Trace::source.
base::Result<trace::Trace> read_trace_bytes(std::string_view bytes, const std::string& name,
                                            const ReadOptions& options = {});

}  // namespace hunch::formats
