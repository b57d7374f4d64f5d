// The "args" of an event: the few values that the analysis uses, looked for by the event's kind. What is
// missing, null or negative stays "not said"; a value of a wrong type is ignored and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/formats/chrome_json/token_walker.h"
#include "hunch/trace/builder.h"

namespace hunch::formats::chrome_json {

struct EventArgs {
  uint64_t correlation = 0;
  uint64_t external_id = 0;
  trace::DeviceDetail device;
  trace::OpDetail op;
  bool has_device = false;
  bool has_op = false;
  uint64_t wrong_types = 0;
};

struct MemoryArgs {
  int64_t bytes = 0;
  int64_t total_allocated = -1;
  int32_t device_id = 0;
  int32_t device_type = 0;  // c10's numbers: 0 is the CPU
  bool has_bytes = false;
  bool has_type = false;
};

class ArgsReader {
 public:
  explicit ArgsReader(trace::TraceBuilder& builder) : builder_(builder) {}

  // Reads the args object at token `args` for an event of this kind and name (a raw token, empty where it is
  // not known yet) into `out` (as constructed). Returns the token behind it, or the walker's failure.
  uint32_t read(const TokenWalker& walker, uint32_t args, trace::EventKind kind, std::string_view name,
                EventArgs& out);
  static bool read_memory(const TokenWalker& walker, uint32_t args, MemoryArgs& out);
  // Sets `found` to the raw string token of a member, where there is one.
  static bool find_string(const TokenWalker& walker, uint32_t args, std::string_view key,
                          std::string_view& found);

 private:
  uint32_t read_device(const TokenWalker& walker, uint32_t args, EventArgs& out);
  uint32_t read_op(const TokenWalker& walker, uint32_t args, std::string_view name, EventArgs& out);
  uint32_t read_python(const TokenWalker& walker, uint32_t args, EventArgs& out);
  uint32_t read_ids(const TokenWalker& walker, uint32_t args, EventArgs& out);

  // The interned text of a list's raw token.
  trace::StringId list_text(std::string_view raw);

  struct List {
    std::string raw;  // empty: none yet
    trace::StringId text = 0;
  };

  trace::TraceBuilder& builder_;
  std::vector<List> lists_;  // by hash; later ones take the place of earlier ones
  std::string scratch_;
};

}  // namespace hunch::formats::chrome_json
