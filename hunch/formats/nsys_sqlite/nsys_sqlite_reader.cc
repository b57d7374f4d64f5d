#include "hunch/formats/nsys_sqlite/nsys_sqlite_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/formats/nsys_sqlite/activities.h"

namespace hunch::formats::nsys_sqlite {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kHeader = "SQLite format 3\0"sv;
constexpr base::Ns kMaxTime = 4'000'000'000'000'000'000;
constexpr std::size_t kMaxText = 4096;

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

base::Error no_export(const std::vector<std::string>& tables) {
  const bool rocprof =
      std::any_of(tables.begin(), tables.end(), [](const auto& t) { return starts(t, "rocpd_"); });
  std::string has = tables.empty() ? "it has no tables" : "it has";
  for (std::size_t i = 0; i < std::min<std::size_t>(tables.size(), 3); ++i)
    has += (i > 0 ? ", " : " ") + tables[i].substr(0, 60);
  if (tables.size() > 3) has += ", ...";
  return base::Error{base::ErrorCode::parse,
                     fmt::format("an SQLite database, but no export of Nsight Systems: {}", has),
                     {},
                     0,
                     rocprof ? "a database of rocprofiler: give the Chrome trace instead"
                             : "give it what nsys export --type sqlite writes, or a Chrome trace"};
}

// Table by name and value.
base::Status read_versions(const Database& database, trace::TraceBuilder& builder, bool& absolute) {
  HUNCH_ASSIGN(auto rows, Rows::of(database, "META_DATA_EXPORT", {"name", "value"}));
  while (true) {
    HUNCH_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    const auto name = rows.text(0), value = rows.text(1);
    if (!name || !value || value->size() > kMaxText) continue;
    if (*name == "EXPORT_PRODUCT_VERSION") builder.trace().metadata["nsys_version"] = *value;
    if (*name == "EXPORT_SCHEMA_VERSION") builder.trace().metadata["nsys_schema"] = *value;
    if (*name == "EXPORT_PARAM_TIME_NORMALIZE") absolute = *value == "true";
  }
}

// The absolute time of the file's time 0, or 0 where it is not said.
base::Result<base::Ns> read_base(const Database& database) {
  HUNCH_ASSIGN(auto rows,
               Rows::of(database, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "systemClockNs"}));
  HUNCH_ASSIGN(const bool any, rows.next());
  if (!any || !rows.integer(0)) return 0;
  const base::Ns epoch = *rows.integer(0), clock = rows.integer(1).value_or(0);
  if (epoch <= 0 || epoch > kMaxTime || clock < 0 || clock > epoch) return 0;
  return epoch - clock;
}

// Nothing that reading needs depends on it, so damage there costs only what it would have said.
void only_warn(trace::TraceBuilder& builder, const base::Status& status) {
  if (!status) builder.warn(status.error().message);
}

}  // namespace

bool NsysSqliteReader::sniff(std::string_view first_bytes) const { return starts(first_bytes, kHeader); }

base::Status NsysSqliteReader::read(Input& input, trace::TraceBuilder& builder,
                                    const ReadOptions& options) const {
  HUNCH_ASSIGN(const Database database, Database::open(input.all(), options.salvage));
  HUNCH_ASSIGN(const auto tables, database.tables());
  const auto ours = [](const std::string& table) {
    return starts(table, "CUPTI_ACTIVITY_KIND_") || starts(table, "TARGET_INFO_") ||
           starts(table, "META_DATA_") || table == "NVTX_EVENTS";
  };
  if (std::none_of(tables.begin(), tables.end(), ours)) return base::fail(no_export(tables));
  if (database.has_write_ahead_log())
    builder.warn("the database is in write-ahead-log mode: what a -wal file beside it holds is not read");

  bool absolute = false;
  only_warn(builder, read_versions(database, builder, absolute));
  Devices devices;
  only_warn(builder, devices.read(database, builder));
  HUNCH_ASSIGN(Lookup strings, Lookup::of(database, "StringIds", "id", "value"));
  Processes processes(builder);
  only_warn(builder, processes.read_names(database, strings));
  HUNCH_RETURN_IF_ERROR(Activities(database, builder, processes, devices, strings, options.salvage).read());
  auto& trace = builder.trace();
  if (trace.stats.events == 0)
    builder.warn("no CUDA or NVTX activity in this export: record with nsys profile --trace=cuda,nvtx");

  base::Ns base_time = 0;
  if (!absolute) {
    if (const auto said = read_base(database)) base_time = *said;
  }
  trace.base_time = base_time;
  for (auto& start : trace.start) start += base_time;
  return {};
}

}  // namespace hunch::formats::nsys_sqlite
