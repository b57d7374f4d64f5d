// See the header. Widths are columns, never bytes; colour codes are added last, around text that is already
// cut and padded, so that they never count.
#include "hunch/report/terminal/layout.h"

#include <algorithm>

#include "hunch/base/check.h"
#include "hunch/report/utf8.h"

namespace hunch::report::terminal {
namespace {

constexpr std::size_t kGap = 2;         // columns between two table columns
constexpr std::size_t kNoteLabel = 10;  // columns of a note's label

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::bold:
      return "\x1b[1m";
    case Ink::dim:
      return "\x1b[2m";
    case Ink::good:
      return "\x1b[32m";
    case Ink::bad:
      return "\x1b[1;31m";
    case Ink::warn:
      return "\x1b[33m";
    case Ink::accent:
      return "\x1b[36m";
  }
  return "";
}

// The first bytes of `text` that fit into `columns`.
std::string_view head(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = decode(text, at);
    used += static_cast<std::size_t>(columns_of(point.value));
    if (used > columns) break;
    at += point.length;
  }
  return text.substr(0, at);
}

// The last ones.
std::string_view tail(std::string_view text, std::size_t columns) {
  std::size_t width = display_width(text);
  std::size_t at = 0;
  while (at < text.size() && width > columns) {
    const CodePoint point = decode(text, at);
    width -= static_cast<std::size_t>(columns_of(point.value));
    at += point.length;
  }
  return text.substr(at);
}

std::size_t width_of(const Style& style) { return static_cast<std::size_t>(std::max(style.width, 20)); }

}  // namespace

std::string paint(const Style& style, Ink ink, std::string_view text) {
  if (!style.color || ink == Ink::plain || text.empty()) return std::string(text);
  return std::string(code_of(ink)) + std::string(text) + "\x1b[0m";
}

std::string shorten(std::string_view text, std::size_t columns, const Style& style) {
  if (display_width(text) <= columns) return std::string(text);
  const std::string_view mark = style.unicode ? "\xE2\x80\xA6" : "..";
  const std::size_t mark_width = display_width(mark);
  if (columns <= mark_width + 1) return std::string(head(text, columns));
  const std::size_t room = columns - mark_width;
  const std::size_t back = room / 3;
  return std::string(head(text, room - back)) + std::string(mark) + std::string(tail(text, back));
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string current;
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = text.find_first_not_of(' ', at);
    if (start == std::string_view::npos) break;
    const std::size_t stop = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, stop - start);
    const std::size_t width = display_width(word);
    if (!current.empty() && used + 1 + width > columns) {
      lines.push_back(std::move(current));
      current.clear();
      used = 0;
    }
    if (!current.empty()) {
      current += ' ';
      ++used;
    }
    current += word;
    used += width;
    at = stop;
  }
  if (!current.empty() || lines.empty()) lines.push_back(std::move(current));
  return lines;
}

void line(std::string& out, std::string_view text) {
  const auto last = text.find_last_not_of(' ');
  out += text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  out += '\n';
}

void paragraph(std::string& out, const Style& style, std::size_t indent, std::string_view text, Ink ink) {
  const std::string clean = printable(text);
  const std::size_t room = std::max<std::size_t>(width_of(style) - std::min(indent, width_of(style)), 10);
  for (const std::string& part : wrap(clean, room))
    line(out, std::string(indent, ' ') + paint(style, ink, part));
}

void labelled(std::string& out, const Style& style, std::size_t indent, std::string_view label,
              std::size_t label_columns, std::string_view text, Ink ink) {
  const std::string clean = printable(text);
  const std::size_t taken = indent + label_columns;
  const std::size_t room = width_of(style) > taken + 10 ? width_of(style) - taken : 10;
  bool first = true;
  for (const std::string& part : wrap(clean, room)) {
    std::string begin(indent, ' ');
    if (first) {
      begin += paint(style, Ink::dim, label);
      begin.append(label_columns - std::min(label_columns, display_width(label)), ' ');
    } else {
      begin.append(label_columns, ' ');
    }
    line(out, begin + paint(style, ink, part));
    first = false;
  }
}

Table::Fit Table::fit(const Style& style) const {
  const std::size_t count = columns_.size();
  Fit fit{std::vector<bool>(count, false), std::vector<std::size_t>(count, 0), {}};
  for (const Row& row : rows_) {
    HUNCH_CHECK(row.cells.size() == count, "a table row has another number of cells than its table");
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t width = display_width(printable(row.cells[i].text));
      fit.widths[i] = std::max(fit.widths[i], width);
      if (width > 0) fit.shown[i] = true;
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    if (fit.shown[i]) fit.widths[i] = std::max(fit.widths[i], display_width(columns_[i].title));

  const auto total = [&] {
    std::size_t sum = indent_;
    bool first = true;
    for (std::size_t i = 0; i < count; ++i) {
      if (!fit.shown[i]) continue;
      sum += fit.widths[i] + (first ? 0 : kGap);
      first = false;
    }
    return sum;
  };
  // What the columns that may shrink can give.
  const auto slack = [&] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (fit.shown[i] && columns_[i].least > 0 && fit.widths[i] > columns_[i].least)
        sum += fit.widths[i] - columns_[i].least;
    return sum;
  };
  while (total() > width_of(style) + slack()) {
    std::size_t victim = count;
    for (std::size_t i = 0; i < count; ++i)
      if (fit.shown[i] && (victim == count || columns_[i].keep < columns_[victim].keep)) victim = i;
    std::size_t left = 0;
    for (std::size_t i = 0; i < count; ++i) left += fit.shown[i] ? 1 : 0;
    if (left <= 1) break;
    fit.shown[victim] = false;
    fit.dropped.push_back(columns_[victim].title);
  }
  // Take from the widest that may shrink, one column at a time.
  while (total() > width_of(style)) {
    std::size_t widest = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (!fit.shown[i] || columns_[i].least == 0 || fit.widths[i] <= columns_[i].least) continue;
      if (widest == count || fit.widths[i] > fit.widths[widest]) widest = i;
    }
    if (widest == count) break;
    --fit.widths[widest];
  }
  return fit;
}

std::vector<std::string> Table::dropped(const Style& style) const { return fit(style).dropped; }

void Table::render(const Style& style, std::string& out) const {
  const Fit fit = this->fit(style);
  const auto put = [&](const std::vector<Cell>& cells) {
    std::string text(indent_, ' ');
    bool first = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!fit.shown[i]) continue;
      if (!first) text.append(kGap, ' ');
      first = false;
      const std::string shown = shorten(printable(cells[i].text), fit.widths[i], style);
      const std::size_t blank = fit.widths[i] - std::min(fit.widths[i], display_width(shown));
      if (columns_[i].align == Align::right) text.append(blank, ' ');
      text += paint(style, cells[i].ink, shown);
      if (columns_[i].align == Align::left) text.append(blank, ' ');
    }
    line(out, text);
  };
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Ink::dim});
  put(titles);
  for (const Row& row : rows_) {
    put(row.cells);
    for (const Note& note : row.notes)
      labelled(out, style, indent_ + kGap, note.label, note.label.empty() ? 0 : kNoteLabel, note.text);
  }
}

}  // namespace hunch::report::terminal
