// Stands for a recorded program in the tests of `hunch record`: it writes the spool that the injected library
// would write into a process that uses CUDA, and ends as it is told. usage: record_program WORD...   each
// word is done in turn
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "hunch/base/clock.h"
#include "hunch/record/spool/spool_writer.h"

namespace {

using namespace hunch;
using namespace hunch::record;

std::unique_ptr<spool::SpoolWriter> g_spool;

void use_cuda() {
  const char* const folder = std::getenv(spool::kFolderVariable);
  if (folder == nullptr || std::getenv("CUDA_INJECTION64_PATH") == nullptr ||
      std::getenv("NVTX_INJECTION64_PATH") == nullptr)
    std::exit(99);
  spool::Process process;
  process.pid = getpid();
  process.parent = getppid();
  process.name = "record_program";
  process.clock_shift = base::clock_shift();
  auto made = spool::SpoolWriter::create(folder, process);
  if (!made) std::exit(98);
  g_spool = std::make_unique<spool::SpoolWriter>(std::move(*made));
  if (!g_spool->flush()) std::exit(97);
}

// A range, a kernel and a copy in it; the last range stays open where `open` says so.
void forwards(int count) {
  DeviceActivity activity;
  std::vector<spool::RangeEvent> ranges;
  base::Ns now = base::now_ns();
  static uint32_t correlation = 0;
  for (int i = 0; i < count; ++i) {
    ranges.push_back({spool::RangeWhat::push, getpid(), now, 0, {}, "attn_fwd"});
    for (const base::WorkKind kind : {base::WorkKind::kernel, base::WorkKind::memcpy}) {
      const bool kernel = kind == base::WorkKind::kernel;
      ApiCall call;
      call.name = activity.names.intern(kernel ? "cudaLaunchKernel" : "cudaMemcpyAsync");
      call.tid = getpid();
      call.start = now += 1000;
      call.end = now += 1000;
      call.correlation = ++correlation;
      activity.calls.push_back(call);
      TracedWork work;
      work.kind = kind;
      work.name = activity.names.intern(kernel ? "gemm" : "Memcpy DtoD (Device -> Device)");
      work.start = call.end + 500;
      work.end = work.start + 700;
      work.correlation = call.correlation;
      work.stream = 7;
      activity.work.push_back(work);
    }
    ranges.push_back({spool::RangeWhat::pop, getpid(), now += 1000, 0, {}, {}});
  }
  g_spool->add(activity);
  g_spool->add(ranges);
  if (!g_spool->flush()) std::exit(96);
}

volatile sig_atomic_t g_signals = 0;

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto number = [&] { return std::atoi(words[++i]); };
    if (word == "cuda") {
      use_cuda();
    } else if (word == "forwards") {
      forwards(number());
    } else if (word == "note") {
      g_spool->note(words[++i]);
    } else if (word == "end") {
      g_spool->end();
      if (!g_spool->flush()) return 95;
    } else if (word == "exit") {
      return number();
    } else if (word == "say") {
      std::puts(words[++i]);
      std::fflush(stdout);
    } else if (word == "echo") {  // standard input
      for (int c = std::getchar(); c != EOF; c = std::getchar()) std::putchar(c);
      std::fflush(stdout);
    } else if (word == "kill") {
      ::kill(::getpid(), number());
      ::pause();
    } else if (word == "parent") {  // a signal to who started this, and the exit status is how many came back
      const int signal = number();
      ::signal(signal, [](int) { g_signals = g_signals + 1; });
      ::kill(::getppid(), signal);
      for (int turn = 0; turn < 400 && g_signals == 0; ++turn) ::usleep(5000);
      ::usleep(20'000);
      return 40 + g_signals;
    } else if (word == "pipe-signal") {  // how SIGPIPE is handled: 0 by default
      struct sigaction now {};
      ::sigaction(SIGPIPE, nullptr, &now);
      return now.sa_handler == SIG_DFL ? 0 : 1;
    } else if (word == "spawn") {  // another process; the words that follow, up to "."
      const pid_t child = ::fork();
      if (child == 0) {
        words[i] = words[0];
        for (int j = i; j < count; ++j)
          if (std::string(words[j]) == ".") words[j] = nullptr;
        ::execv("/proc/self/exe", words + i);
        ::_exit(94);
      }
      if (std::string(words[i + 1]) != "linger") ::waitpid(child, nullptr, 0);
      while (std::string(words[i]) != ".") ++i;
    } else if (word == "linger") {  // outlives the command
      continue;
    } else if (word == "sleep") {
      ::usleep(static_cast<useconds_t>(number()) * 1000);
    } else if (word == "break-spools") {  // something else in the folder under a spool's name
      const std::string path = std::string(std::getenv(spool::kFolderVariable)) + "/1.spool";
      if (std::FILE* const file = std::fopen(path.c_str(), "w")) {
        std::fputs("no spool at all", file);
        std::fclose(file);
      }
    } else {
      std::fprintf(stderr, "unknown word %s\n", word.c_str());
      return 93;
    }
  }
  return 0;
}
