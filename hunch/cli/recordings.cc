// One spool at a time, so that memory holds one process's recording. See recordings.h.
#include "hunch/cli/recordings.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "hunch/base/strings.h"
#include "hunch/formats/writer.h"
#include "hunch/record/spool/spool_reader.h"
#include "hunch/record/spool/spool_trace.h"
#include "hunch/trace/trace.h"

namespace hunch::cli {
namespace {

namespace spool = record::spool;

constexpr int64_t kGraceNs = 2'000'000'000;  // for processes that outlive the command

struct File {
  std::string path;
  std::string id;
  base::Ns first = 0;       // work; for the order
  bool still_runs = false;  // its process
};

std::vector<File> files_of(const std::string& folder) {
  std::vector<File> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(spool::kFileEnd)) continue;
    files.push_back({entry.path().string(), name.substr(0, name.size() - spool::kFileEnd.size())});
  }
  return files;
}

bool lives(int64_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

// A spool's process may be writing its last records while the command has ended already.
base::Result<spool::Spool> read_ended(File& file, int64_t& grace_ns) {
  for (;;) {
    HUNCH_ASSIGN(spool::Spool read, spool::read_spool_file(file.path));
    file.still_runs = !read.ended && lives(read.process.pid);
    if (!file.still_runs || grace_ns <= 0) return read;
    const timespec pause = {0, 50'000'000};
    ::nanosleep(&pause, nullptr);
    grace_ns -= pause.tv_nsec;
  }
}

void count(const trace::Trace& trace, RecordedProcess& to) {
  for (trace::EventId event = 0; event < trace.size(); ++event) {
    switch (trace.kind[event]) {
      case trace::EventKind::kernel:
        ++to.kernels;
        break;
      case trace::EventKind::memcpy:
        ++to.memcpy;
        break;
      case trace::EventKind::memset:
        ++to.memset;
        break;
      case trace::EventKind::annotation:
      case trace::EventKind::step:
        ++to.ranges;
        break;
      case trace::EventKind::op:
        ++to.ops;
        break;
      default:
        break;
    }
    if (trace::is_device_work(trace.kind[event])) to.device_ns += trace.duration[event];
  }
}

}  // namespace

std::string numbered_path(const std::string& path, const std::string& id) {
  for (const std::string_view end : {".json.gz", ".json", ".gz"})
    if (path.size() > end.size() && path.ends_with(end))
      return fmt::format("{}.{}{}", path.substr(0, path.size() - end.size()), id, end);
  return fmt::format("{}.{}", path, id);
}

base::Result<std::vector<RecordedProcess>> write_recordings(const std::string& folder,
                                                            const std::string& path) {
  std::vector<File> files = files_of(folder);
  int64_t grace_ns = kGraceNs;
  std::vector<RecordedProcess> processes;
  std::vector<File> with_work;
  for (File& file : files) {
    HUNCH_ASSIGN(spool::Spool read, read_ended(file, grace_ns));
    if (!read.activity.work.empty()) {
      file.first = read.activity.work.front().start;
      with_work.push_back(file);
      continue;
    }
    RecordedProcess idle;
    idle.name = read.process.name;
    idle.id = file.id;
    idle.warnings = std::move(read.activity.warnings);
    processes.push_back(std::move(idle));
  }
  std::stable_sort(with_work.begin(), with_work.end(),
                   [](const File& a, const File& b) { return a.first < b.first; });
  std::vector<RecordedProcess> written;
  for (const File& file : with_work) {
    HUNCH_ASSIGN(spool::Spool read, spool::read_spool_file(file.path));
    RecordedProcess process;
    process.name = read.process.name;
    process.id = file.id;
    if (file.still_runs) read.ended = true;  // told below, and not as an end that went wrong
    trace::Trace trace = spool::trace_of(std::move(read));
    if (file.still_runs) trace.stats.warnings.emplace_back("the process still runs: its recording ends here");
    process.trace = with_work.size() == 1 ? path : numbered_path(path, file.id);
    HUNCH_RETURN_IF_ERROR(formats::write_chrome_json(trace, process.trace));
    count(trace, process);
    process.warnings = std::move(trace.stats.warnings);
    written.push_back(std::move(process));
  }
  written.insert(written.end(), std::make_move_iterator(processes.begin()),
                 std::make_move_iterator(processes.end()));
  return written;
}

}  // namespace hunch::cli
