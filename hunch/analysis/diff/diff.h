// Two traces, before and after: what appeared, vanished, changed time beyond noise, and why.
//
// In:  two analyses with their findings, and which ranges to compare. Out: plain data, one ForwardDiff for
// each pair of forwards. Holds: the items of a pair add up to the difference of device time of the two
// representative runs (the run with the median device time), to the nanosecond; nothing is claimed that the
// scatter of the runs could be (noise.h); a finding is cited for an item only if it is about that very work.
// Errors: usage, where there is nothing to compare: no device work, no kernel, no range in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/diff/noise.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/base/result.h"

namespace hunch::analysis::diff {

struct Side {
  const Analysis* analysis = nullptr;
  const std::vector<rules::Finding>* findings = nullptr;
  std::string name;  // how messages call it: the file's name
};

enum class ItemKind { appeared, vanished, paired };
std::string_view name_of(ItemKind kind);  // "appeared", "vanished", "paired"

// A fact of an item that is not what it was: "backend", "dtype", "tensor cores", "kernel".
struct FactChange {
  std::string fact, before, after;
};

struct Reason {
  std::string rule;  // the finding's; empty: no finding, the reason itself says all
  std::string text;
};

// Work of one kind: the same op, family and kernels on each side. Times are of all its pieces together.
struct Item {
  ItemKind kind = ItemKind::paired;
  std::string op;  // outermost; empty: launched by no op of the trace
  std::string family;
  std::string work;                     // "kernel", "memcpy", "memset"
  std::string before_name, after_name;  // readable; empty where it is not on that side
  std::string before_full, after_full;  // as the trace has them
  int64_t calls = 0;                    // of the representative runs
  Sample before, after;                 // device ns; all zero where it is not on that side
  Verdict time;                         // paired items only
  std::vector<FactChange> changes;      // paired items only
  std::vector<Reason> reasons;
  std::vector<int64_t> before_events, after_events;  // source_index, of the representative runs

  Ns difference() const { return after.value - before.value; }
  bool told() const { return kind != ItemKind::paired || time.differs() || !changes.empty(); }
};

struct Total {
  std::string name;  // "device_ns", "busy_ns", "host_ns", "peak_bytes", "kernels", "memcpy", "memset"
  bool is_time = false, is_bytes = false;
  Sample before, after;
  Verdict verdict;
};

// Where the difference of device time comes from; the four add up to it.
struct Account {
  Ns appeared = 0, vanished = 0, changed = 0, within_noise = 0;
  Ns sum() const { return appeared + vanished + changed + within_noise; }
};

struct ForwardDiff {
  std::string before_range, after_range;
  int64_t before_runs = 0, after_runs = 0;
  std::string before_backend, after_backend;
  std::vector<Total> totals;
  std::vector<Item> items;  // what is told first, the largest difference on top; then the rest
  Account account;          // account.sum() == device_ns after less before, of the representative runs
  std::vector<rules::Finding> findings_appeared, findings_vanished;
  std::vector<std::string> warnings;

  bool backend_changed() const { return before_backend != after_backend; }
  // Nothing that can be told apart from noise: no item told, no total, finding or backend differs.
  bool unchanged() const;
};

struct Diff {
  std::vector<ForwardDiff> forwards;
  std::vector<std::string> only_before, only_after;  // ranges
  std::vector<std::string> warnings;                 // about the two traces: other devices, ranges left out
};

// `range`: empty, "NAME", or "BEFORE=AFTER".
base::Result<Diff> compare(const Side& before, const Side& after, const std::string& range);

}  // namespace hunch::analysis::diff
