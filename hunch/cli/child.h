// Runs a command as a shell would: in the foreground, with the streams and the process group of this process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::cli {

struct ChildEnd {
  int status =
      0;  // as a shell tells it: the exit status, or 128 and the signal; 126 and 127: it did not start
  int signal = 0;           // that ended it; 0: none
  base::Error not_started;  // where the status is 126 or 127 because of that; else without a message
};

// `environment` is added to this process's own. Until the command ends, signals that were sent to this
// process alone are passed on to it, and those that a terminal sends to both are left to it.
ChildEnd run_child(const std::vector<std::string>& words,
                   const std::vector<std::pair<std::string, std::string>>& environment);

// "SIGSEGV"; "signal 77" where it has no name.
std::string signal_name(int signal);

}  // namespace hunch::cli
