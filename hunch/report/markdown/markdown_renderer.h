// Markdown for issues, pull requests and pages, as GitHub renders it: a heading a range, pipe tables,
// findings as a list. Texts from a trace are escaped: none of them ends a cell, opens a tag or starts a link.
#pragma once

#include "hunch/report/report.h"

namespace hunch::report::markdown {

class MarkdownRenderer final : public Renderer {
 public:
  std::string_view name() const override { return "markdown"; }
  std::string render(const Document& document, const Style& style) const override;
};

}  // namespace hunch::report::markdown
