// The table of formats, and the way from a path to a Trace: open, unpack, sniff, read.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "hunch/base/mapped_file.h"
#include "hunch/formats/chrome_json/chrome_json_reader.h"
#include "hunch/formats/gzip.h"
#include "hunch/formats/looks_like.h"
#include "hunch/formats/reader.h"

namespace hunch::formats {
namespace {

const chrome_json::ChromeJsonReader kChromeJson;
const std::array<const Reader*, 1> kReaders = {&kChromeJson};

constexpr std::size_t kSniffed = 4096;

base::Result<trace::Trace> read_unpacked(std::string_view bytes, const std::string& name,
                                         const ReadContext& context, trace::TraceBuilder& builder) {
  if (bytes.empty())
    return base::fail(base::Error{base::ErrorCode::parse, "the file is empty", name, 0,
                                  "record it again: its writer was stopped"});
  const std::string_view first = bytes.substr(0, kSniffed);
  for (const Reader* reader : readers()) {
    if (!reader->sniff(first)) continue;
    if (auto status = reader->read(bytes, builder, context); !status) {
      base::Error error = status.error();
      error.file = name;
      return base::fail(std::move(error));
    }
    builder.trace().source = name;
    builder.trace().format = reader->name();
    return builder.finish();
  }
  const Looks looks = looks_like(first);
  return base::fail(base::Error{base::ErrorCode::parse,
                                fmt::format("not a trace: it looks like {}", looks.kind), name, 0,
                                std::string(looks.remedy)});
}

// `file` is the mapping that `bytes` come from, or null.
base::Result<trace::Trace> read_any(std::string_view bytes, const std::string& name,
                                    const ReadOptions& options, const base::MappedFile* file) {
  trace::TraceBuilder builder;
  ReadContext context{options, {}};
  if (!is_gzip(bytes)) {
    if (file != nullptr) context.done_before = [file](std::size_t offset) { file->forget_before(offset); };
    return read_unpacked(bytes, name, context, builder);
  }
  auto unpacked = gunzip(bytes);
  if (!unpacked) {
    base::Error error = unpacked.error();
    error.file = name;
    return base::fail(std::move(error));
  }
  if (unpacked->garbage() != 0)
    builder.warn(fmt::format("{} bytes behind the gzip data are ignored", unpacked->garbage()));
  auto trace = read_unpacked(unpacked->bytes(), name, context, builder);
  if (!trace) {
    base::Error error = trace.error();
    if (error.byte) error.message += " (the byte counts in the unpacked data)";
    return base::fail(std::move(error));
  }
  return trace;
}

}  // namespace

std::span<const Reader* const> readers() { return kReaders; }

base::Result<trace::Trace> read_trace(const std::string& path, const ReadOptions& options) {
  HUNCH_ASSIGN(const auto file, base::MappedFile::open(path));
  return read_any(file.bytes(), path == "-" ? "standard input" : path, options, &file);
}

base::Result<trace::Trace> read_trace_bytes(std::string_view bytes, const std::string& name,
                                            const ReadOptions& options) {
  return read_any(bytes, name, options, nullptr);
}

}  // namespace hunch::formats
