#include "hunch/formats/nsys_sqlite/activities.h"

#include <fmt/format.h>

#include <limits>

#include "hunch/trace/nvtx_text.h"

namespace hunch::formats::nsys_sqlite {
namespace {

using trace::EventKind;

constexpr base::Ns kMaxTime = 4'000'000'000'000'000'000;  // 127 years; beyond it is damage
constexpr base::Ns kLongest =
    int64_t{7} * 24 * 3600 * 1'000'000'000;  // an event longer than a week is damage
constexpr uint64_t kMaxEvents = uint64_t{1} << 32;

// NVTX event types.
constexpr int64_t kCategory = 33, kMark = 34, kThreadName = 39, kPushPop = 59, kStartEnd = 60,
                  kTextPushPop = 70, kTextStartEnd = 71, kDomain = 75;

template <class Int>
void set(std::optional<int64_t> value, Int& to) {
  if (value && *value >= 0 && *value <= std::numeric_limits<Int>::max()) to = static_cast<Int>(*value);
}

uint64_t id_of(std::optional<int64_t> value) {
  return value && *value > 0 ? static_cast<uint64_t>(*value) : 0;
}

}  // namespace

base::Status Activities::read() {
  HUNCH_RETURN_IF_ERROR(domains());
  HUNCH_RETURN_IF_ERROR(ranges());
  HUNCH_RETURN_IF_ERROR(calls());
  HUNCH_RETURN_IF_ERROR(kernels());
  HUNCH_RETURN_IF_ERROR(copies());
  HUNCH_RETURN_IF_ERROR(memsets());
  HUNCH_RETURN_IF_ERROR(graphs());
  HUNCH_RETURN_IF_ERROR(syncs());
  HUNCH_RETURN_IF_ERROR(overheads());
  if (whole_graphs_ > 0)
    builder_.warn(
        fmt::format("{} CUDA graph launches were recorded as a whole: each is one row here, and the kernels "
                    "in them are not in this trace (record with --cuda-graph-trace=node)",
                    whole_graphs_));
  return {};
}

base::Status Activities::each(const std::string& table, const std::vector<std::string_view>& columns,
                              const std::function<void(const Rows&)>& row) {
  auto& stats = builder_.trace().stats;
  const uint64_t before = stats.events;
  auto rows = Rows::of(database_, table, columns);
  base::Status status;
  if (!rows) status = base::fail(rows.error());
  while (status) {
    const auto more = rows->next();
    if (!more) status = base::fail(more.error());
    if (!more || !*more) break;
    if (stats.events + 1 >= kMaxEvents)
      return base::fail(base::ErrorCode::unsupported, "more than 4 billion events",
                        "export fewer: --times START/END");
    row(*rows);
    ++stats.events;
  }
  if (stats.events > before)
    builder_.trace().metadata["rows of " + table] = fmt::format("{} to {}", before, stats.events - 1);
  if (status) return {};
  if (!salvage_) return status;
  builder_.warn(
      fmt::format("{}; its {} rows before are kept", status.error().message, stats.events - before));
  return {};
}

bool Activities::times(const Rows& rows, trace::Event& event) {
  const auto start = rows.integer(0), end = rows.integer(1);
  const auto skip = [&](std::string_view reason) {
    builder_.skip(reason);
    return false;
  };
  if (!start) return skip("event without a time");
  if (!end) return skip("event without an end");
  if (*start > kMaxTime || *start < -kMaxTime || *end > kMaxTime || *end < -kMaxTime)
    return skip("time is no number or out of range");
  if (*end < *start) return skip("negative duration");
  if (*end - *start > kLongest) return skip("duration over 7 days");
  event.start = *start;
  event.duration = *end - *start;
  return true;
}

void Activities::place(const Rows& rows, std::size_t first, trace::Event& event, trace::DeviceDetail& detail,
                       const std::string& lane) {
  const auto process = rows.integer(first + 3);
  const auto gpu = devices_.gpu(process, rows.integer(first));
  set(gpu, detail.device);
  set(rows.integer(first + 1), detail.stream);
  event.correlation = id_of(rows.integer(first + 2));
  event.track = processes_.stream(process, gpu, rows.integer(first + 1), lane);
  event.device = &detail;
}

void Activities::add(trace::Event& event) {
  event.source_index = static_cast<uint32_t>(builder_.trace().stats.events);
  builder_.add(event);
}

std::optional<trace::StringId> Activities::string(std::optional<int64_t> id) {
  if (!id) return std::nullopt;
  const auto [known, added] = known_strings_.emplace(*id, std::nullopt);
  if (added)
    if (const auto text = strings_.find(*id)) known->second = builder_.intern(*text);
  return known->second;
}

// Names of NVTX domains stand among the events and may come after ranges of theirs.
base::Status Activities::domains() {
  auto rows = Rows::of(database_, "NVTX_EVENTS", {"eventType", "domainId", "globalTid", "text", "textId"});
  while (rows) {
    const auto more = rows->next();
    if (!more || !*more) break;  // reading the ranges meets the same damage, and says so
    if (rows->integer(0) != kDomain || !rows->integer(1)) continue;
    const auto name = rows->text(3);
    const auto id = name ? std::nullopt : string(rows->integer(4));
    domains_[{rows->integer(2).value_or(0) >> 24, *rows->integer(1)}] =
        name ? *name
        : id ? builder_.trace().strings.view(*id)
             : "";
  }
  return {};
}

base::Status Activities::ranges() {
  return each(
      "NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "text", "textId", "domainId"},
      [this](const Rows& rows) {
        const int64_t type = rows.integer(2).value_or(0);
        if (type == kMark) return builder_.ignore("NVTX mark");
        if (type == kDomain || type == kCategory || type == kThreadName)
          return builder_.ignore("NVTX name of a domain, category or thread");
        if (type != kPushPop && type != kStartEnd && type != kTextPushPop && type != kTextStartEnd)
          return builder_.ignore("NVTX event of another kind");
        trace::Event event;
        if (!times(rows, event)) return;
        std::string_view text;
        if (const auto own = rows.text(4)) {
          text = *own;
        } else if (const auto id = string(rows.integer(5))) {
          text = builder_.trace().strings.view(*id);
        } else {
          return builder_.skip("event without a name");
        }
        const trace::RangeText said = trace::range_text(text);
        event.kind = said.kind;
        event.name = said.name;
        event.track = processes_.thread(rows.integer(3));
        event.external_id = said.op_id;
        const auto domain = domains_.find({rows.integer(3).value_or(0) >> 24, rows.integer(6).value_or(0)});
        if (domain != domains_.end() && trace::is_library_domain(domain->second)) event.kind = EventKind::op;
        trace::OpDetail detail;
        detail.sequence_number = said.sequence;
        if (!said.sizes.empty()) detail.input_dims = builder_.intern(said.sizes);
        if (said.sequence >= 0 || !said.sizes.empty()) event.op = &detail;
        add(event);
      });
}

base::Status Activities::calls() {
  return each("CUPTI_ACTIVITY_KIND_RUNTIME",
              {"start", "end", "globalTid", "correlationId", "nameId", "eventClass"},
              [this](const Rows& rows) {
                trace::Event event;
                if (!times(rows, event)) return;
                const int64_t id = rows.integer(4).value_or(-1);
                const auto [known, added] = api_names_.emplace(id, ApiName{});
                if (added) {
                  const auto name = string(rows.integer(4));
                  const std::string_view text = name ? api_name(builder_.trace().strings.view(*name))
                                                     : std::string_view("unnamed call");
                  known->second.name = builder_.intern(text);
                  known->second.kind = api_kind(text, rows.integer(5));
                  if (!name) builder_.repaired("name that the file lacks, replaced");
                }
                event.name = builder_.trace().strings.view(known->second.name);
                event.kind = known->second.kind;
                event.track = processes_.thread(rows.integer(2));
                event.correlation = id_of(rows.integer(3));
                add(event);
              });
}

base::Status Activities::kernels() {
  return each(
      "CUPTI_ACTIVITY_KIND_KERNEL",
      {"start",
       "end",
       "deviceId",
       "streamId",
       "correlationId",
       "globalPid",
       "demangledName",
       "shortName",
       "mangledName",
       "registersPerThread",
       "gridX",
       "gridY",
       "gridZ",
       "blockX",
       "blockY",
       "blockZ",
       "staticSharedMemory",
       "dynamicSharedMemory",
       "graphNodeId",
       "graphId"},
      [this](const Rows& rows) {
        trace::Event event;
        if (!times(rows, event)) return;
        event.kind = EventKind::kernel;
        std::optional<trace::StringId> name;
        for (const std::size_t column : {6u, 7u, 8u})
          if (!name) name = string(rows.integer(column));
        if (!name) builder_.repaired("name that the file lacks, replaced");
        event.name = name ? builder_.trace().strings.view(*name) : "unnamed kernel";
        trace::DeviceDetail detail;
        place(rows, 2, event, detail);
        set(rows.integer(9), detail.registers);
        for (std::size_t i = 0; i < 3; ++i) {
          set(rows.integer(10 + i), detail.grid[i]);
          set(rows.integer(13 + i), detail.block[i]);
        }
        const auto fixed = rows.integer(16), dynamic = rows.integer(17);
        constexpr int64_t kMost = int64_t{1} << 40;
        if (fixed && *fixed >= 0 && *fixed < kMost && dynamic.value_or(0) >= 0 && dynamic.value_or(0) < kMost)
          detail.shared_bytes = *fixed + dynamic.value_or(0);
        set(rows.integer(18), detail.graph_node_id);
        set(rows.integer(19), detail.graph_id);
        add(event);
      });
}

base::Status Activities::copies() {
  return each("CUPTI_ACTIVITY_KIND_MEMCPY",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind",
               "srcKind", "dstKind", "graphNodeId"},
              [this](const Rows& rows) {
                trace::Event event;
                if (!times(rows, event)) return;
                event.kind = EventKind::memcpy;
                const std::string name = copy_name(rows.integer(7), rows.integer(8), rows.integer(9));
                event.name = name;
                trace::DeviceDetail detail;
                place(rows, 2, event, detail);
                set(rows.integer(6), detail.bytes);
                set(rows.integer(10), detail.graph_node_id);
                add(event);
              });
}

base::Status Activities::memsets() {
  return each("CUPTI_ACTIVITY_KIND_MEMSET",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "memKind",
               "graphNodeId"},
              [this](const Rows& rows) {
                trace::Event event;
                if (!times(rows, event)) return;
                event.kind = EventKind::memset;
                const std::string name = memset_name(rows.integer(7));
                event.name = name;
                trace::DeviceDetail detail;
                place(rows, 2, event, detail);
                set(rows.integer(6), detail.bytes);
                set(rows.integer(8), detail.graph_node_id);
                add(event);
              });
}

// A graph traced as a whole keeps the device busy, so it stands among the kernels, under a name that says so.
base::Status Activities::graphs() {
  return each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphId"},
              [this](const Rows& rows) {
                trace::Event event;
                if (!times(rows, event)) return;
                event.kind = EventKind::kernel;
                const auto graph = rows.integer(6);
                const std::string name =
                    graph ? fmt::format("CUDA graph {}, whole", *graph) : "CUDA graph, whole";
                event.name = name;
                trace::DeviceDetail detail;
                place(rows, 2, event, detail);
                set(graph, detail.graph_id);
                ++whole_graphs_;
                add(event);
              });
}

base::Status Activities::syncs() {
  return each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
              {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "syncType"},
              [this](const Rows& rows) {
                trace::Event event;
                if (!times(rows, event)) return;
                event.kind = EventKind::sync;
                event.name = sync_name(rows.integer(6));
                trace::DeviceDetail detail;
                place(rows, 2, event, detail, " waits");
                add(event);
              });
}

base::Status Activities::overheads() {
  for (const char* table : {"CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"}) {
    HUNCH_RETURN_IF_ERROR(each(table, {"start", "end", "globalTid", "nameId"}, [this](const Rows& rows) {
      trace::Event event;
      if (!times(rows, event)) return;
      event.kind = EventKind::overhead;
      const auto name = string(rows.integer(3));
      event.name = name ? builder_.trace().strings.view(*name) : "profiler overhead";
      event.track = processes_.thread(rows.integer(2));
      add(event);
    }));
  }
  return {};
}

}  // namespace hunch::formats::nsys_sqlite
