// The tables of events, one after the other, each row to one row of the Trace.
//
// In:  the database, and what names processes, devices and strings.
// Out: rows in the builder, with source_index counting the rows of all tables in the order of reading;
// metadata
//      says which range of it each table has. Errors: parse, where a table cannot be read to its end; with
//      salvage its rows before are kept, with a warning.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hunch/formats/nsys_sqlite/database.h"
#include "hunch/formats/nsys_sqlite/devices.h"
#include "hunch/formats/nsys_sqlite/names.h"
#include "hunch/formats/nsys_sqlite/processes.h"
#include "hunch/trace/builder.h"

namespace hunch::formats::nsys_sqlite {

class Activities {
 public:
  Activities(const Database& database, trace::TraceBuilder& builder, Processes& processes,
             const Devices& devices, Lookup& strings, bool salvage)
      : database_(database),
        builder_(builder),
        processes_(processes),
        devices_(devices),
        strings_(strings),
        salvage_(salvage) {}

  // All tables of events that there are.
  base::Status read();

 private:
  struct ApiName {
    trace::StringId name = 0;
    trace::EventKind kind = trace::EventKind::runtime_call;
  };

  base::Status domains();
  base::Status ranges();
  base::Status calls();
  base::Status kernels();
  base::Status copies();
  base::Status memsets();
  base::Status graphs();
  base::Status syncs();
  base::Status overheads();

  // Calls row(rows) for each row of `table`.
  base::Status each(const std::string& table, const std::vector<std::string_view>& columns,
                    const std::function<void(const Rows&)>& row);
  // Start and end from columns 0 and 1 to `event`; false: no usable times, counted.
  bool times(const Rows& rows, trace::Event& event);
  // Device, stream, correlation and process from four columns from `first` on; the track among them.
  void place(const Rows& rows, std::size_t first, trace::Event& event, trace::DeviceDetail& detail,
             const std::string& lane = {});
  void add(trace::Event& event);
  std::optional<trace::StringId> string(std::optional<int64_t> id);

  const Database& database_;
  trace::TraceBuilder& builder_;
  Processes& processes_;
  const Devices& devices_;
  Lookup& strings_;
  bool salvage_;
  std::unordered_map<int64_t, std::optional<trace::StringId>> known_strings_;
  std::unordered_map<int64_t, ApiName> api_names_;
  std::map<std::pair<int64_t, int64_t>, std::string> domains_;  // names by process and number
  uint64_t whole_graphs_ = 0;
};

}  // namespace hunch::formats::nsys_sqlite
