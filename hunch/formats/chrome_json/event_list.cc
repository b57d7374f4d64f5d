#include "hunch/formats/chrome_json/event_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/thread_pool.h"
#include "hunch/formats/chrome_json/parallel_events.h"
#include "hunch/formats/chrome_json/text_scan.h"
#include "hunch/formats/chrome_json/token_walker.h"

namespace hunch::formats::chrome_json {
namespace {

constexpr int kMaxThreads = 8;
constexpr int kMaxFailedChunks = 3;  // in a row: then the file is not of the kind that threads help with
constexpr std::size_t kReleaseStep = std::size_t{8} << 20;
constexpr uint64_t kDamageWarnings = 5;  // places named one by one; the rest is counted

}  // namespace

EventList::EventList(Input& input, bool top_level_array, trace::TraceBuilder& builder, EventDecoder& decoder,
                     const ReadOptions& options)
    : input_(input),
      top_level_array_(top_level_array),
      builder_(builder),
      decoder_(decoder),
      options_(options),
      window_(decoder) {}

bool EventList::grew(std::size_t to) {
  const std::size_t before = text_.size();
  text_ = input_.first(std::max(to, before + 1));
  return text_.size() > before;
}

base::Result<std::size_t> EventList::read(std::size_t at) {
  std::size_t size = kWindow;
  while (true) {
    release(at);
    text_ = input_.first(at + size + kWindow);
    at = skip_space(text_, at);
    while (at < text_.size() && text_[at] == ',') at = skip_space(text_, at + 1);
    if (text_.size() - std::min(at, text_.size()) <= size && grew(at + size + kWindow)) continue;
    if (at >= text_.size()) return list_cut(at, false);
    if (text_[at] == ']') return at + 1;
    if (const std::size_t taken = take_in_parallel(at); taken != at) {
      at = taken;
      continue;
    }

    std::size_t window_end = text_.size();
    if (text_.size() - at > size) {
      window_end = last_event_boundary(text_, at, at + size);
      if (window_end == kNowhere && size < StructuralIndex::kMaxWindow) {
        size *= 2;
        continue;
      }
      if (window_end == kNowhere) text_ = input_.all();
      window_end = std::min(window_end, text_.size());
    }
    const Step step = window_.take(text_, at, window_end);
    if (step == Step::list_done) return at;
    if (step == Step::out && window_end < text_.size() && size < StructuralIndex::kMaxWindow) {
      size *= 2;  // the boundary lay inside of an event: try again from that event, with more
      continue;
    }
    size = kWindow;
    if (step == Step::window_done) continue;
    text_ = input_.all();  // damage: what follows looks far ahead
    while (at < window_end) {
      at = skip_space(text_, at);
      if (at >= text_.size()) break;
      if (text_[at] == ',') {
        ++at;
        continue;
      }
      if (text_[at] == ']') return at + 1;
      bool list_done = false;
      if (!lenient_element(at, list_done)) return list_cut(at, true);
      if (list_done) return at;
    }
  }
}

std::size_t EventList::take_in_parallel(std::size_t at) {
  const int granted = base::ThreadPool::hardware_threads() - input_.own_threads();
  const int threads = std::min(options_.threads > 0 ? options_.threads : granted, kMaxThreads);
  if (threads < 2 || at < sequential_until_ || failed_chunks_ >= kMaxFailedChunks) return at;
  text_ = input_.first(at + 2 * kChunk);
  if (text_.size() - at < 2 * kChunk) return at;
  const Taken taken = read_in_parallel(input_, at, builder_, decoder_, threads);
  if (taken.resume > taken.at) ++failed_chunks_;
  if (taken.at > at) failed_chunks_ = taken.resume > taken.at ? 1 : 0;
  sequential_until_ = std::max(taken.resume, taken.at + (taken.at > at ? 1 : kChunk));
  return taken.at;
}

bool EventList::lenient_element(std::size_t& at, bool& list_done) {
  const std::size_t start = at;
  std::size_t damage = at;
  if (text_[at] == '{') {
    const RepairResult result = repair_event(text_, at, !tired(), repaired_json_);
    if (result.outcome == Repair::done && repaired_index_.index(repaired_json_)) {
      const TokenWalker walker(repaired_json_, repaired_index_.tokens());
      if (!TokenWalker::failed(decoder_.event(walker, 0))) {
        repairs_.escapes += result.counts.escapes;
        repairs_.utf8 += result.counts.utf8;
        repairs_.quotes += result.counts.quotes;
        repairs_.controls += result.counts.controls;
        at = result.end;
        return true;
      }
    }
    if (result.outcome == Repair::cut) {
      at = text_.size();
      return false;
    }
    damage = result.end;
    rescanned_ += result.scanned;
  }
  bool found = false;
  resynchronise(start, damage, at, list_done, found);
  return found;
}

void EventList::resynchronise(std::size_t start, std::size_t damage, std::size_t& at, bool& list_done,
                              bool& found) {
  // The next event is looked for right behind this one's start, so that damage which showed late costs no
  // good events; after too much looking, behind the damage only, so that no input takes for ever.
  std::size_t from = start + 1;
  if (tired()) from = std::max(from, damage);
  const std::size_t event = next_event_start(text_, from);
  const std::size_t end =
      next_list_end(text_, from, event == kNowhere ? text_.size() : event, top_level_array_);
  found = event != kNowhere || end != kNowhere;
  if (!found) {
    at = text_.size();
    return;
  }
  decoder_.skip_element("damaged JSON");
  list_done = end != kNowhere;
  at = list_done ? end + 1 : event;
  note_damage(start, at);
}

void EventList::note_damage(std::size_t from, std::size_t to) {
  if (++damaged_ <= kDamageWarnings)
    builder_.warn(fmt::format("byte {}: damaged JSON, one event skipped; read on at byte {}", from, to));
}

base::Result<std::size_t> EventList::list_cut(std::size_t at, bool inside_event) {
  const uint64_t events = builder_.trace().stats.events;
  // A bare array needs no closing bracket in this format, as long as its last event is whole.
  if (top_level_array_ && !inside_event && events > 0) {
    builder_.warn("the list of events is not closed; all events in it are whole");
    return at;
  }
  const std::string where =
      inside_event ? "in the middle of an event" : "before its list of events is closed";
  const char* const noun = events == 1 ? "event" : "events";
  if (options_.salvage) {
    salvaged_ = true;
    builder_.warn(fmt::format("byte {}: the file ends {}; the {} {} before {} kept", text_.size(), where,
                              events, noun, events == 1 ? "is" : "are"));
    return text_.size();
  }
  return base::fail(base::Error{
      base::ErrorCode::parse,
      fmt::format("the file ends {}, after {} whole {}: it was cut", where, events, noun),
      {},
      text_.size(),
      events == 0
          ? std::string("record it again")
          : fmt::format("record it again; or add --salvage to read the {} {} before the cut", events, noun)});
}

void EventList::release(std::size_t at) {
  if (at < released_ + kReleaseStep) return;
  released_ = at;
  input_.forget_before(at);
}

void EventList::finish() {
  auto& repaired = builder_.trace().stats.repaired;
  if (repairs_.escapes != 0) repaired["string with an invalid escape, kept as written"] += repairs_.escapes;
  if (repairs_.utf8 != 0) repaired["string with invalid UTF-8, replaced by U+FFFD"] += repairs_.utf8;
  if (repairs_.quotes != 0) repaired["string with bare quotes, kept"] += repairs_.quotes;
  if (repairs_.controls != 0) repaired["string with raw control characters, kept"] += repairs_.controls;
  if (damaged_ > kDamageWarnings)
    builder_.warn(fmt::format("{} more damaged events were skipped", damaged_ - kDamageWarnings));
}

}  // namespace hunch::formats::chrome_json
