// Picks the drawing of a document, and holds the two short ones: doctor and name.
#include "hunch/report/terminal/terminal_renderer.h"

#include <algorithm>

#include "hunch/report/terminal/layout.h"
#include "hunch/report/utf8.h"

namespace hunch::report::terminal {
namespace {

constexpr std::size_t kStatusColumns = 7;  // "missing"

std::string or_dash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

std::string tensor_cores_text(const std::optional<bool>& uses) {
  if (!uses) return "-";
  return *uses ? "yes" : "no";
}

}  // namespace

std::string render(const DoctorReport& report, const Style& style) {
  std::string out;
  std::size_t widest = 0;
  for (const DoctorItem& item : report.items) widest = std::max(widest, display_width(item.name));
  for (const DoctorItem& item : report.items) {
    const Ink ink = item.status == "ok" ? Ink::good : item.status == "missing" ? Ink::bad : Ink::warn;
    const std::size_t taken = widest + kStatusColumns + 4;
    const std::size_t width = static_cast<std::size_t>(std::max(style.width, 20));
    bool first = true;
    for (const std::string& part : wrap(printable(item.detail), width > taken + 10 ? width - taken : 10)) {
      std::string begin(taken, ' ');
      if (first)
        begin = item.name + std::string(widest - display_width(item.name) + 2, ' ') +
                paint(style, ink, item.status) +
                std::string(kStatusColumns + 2 - std::min(kStatusColumns, item.status.size()), ' ');
      line(out, begin + part);
      first = false;
    }
  }
  return out;
}

std::string render(const NameReport& report, const Style& style) {
  std::string out;
  for (const NameRow& row : report.names) {
    const auto& facts = row.facts;
    if (!out.empty()) out += '\n';
    paragraph(out, style, 0, row.name, Ink::bold);
    const auto put = [&](std::string_view label, std::string_view text) {
      labelled(out, style, 2, label, 15, text);
    };
    put("readable", or_dash(facts.readable));
    put("family", analysis::name_of(facts.family));
    put("provider", or_dash(facts.provider));
    put("backend", or_dash(facts.backend));
    put("dtype", or_dash(facts.dtype));
    put("tensor cores", tensor_cores_text(facts.tensor_cores));
    put("tile", or_dash(facts.tile));
    put("architecture", or_dash(facts.architecture));
  }
  return out;
}

std::string TerminalRenderer::render(const Document& document, const Style& style) const {
  return std::visit([&](const auto& report) { return terminal::render(report, style); }, document);
}

}  // namespace hunch::report::terminal
