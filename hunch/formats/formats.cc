// The table of formats, and the way from a path to a Trace: open, unpack, sniff, read.
#include <fmt/format.h>

#include <array>

#include "hunch/base/mapped_file.h"
#include "hunch/formats/chrome_json/chrome_json_reader.h"
#include "hunch/formats/gzip.h"
#include "hunch/formats/looks_like.h"
#include "hunch/formats/nsys_sqlite/nsys_sqlite_reader.h"
#include "hunch/formats/reader.h"

namespace hunch::formats {
namespace {

const chrome_json::ChromeJsonReader kChromeJson;
const nsys_sqlite::NsysSqliteReader kNsysSqlite;
const std::array<const Reader*, 2> kReaders = {&kChromeJson, &kNsysSqlite};

constexpr std::size_t kSniffed = 4096;

base::Error named(base::Error error, const std::string& name) {
  error.file = name;
  return error;
}

base::Status read_input(Input& input, const std::string& name, const ReadOptions& options,
                        trace::TraceBuilder& builder) {
  const std::string_view first = input.first(kSniffed).substr(0, kSniffed);
  if (first.empty())
    return base::fail(base::Error{base::ErrorCode::parse, "the file is empty", name, 0,
                                  "record it again: its writer was stopped"});
  for (const Reader* reader : readers()) {
    if (!reader->sniff(first)) continue;
    builder.trace().source = name;
    builder.trace().format = reader->name();
    if (auto status = reader->read(input, builder, options); !status)
      return base::fail(named(status.error(), name));
    builder.keep_sums_in_range();
    return {};
  }
  const Looks looks = looks_like(first, name);
  return base::fail(base::Error{base::ErrorCode::parse,
                                fmt::format("not a trace: it looks like {}", looks.kind), name, 0,
                                std::string(looks.remedy)});
}

base::Result<trace::Trace> read_gzip(std::string_view bytes, const std::string& name,
                                     const ReadOptions& options) {
  auto opened = GunzipInput::open(bytes);
  if (!opened) return base::fail(named(opened.error(), name));
  GunzipInput& input = **opened;
  trace::TraceBuilder builder;
  const base::Status read = read_input(input, name, options, builder);
  // What is wrong with the gzip data explains what the reader met; salvaged, it is a warning.
  if (const base::Status unpacked = input.drain(); !unpacked) {
    const base::Error& error = unpacked.error();
    if (!options.salvage || input.size() == 0 || error.code != base::ErrorCode::parse)
      return base::fail(named(error, name));
    builder.warn(fmt::format("byte {}: {}; what unpacks is read", error.byte.value_or(0), error.message));
  }
  if (!read) {
    base::Error error = read.error();
    if (error.byte) error.message += " (the byte counts in the unpacked data)";
    return base::fail(std::move(error));
  }
  if (input.garbage() != 0)
    builder.warn(fmt::format("{} bytes behind the gzip data are ignored", input.garbage()));
  return builder.finish();
}

// `file` is the mapping that `bytes` come from, or null.
base::Result<trace::Trace> read_any(std::string_view bytes, const std::string& name,
                                    const ReadOptions& options, const base::MappedFile* file) {
  if (is_gzip(bytes)) return read_gzip(bytes, name, options);
  WholeInput input(bytes, file);
  trace::TraceBuilder builder;
  HUNCH_RETURN_IF_ERROR(read_input(input, name, options, builder));
  return builder.finish();
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
