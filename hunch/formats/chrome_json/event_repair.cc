#include "hunch/formats/chrome_json/event_repair.h"

#include <fmt/format.h>

#include "hunch/base/utf8.h"
#include "hunch/formats/chrome_json/text.h"
#include "hunch/formats/chrome_json/text_scan.h"

namespace hunch::formats::chrome_json {
namespace {

constexpr std::size_t kMaxDepth = 256;
constexpr std::size_t kMaxLoose = std::size_t{1} << 20;  // an event with bare quotes is looked for so far
constexpr std::size_t kMaxKey = 64;  // a member's name, when a bare quote makes us look for one

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
         c == '.' || c == '_';
}

class Scanner {
 public:
  Scanner(std::string_view text, std::size_t start, bool loose, std::string& out)
      : text_(text), start_(start), at_(start), loose_(loose), out_(out) {
    out_.clear();
  }

  RepairResult event() {
    enum class Want { value, first_key, key, colon, first_value, next };
    Want want = Want::value;
    std::string open;  // the brackets that are open
    while (true) {
      at_ = skip_space(text_, at_);
      if (at_ >= text_.size()) return result(Repair::cut);
      const char c = text_[at_];
      const bool may_close = want == Want::next || want == Want::first_key || want == Want::first_value ||
                             want == Want::key ||
                             (want == Want::value && !open.empty() && open.back() == '[');
      if (may_close && !open.empty() && c == (open.back() == '{' ? '}' : ']')) {
        if (out_.back() == ',') out_.pop_back();  // a comma too many
        put(c);
        open.pop_back();
        if (open.empty()) return result(Repair::done);
        want = Want::next;
        continue;
      }
      switch (want) {
        case Want::first_key:
        case Want::key:
          if (c != '"') return result(Repair::damaged);
          key_ = out_.size() + 1;
          if (const Repair string = copy_string(open, true); string != Repair::done) return result(string);
          want = Want::colon;
          break;
        case Want::colon:
          if (c != ':') return result(Repair::damaged);
          put(c);
          want = Want::value;
          break;
        case Want::value:
        case Want::first_value:
          want = Want::next;
          if (c == '{' || c == '[') {
            if (open.size() == kMaxDepth) return result(Repair::damaged);
            open += c;
            put(c);
            want = c == '{' ? Want::first_key : Want::first_value;
          } else if (c == '"') {
            if (const Repair string = copy_string(open, false); string != Repair::done) return result(string);
          } else if (is_word(c)) {
            while (at_ < text_.size() && is_word(text_[at_])) put(text_[at_]);
          } else {
            return result(Repair::damaged);
          }
          break;
        case Want::next:
          if (c != ',') return result(Repair::damaged);
          put(c);
          want = open.back() == '{' ? Want::key : Want::value;
          break;
      }
    }
  }

 private:
  void put(char c) {
    out_ += c;
    ++at_;
  }

  RepairResult result(Repair outcome) const { return {outcome, at_, at_ - start_, counts_}; }

  char peek(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  // Copies the string whose opening quote is here.
  Repair copy_string(const std::string& open, bool is_key) {
    bool escapes = false, utf8 = false, quotes = false, controls = false;
    put('"');
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!loose_ || !may_be_bare(open, is_key) || closes(at_, open, is_key)) {
          put(c);
          counts_.escapes += escapes;
          counts_.utf8 += utf8;
          counts_.quotes += quotes;
          counts_.controls += controls;
          return Repair::done;
        }
        quotes = true;
        out_ += '\\';
        put(c);
      } else if (c == '\\') {
        escapes |= copy_escape();
      } else if (static_cast<uint8_t>(c) < 0x20) {
        if (!loose_) return Repair::damaged;
        controls = true;
        out_ += fmt::format("\\u{:04x}", static_cast<uint8_t>(c));
        ++at_;
      } else if (const std::size_t length = utf8_length(text_.substr(at_, 4)); length != 0) {
        out_.append(text_, at_, length);
        at_ += length;
      } else {
        utf8 = true;
        base::append_utf8(out_, 0xFFFD);
        ++at_;
      }
    }
    return Repair::cut;
  }

  // Copies a backslash and what belongs to it; true where it is no escape of JSON and was kept literally.
  bool copy_escape() {
    const char next = peek(at_ + 1);
    const bool unicode = next == 'u' && is_hex(peek(at_ + 2)) && is_hex(peek(at_ + 3)) &&
                         is_hex(peek(at_ + 4)) && is_hex(peek(at_ + 5));
    if (unicode || (next != '\0' && std::string_view("\"\\/bfnrt").find(next) != std::string_view::npos)) {
      put(text_[at_]);
      put(next);
      return false;
    }
    out_ += '\\';
    put(text_[at_]);
    return true;
  }

  // Names and what is in args comes from programs' texts; phases and times do not.
  bool may_be_bare(const std::string& open, bool is_key) const {
    if (open.size() > 1 || is_key) return true;
    const std::string_view key = std::string_view(out_).substr(key_, 5);
    return key == "name\"" || key.substr(0, 4) == "cat\"";
  }

  // Whether the quote at `at` ends its string, judged by what follows it.
  bool closes(std::size_t at, const std::string& open, bool is_key) const {
    std::size_t next = skip_space(text_, at + 1);
    const char c = peek(next);
    if (is_key) return c == ':';
    if (open.back() == '[') return c == ']' || c == ',';
    const bool event_level = open.size() == 1;
    if (c == '}') {
      // The end of the event is followed by the next one or by the end of the list; that of an inner object
      // by a bracket or comma.
      next = skip_space(text_, next + 1);
      const char after = peek(next);
      if (!event_level) return after == '}' || after == ']' || after == ',';
      if (after == ']' || next >= text_.size()) return true;
      if (after != ',') return false;
      next = skip_space(text_, next + 1);
      return peek(next) == '{' || next >= text_.size();
    }
    if (c != ',') return false;
    next = skip_space(text_, next + 1);
    if (peek(next) != '"') return false;
    const std::string_view rest = text_.substr(next + 1, kMaxKey);
    const std::size_t end = rest.find('"');
    if (end == std::string_view::npos) return false;
    const std::string_view key = rest.substr(0, end);
    if (event_level && !is_event_key(key)) return false;
    return peek(skip_space(text_, next + 1 + end + 1)) == ':';
  }

  std::string_view text_;
  std::size_t start_, at_;
  bool loose_;
  std::string& out_;
  std::size_t key_ = 0;  // where the last member's name stands in out_
  RepairCounts counts_;
};

}  // namespace

RepairResult repair_event(std::string_view text, std::size_t start, bool allow_bare_quotes,
                          std::string& json) {
  RepairResult strict = Scanner(text, start, false, json).event();
  if (strict.outcome == Repair::done || !allow_bare_quotes) return strict;
  std::string loose_json;
  RepairResult loose = Scanner(text.substr(0, start + kMaxLoose), start, true, loose_json).event();
  loose.scanned += strict.scanned;
  // A reading that swallows what looks like the next event is no repair.
  if (loose.outcome == Repair::done && next_event_start(text.substr(0, loose.end), start + 1) == kNowhere) {
    json = std::move(loose_json);
    return loose;
  }
  // A text that simply ends is cut; one that breaks before its end is damaged.
  strict.scanned = loose.scanned;
  return strict;
}

}  // namespace hunch::formats::chrome_json
