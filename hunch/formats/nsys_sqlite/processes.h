// Who did it: Nsight Systems' global ids, and the tracks that they become.
//
// In:  "globalTid" and "globalPid", 64-bit numbers of hardware, virtual machine, process (24 bits) and thread
//      (24 bits); the tables of names.
// Out: host tracks (pid, tid) and device tracks (pid, "GPU 0 stream 7"). A device track bears the pid of the
//      process whose work it holds, so that correlation ids, which repeat over processes, are joined within
//      one.
// Holds: two processes never share a pid here, though their machines may number them alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "hunch/formats/nsys_sqlite/database.h"
#include "hunch/trace/builder.h"

namespace hunch::formats::nsys_sqlite {

class Processes {
 public:
  explicit Processes(trace::TraceBuilder& builder) : builder_(builder) {}

  // The names of processes and threads. What cannot be read is left out.
  base::Status read_names(const Database& database, Lookup& strings);

  uint32_t thread(std::optional<int64_t> global_tid);
  // `lane` sets rows apart that may lie over each other on one stream, as synchronisations do; may be empty.
  uint32_t stream(std::optional<int64_t> global_pid, std::optional<int64_t> device,
                  std::optional<int64_t> stream, const std::string& lane);

  // The process id as the operating system has it.
  static int64_t pid_of(int64_t global_id) { return global_id >> 24 & 0xFFFFFF; }

 private:
  const std::string& pid_text(std::optional<int64_t> global_id);

  trace::TraceBuilder& builder_;
  std::map<int64_t, std::string> pids_;               // by everything above the thread
  std::unordered_map<std::string, int> texts_;        // pids given out
  std::map<int64_t, std::string> process_names_;      // by pids_' key
  std::unordered_map<int64_t, std::string> threads_;  // names by global tid
  std::unordered_map<int64_t, uint32_t> thread_tracks_;
  std::map<std::pair<std::pair<int64_t, std::string>, std::pair<int64_t, int64_t>>, uint32_t> stream_tracks_;
};

}  // namespace hunch::formats::nsys_sqlite
