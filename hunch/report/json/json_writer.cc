// Writes JSON text piece by piece; see the header for what holds.
#include "hunch/report/json/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hunch/base/check.h"
#include "hunch/report/utf8.h"

namespace hunch::report::json {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  // Most texts need nothing; of the others what comes before the first such letter does not.
  const auto plain = [](char c) { return c >= 0x20 && c != 0x7F && c != '"' && c != '\\'; };
  const auto first = std::find_if_not(text.begin(), text.end(), plain);
  out.append(text.begin(), first);
  for (auto at = static_cast<std::size_t>(first - text.begin()); at < text.size();) {
    const CodePoint point = decode(text, at);
    if (!point.valid) {
      out += "\\ufffd";
    } else if (point.value == '"' || point.value == '\\') {
      out += '\\';
      out += static_cast<char>(point.value);
    } else if (point.value == '\n') {
      out += "\\n";
    } else if (point.value == '\t') {
      out += "\\t";
    } else if (point.value == '\r') {
      out += "\\r";
    } else if (point.value < 0x20 || point.value == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point.value));
    } else {
      out += text.substr(at, point.length);
    }
    at += point.length;
  }
  out += '"';
  return out;
}

void Writer::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_ += level.compact ? ", " : ",";
  level.empty = false;
  if (!level.compact) {
    out_ += '\n';
    out_.append(2 * levels_.size(), ' ');
  }
}

void Writer::begin(char open, bool compact) {
  separate();
  const bool inside_compact = !levels_.empty() && levels_.back().compact;
  out_ += open;
  levels_.push_back({compact || inside_compact, true});
}

void Writer::end(char close) {
  HUNCH_CHECK(!levels_.empty() && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.compact && !level.empty) {
    out_ += '\n';
    out_.append(2 * levels_.size(), ' ');
  }
  out_ += close;
}

void Writer::key(std::string_view name) {
  HUNCH_CHECK(!after_key_);
  separate();
  out_ += quoted(name);
  out_ += ": ";
  after_key_ = true;
}

void Writer::raw(std::string_view text) {
  separate();
  out_ += text;
}

void Writer::string(std::string_view value) { raw(quoted(value)); }
void Writer::number(int64_t value) { raw(fmt::format("{}", value)); }
void Writer::number(uint64_t value) { raw(fmt::format("{}", value)); }
void Writer::number(double value) {
  if (std::isfinite(value))
    raw(fmt::format("{}", value));
  else
    null();
}
void Writer::boolean(bool value) { raw(value ? "true" : "false"); }
void Writer::null() { raw("null"); }

std::string Writer::take() {
  HUNCH_CHECK(levels_.empty());
  out_ += '\n';
  return std::exchange(out_, {});
}

}  // namespace hunch::report::json
