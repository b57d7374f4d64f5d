// What the processes of a recorded command left: spools in a folder become traces.
#pragma once

#include <string>
#include <vector>

#include "hunch/base/clock.h"
#include "hunch/base/result.h"

namespace hunch::cli {

// A process that used CUDA.
struct RecordedProcess {
  std::string name;   // of the program
  std::string id;     // its number; with "-2" behind it where the process became another program
  std::string trace;  // the file written; empty where nothing ran on a device
  uint64_t kernels = 0, memcpy = 0, memset = 0, ranges = 0, ops = 0;
  base::Ns device_ns = 0;
  std::vector<std::string> warnings;
};

// Reads the spools of `folder` and writes a trace of each process that had device work: to `path` where it is
// the one, else to names with the process's number before the ending ("run.123.json.gz"). By first event,
// those without a trace last. Waits a little for processes that have not ended yet. Errors: io, parse.
base::Result<std::vector<RecordedProcess>> write_recordings(const std::string& folder,
                                                            const std::string& path);

// "run.json.gz" and "123": "run.123.json.gz".
std::string numbered_path(const std::string& path, const std::string& id);

}  // namespace hunch::cli
