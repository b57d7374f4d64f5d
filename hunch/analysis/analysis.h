// Everything known about a trace before any rule speaks: links, kernel facts, forwards with their counts.
// Rules, guesses and reports read this and nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hunch/analysis/graph_replays.h"
#include "hunch/analysis/kernel_names.h"
#include "hunch/analysis/occupancy.h"
#include "hunch/analysis/op_chains.h"
#include "hunch/analysis/ranges.h"
#include "hunch/analysis/timeline.h"
#include "hunch/trace/trace.h"

namespace hunch::analysis {

// One run of a range. Device work belongs to it when its launch call lies inside; nested ranges count too.
struct ForwardRun {
  EventId range = kNone;  // the annotation, step or module frame; kNone where nothing in the trace names it
  std::vector<EventId> work;  // kernels, copies, memsets in launch order
  // Where `range` is kNone, the host's part of it: the whole trace, or from the op of its first launch to the
  // end of the op of its last one (device work alone: from its start to its end), on one thread where one
  // thread launched all.
  uint32_t host_track = kNone;
  Ns host_start = INT64_MIN, host_end = INT64_MAX;
  int64_t kernels = 0;
  int64_t memcpys = 0;
  int64_t memsets = 0;
  Ns device_ns = 0;       // sum of durations
  Ns busy_ns = 0;         // their union: overlaps counted once
  Ns device_span_ns = 0;  // first start to last end
  Ns host_ns = 0;         // the range's own duration; the whole trace: first host start to last host end;
                          // a repetition: host_start to host_end, 0 where the trace has no launches
  std::optional<int64_t>
      peak_bytes;  // most device memory in use above what the run began with; nothing: not recorded
};

struct Forward {
  std::string range;  // its name; made up where the trace has none: "repetition of 333 kernels"
  ForwardSource source = ForwardSource::annotation;
  std::vector<ForwardRun> runs;  // in order of start
  std::string backend;  // "flash", "math", "naive", ...; several in order of name, joined by "+"; empty:
                        // no attention found
};

// Facts by StringId. Only the names of device work have facts of their own; the rest share one default.
class FactsTable {
 public:
  FactsTable() : facts_(1) {}
  const KernelFacts& operator[](trace::StringId name) const {
    return facts_[name < index_.size() ? index_[name] : 0];
  }
  void set(trace::StringId name, KernelFacts facts);
  bool contains(trace::StringId name) const { return name < index_.size() && index_[name] != 0; }

 private:
  std::vector<uint32_t> index_;  // by StringId, into facts_; 0: the default
  std::vector<KernelFacts> facts_;
};

struct Analysis {
  const trace::Trace* trace = nullptr;
  Timeline timeline;
  OpChains chains;                    // the ops around each launch
  GraphReplays graphs;                // which launches replay the same graph
  FactsTable facts;                   // by StringId: facts of each device event's name, else default
  std::vector<Forward> forwards;      // in order of first start
  std::vector<EventId> unattributed;  // device work that belongs to no forward, by start
  uint64_t too_deep_ranges = 0;       // that are no forwards: Ranges::too_deep

  // Whether a host event starts inside a run: on the run's thread, where it has one.
  bool lies_in(const ForwardRun& run, EventId host) const;

  const KernelFacts& facts_of(EventId event) const { return facts[trace->name[event]]; }
  // "aten::masked_fill" of a device event: the outermost op under the innermost range that encloses its
  // launch on that thread, and the innermost op; empty if unlinked. Where that range holds no op, the next
  // one outwards counts.
  std::string_view outer_op(EventId device_event) const;
  std::string_view inner_op(EventId device_event) const;
};

// The trace must outlive the result, which is the same for any number of threads.
Analysis analyze(const trace::Trace& trace, int threads = 1);

}  // namespace hunch::analysis
