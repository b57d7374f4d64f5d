#include "hunch/formats/chrome_json/event_decoder.h"

#include <algorithm>

#include "hunch/formats/chrome_json/event_kind.h"
#include "hunch/formats/chrome_json/numbers.h"

namespace hunch::formats::chrome_json {
namespace {

using trace::EventKind;

constexpr base::Ns kLongest =
    int64_t{7} * 24 * 3600 * 1'000'000'000;  // an event longer than a week is damage

constexpr std::array<std::string_view, 9> kIgnoredNames = {
    "flow arrow",   "counter",      "instant",       "track name or order",           "async event",
    "object event", "stack sample", "clock or mark", "memory event of the host's CPU"};
constexpr std::array<std::string_view, 12> kSkipNames = {"event without a phase",
                                                         "event of an unknown phase",
                                                         "event without a name",
                                                         "event without a time",
                                                         "time is no number or out of range",
                                                         "event without a duration",
                                                         "duration is no number or out of range",
                                                         "negative duration",
                                                         "duration over 7 days",
                                                         "begin without an end",
                                                         "end without a begin",
                                                         "memory event without bytes"};

}  // namespace

uint32_t EventDecoder::event(const TokenWalker& walker, uint32_t i) {
  Tokens tokens;
  const uint32_t behind = walker.members(i, [&](std::string_view key, uint32_t first) {
    std::string_view* to = nullptr;
    switch (key.size()) {
      case 2:
        if (is(key, "ts")) to = &tokens.ts;
        if (is(key, "ph")) to = &tokens.ph;
        break;
      case 3:
        if (is(key, "pid")) to = &tokens.pid;
        if (is(key, "tid")) to = &tokens.tid;
        if (is(key, "cat")) to = &tokens.cat;
        if (is(key, "dur")) to = &tokens.dur;
        break;
      case 4:
        if (is(key, "name")) to = &tokens.name;
        if (is(key, "args")) {
          tokens.args = first;
          // Writers put the args last: then they are read on the way past them.
          if (tokens.ph == "\"X\"" && is_string(tokens.cat)) {
            tokens.args_read = true;
            args_value_ = EventArgs{};
            return args_.read(walker, first, kind_of_category(inside(tokens.cat)), tokens.name, args_value_);
          }
        }
        break;
      default:
        break;
    }
    const uint32_t after = walker.skip(first);
    if (to != nullptr && !TokenWalker::failed(after)) *to = walker.text(first, after);
    return after;
  });
  if (TokenWalker::failed(behind)) return behind;
  auto& stats = builder_.trace().stats;
  if (!decode(walker, tokens, static_cast<uint32_t>(stats.events))) return TokenWalker::kBroken;
  ++stats.events;
  return behind;
}

void EventDecoder::skip_element(std::string_view reason) {
  ++builder_.trace().stats.events;
  builder_.skip(reason);
}

bool EventDecoder::decode(const TokenWalker& walker, const Tokens& tokens, uint32_t source_index) {
  if (!is_string(tokens.ph)) return skip(Skip::no_phase);
  if (tokens.ph.size() != 3) return skip(Skip::unknown_phase);
  switch (tokens.ph[1]) {
    case 'X':
      return complete(walker, tokens, source_index, false);
    case 'B':
      return complete(walker, tokens, source_index, true);
    case 'E':
      return end(tokens);
    case 'i':
    case 'I':
      return instant(walker, tokens);
    case 'M':
      return metadata(walker, tokens);
    case 's':
    case 't':
    case 'f':
      return ignore(Ignored::flow);
    case 'C':
      return ignore(Ignored::counter);
    case 'b':
    case 'n':
    case 'e':
    case 'S':
    case 'T':
    case 'p':
    case 'F':
      return ignore(Ignored::async);
    case 'N':
    case 'O':
    case 'D':
      return ignore(Ignored::object);
    case 'P':
      return ignore(Ignored::sample);
    case 'R':
    case 'c':
    case 'v':
    case 'V':
      return ignore(Ignored::mark);
    default:
      return skip(Skip::unknown_phase);
  }
}

bool EventDecoder::complete(const TokenWalker& walker, const Tokens& tokens, uint32_t source_index,
                            bool begin) {
  trace::Event event;
  if (!is_string(tokens.name)) return skip(Skip::no_name);
  if (!time(tokens.ts, event.start)) return true;
  if (!begin) {
    if (tokens.dur.empty()) return skip(Skip::no_duration);
    const auto duration = parse_time(tokens.dur);
    if (!duration) return skip(Skip::bad_duration);
    if (*duration < 0) return skip(Skip::negative_duration);
    if (*duration > kLongest) return skip(Skip::long_duration);
    event.duration = *duration;
  }
  event.name = plain(tokens.name, name_scratch_);
  event.kind = is_string(tokens.cat) ? kind_of_category(inside(tokens.cat)) : EventKind::other;
  if ((event.kind == EventKind::annotation || event.kind == EventKind::op) && trace::is_step_name(event.name))
    event.kind = EventKind::step;
  event.track = track(tokens.pid, tokens.tid);
  event.source_index = source_index;
  if (tokens.args != UINT32_MAX) {
    EventArgs& args = args_value_;
    if (!tokens.args_read) {
      args = EventArgs{};
      if (TokenWalker::failed(args_.read(walker, tokens.args, event.kind, tokens.name, args))) return false;
    }
    wrong_types_ += args.wrong_types;
    event.correlation = args.correlation;
    event.external_id = args.external_id;
    if (args.has_device) event.device = &args.device;
    if (args.has_op) event.op = &args.op;
  }
  const trace::EventId id = builder_.add(event);
  if (begin) open_[event.track].push_back(id);
  return true;
}

bool EventDecoder::end(const Tokens& tokens) {
  base::Ns at = 0;
  if (!time(tokens.ts, at)) return true;
  auto& stack = open_[track(tokens.pid, tokens.tid)];
  auto& rows = builder_.trace();
  // An end may name its begin; what lies above it on the stack then never ended.
  std::size_t depth = stack.size();
  if (is_string(tokens.name)) {
    const std::string_view name = plain(tokens.name, name_scratch_);
    while (depth > 0 && rows.name_of(stack[depth - 1]) != name) --depth;
  }
  if (depth == 0) return skip(Skip::unmatched_end);
  const trace::EventId begun = stack[depth - 1];
  const base::Ns duration = at - rows.start[begun];
  if (duration < 0) return skip(Skip::negative_duration);
  if (duration > kLongest) return skip(Skip::long_duration);
  builder_.set_duration(begun, duration);
  stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(depth - 1));
  return true;
}

bool EventDecoder::instant(const TokenWalker& walker, const Tokens& tokens) {
  if (tokens.name != "\"[memory]\"") return ignore(Ignored::instant);
  if (tokens.args == UINT32_MAX) return skip(Skip::bad_memory);
  MemoryArgs args;
  if (!ArgsReader::read_memory(walker, tokens.args, args)) return false;
  if (!args.has_bytes) return skip(Skip::bad_memory);
  trace::MemoryEvent event;
  if (!time(tokens.ts, event.time)) return true;
  event.track = track(tokens.pid, tokens.tid);
  event.delta_bytes = args.bytes;
  event.in_use_bytes = args.total_allocated;
  event.device = args.device_id;
  if (args.has_type && args.device_type == 0) {
    cpu_memory_.push_back(event);
  } else {
    builder_.add_memory(event);
  }
  return true;
}

bool EventDecoder::metadata(const TokenWalker& walker, const Tokens& tokens) {
  const bool thread = tokens.name == "\"thread_name\"", process = tokens.name == "\"process_name\"";
  const bool labels = tokens.name == "\"process_labels\"";
  if (tokens.args == UINT32_MAX || !(thread || process || labels)) return ignore(Ignored::metadata);
  std::string_view value;
  if (walker.kind(tokens.args) == '{' &&
      !ArgsReader::find_string(walker, tokens.args, labels ? "labels" : "name", value))
    return false;
  const std::string pid(plain(tokens.pid, pid_scratch_));
  std::string text(plain(value, name_scratch_));
  if (thread) {
    thread_names_[{pid, std::string(plain(tokens.tid, tid_scratch_))}] = std::move(text);
  } else {
    (process ? process_names_ : process_labels_)[pid] = std::move(text);
  }
  return ignore(Ignored::metadata);
}

bool EventDecoder::time(std::string_view token, base::Ns& to) {
  if (token.empty()) {
    skip(Skip::no_time);
    return false;
  }
  const auto value = parse_time(token);
  if (!value || *value > kMaxTime || *value < -kMaxTime) {
    skip(Skip::bad_time);
    return false;
  }
  to = *value;
  return true;
}

uint32_t EventDecoder::track(std::string_view pid, std::string_view tid) {
  for (const auto& known : known_tracks_)
    if (known.track != trace::kNone && known.tid == tid && known.pid == pid) return known.track;
  KnownTrack& known = known_tracks_[next_known_];
  next_known_ = (next_known_ + 1) % known_tracks_.size();
  known.pid = pid;
  known.tid = tid;
  known.track = builder_.track(plain(pid, pid_scratch_), plain(tid, tid_scratch_));
  return known.track;
}

// A string's text, or a number as it is written.
std::string_view EventDecoder::plain(std::string_view token, std::string& scratch) {
  if (!is_string(token)) return token;
  TextRepairs repairs;
  const std::string_view text = unescape(inside(token), scratch, repairs);
  bad_escapes_ += repairs.escapes;
  bad_utf8_ += repairs.utf8;
  return text;
}

void EventDecoder::absorb(EventDecoder& part, const std::vector<uint32_t>& tracks) {
  for (const auto& [thread, name] : part.thread_names_) thread_names_[thread] = name;
  for (const auto& [pid, name] : part.process_names_) process_names_[pid] = name;
  for (const auto& [pid, labels] : part.process_labels_) process_labels_[pid] = labels;
  part.thread_names_.clear();
  part.process_names_.clear();
  part.process_labels_.clear();
  for (trace::MemoryEvent event : part.cpu_memory_) {
    event.track = tracks[event.track];
    cpu_memory_.push_back(event);
  }
  part.cpu_memory_.clear();
  for (std::size_t i = 0; i < skips_.size(); ++i) skips_[i] += std::exchange(part.skips_[i], 0);
  for (std::size_t i = 0; i < ignored_.size(); ++i) ignored_[i] += std::exchange(part.ignored_[i], 0);
  bad_escapes_ += std::exchange(part.bad_escapes_, 0);
  bad_utf8_ += std::exchange(part.bad_utf8_, 0);
  wrong_types_ += std::exchange(part.wrong_types_, 0);
}

void EventDecoder::finish(base::Ns base_time) {
  trace::Trace& rows = builder_.trace();
  std::vector<trace::EventId> unmatched;
  for (const auto& [track, stack] : open_) unmatched.insert(unmatched.end(), stack.begin(), stack.end());
  std::sort(unmatched.begin(), unmatched.end());
  skips_[static_cast<std::size_t>(Skip::unmatched_begin)] += unmatched.size();
  builder_.remove(unmatched);

  // Memory of the host matters only where the host is the device, as in hunch's own recordings.
  if (std::any_of(rows.devices.begin(), rows.devices.end(),
                  [](const auto& device) { return device.is_cpu; })) {
    for (const auto& event : cpu_memory_) builder_.add_memory(event);
    std::stable_sort(rows.memory.begin(), rows.memory.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
  } else {
    ignored_[static_cast<std::size_t>(Ignored::cpu_memory)] += cpu_memory_.size();
  }

  rows.base_time = base_time;
  if (base_time != 0) {
    for (auto& start : rows.start) start += base_time;
    for (auto& event : rows.memory) event.time += base_time;
  }
  for (uint32_t id = 0; id < rows.tracks.size(); ++id) {
    trace::Track& track = rows.tracks[id];
    if (const auto name = thread_names_.find({track.pid, track.tid}); name != thread_names_.end())
      track.name = name->second;
    // For a device the label says more ("GPU 0"): its process name is that of the host program.
    const auto label = process_labels_.find(track.pid);
    const auto name = process_names_.find(track.pid);
    if (label != process_labels_.end() && label->second != "CPU") {
      track.process = label->second;
    } else if (name != process_names_.end()) {
      track.process = name->second;
    }
  }

  auto& stats = rows.stats;
  for (std::size_t i = 0; i < skips_.size(); ++i) {
    if (skips_[i] == 0) continue;
    stats.skipped += skips_[i];
    stats.reasons[std::string(kSkipNames[i])] += skips_[i];
  }
  for (std::size_t i = 0; i < ignored_.size(); ++i)
    if (ignored_[i] != 0) stats.ignored[std::string(kIgnoredNames[i])] += ignored_[i];
  if (bad_escapes_ != 0) stats.repaired["string with an invalid escape, kept as written"] += bad_escapes_;
  if (bad_utf8_ != 0) stats.repaired["string with invalid Unicode, replaced by U+FFFD"] += bad_utf8_;
  if (wrong_types_ != 0) stats.repaired["argument of a wrong type, ignored"] += wrong_types_;
}

}  // namespace hunch::formats::chrome_json
