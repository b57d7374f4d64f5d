// See the header. What recorded no kernel is refused, never compared: "no kernels" is not "faster".
#include "hunch/analysis/diff/pairing.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/strings.h"

namespace hunch::analysis::diff {
namespace {

using base::ErrorCode;

base::Error error_in(const Side& side, std::string message, std::string remedy) {
  base::Error error;
  error.file = side.name;
  error.message = std::move(message);
  error.remedy = std::move(remedy);
  return error;
}

const Forward* find(const Side& side, std::string_view name) {
  for (const Forward& forward : side.analysis->forwards)
    if (forward.range == name) return &forward;
  return nullptr;
}

std::vector<std::string_view> names(const Side& side) {
  std::vector<std::string_view> all;
  for (const Forward& forward : side.analysis->forwards) all.push_back(forward.range);
  return all;
}

// "a, b, c and 5 more".
std::string list(const std::vector<std::string_view>& all) {
  constexpr std::size_t kMost = 4;
  const std::size_t told = std::min(all.size(), kMost);
  std::string text = fmt::format("{}", fmt::join(all.begin(), all.begin() + static_cast<long>(told), ", "));
  if (all.size() > told) text += fmt::format(" and {} more", all.size() - told);
  return text;
}

base::Result<const Forward*> require(const Side& side, std::string_view name) {
  if (const Forward* found = find(side, name)) return found;
  const auto all = names(side);
  const auto close = base::closest(name, all);
  return base::fail(
      error_in(side, fmt::format("--range {}: the trace has no such range", name),
               close.empty() ? fmt::format("one of {}", list(all)) : base::did_you_mean(name, all)));
}

bool has_kernels(const Forward& forward) {
  return std::any_of(forward.runs.begin(), forward.runs.end(),
                     [](const ForwardRun& run) { return run.kernels > 0; });
}

base::Status require_work(const Side& side) {
  if (!side.analysis->timeline.device_order.empty()) return {};
  return base::fail(error_in(side, "the trace holds no device work, so there is nothing to compare",
                             "record with the device's activities, and until its work is done"));
}

base::Status require_kernels(const Side& side, const Forward& forward) {
  if (has_kernels(forward)) return {};
  return base::fail(
      error_in(side, fmt::format("range {} ran no kernel, so there is nothing to compare", forward.range),
               "a range that launches the work"));
}

// "A=B" where both are ranges; a name may hold "=" itself.
base::Result<Pairing::Two> named(const Side& before, const Side& after, const std::string& range) {
  if (const Forward* a = find(before, range), *b = find(after, range); a != nullptr && b != nullptr)
    return Pairing::Two{a, b};
  const auto equal = range.find('=');
  for (auto at = equal; at != std::string::npos; at = range.find('=', at + 1)) {
    const Forward* a = find(before, range.substr(0, at));
    const Forward* b = find(after, range.substr(at + 1));
    if (a != nullptr && b != nullptr) return Pairing::Two{a, b};
  }
  const std::string_view text = range;
  HUNCH_ASSIGN(const Forward* a, require(before, text.substr(0, equal)));
  HUNCH_ASSIGN(const Forward* b, require(after, equal == std::string::npos ? text : text.substr(equal + 1)));
  return Pairing::Two{a, b};
}

}  // namespace

base::Result<Pairing> pair_forwards(const Side& before, const Side& after, const std::string& range) {
  HUNCH_RETURN_IF_ERROR(require_work(before));
  HUNCH_RETURN_IF_ERROR(require_work(after));
  Pairing pairing;
  const auto& all_before = before.analysis->forwards;
  const auto& all_after = after.analysis->forwards;
  if (!range.empty() || (all_before.size() == 1 && all_after.size() == 1)) {
    Pairing::Two two;
    if (range.empty()) {
      two = {&all_before.front(), &all_after.front()};
    } else {
      HUNCH_ASSIGN(two, named(before, after, range));
    }
    HUNCH_RETURN_IF_ERROR(require_kernels(before, *two.before));
    HUNCH_RETURN_IF_ERROR(require_kernels(after, *two.after));
    pairing.pairs.push_back(two);
    return pairing;
  }
  std::vector<std::string_view> idle_in_both, idle_before, idle_after;
  for (const Forward& forward : all_before) {
    const Forward* other = find(after, forward.range);
    if (other == nullptr) {
      pairing.only_before.push_back(forward.range);
      continue;
    }
    const bool work_before = has_kernels(forward), work_after = has_kernels(*other);
    if (work_before && work_after)
      pairing.pairs.push_back({&forward, other});
    else
      (!work_before && !work_after ? idle_in_both
       : work_before               ? idle_after
                                   : idle_before)
          .push_back(forward.range);
  }
  const auto warn = [&](const std::vector<std::string_view>& idle, const std::string& where) {
    if (!idle.empty())
      pairing.warnings.push_back(fmt::format("not compared, without a kernel in {}: {}", where, list(idle)));
  };
  warn(idle_in_both, "either trace");
  warn(idle_before, before.name);
  warn(idle_after, after.name);
  for (const Forward& forward : all_after)
    if (find(before, forward.range) == nullptr) pairing.only_after.push_back(forward.range);
  if (!pairing.pairs.empty()) return pairing;
  if (!pairing.warnings.empty())
    return base::fail(ErrorCode::usage, "nothing to compare; ranges " + pairing.warnings.front(),
                      "ranges that launch work");
  return base::fail(ErrorCode::usage,
                    fmt::format("no range has the same name in both traces: {} has {}; {} has {}",
                                before.name, list(names(before)), after.name, list(names(after))),
                    "--range BEFORE=AFTER, two that do the same");
}

}  // namespace hunch::analysis::diff
