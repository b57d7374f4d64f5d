#include "hunch/formats/chrome_json/chrome_json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hunch/formats/chrome_json/event_decoder.h"
#include "hunch/formats/chrome_json/event_list.h"
#include "hunch/formats/chrome_json/metadata.h"
#include "hunch/formats/chrome_json/text_scan.h"

namespace hunch::formats::chrome_json {
namespace {

constexpr std::size_t kHead = std::size_t{1} << 20;  // what stands before the events is seldom longer
constexpr const char* kRemedy = "give it a trace as torch.profiler's export_chrome_trace or hunch writes it";

base::Error parse_error(std::string message, std::size_t byte, std::string remedy) {
  return base::Error{base::ErrorCode::parse, std::move(message), {}, byte, std::move(remedy)};
}

// One reading of one file.
class Reading {
 public:
  Reading(Input& input, trace::TraceBuilder& builder, const ReadOptions& options)
      : input_(input),
        text_(input.first(kHead)),
        builder_(builder),
        options_(options),
        decoder_(builder),
        metadata_(builder) {}

  base::Status run() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    std::size_t at = text_.substr(0, 3) == kByteOrderMark ? 3 : 0;
    at = skip_space(text_, at);
    if (at >= text_.size() && grew()) at = skip_space(text_, at);
    if (at >= text_.size()) return base::fail(parse_error("no JSON in it, only white space", at, kRemedy));
    // Kineto spends about this much on an event; reserved and unused memory costs nothing.
    const std::size_t events = input_.expected_size() / 200;
    builder_.reserve(events, events / 4, events / 2);
    if (text_[at] == '[') {
      HUNCH_RETURN_IF_ERROR(bare_array(at));
    } else {
      HUNCH_RETURN_IF_ERROR(object(at));
    }
    decoder_.finish(metadata_.base_time());
    return {};
  }

 private:
  void see_all() {
    text_ = input_.all();
    complete_ = true;
  }

  // Whether there was more to see than was seen so far; then all of it is.
  bool grew() {
    const std::size_t before = text_.size();
    see_all();
    return text_.size() > before;
  }

  base::Status events(std::size_t bracket, bool top_level_array, std::size_t& behind) {
    EventList list(input_, top_level_array, builder_, decoder_, options_);
    HUNCH_ASSIGN(behind, list.read(bracket + 1));
    see_all();
    list.finish();
    salvaged_ = list.salvaged();
    return {};
  }

  // Events at `at`, behind a "]" that was not the end.
  base::Status go_on(std::size_t at, bool top_level_array, std::size_t& behind) {
    ++goes_on_;
    builder_.warn(fmt::format("byte {}: damaged JSON, the list of events goes on behind its end", at));
    return events(at - 1, top_level_array, behind);
  }

  base::Status bare_array(std::size_t at) {
    std::size_t behind = at;
    HUNCH_RETURN_IF_ERROR(events(at, true, behind));
    found_events_ = true;
    while (true) {
      std::size_t next = skip_space(text_, behind);
      while (next < text_.size() && text_[next] == ',') next = skip_space(text_, next + 1);
      if (salvaged_ || !list_goes_on(next)) break;
      HUNCH_RETURN_IF_ERROR(go_on(next, true, behind));
    }
    if (!any_event()) return base::fail(parse_error("a JSON array without one trace event", at, kRemedy));
    behind = skip_space(text_, behind);
    if (behind < text_.size())
      builder_.warn(fmt::format("byte {}: text after the end of the events is ignored", behind));
    return {};
  }

  // Events as far as the shape goes: a name, phase or time of some kind.
  bool any_event() const {
    const auto& stats = builder_.trace().stats;
    uint64_t strange = 0;
    for (const char* reason : {"not an object", "damaged JSON"}) {
      const auto found = stats.reasons.find(reason);
      if (found != stats.reasons.end()) strange += found->second;
    }
    return stats.events > strange + decoder_.without_phase();
  }

  base::Status object(std::size_t open) {
    std::size_t at = skip_space(text_, open + 1);
    while (true) {
      while (at < text_.size() && text_[at] == ',') at = skip_space(text_, at + 1);
      if (at < text_.size() && text_[at] == '}') {
        if (found_events_) break;
        const std::size_t list = find_list(open);  // damage may have put it into another member
        if (list == kNowhere)
          return base::fail(parse_error("JSON without a \"traceEvents\" list: no trace", open, kRemedy));
        builder_.warn(fmt::format("byte {}: the list of events lies within another member", list));
        at = list;
      }
      if (!complete_ && member_may_go_on(at) && grew()) continue;
      // A member: key, colon, value.
      if (list_goes_on(at)) {
        std::size_t end = at;
        HUNCH_RETURN_IF_ERROR(go_on(at, false, end));
        if (salvaged_) return {};
        at = skip_space(text_, end);
        continue;
      }
      const std::size_t key_end = at < text_.size() && text_[at] == '"' ? skip_string(text_, at) : kNowhere;
      const std::size_t colon = key_end == kNowhere ? kNowhere : skip_space(text_, key_end);
      if (colon == kNowhere || colon >= text_.size() || text_[colon] != ':') {
        HUNCH_ASSIGN(const std::size_t list, around_damage(at));
        if (list == kNowhere) return {};
        at = list;
        continue;
      }
      const std::string_view key = text_.substr(at + 1, key_end - at - 2);
      const std::size_t value = skip_space(text_, colon + 1);
      std::size_t end = value;
      if (key == "traceEvents") {
        if (value >= text_.size() || text_[value] != '[') {
          if (value < text_.size())
            return base::fail(parse_error("\"traceEvents\" is no list of events", value, kRemedy));
          return base::fail(cut_error());
        }
        found_events_ = true;
        HUNCH_RETURN_IF_ERROR(events(value, false, end));
        if (salvaged_) return {};
      } else {
        end = value < text_.size() ? skip_value(text_, value) : kNowhere;
        if (end == kNowhere) {
          HUNCH_ASSIGN(const std::size_t list, around_damage(at));
          if (list == kNowhere) return {};
          at = list;
          continue;
        }
        std::string_view text = text_.substr(value, end - value);
        while (!text.empty() && static_cast<uint8_t>(text.back()) <= ' ') text.remove_suffix(1);
        metadata_.member(key, text);
      }
      at = skip_space(text_, end);
      if (at < text_.size() && (text_[at] == ',' || text_[at] == '}' || list_goes_on(at))) continue;
      HUNCH_ASSIGN(const std::size_t list, around_damage(at));
      if (list == kNowhere) return {};
      at = list;
    }
    at = skip_space(text_, at + 1);
    if (at < text_.size())
      builder_.warn(fmt::format("byte {}: text after the end of the trace is ignored", at));
    return {};
  }

  // Whether events go on at `at`, behind the end of their list: a "]" too many. A few times, as each costs a
  // new start.
  bool list_goes_on(std::size_t at) const {
    constexpr int kMost = 16;
    return found_events_ && goes_on_ < kMost && opens_event(text_, at);
  }

  // The first "traceEvents" from `from` on that a list follows, at whatever depth; kNowhere if there is none.
  std::size_t find_list(std::size_t from) const {
    constexpr std::string_view kEvents = "\"traceEvents\"";
    for (std::size_t list = text_.find(kEvents, from); list != std::string_view::npos;
         list = text_.find(kEvents, list + 1)) {
      const std::size_t colon = skip_space(text_, list + kEvents.size());
      if (colon >= text_.size() || text_[colon] != ':') continue;
      const std::size_t bracket = skip_space(text_, colon + 1);
      if (bracket < text_.size() && text_[bracket] == '[') return list;
    }
    return kNowhere;
  }

  // Whether the member at `at` ends where what was seen so far does, or behind that.
  bool member_may_go_on(std::size_t at) const {
    if (at >= text_.size()) return true;
    const std::size_t key_end = text_[at] == '"' ? skip_string(text_, at) : kNowhere;
    if (key_end == kNowhere) return true;
    const std::size_t colon = skip_space(text_, key_end);
    if (colon >= text_.size()) return true;
    if (text_[colon] != ':') return false;
    const std::size_t value = skip_space(text_, colon + 1);
    if (value >= text_.size()) return true;
    if (text_.substr(at, key_end - at) == "\"traceEvents\"") return false;
    const std::size_t end = skip_value(text_, value);
    return end == kNowhere || skip_space(text_, end) >= text_.size();
  }

  base::Error cut_error() const {
    return parse_error("the file ends before its list of events: it was cut", text_.size(),
                       "record it again");
  }

  // Damage among the top-level members. Behind the events it costs only the members from there on; before
  // them, reading goes on at the events. kNowhere: nothing more to read.
  base::Result<std::size_t> around_damage(std::size_t at) {
    see_all();
    if (found_events_) {
      const std::size_t base = text_.find("\"baseTimeNanoseconds\"", at);
      if (!metadata_.has_base_time() && base != std::string_view::npos) {
        const std::size_t value = skip_space(text_, base + 21);
        if (value < text_.size() && text_[value] == ':') {
          const std::size_t number = skip_space(text_, value + 1);
          std::size_t end = number;
          while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
          metadata_.member("baseTimeNanoseconds", text_.substr(number, end - number));
        }
      }
      builder_.warn(fmt::format("byte {}: damaged JSON after the events; the events are kept", at));
      return kNowhere;
    }
    // The damage may have shown late: then the list lies before it, swallowed by another member.
    if (const std::size_t list = find_list(0); list != kNowhere) {
      builder_.warn(fmt::format("byte {}: damaged JSON before the events; read on at byte {}", at, list));
      return list;
    }
    if (at >= text_.size() || skip_value(text_, 0) == kNowhere) return base::fail(cut_error());
    return base::fail(parse_error("not JSON from here on, and no \"traceEvents\" behind it", at, kRemedy));
  }

  Input& input_;
  std::string_view text_;  // what of it is there
  trace::TraceBuilder& builder_;
  const ReadOptions& options_;
  EventDecoder decoder_;
  Metadata metadata_;
  bool complete_ = false;  // text_ is known to be all of it
  bool found_events_ = false;
  int goes_on_ = 0;        // events went on behind the list's end
  bool salvaged_ = false;  // nothing follows
};

}  // namespace

bool ChromeJsonReader::sniff(std::string_view first_bytes) const {
  if (first_bytes.substr(0, 3) == "\xEF\xBB\xBF") first_bytes.remove_prefix(3);
  const std::size_t at = skip_space(first_bytes, 0);
  return at < first_bytes.size() && (first_bytes[at] == '{' || first_bytes[at] == '[');
}

base::Status ChromeJsonReader::read(Input& input, trace::TraceBuilder& builder,
                                    const ReadOptions& options) const {
  return Reading(input, builder, options).run();
}

}  // namespace hunch::formats::chrome_json
