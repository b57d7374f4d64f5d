// The pieces that several documents share as JSON: values over runs, what may not be known, occupancy,
// findings, verdicts, kernels, statistics. Each writes one key with its value, or the fields of one object.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/report/json/json_writer.h"
#include "hunch/report/report.h"

namespace hunch::report::json {

inline constexpr int kSchemaVersion = 1;

// "schema_version" first, the body, and the end of the whole document.
template <class Body>
std::string whole(Body body) {
  Writer writer;
  writer.begin_object();
  writer.field("schema_version", kSchemaVersion);
  body(writer);
  writer.end_object();
  return writer.take();
}

template <class T>
void optional(Writer& writer, std::string_view key, const std::optional<T>& value) {
  if (value)
    writer.field(key, *value);
  else
    writer.key(key), writer.null();
}

// A number where all runs agree, else {"min", "median", "max"}; null where there is none.
void spread(Writer& writer, std::string_view key, const Spread& value);
void spread(Writer& writer, std::string_view key, const std::optional<Spread>& value);
// Text that is null where the source does not tell.
void told(Writer& writer, std::string_view key, std::string_view value);
void integers(Writer& writer, std::string_view key, const std::vector<int64_t>& values);
void strings(Writer& writer, std::string_view key, const std::vector<std::string>& values);

// "kernels" to "host_ns": what a forward, a variant and a rank's range begin with.
void work_fields(Writer& writer, const std::optional<Spread>& kernels, const std::optional<Spread>& memcpy,
                 const std::optional<Spread>& memset, const std::optional<Spread>& device_ns,
                 const std::optional<Spread>& host_ns);
void occupancy(Writer& writer, const std::optional<OccupancyCell>& cell);
void findings(Writer& writer, const std::vector<FindingRow>& rows);
void verdicts(Writer& writer, std::string_view key, const std::vector<VerdictRow>& rows);
// The fields of a kernel's object, with its calls and time as given.
void kernel_fields(Writer& writer, const KernelRow& row, const Spread& calls, const Spread& device_ns);
void statistics(Writer& writer, const Statistics& numbers);

}  // namespace hunch::report::json
