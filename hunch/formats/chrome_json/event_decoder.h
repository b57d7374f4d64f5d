// One event's JSON object to one row of the Trace. Sound events that the analysis has no use for (flow
// arrows, counters, instants) are counted as ignored, malformed ones as skipped, each with its reason.
//
// In:  tokens of an event, from a window of the file or from the tolerant scanner.
// Out: rows, tracks and memory events in the builder; names of tracks and the base time are settled by
//      finish(), since a file may give them last.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hunch/formats/chrome_json/event_args.h"
#include "hunch/formats/chrome_json/text.h"
#include "hunch/formats/chrome_json/token_walker.h"
#include "hunch/trace/builder.h"

namespace hunch::formats::chrome_json {

class EventDecoder {
 public:
  // Times beyond this (127 years from the epoch or the base time) are damage; sums of two stay in range.
  static constexpr base::Ns kMaxTime = 4'000'000'000'000'000'000;

  explicit EventDecoder(trace::TraceBuilder& builder) : builder_(builder), args_(builder) {}

  // Takes the event at token i. Returns the token behind it, or the walker's failure and nothing is taken.
  uint32_t event(const TokenWalker& walker, uint32_t i);

  // An element of the event list that is no event at all, for the counts: "damaged JSON", "not an object".
  void skip_element(std::string_view reason);

  // Whether what was taken needs nothing from before it: no begin/end pairs.
  bool stands_alone() const { return open_.empty(); }
  // Joins what `part` knows besides its rows, which the builder took with `tracks` as their new tracks.
  // `part` may go on with what follows.
  void absorb(EventDecoder& part, const std::vector<uint32_t>& tracks);

  // Once, after all events: adds the base time, names tracks, closes begin/end pairs, hands over counts.
  void finish(base::Ns base_time);

  // Objects in the list so far that have no phase, and so are no events.
  uint64_t without_phase() const { return skips_[static_cast<std::size_t>(Skip::no_phase)]; }

 private:
  struct Tokens {  // raw; empty or kNoArgs where the event has none
    std::string_view ph, cat, name, ts, dur, pid, tid;
    uint32_t args = UINT32_MAX;
    bool args_read = false;  // into args_value_, on the way
  };
  enum class Ignored { flow, counter, instant, metadata, async, object, sample, mark, cpu_memory, count };
  enum class Skip {
    no_phase,
    unknown_phase,
    no_name,
    no_time,
    bad_time,
    no_duration,
    bad_duration,
    negative_duration,
    long_duration,
    unmatched_begin,
    unmatched_end,
    bad_memory,
    count
  };
  struct KnownTrack {
    std::string pid, tid;  // raw tokens
    uint32_t track = trace::kNone;
  };

  // These are false where the event's args are no JSON; then nothing was taken.
  bool decode(const TokenWalker& walker, const Tokens& tokens, uint32_t source_index);
  bool complete(const TokenWalker& walker, const Tokens& tokens, uint32_t source_index, bool begin);
  bool end(const Tokens& tokens);
  bool instant(const TokenWalker& walker, const Tokens& tokens);
  bool metadata(const TokenWalker& walker, const Tokens& tokens);
  bool time(std::string_view token, base::Ns& to);
  uint32_t track(std::string_view pid, std::string_view tid);
  std::string_view plain(std::string_view token, std::string& scratch);

  // Both return true, that is: the event is dealt with.
  bool skip(Skip reason) { return ++skips_[static_cast<std::size_t>(reason)] != 0; }
  bool ignore(Ignored kind) { return ++ignored_[static_cast<std::size_t>(kind)] != 0; }

  trace::TraceBuilder& builder_;
  ArgsReader args_;
  EventArgs args_value_;
  std::array<KnownTrack, 8> known_tracks_;
  std::size_t next_known_ = 0;
  std::string name_scratch_, pid_scratch_, tid_scratch_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  std::map<std::string, std::string> process_names_, process_labels_;
  std::unordered_map<uint32_t, std::vector<trace::EventId>> open_;  // begun events, by track
  std::vector<trace::MemoryEvent> cpu_memory_;
  std::array<uint64_t, static_cast<std::size_t>(Skip::count)> skips_{};
  std::array<uint64_t, static_cast<std::size_t>(Ignored::count)> ignored_{};
  uint64_t bad_escapes_ = 0, bad_utf8_ = 0, wrong_types_ = 0;
};

}  // namespace hunch::formats::chrome_json
