// The child tells through a pipe, closed by a successful exec, why it could not start. See child.h.
#include "hunch/cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace hunch::cli {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

std::atomic<pid_t> g_child{0};

void pass_on(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const pid_t child = g_child.load();
  // A terminal's signals (of the kernel) reach the whole group, so the child has them already.
  if (child > 0 && info->si_code <= 0) ::kill(child, signal);
  errno = error;
}

// Signals wait until both sides are ready for them.
class SignalsPassedOn {
 public:
  SignalsPassedOn() {
    ::sigfillset(&all_);
    ::sigprocmask(SIG_SETMASK, &all_, &mask_);
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) {
      struct sigaction action {};
      action.sa_sigaction = &pass_on;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      ::sigemptyset(&action.sa_mask);
      ::sigaction(kPassedOn[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kPassedOn[i], &action, nullptr);  // nohup's stays
    }
  }
  ~SignalsPassedOn() {
    restore_actions();
    unblock();
  }
  SignalsPassedOn(const SignalsPassedOn&) = delete;
  SignalsPassedOn& operator=(const SignalsPassedOn&) = delete;

  void restore_actions() const {
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) ::sigaction(kPassedOn[i], &before_[i], nullptr);
  }
  void unblock() const { ::sigprocmask(SIG_SETMASK, &mask_, nullptr); }

 private:
  sigset_t all_{}, mask_{};
  std::array<struct sigaction, kPassedOn.size()> before_{};
};

[[noreturn]] void become(const std::vector<std::string>& words,
                         const std::vector<std::pair<std::string, std::string>>& environment, int report) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::signal(SIGPIPE, SIG_DFL);  // which hunch ignores for itself
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

ChildEnd not_started(const std::string& command, int reason) {
  ChildEnd end;
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  end.status = missing ? 127 : 126;
  end.not_started.code = missing ? base::ErrorCode::not_found : base::ErrorCode::environment;
  end.not_started.message = missing ? fmt::format("record: cannot find the command '{}'", command)
                                    : fmt::format("record: cannot run '{}': {}", command, ::strerror(reason));
  end.not_started.remedy = missing ? "check its name, or give its path"
                           : reason == EACCES || reason == ENOEXEC
                               ? "a program, or 'python3 FILE' for a script"
                               : "";
  return end;
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& words,
                   const std::vector<std::pair<std::string, std::string>>& environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return not_started(words[0], errno);
  const SignalsPassedOn signals;
  const pid_t child = ::fork();
  if (child < 0) {
    const int reason = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return not_started(words[0], reason);
  }
  if (child == 0) {
    signals.restore_actions();
    signals.unblock();
    become(words, environment, ends[1]);
  }
  g_child = child;
  signals.unblock();
  ::close(ends[1]);
  int reason = 0;
  ssize_t told = 0;
  while ((told = ::read(ends[0], &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  if (told == static_cast<ssize_t>(sizeof reason)) return not_started(words[0], reason);
  ChildEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.status = 128 + end.signal;
  } else {
    end.status = WEXITSTATUS(status);
  }
  return end;
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace hunch::cli
