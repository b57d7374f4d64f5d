// Writes a spool: appends blocks to a file as a process records itself.
//
// In:  what was recorded since the last time. Out: bytes in the file after each flush; what is not flushed is
// lost with the process. Holds: one thread at a time; a block is handed to the system whole, so a process
// that is killed leaves a file that ends behind a block, or within the last.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hunch/base/result.h"
#include "hunch/record/spool/spool.h"
#include "hunch/record/spool/wire.h"

namespace hunch::record::spool {

class SpoolWriter {
 public:
  // A new file "PID.spool" in `folder`, "PID-2.spool" where that is there. Error: io.
  static base::Result<SpoolWriter> create(const std::string& folder, const Process& process);

  SpoolWriter(SpoolWriter&& other) noexcept;
  SpoolWriter& operator=(SpoolWriter&&) = delete;
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;
  ~SpoolWriter();  // closes; writes nothing

  void add(const DeviceActivity& activity);  // its metadata too
  void add(std::span<const RangeEvent> ranges);
  void add(const trace::DeviceProperties& device);
  void name_thread(int64_t tid, std::string_view name);
  void set_metadata(std::string_view key, std::string_view value);
  void note(std::string_view text);  // a warning for the person who reads the trace
  void end();                        // nothing follows

  // Writes what was added. After an error (io) the file holds what was flushed before, and nothing is added.
  base::Status flush();

 private:
  SpoolWriter(int file, std::string path) : file_(file), path_(std::move(path)) {}

  template <class Fill>
  void block(uint32_t tag, Fill fill);
  uint32_t number_of(std::string_view text);  // in the file's list of texts

  int file_ = -1;
  std::string path_;
  uint64_t written_ = 0;
  bool failed_ = false;
  Output texts_;  // new ones, which go before the blocks that mean them
  Output blocks_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace hunch::record::spool
