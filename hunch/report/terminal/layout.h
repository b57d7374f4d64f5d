// Lines for a terminal: padding, cutting and wrapping by display columns, colours that vanish when they are
// off, and tables that give way to the width. Every text passes through printable(): nothing in a trace
// reaches the terminal raw. No line ends in a blank.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/report/report.h"

namespace hunch::report::terminal {

enum class Ink { plain, bold, dim, good, bad, warn, accent };

// `text` in colour, or as it is when the style has none.
std::string paint(const Style& style, Ink ink, std::string_view text);

// At most `columns` wide: the middle is left out where it does not fit.
std::string shorten(std::string_view text, std::size_t columns, const Style& style);

// Words filled into lines of at most `columns`; a word that is longer stands alone on its line.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  int keep = 0;           // higher stays longer when the width is short; 0 is dropped first
  std::size_t least = 0;  // > 0: may be shortened to this many columns before any column is dropped
};

struct Cell {
  std::string text;
  Ink ink = Ink::plain;
};

class Table {
 public:
  Table(std::vector<Column> columns, std::size_t indent) : columns_(std::move(columns)), indent_(indent) {}

  void add(std::vector<Cell> row) { rows_.push_back({std::move(row), {}}); }
  // Lines of their own below the row added last: a label and a text that wraps beside it.
  void note(std::string label, std::string text) {
    rows_.back().notes.push_back({std::move(label), std::move(text)});
  }
  bool empty() const { return rows_.empty(); }

  // Columns without any text are left out. Appends to `out`.
  void render(const Style& style, std::string& out) const;
  // Titles of the columns that the width leaves no room for.
  std::vector<std::string> dropped(const Style& style) const;

 private:
  struct Note {
    std::string label;
    std::string text;
  };
  struct Row {
    std::vector<Cell> cells;
    std::vector<Note> notes;
  };
  struct Fit {
    std::vector<bool> shown;
    std::vector<std::size_t> widths;
    std::vector<std::string> dropped;
  };
  Fit fit(const Style& style) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
  std::size_t indent_ = 0;
};

// "label   text": the label in its column, the text wrapped to the right of it. `label` is `label_columns`
// wide.
void labelled(std::string& out, const Style& style, std::size_t indent, std::string_view label,
              std::size_t label_columns, std::string_view text, Ink ink = Ink::plain);

// A line, with the blanks at its end removed.
void line(std::string& out, std::string_view text);
// Wrapped lines, each indented.
void paragraph(std::string& out, const Style& style, std::size_t indent, std::string_view text,
               Ink ink = Ink::plain);

}  // namespace hunch::report::terminal
