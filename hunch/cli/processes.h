// The processes that share one command, under mpirun or srun; one process alone everywhere else. MPI is
// touched only where more than one process was started (the launcher's environment says so).
//
// All processes make the same calls in the same order; none may return in between.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::cli {

class Processes {
 public:
  // Never fails: where hunch was built without MPI (or it does not start) under a launcher, this is one
  // process alone, the first of the launcher does all, and idle() is true in the others.
  static Processes join();
  ~Processes();
  Processes(Processes&&) noexcept;
  Processes& operator=(Processes&&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  // Nothing to do here, and nothing to say: another process does all.
  bool idle() const { return idle_; }
  // Why several processes are not used; empty where they are, or there is one.
  const std::string& note() const { return note_; }

  // On the first process the messages of all, by rank; on the others nothing. Error: environment.
  base::Result<std::vector<std::string>> gather(std::string mine);
  // The first process's message, everywhere.
  base::Result<std::string> broadcast(std::string mine);

 private:
  struct Library;
  Processes() = default;
  std::unique_ptr<Library> library_;
  int rank_ = 0, size_ = 1;
  bool idle_ = false;
  std::string note_;
};

}  // namespace hunch::cli
