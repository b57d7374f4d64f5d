// What one process recorded of itself, on its way to a Trace: the plain data that a spool file holds.
//
// A recorded process cannot hand over a Trace when it ends, since it may end by a signal. So it appends what
// it has to a file as it comes (spool_writer.h), and who started it reads what is there (spool_reader.h) and
// makes the Trace (spool_trace.h).
//
// The file: 8 bytes that name it, then blocks of 4 letters, a length in 4 bytes and that many bytes. All
// numbers are little-endian; a text is a length in 4 bytes and its bytes. Blocks of records hold any number
// of them, each whole. Names that come again and again stand once, in blocks "TEXT", and are meant by their
// number. A file that ends anywhere is read up to there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/record/device_tracer.h"
#include "hunch/trace/string_pool.h"
#include "hunch/trace/trace.h"

namespace hunch::record::spool {

// What a program told NVTX. A push and its pop are of one thread and domain; a start and its end have an id.
enum class RangeWhat : uint8_t { push, pop, start, end };

struct RangeEvent {
  RangeWhat what = RangeWhat::push;
  int64_t tid = 0;  // the system's
  base::Ns time = 0;
  uint64_t id = 0;          // of starts and ends
  std::string_view domain;  // empty: the default one
  std::string_view text;    // of pushes and starts
};

struct Process {
  int64_t pid = 0;
  int64_t parent = 0;
  std::string name;          // of the program
  base::Ns clock_shift = 0;  // what its clock adds to the machine's steady one
};

struct Spool {
  Process process;
  DeviceActivity activity;         // its warnings are the process's own notes
  std::vector<RangeEvent> ranges;  // those of a thread in order; texts lie in `texts`
  trace::StringPool texts;
  std::map<int64_t, std::string> threads;  // names by id
  std::vector<trace::DeviceProperties> devices;
  bool ended = false;           // the process wrote all that it had
  std::optional<uint64_t> cut;  // the byte behind the last whole record, where the file ends within one
  std::string cut_reason;       // empty: the file simply ends there
};

inline constexpr std::string_view kMagic = "HUNCHSP1";
inline constexpr std::string_view kFileEnd = ".spool";

// Environment variables between `hunch record` and the processes that it starts.
inline constexpr const char* kFolderVariable = "HUNCH_SPOOL_FOLDER";

// Blocks.
constexpr uint32_t tag(const char (&letters)[5]) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = (value << 8) | static_cast<unsigned char>(letters[i]);
  return value;
}
inline constexpr uint32_t kProcessBlock = tag("PROC");
inline constexpr uint32_t kTextBlock = tag("TEXT");
inline constexpr uint32_t kCallBlock = tag("CALL");
inline constexpr uint32_t kWorkBlock = tag("WORK");
inline constexpr uint32_t kWaitBlock = tag("WAIT");
inline constexpr uint32_t kOverheadBlock = tag("OVER");
inline constexpr uint32_t kRangeBlock = tag("RANG");
inline constexpr uint32_t kThreadBlock = tag("THRD");
inline constexpr uint32_t kDeviceBlock = tag("DEVI");
inline constexpr uint32_t kMetadataBlock = tag("META");
inline constexpr uint32_t kNoteBlock = tag("NOTE");
inline constexpr uint32_t kLostBlock = tag("LOST");
inline constexpr uint32_t kEndBlock = tag("DONE");

}  // namespace hunch::record::spool
