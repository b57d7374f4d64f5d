// `hunch record -- COMMAND...`: runs any program unchanged, and records what it has CUDA devices do.
//
// In:  a command. Out: a trace of each of its processes that had device work, and on standard error (standard
//      output is the command's) what was recorded and how to look at it. The exit status is the command's.
// How: libhunch_inject.so is loaded by the CUDA driver and by NVTX into every process of the command that
// uses them, and appends what it sees to a spool; the spools become traces when the command has ended.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "hunch/base/shared_library.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"
#include "hunch/cli/child.h"
#include "hunch/cli/commands.h"
#include "hunch/cli/injection.h"
#include "hunch/cli/output.h"
#include "hunch/cli/progress.h"
#include "hunch/cli/recordings.h"
#include "hunch/cli/verbs.h"
#include "hunch/record/spool/spool.h"
#include "hunch/report/utf8.h"

namespace hunch::cli {
namespace {

using base::Result;

constexpr std::array<Option, 2> kRecordOptions = {{
    {"--output", "-o", "TRACE", "the trace to write (record.json.gz); gzip where it ends in .gz", false},
    {"--from", "", "FOLDER", "no command: make traces of what an interrupted hunch record left in FOLDER",
     false},
}};

constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";

// For the spools; gone when it goes, unless it is kept.
class Folder {
 public:
  static Result<Folder> make() {
    // TMPDIR as it is: what cannot be written there should be said, and not be put elsewhere.
    const char* const given = std::getenv("TMPDIR");
    const std::string place = given != nullptr && *given != '\0' ? given : "/tmp";
    std::string pattern = place + "/hunch-record-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr)
      return base::fail(base::Error{base::ErrorCode::io,
                                    fmt::format("record: cannot make a folder for what is recorded: {}",
                                                std::error_code(errno, std::generic_category()).message()),
                                    pattern,
                                    {},
                                    "set TMPDIR to a folder that can be written"});
    return Folder(std::move(pattern));
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string keep() { return std::exchange(path_, {}); }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

void say(const std::string& text) { fmt::print(stderr, "hunch: {}\n", report::printable(text)); }

// Another tool's injection has to step aside, which its user should know.
void tell_of_others() {
  for (const char* name : {kCudaInjection, kNvtxInjection}) {
    const char* const other = std::getenv(name);
    if (other != nullptr && *other != '\0')
      say(fmt::format("record: {} is set to {}; it is not used while hunch records", name, other));
  }
}

std::string ending_text(const ChildEnd& end) {
  return end.signal != 0 ? fmt::format("ended by {}", signal_name(end.signal))
                         : fmt::format("exit status {}", end.status);
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", base::format_count(static_cast<int64_t>(count)), count == 1 ? one : many);
}

void show_table(const std::vector<RecordedProcess>& processes) {
  std::vector<std::array<std::string, 8>> rows = {
      {"process", "pid", "kernels", "copies", "memsets", "device time", "ranges", "trace"}};
  const auto number = [](uint64_t value) { return base::format_count(static_cast<int64_t>(value)); };
  for (const RecordedProcess& process : processes) {
    if (process.trace.empty()) continue;
    rows.push_back({report::printable(process.name), process.id, number(process.kernels),
                    number(process.memcpy), number(process.memset), base::format_ns(process.device_ns),
                    number(process.ranges + process.ops), report::printable(process.trace)});
  }
  std::array<std::size_t, 8> widths = {};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], report::display_width(row[i]));
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - report::display_width(row[i]), ' ');
      const bool text = i == 0 || i + 1 == row.size();
      line += text ? "  " + row[i] + (i == 0 ? room : "") : "  " + room + row[i];
    }
    fmt::print(stderr, "{}\n", line);
  }
}

// `what` is it that was recorded, and how it ended.
void tell(const std::string& what, const std::vector<RecordedProcess>& processes) {
  std::vector<std::string> traces;
  std::size_t idle = 0, named = 0;
  for (const RecordedProcess& process : processes) {
    for (const std::string& warning : process.warnings)
      say(fmt::format("{} ({}): {}", process.name, process.id, warning));
    if (process.trace.empty())
      ++idle;
    else
      traces.push_back(process.trace.find_first_of(" '\"\\$&;()*?<>|") == std::string::npos
                           ? process.trace
                           : "'" + process.trace + "'");
    named += process.ranges;
  }
  if (traces.empty()) {
    say(fmt::format("{}; nothing was recorded: {}", what,
                    idle == 0 ? "no process of it used CUDA"
                              : fmt::format("{} used CUDA, and nothing ran on a device",
                                            counted(idle, "process", "processes"))));
    return;
  }
  say(what + (idle == 0 ? std::string()
                        : fmt::format("; {} used CUDA and had nothing run on a device",
                                      counted(idle, "more process", "more processes"))));
  show_table(processes);
  if (named == 0)
    say("no ranges of the program's own: forwards are found by repetition (NVTX ranges name them)");
  say(fmt::format("to look at it: hunch explain {}", base::join(traces, " ")));
}

bool any_trace(const std::vector<RecordedProcess>& processes) {
  return std::any_of(processes.begin(), processes.end(),
                     [](const RecordedProcess& process) { return !process.trace.empty(); });
}

// What an earlier recording left. The folder stays as it is.
Result<int> make_traces(const std::string& folder, const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(folder, failed))
    return base::fail(
        base::Error{base::ErrorCode::not_found,
                    "record --from: there is no such folder",
                    folder,
                    {},
                    "the folder that hunch record named, hunch-record-... below TMPDIR or /tmp"});
  const Progress progress("making the trace");
  HUNCH_ASSIGN(const std::vector<RecordedProcess> processes, write_recordings(folder, path));
  tell(fmt::format("record: what was left in {}", folder), processes);
  return any_trace(processes) ? kFine : kFailed;
}

Result<int> execute(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.positionals;
  const auto from = arguments.text("--from");
  if (from && !words.empty())
    return base::fail(base::ErrorCode::usage, "record: --from and a command exclude each other",
                      "one of them");
  if (!from && (words.empty() || words.front().empty()))
    return base::fail(base::ErrorCode::usage, "record: a command is missing",
                      "hunch record -- python3 train.py");
  const std::string path = arguments.text("--output").value_or("record.json.gz");
  if (path == "-")
    return base::fail(base::ErrorCode::usage, "record --output -: standard output is the command's",
                      "a file's name");
  HUNCH_RETURN_IF_ERROR(check_output(path));
  if (from) return make_traces(*from, path);
  HUNCH_ASSIGN(const std::string library, find_injection());
  HUNCH_ASSIGN(Folder folder, Folder::make());
  tell_of_others();
  const ChildEnd end = run_child(words, {{record::spool::kFolderVariable, folder.path()},
                                         {kCudaInjection, library},
                                         {kNvtxInjection, library}});
  if (!end.not_started.message.empty()) {
    cli::tell(end.not_started);
    return end.status;
  }
  const Progress progress("making the trace");
  const auto processes = write_recordings(folder.path(), path);
  if (!processes) {
    const base::Error& error = processes.error();
    cli::tell(error);
    const std::string kept = folder.keep();
    say(fmt::format("record: {}; what was recorded stays in {} (try: hunch record --from {} -o TRACE)",
                    ending_text(end), kept, kept));
    return end.status != 0 ? end.status : kFailed;
  }
  tell(fmt::format("record: {}, {}", words.front(), ending_text(end)), *processes);
  return any_trace(*processes) || end.status != 0 ? end.status : kFailed;
}

}  // namespace

const Command& record_command() {
  static const Command kCommand = {
      "record",
      "run any program and record its device work",
      "hunch record -- python3 train.py     run a program, record its device work\n"
      "hunch record -o run.json.gz -- torchrun --nproc-per-node 8 train.py\n"
      "hunch explain record.json.gz         what each forward ran",
      "hunch record [OPTIONS] [--] COMMAND...",
      "The program runs as it is, on its own: kernels, copies, memsets, calls into CUDA and NVTX "
      "ranges of all its processes are recorded by CUPTI, which the CUDA driver loads into them. "
      "One process's trace is TRACE; of several, each has the process's number before the ending.\n\n"
      "Ranges of NVTX name the forwards (torch.cuda.nvtx.range, or the nvtx package), and "
      "torch.autograd.profiler.emit_nvtx() names PyTorch's ops with their shapes. Without any, "
      "forwards are found by what the device repeats.\n\n"
      "Standard output is the program's; what was recorded is told on standard error. The exit "
      "status is the program's (128 and the signal that ended it; 127 and 126 where it was not "
      "found and could not run), or 2 where it was 0 and there is no trace. A program that is "
      "killed or crashes leaves a trace of what it did until then.",
      {kRecordOptions},
      execute,
      true,
  };
  return kCommand;
}

}  // namespace hunch::cli
