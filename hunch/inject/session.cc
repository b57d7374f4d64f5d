// One session a process, never freed: threads and callbacks of others may run until the very end. See
// session.h.
#include "hunch/inject/session.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "hunch/base/clock.h"
#include "hunch/inject/devices.h"
#include "hunch/inject/nvtx.h"
#include "hunch/record/cupti/collector.h"
#include "hunch/record/spool/spool_writer.h"

namespace hunch::inject {
namespace {

using record::DeviceActivity;
using record::cupti::Collector;
using record::spool::SpoolWriter;

constexpr long kPeriodNs = 250'000'000;          // between two writings
constexpr int64_t kExitWaitNs = 30'000'000'000;  // for the device, at a normal exit
constexpr int64_t kSignalWaitNs = 3'000'000'000;
// Small, since CUPTI hands back a buffer when all that is in it is done: the last one is lost with the
// process.
constexpr std::size_t kBufferBytes = std::size_t{512} << 10;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

enum class Request : int { none, exit, signal };

class Session {
 public:
  explicit Session(SpoolWriter writer) : writer_(std::move(writer)), pid_(getpid()) {
    ::sem_init(&wake_, 0, 0);
  }

  pid_t pid() const { return pid_; }

  void begin() {
    describe();
    const base::Status started = start_collecting();
    if (!started) {
      // Not base::describe, which would bring in a library for text.
      const base::Error& error = started.error();
      writer_.note("nothing of the device is recorded: " + error.message +
                   (error.remedy.empty() ? "" : " (try: " + error.remedy + ")"));
      writer_.end();
      static_cast<void>(writer_.flush());
      return;
    }
    static_cast<void>(writer_.flush());
    // Signals are for the program's own threads.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { work(); }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    runs_ = true;
  }

  bool runs() const { return runs_; }

  // Has the worker write the rest, and waits for it. Safe in a handler of signals, apart from the context,
  // which only an exit gives.
  void finish(Request why, int64_t most_ns, CUcontext context) {
    if (!runs_ || static_cast<pid_t>(::syscall(SYS_gettid)) == worker_.load()) return;
    context_ = context;
    int none = static_cast<int>(Request::none);
    request_.compare_exchange_strong(none, static_cast<int>(why));
    ::sem_post(&wake_);
    const timespec pause = {0, 500'000};
    for (int64_t waited = 0; waited < most_ns && !done_.load(); waited += pause.tv_nsec)
      ::nanosleep(&pause, nullptr);
  }

  void silence() {
    if (collector_ != nullptr) collector_->calls().silence();
  }

  Driver& driver() { return driver_; }

 private:
  void describe() {
    std::string command = read_text("/proc/self/cmdline");
    std::replace(command.begin(), command.end(), '\0', ' ');
    constexpr std::size_t kMostCommand = 4096;
    if (!command.empty()) writer_.set_metadata("hunch command", command.substr(0, kMostCommand));
    // What launchers of distributed jobs tell their processes.
    for (const auto& [variable, key] :
         {std::pair("RANK", "distributedInfo.rank"), std::pair("WORLD_SIZE", "distributedInfo.world_size")}) {
      const char* const value = std::getenv(variable);
      if (value != nullptr && *value != '\0' &&
          std::string_view(value).find_first_not_of("0123456789") == std::string_view::npos)
        writer_.set_metadata(key, value);
    }
  }

  base::Status start_collecting() {
    const auto& library = record::cupti::library();
    if (!library) return base::fail(library.error());
    Collector& collector = Collector::instance(*library, kBufferBytes);
    HUNCH_RETURN_IF_ERROR(collector.subscribe());
    base::Status enabled = collector.enable();
    if (!enabled) {
      collector.unsubscribe();
      return enabled;
    }
    collector_ = &collector;
    writer_.set_metadata("cupti_version", std::to_string(library->version));
    return {};
  }

  void work() {
    worker_ = static_cast<pid_t>(::syscall(SYS_gettid));
    ::pthread_setname_np(::pthread_self(), "hunch record");
    for (;;) {
      timespec until{};
      ::clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += kPeriodNs;
      if (until.tv_nsec >= 1'000'000'000) {
        until.tv_nsec -= 1'000'000'000;
        ++until.tv_sec;
      }
      while (::sem_timedwait(&wake_, &until) != 0 && errno == EINTR) {
      }
      const auto request = static_cast<Request>(request_.load());
      if (request == Request::none) {
        write(false);
        continue;
      }
      write_rest(request);
      done_ = true;
      return;
    }
  }

  void write_rest(Request request) {
    // What needs no one's help first: a thread that a signal stopped may hold locks of the driver.
    DeviceActivity calls;
    collector_->calls().take(calls);
    add(calls);
    add_ranges();
    flush();
    write(false);
    collector_->calls().silence();  // what follows is no work of the program
    collector_->disable_waits();
    driver_.wait(request == Request::exit ? context_ : nullptr);
    write(true);
    writer_.end();
    flush();
  }

  void write(bool whole) {
    add_ranges();
    add(collector_->take(whole));
    flush();
  }

  void add_ranges() {
    const TakenRanges ranges = take_ranges();
    for (const auto& event : ranges.events) see_thread(event.tid);
    for (const auto& [tid, name] : ranges.threads) writer_.name_thread(tid, name);
    writer_.add(ranges.events);
    if (ranges.dropped > 0)
      writer_.note(std::to_string(ranges.dropped) + " NVTX events had no room and are missing");
  }

  void add(const DeviceActivity& activity) {
    if (!described_ && (!activity.calls.empty() || !activity.work.empty())) {
      described_ = true;
      for (const trace::DeviceProperties& device : driver_.devices()) writer_.add(device);
      if (const int version = driver_.version(); version > 0)
        writer_.set_metadata("cuda_driver_version", std::to_string(version));
    }
    for (const record::ApiCall& call : activity.calls) see_thread(call.tid);
    writer_.add(activity);
  }

  void see_thread(int64_t tid) {
    if (tid == last_seen_ || !seen_.insert(tid).second) return;
    last_seen_ = tid;
    const std::string name = read_text("/proc/self/task/" + std::to_string(tid) + "/comm");
    if (!name.empty()) writer_.name_thread(tid, name);
  }

  // The disk may be full: then nothing more is recorded, and the program goes on.
  void flush() {
    if (writer_.flush() || failed_) return;
    failed_ = true;
    collector_->calls().silence();
    collector_->disable();
  }

  SpoolWriter writer_;
  const pid_t pid_;
  Driver driver_;
  Collector* collector_ = nullptr;
  bool runs_ = false;
  bool described_ = false;
  bool failed_ = false;
  std::set<int64_t> seen_;
  int64_t last_seen_ = -1;

  sem_t wake_{};
  std::atomic<int> request_{0};
  std::atomic<bool> done_{false};
  std::atomic<pid_t> worker_{0};
  CUcontext context_ = nullptr;
};

std::atomic<Session*> g_session{nullptr};
std::atomic<bool> g_started{false};

// The session, where it is this process's and not that of one which forked it.
Session* own_session() {
  Session* const session = g_session.load();
  return session != nullptr && session->pid() == getpid() ? session : nullptr;
}

void at_exit() {
  if (Session* const session = own_session())
    session->finish(Request::exit, kExitWaitNs, session->driver().current());
}

// Signals that end a process, unless it handles them itself: the recording is written first. Only what is
// safe in a handler happens here; the worker writes. Whatever comes of that, the process then ends as it
// would have.
void at_signal(int signal, siginfo_t* info, void*) {
  const int error = errno;
  if (Session* const session = own_session()) session->finish(Request::signal, kSignalWaitNs, nullptr);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
  // A fault comes again when the handler returns, where it happened; a signal that was sent does not.
  const bool fault = info != nullptr && info->si_code > 0 && signal != SIGABRT &&
                     (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL);
  if (!fault) ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal);
  errno = error;
}

void watch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
        now.sa_handler != SIG_DFL)
      continue;
    struct sigaction ours {};
    ours.sa_sigaction = &at_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(signal, &ours, nullptr);
  }
}

// CUPTI may have named itself as NVTX's injection, so that ranges told from here on would go there.
void keep_nvtx() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&keep_nvtx), &self) == 0 || self.dli_fname == nullptr) return;
  const char* const now = std::getenv("NVTX_INJECTION64_PATH");
  if (now == nullptr || std::string_view(now) != self.dli_fname)
    ::setenv("NVTX_INJECTION64_PATH", self.dli_fname, 1);
}

void in_child() {
  if (Session* const session = g_session.load()) session->silence();
  restart_ranges();
}

}  // namespace

const char* spool_folder() {
  const char* const folder = std::getenv(record::spool::kFolderVariable);
  return folder != nullptr && *folder != '\0' ? folder : nullptr;
}

void prepare_for_forks() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &in_child);
  static_cast<void>(registered);
}

void start_session() {
  if (spool_folder() == nullptr || g_started.exchange(true)) return;
  record::spool::Process process;
  process.pid = getpid();
  process.parent = getppid();
  process.name = read_text("/proc/self/comm");
  process.clock_shift = base::clock_shift();
  auto writer = SpoolWriter::create(spool_folder(), process);
  if (!writer) return;  // the folder is gone: who asked for the recording has ended
  auto* const session = new Session(std::move(*writer));
  g_session = session;
  session->begin();
  keep_nvtx();
  if (!session->runs()) return;
  std::atexit(&at_exit);
  watch_signals();
}

}  // namespace hunch::inject
