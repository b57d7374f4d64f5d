// Puts a pair of forwards together: steps aligned, equal ones gathered into items, each judged against the
// scatter of its runs, explained by the findings about it, and added up. See diff.h for what holds.
#include "hunch/analysis/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "hunch/analysis/diff/facts.h"
#include "hunch/analysis/diff/pairing.h"
#include "hunch/analysis/diff/reasons.h"
#include "hunch/analysis/diff/steps.h"
#include "hunch/base/check.h"

namespace hunch::analysis::diff {
namespace {

constexpr std::size_t kNoStep = static_cast<std::size_t>(-1);

// The steps of an item on each side.
struct Group {
  Item item;
  std::vector<std::size_t> before, after;
};

// Time of these steps over the runs that have all of them.
Sample sample_of(const Steps& steps, const std::vector<std::size_t>& which) {
  if (which.empty()) return {};
  const trace::Trace& trace = *steps.analysis->trace;
  std::vector<int64_t> values;
  int64_t representative = 0;
  for (std::size_t run = 0; run < steps.in_run.size(); ++run) {
    int64_t sum = 0;
    bool whole = true;
    for (const std::size_t step : which) {
      const EventId event = steps.in_run[run][step];
      if (event == kNone) {
        whole = false;
        break;
      }
      sum += trace.duration[event];
    }
    if (whole) values.push_back(sum);
    if (run == steps.run) representative = sum;
  }
  return Sample::of(representative, std::move(values));
}

class ForwardComparer {
 public:
  ForwardComparer(const Side& before, const Side& after, const Pairing::Two& two)
      : two_(two),
        before_(make_steps(*before.analysis, *two.before, words_)),
        after_(make_steps(*after.analysis, *two.after, words_)),
        before_findings_(findings_of(before, two.before->range)),
        after_findings_(findings_of(after, two.after->range)),
        why_before_(before_, before_findings_),
        why_after_(after_, after_findings_) {}

  ForwardDiff compare() {
    result_.before_range = two_.before->range;
    result_.after_range = two_.after->range;
    result_.before_runs = static_cast<int64_t>(two_.before->runs.size());
    result_.after_runs = static_cast<int64_t>(two_.after->runs.size());
    result_.before_backend = two_.before->backend;
    result_.after_backend = two_.after->backend;
    gather_totals();
    gather_items();
    const FindingChange change = change_of(before_findings_, after_findings_);
    result_.findings_appeared = change.appeared;
    result_.findings_vanished = change.vanished;
    return std::move(result_);
  }

 private:
  // What makes steps one item: kind, family, the names and ops of both sides, the reason.
  using Key = std::tuple<ItemKind, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, const rules::Finding*>;

  template <class Get>
  static Sample over_runs(const Forward& forward, std::size_t representative, Get get) {
    std::vector<int64_t> values;
    for (const ForwardRun& run : forward.runs) values.push_back(get(run));
    return Sample::of(get(forward.runs[representative]), std::move(values));
  }

  template <class Get>
  void total(std::string name, bool is_time, bool is_bytes, Get get) {
    Total one{std::move(name),
              is_time,
              is_bytes,
              over_runs(*two_.before, before_.run, get),
              over_runs(*two_.after, after_.run, get),
              {}};
    one.verdict = is_time ? judge_time(one.before, one.after) : judge_count(one.before, one.after);
    result_.totals.push_back(std::move(one));
  }

  void gather_totals() {
    total("device_ns", true, false, [](const ForwardRun& run) { return run.device_ns; });
    total("busy_ns", true, false, [](const ForwardRun& run) { return run.busy_ns; });
    total("host_ns", true, false, [](const ForwardRun& run) { return run.host_ns; });
    total("kernels", false, false, [](const ForwardRun& run) { return run.kernels; });
    total("memcpy", false, false, [](const ForwardRun& run) { return run.memcpys; });
    total("memset", false, false, [](const ForwardRun& run) { return run.memsets; });
    const auto known = [](const Forward* forward) {
      return std::all_of(forward->runs.begin(), forward->runs.end(),
                         [](const ForwardRun& run) { return run.peak_bytes.has_value(); });
    };
    if (known(two_.before) && known(two_.after))
      total("peak_bytes", false, true, [](const ForwardRun& run) { return run.peak_bytes.value_or(0); });
  }

  void gather_items() {
    const auto pairs = align(before_.symbols, after_.symbols);
    std::size_t i = 0, j = 0;
    for (std::size_t at = 0; at <= pairs.size(); ++at) {
      const bool last = at == pairs.size();
      const std::size_t to_i = last ? before_.symbols.size() : pairs[at].first;
      const std::size_t to_j = last ? after_.symbols.size() : pairs[at].second;
      for (; i < to_i; ++i) add(i, kNoStep);
      for (; j < to_j; ++j) add(kNoStep, j);
      if (!last) add(i++, j++);
    }
    result_.warnings = size_warnings(before_, after_, pairs);
    for (Group& group : groups_) {
      finish(group);
      Item& item = group.item;
      Ns& part = item.kind == ItemKind::appeared   ? result_.account.appeared
                 : item.kind == ItemKind::vanished ? result_.account.vanished
                 : item.time.differs()             ? result_.account.changed
                                                   : result_.account.within_noise;
      part += item.difference();
      result_.items.push_back(std::move(item));
    }
    std::stable_sort(result_.items.begin(), result_.items.end(), [](const Item& a, const Item& b) {
      if (a.told() != b.told()) return a.told();
      return std::abs(a.difference()) > std::abs(b.difference());
    });
    const Sample& device_before = result_.totals.front().before;
    const Sample& device_after = result_.totals.front().after;
    HUNCH_CHECK(result_.account.sum() == device_after.value - device_before.value);
  }

  // A step of one side or of both goes into its item.
  void add(std::size_t before, std::size_t after) {
    const auto name = [](const Steps& steps, std::size_t step) {
      return step == kNoStep ? 0U : steps.symbols[step].name + 1;
    };
    const auto op = [this](const Steps& steps, std::size_t step) {
      return step == kNoStep ? 0U : words_.of(bare(steps.analysis->outer_op(steps.work()[step]))) + 1;
    };
    const Symbol& symbol = before != kNoStep ? before_.symbols[before] : after_.symbols[after];
    const ItemKind kind = before == kNoStep  ? ItemKind::appeared
                          : after == kNoStep ? ItemKind::vanished
                                             : ItemKind::paired;
    // Work that came or went for different reasons is told apart.
    const rules::Finding* why = kind == ItemKind::vanished   ? why_before_.about({before})
                                : kind == ItemKind::appeared ? why_after_.about({after})
                                                             : nullptr;
    const Key key{kind,
                  symbol.family,
                  name(before_, before),
                  name(after_, after),
                  op(before_, before),
                  op(after_, after),
                  why};
    const auto [found, fresh] = group_of_.try_emplace(key, groups_.size());
    if (fresh) groups_.push_back(start(kind, before, after));
    Group& group = groups_[found->second];
    ++group.item.calls;
    if (before != kNoStep) {
      group.before.push_back(before);
      group.item.before_events.push_back(source_index(before_, before));
    }
    if (after != kNoStep) {
      group.after.push_back(after);
      group.item.after_events.push_back(source_index(after_, after));
    }
  }

  static int64_t source_index(const Steps& steps, std::size_t step) {
    return steps.analysis->trace->source_index[steps.work()[step]];
  }

  Group start(ItemKind kind, std::size_t before, std::size_t after) const {
    Group group;
    Item& item = group.item;
    item.kind = kind;
    const Steps& steps = before != kNoStep ? before_ : after_;
    const EventId event = steps.work()[before != kNoStep ? before : after];
    const Analysis& analysis = *steps.analysis;
    item.op = std::string(analysis.outer_op(event));
    item.family = std::string(name_of(analysis.facts_of(event).family));
    item.work = std::string(trace::name_of(analysis.trace->kind[event]));
    if (before != kNoStep) name_side(before_, before, item.before_name, item.before_full);
    if (after != kNoStep) name_side(after_, after, item.after_name, item.after_full);
    if (kind == ItemKind::paired)
      item.changes =
          fact_changes(*before_.analysis, before_.work()[before], *after_.analysis, after_.work()[after]);
    return group;
  }

  static void name_side(const Steps& steps, std::size_t step, std::string& readable, std::string& full) {
    const EventId event = steps.work()[step];
    full = std::string(steps.analysis->trace->name_of(event));
    readable = steps.analysis->facts_of(event).readable;
    if (readable.empty()) readable = full;
  }

  void finish(Group& group) const {
    Item& item = group.item;
    item.before = sample_of(before_, group.before);
    item.after = sample_of(after_, group.after);
    if (item.kind == ItemKind::paired) item.time = judge_time(item.before, item.after, item.calls);
    if (!item.told()) return;
    const rules::Finding* then = why_before_.about(group.before);
    const rules::Finding* now = why_after_.about(group.after);
    // What holds on both sides explains no difference between them.
    if (then != nullptr && now != nullptr && then->rule == now->rule) then = now = nullptr;
    if (then != nullptr)
      item.reasons.push_back(
          {then->rule, item.kind == ItemKind::paired ? "before: " + then->cause : then->cause});
    if (now != nullptr)
      item.reasons.push_back(
          {now->rule, item.kind == ItemKind::paired ? "after: " + now->cause : now->cause});
    if (result_.backend_changed() && belongs_to_attention(item, then, now))
      item.reasons.push_back(
          {"", fmt::format("the attention went from {} to {}", backend_text(result_.before_backend),
                           backend_text(result_.after_backend))});
  }

  static std::string backend_text(const std::string& backend) { return backend.empty() ? "none" : backend; }

  static bool belongs_to_attention(const Item& item, const rules::Finding* then, const rules::Finding* now) {
    const auto unfused = [](const rules::Finding* finding) {
      return finding != nullptr && finding->rule == "unfused_attention";
    };
    return unfused(then) || unfused(now) || item.family.rfind("attention_", 0) == 0 ||
           item.op.find("scaled_dot_product") != std::string::npos;
  }

  const Pairing::Two two_;
  Words words_;
  const Steps before_, after_;
  const std::vector<rules::Finding> before_findings_, after_findings_;
  const Explainer why_before_, why_after_;
  std::vector<Group> groups_;
  std::map<Key, std::size_t> group_of_;
  ForwardDiff result_;
};

std::string device_names(const Side& side) {
  std::vector<std::string> names;
  for (const auto& device : side.analysis->trace->devices)
    if (std::find(names.begin(), names.end(), device.name) == names.end()) names.push_back(device.name);
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string_view name_of(ItemKind kind) {
  switch (kind) {
    case ItemKind::appeared:
      return "appeared";
    case ItemKind::vanished:
      return "vanished";
    case ItemKind::paired:
      return "paired";
  }
  return "paired";
}

bool ForwardDiff::unchanged() const {
  return !backend_changed() && findings_appeared.empty() && findings_vanished.empty() &&
         std::none_of(items.begin(), items.end(), [](const Item& item) { return item.told(); }) &&
         std::none_of(totals.begin(), totals.end(), [](const Total& one) { return one.verdict.differs(); });
}

base::Result<Diff> compare(const Side& before, const Side& after, const std::string& range) {
  HUNCH_ASSIGN(const Pairing pairing, pair_forwards(before, after, range));
  Diff diff;
  diff.only_before = pairing.only_before;
  diff.only_after = pairing.only_after;
  const std::string device_before = device_names(before), device_after = device_names(after);
  if (device_before != device_after && !device_before.empty() && !device_after.empty())
    diff.warnings.push_back(
        fmt::format("other devices: {} before, {} after; times compare the devices as well", device_before,
                    device_after));
  diff.warnings.insert(diff.warnings.end(), pairing.warnings.begin(), pairing.warnings.end());
  for (const Pairing::Two& two : pairing.pairs)
    diff.forwards.push_back(ForwardComparer(before, after, two).compare());
  return diff;
}

}  // namespace hunch::analysis::diff
