// A pipe table of GitHub's Markdown, and the escaping of what goes into it and beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hunch::report::markdown {

// Text as plain words: characters that Markdown or HTML would read are escaped, line ends become blanks.
std::string escaped(std::string_view text);
// Text in a code span, whatever backticks it holds; "|" escaped as tables need it.
std::string code(std::string_view text);

// Titles that begin with ">" are of columns that align right.
class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }  // Markdown already
  bool empty() const { return rows_.empty(); }
  std::string text() const;  // columns without any text are left out

 private:
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hunch::report::markdown
