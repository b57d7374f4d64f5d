// Progress on standard error: one line that is rewritten and, at the end, wiped. Silent unless standard error
// is a terminal, and for the first half second.
#pragma once

#include <memory>
#include <string>

namespace hunch::cli {

class Progress {
 public:
  explicit Progress(std::string first);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(std::string what);  // from any thread

 private:
  struct State;
  std::unique_ptr<State> state_;  // null: nobody would see it
};

}  // namespace hunch::cli
