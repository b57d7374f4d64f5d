// What `hunch diff` prints: the two traces; for each pair of forwards its totals side by side, what appeared,
// vanished and changed with the reason, how these add up to the difference of device time to the nanosecond,
// and the findings that came or went; last the conditions of --fail-on that hold.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "hunch/base/strings.h"
#include "hunch/base/units.h"
#include "hunch/report/terminal/blocks.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report::terminal {
namespace {

using analysis::diff::ForwardDiff;
using analysis::diff::Item;
using analysis::diff::ItemKind;
using analysis::diff::Judgement;
using analysis::diff::Total;

constexpr std::size_t kLabel = 9;

std::string signed_text(int64_t value, std::string (*format)(int64_t)) {
  if (value == 0) return format(0);
  return (value > 0 ? "+" : "-") + format(std::abs(value));
}

std::string change_pct(int64_t before, int64_t after) {
  if (before <= 0 || before == after) return {};
  return fmt::format("{:+.1f} %", 100.0 * static_cast<double>(after - before) / static_cast<double>(before));
}

Ink ink_of(Judgement judgement) {
  if (judgement == Judgement::more) return Ink::bad;
  return judgement == Judgement::less ? Ink::good : Ink::dim;
}

std::string title_of(const Total& total) {
  if (total.name == "device_ns") return "device time";
  if (total.name == "busy_ns") return "busy time";
  if (total.name == "host_ns") return "host time";
  if (total.name == "peak_bytes") return "peak memory";
  if (total.name == "memcpy") return "copies";
  if (total.name == "memset") return "memsets";
  return total.name;
}

std::string verdict_text(const Total& total) {
  const auto& verdict = total.verdict;
  switch (verdict.judgement) {
    case Judgement::same:
      return "same";
    case Judgement::within_noise:
      return verdict.one_run ? "not told apart: one run has no spread" : "within noise";
    case Judgement::less:
    case Judgement::more:
      break;
  }
  const bool more = verdict.judgement == Judgement::more;
  std::string text = total.is_time ? (more ? "slower" : "faster") : (more ? "more" : "less");
  if (!total.is_time && !total.is_bytes) text = more ? "more" : "fewer";
  if (verdict.one_run && total.is_time) text += ", large, but one run has no spread";
  return text;
}

void totals(std::string& out, const Style& style, const ForwardDiff& diff) {
  Table table({{"", Align::left, 9},
               {"before", Align::right, 8},
               {"after", Align::right, 8},
               {"difference", Align::right, 7},
               {"", Align::right, 3},
               {"", Align::left, 6, 12}},
              2);
  for (const Total& total : diff.totals) {
    const int64_t before = total.before.median, after = total.after.median;
    if (!total.is_time && before == 0 && after == 0 && total.verdict.judgement == Judgement::same) continue;
    const auto format = total.is_time    ? base::format_ns
                        : total.is_bytes ? base::format_bytes
                                         : base::format_count;
    const Ink ink = ink_of(total.verdict.judgement);
    table.add({{title_of(total), Ink::plain},
               {format(before), Ink::plain},
               {format(after), Ink::plain},
               {before == after ? "" : signed_text(after - before, format), ink},
               {total.is_time || total.is_bytes ? change_pct(before, after) : "", ink},
               {verdict_text(total), ink}});
  }
  if (!diff.before_backend.empty() || !diff.after_backend.empty()) {
    const auto text = [](const std::string& backend) { return backend.empty() ? "none" : backend; };
    table.add(
        {{"attention", Ink::plain},
         {text(diff.before_backend), Ink::plain},
         {text(diff.after_backend), Ink::plain},
         {"", Ink::plain},
         {"", Ink::plain},
         {diff.backend_changed() ? "other backend" : "same", diff.backend_changed() ? Ink::warn : Ink::dim}});
  }
  table.render(style, out);
}

std::string change_text(const Item& item) {
  if (item.kind != ItemKind::paired) return std::string(analysis::diff::name_of(item.kind));
  if (item.time.judgement == Judgement::more) return "slower";
  if (item.time.judgement == Judgement::less) return "faster";
  const auto has = [&](std::string_view fact) {
    return std::any_of(item.changes.begin(), item.changes.end(),
                       [&](const auto& change) { return change.fact == fact; });
  };
  if (has("backend")) return "other backend";
  if (has("dtype")) return "other dtype";
  if (has("kernel")) return "other kernel";
  return "other op";
}

Ink change_ink(const Item& item) {
  if (item.kind == ItemKind::appeared) return Ink::bad;
  if (item.kind == ItemKind::vanished) return Ink::good;
  return item.time.differs() ? ink_of(item.time.judgement) : Ink::warn;
}

// "kernel: A -> B; dtype: bf16 -> f32".
std::string facts_text(const Item& item, const Style& style) {
  const char* arrow = style.unicode ? " \u2192 " : " -> ";
  std::string text;
  for (const auto& change : item.changes) {
    if (!text.empty()) text += "; ";
    if (change.fact == "kernel" && item.before_name == item.after_name)
      text += style.full_names ? fmt::format("kernel {}{}{}", change.before, arrow, change.after)
                               : "another instance of the kernel (--full-names tells)";
    else
      text += fmt::format("{} {}{}{}", change.fact, change.before, arrow, change.after);
  }
  return text;
}

void add_notes(Table& table, const Style& style, const Item& item) {
  const std::string facts = facts_text(item, style);
  if (!facts.empty()) table.note("now", facts);
  if (item.time.differs() && item.time.one_run)
    table.note("but", "one run has no spread: a large difference, not a measured one");
  for (const auto& reason : item.reasons)
    table.note("because", reason.rule.empty() ? reason.text : reason.rule + ": " + reason.text);
  if (!style.full_names) return;
  for (const std::string* name : {&item.before_full, &item.after_full})
    if (!name->empty() && *name != item.before_name && *name != item.after_name)
      table.note(name == &item.before_full ? "before" : "after", *name);
}

void items(std::string& out, const Style& style, const ForwardDiff& diff) {
  const auto told = static_cast<std::size_t>(
      std::count_if(diff.items.begin(), diff.items.end(), [](const Item& item) { return item.told(); }));
  if (told == 0) return;
  const std::size_t shown = style.top > 0 ? std::min(told, static_cast<std::size_t>(style.top)) : told;
  Table table({{"what", Align::left, 9},
               {"op", Align::left, 6, 12},
               {"kernel", Align::left, 7, 16},
               {"calls", Align::right, 4},
               {"before", Align::right, 5},
               {"after", Align::right, 5},
               {"difference", Align::right, 8}},
              2);
  std::string last_reason;
  const bool no_ops =
      std::all_of(diff.items.begin(), diff.items.end(), [](const Item& item) { return item.op.empty(); });
  for (std::size_t i = 0; i < shown; ++i) {
    const Item& item = diff.items[i];
    table.add({{change_text(item), change_ink(item)},
               {no_ops ? "" : std::string(op_or_none(item.op, true)), Ink::plain},
               {item.before_name.empty() ? item.after_name : item.before_name, Ink::plain},
               {base::format_count(item.calls), Ink::plain},
               {item.before_name.empty() ? "-" : base::format_ns(item.before.value), Ink::plain},
               {item.after_name.empty() ? "-" : base::format_ns(item.after.value), Ink::plain},
               {signed_text(item.difference(), base::format_ns), Ink::plain}});
    // The same reason below the row before is not said again.
    std::string reason;
    for (const auto& one : item.reasons) reason += one.rule + one.text;
    Item once = item;
    if (!reason.empty() && reason == last_reason) {
      once.reasons = {{"", "the same"}};
    }
    last_reason = reason;
    add_notes(table, style, once);
  }
  out += '\n';
  paragraph(out, style, 2, "What changed", Ink::accent);
  table.render(style, out);
  if (told > shown) {
    Ns rest = 0;
    for (std::size_t i = shown; i < told; ++i) rest += diff.items[i].difference();
    paragraph(out, style, 2,
              fmt::format("and {}: {} in all; --top 0 shows all",
                          plural(static_cast<int64_t>(told - shown), "more difference", "more differences"),
                          signed_text(rest, base::format_ns)),
              Ink::dim);
  }
}

std::string exact(int64_t ns) { return signed_text(ns, base::format_count) + " ns"; }

void account(std::string& out, const Style& style, const ForwardDiff& diff) {
  struct Part {
    std::string name;
    Ns sum = 0;
    int64_t kinds = 0, calls = 0;
  };
  std::vector<Part> parts = {{"vanished", diff.account.vanished, 0, 0},
                             {"appeared", diff.account.appeared, 0, 0},
                             {"changed time", diff.account.changed, 0, 0},
                             {"within noise", diff.account.within_noise, 0, 0}};
  for (const Item& item : diff.items) {
    Part& part = item.kind == ItemKind::vanished   ? parts[0]
                 : item.kind == ItemKind::appeared ? parts[1]
                 : item.time.differs()             ? parts[2]
                                                   : parts[3];
    ++part.kinds;
    part.calls += item.calls;
  }
  Table table({{"", Align::left, 9}, {"", Align::right, 9}, {"", Align::left, 5, 10}}, 4);
  for (const Part& part : parts)
    if (part.kinds > 0)
      table.add({{part.name, Ink::plain},
                 {exact(part.sum), Ink::plain},
                 {fmt::format("{} of {}", plural(part.calls, "piece of work", "pieces of work"),
                              plural(part.kinds, "kind", "kinds")),
                  Ink::dim}});
  const Total& device = diff.totals.front();
  table.add({{"sum", Ink::bold},
             {exact(diff.account.sum()), Ink::bold},
             {fmt::format("= {} - {} ns", base::format_count(device.after.value),
                          base::format_count(device.before.value)),
              Ink::dim}});
  out += '\n';
  paragraph(out, style, 2, "The difference of device time, accounted for (runs with the median time)",
            Ink::accent);
  table.render(style, out);
}

void finding_list(std::string& out, const Style& style, std::string_view title,
                  const std::vector<FindingRow>& rows) {
  if (rows.empty()) return;
  out += '\n';
  paragraph(out, style, 2, title, Ink::accent);
  std::size_t widest = 0;
  for (const FindingRow& row : rows) widest = std::max(widest, row.finding.rule.size());
  for (const FindingRow& row : rows) labelled(out, style, 4, row.finding.rule, widest + 2, row.finding.claim);
}

void forward(std::string& out, const Style& style, const DiffForward& row) {
  const ForwardDiff& diff = row.diff;
  out += '\n';
  const char* arrow = style.unicode ? " \u2192 " : " -> ";
  std::string head = diff.before_range;
  if (diff.after_range != diff.before_range) head += arrow + diff.after_range;
  head +=
      diff.before_runs == diff.after_runs
          ? fmt::format(": {} each", plural(diff.before_runs, "run", "runs"))
          : fmt::format(": {} before, {} after", plural(diff.before_runs, "run", "runs"), diff.after_runs);
  paragraph(out, style, 0, head, Ink::bold);
  for (const std::string& warning : diff.warnings)
    labelled(out, style, 2, "note", kLabel, warning, Ink::warn);
  totals(out, style, diff);
  if (diff.unchanged()) {
    const bool same = diff.account.sum() == 0 &&
                      std::all_of(diff.items.begin(), diff.items.end(),
                                  [](const Item& item) { return item.time.judgement == Judgement::same; });
    out += '\n';
    paragraph(out, style, 2,
              same ? "No differences: the same work in the same time."
                   : "No differences beyond noise: the same work, and no time differs by more than its runs "
                     "scatter.",
              Ink::good);
    if (same) return;
  }
  items(out, style, diff);
  account(out, style, diff);
  finding_list(out, style, "Findings that are gone", row.vanished);
  finding_list(out, style, "Findings that are new", row.appeared);
}

std::string trace_text(const std::string& source, const std::string& device) {
  return device.empty() ? source : source + ", " + device;
}

}  // namespace

std::string render(const DiffReport& report, const Style& style) {
  std::string out;
  labelled(out, style, 0, "before", kLabel, trace_text(report.before, report.before_device));
  labelled(out, style, 0, "after", kLabel, trace_text(report.after, report.after_device));
  for (const std::string& warning : report.warnings)
    labelled(out, style, 0, "note", kLabel, warning, Ink::warn);
  for (const DiffForward& row : report.forwards) forward(out, style, row);
  const auto ranges = [&](std::string_view label, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out += '\n';
    paragraph(out, style, 0, fmt::format("{}: {}", label, base::join(names, ", ")), Ink::warn);
  };
  ranges("Ranges only before", report.only_before);
  ranges("Ranges only after", report.only_after);
  if (!report.failures.empty()) out += '\n';
  for (const auto& failure : report.failures)
    paragraph(out, style, 0, fmt::format("FAILED {}: {}", failure.condition, failure.what), Ink::bad);
  return out;
}

}  // namespace hunch::report::terminal
