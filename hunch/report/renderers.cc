// The table of renderers: one line a format. Adding one is a folder beside this file and a line here.
#include <array>

#include "hunch/report/csv/csv_renderer.h"
#include "hunch/report/json/json_renderer.h"
#include "hunch/report/markdown/markdown_renderer.h"
#include "hunch/report/report.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report {

std::span<const Renderer* const> renderers() {
  static const terminal::TerminalRenderer kText;
  static const json::JsonRenderer kJson;
  static const csv::CsvRenderer kCsv;
  static const markdown::MarkdownRenderer kMarkdown;
  static const std::array<const Renderer*, 4> kRenderers = {&kText, &kJson, &kCsv, &kMarkdown};
  return kRenderers;
}

const Renderer* find_renderer(std::string_view name) {
  for (const Renderer* renderer : renderers())
    if (renderer->name() == name) return renderer;
  return nullptr;
}

}  // namespace hunch::report
