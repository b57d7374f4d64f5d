#include "hunch/formats/nsys_sqlite/processes.h"

#include <fmt/format.h>

namespace hunch::formats::nsys_sqlite {
namespace {

constexpr int64_t kNobody = -1;  // rows that do not say whose they are
constexpr int kDevices = 64;     // numbers up to here are devices' as well

int64_t key_of(std::optional<int64_t> global_id) { return global_id ? *global_id >> 24 : kNobody; }

}  // namespace

base::Status Processes::read_names(const Database& database, Lookup& strings) {
  {
    HUNCH_ASSIGN(auto rows, Rows::of(database, "PROCESSES", {"globalPid", "name"}));
    while (true) {
      HUNCH_ASSIGN(const bool more, rows.next());
      if (!more) break;
      if (rows.integer(0) && rows.text(1)) process_names_[key_of(rows.integer(0))] = *rows.text(1);
    }
  }
  HUNCH_ASSIGN(auto rows, Rows::of(database, "ThreadNames", {"globalTid", "nameId"}));
  while (true) {
    HUNCH_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    if (!rows.integer(0) || !rows.integer(1)) continue;
    if (const auto name = strings.find(*rows.integer(1))) threads_[*rows.integer(0)] = *name;
  }
}

const std::string& Processes::pid_text(std::optional<int64_t> global_id) {
  const int64_t key = key_of(global_id);
  const auto [found, added] = pids_.emplace(key, std::string());
  if (added) {
    std::string text = key == kNobody ? "unknown process" : std::to_string(key & 0xFFFFFF);
    // A small number could be taken for a device's.
    if (key != kNobody && (key & 0xFFFFFF) < kDevices) text = "process " + text;
    const int others = texts_[text]++;
    found->second = others == 0 ? text : fmt::format("{} ({})", text, others + 1);
  }
  return found->second;
}

uint32_t Processes::thread(std::optional<int64_t> global_tid) {
  const int64_t id = global_tid.value_or(kNobody);
  const auto known = thread_tracks_.find(id);
  if (known != thread_tracks_.end()) return known->second;
  const std::string tid = global_tid ? std::to_string(id & 0xFFFFFF) : "unknown thread";
  const uint32_t track = builder_.track(pid_text(global_tid), tid);
  auto& made = builder_.trace().tracks[track];
  if (const auto name = threads_.find(id); name != threads_.end()) made.name = name->second;
  if (const auto name = process_names_.find(key_of(global_tid)); name != process_names_.end())
    made.process = name->second;
  thread_tracks_.emplace(id, track);
  return track;
}

uint32_t Processes::stream(std::optional<int64_t> global_pid, std::optional<int64_t> device,
                           std::optional<int64_t> stream, const std::string& lane) {
  const auto key =
      std::pair(std::pair(key_of(global_pid), lane), std::pair(device.value_or(-1), stream.value_or(-1)));
  const auto known = stream_tracks_.find(key);
  if (known != stream_tracks_.end()) return known->second;
  const std::string gpu = device ? fmt::format("GPU {}", *device) : "GPU";
  const std::string name = (stream ? fmt::format("stream {}", *stream) : "no stream") + lane;
  const uint32_t track = builder_.track(pid_text(global_pid), gpu + " " + name);
  builder_.trace().tracks[track].name = name;
  builder_.trace().tracks[track].process = gpu;
  stream_tracks_.emplace(key, track);
  return track;
}

}  // namespace hunch::formats::nsys_sqlite
