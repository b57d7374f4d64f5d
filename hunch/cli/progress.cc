// A thread of its own draws, so that work that never reports (reading a file) shows up too.
#include "hunch/cli/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "hunch/cli/terminal.h"
#include "hunch/report/utf8.h"

namespace hunch::cli {

struct Progress::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::string text;
  bool done = false;
  std::thread thread;

  void draw() {
    constexpr auto kQuiet = std::chrono::milliseconds(500);
    constexpr auto kBeat = std::chrono::milliseconds(100);
    bool drawn = false;
    auto wait = kQuiet;
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, wait, [this] { return done; })) {
      fmt::print(stderr, "\r\x1b[K{}", report::printable(text).substr(0, 76));
      std::fflush(stderr);
      drawn = true;
      wait = kBeat;
    }
    if (drawn) {
      fmt::print(stderr, "\r\x1b[K");
      std::fflush(stderr);
    }
  }
};

Progress::Progress(std::string first) {
  if (!stderr_is_terminal()) return;
  state_ = std::make_unique<State>();
  state_->text = std::move(first);
  state_->thread = std::thread([this] { state_->draw(); });
}

Progress::~Progress() {
  if (state_ == nullptr) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->done = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void Progress::say(std::string what) {
  if (state_ == nullptr) return;
  const std::lock_guard lock(state_->mutex);
  state_->text = std::move(what);
}

}  // namespace hunch::cli
