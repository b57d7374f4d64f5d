// See the header. Columns are not padded: a renderer aligns them, and a diff of two reports stays small.
#include "hunch/report/markdown/markdown_table.h"

#include <algorithm>

#include "hunch/report/utf8.h"

namespace hunch::report::markdown {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '@')
      out += "&#64;";  // else GitHub would mention a person
    else if (c == '#')
      out += "&#35;";  // or an issue
    else {
      if (std::string_view("\\`*_[]|~").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string code(std::string_view text) {
  if (text.empty()) return {};
  const std::string plain = printable(text);
  std::size_t longest = 0, ticks = 0;
  std::string body;
  for (const char c : plain) {
    ticks = c == '`' ? ticks + 1 : 0;
    longest = std::max(longest, ticks);
    if (c == '|') body += '\\';  // GitHub's tables read the pipe before the code span
    body += c;
  }
  const std::string fence(longest + 1, '`');
  const std::string pad = plain.front() == '`' || plain.back() == '`' ? " " : "";
  return fence + pad + body + pad + fence;
}

std::string Table::text() const {
  std::vector<bool> shown(titles_.size(), false);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = shown[i] || !row[i].empty();
  std::string head, rule, body;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!shown[i]) continue;
    const bool right = titles_[i].front() == '>';
    head += "| " + titles_[i].substr(right ? 1 : 0) + " ";
    rule += right ? "| ---: " : "| --- ";
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < shown.size(); ++i)
      if (shown[i]) body += row[i].empty() ? "| " : "| " + row[i] + " ";
    body += "|\n";
  }
  return head + "|\n" + rule + "|\n" + body;
}

}  // namespace hunch::report::markdown
