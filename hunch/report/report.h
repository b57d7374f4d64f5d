// The report as plain data: what a verb found, before anybody draws it. A renderer is a folder here and a
// line in renderers.cc; it turns a Document into text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hunch/analysis/diff/diff.h"
#include "hunch/analysis/rank_identity.h"
#include "hunch/analysis/ranks.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/guess/guess.h"

namespace hunch::report {

using analysis::Ns;

// A per-forward value over the runs of a range; min == max where all runs agree.
struct Spread {
  int64_t min = 0;
  int64_t median = 0;
  int64_t max = 0;
  bool same() const { return min == max; }
};

struct Step {        // one device event of a forward, in launch order
  std::string kind;  // "kernel", "memcpy", "memset"
  std::string family;
  std::string op;        // outermost op under the range, "aten::masked_fill"; empty: launched by none
  std::string inner_op;  // innermost
  std::string readable;
  Ns device_ns = 0;
  int64_t event = 0;     // source_index
  std::size_t row = 0;   // its row in ExplainReport::kernels: registers, block, occupancy
  bool launched = true;  // the call that launched it is in the trace
};

// A part of a run's wall time.
struct AccountingPart {
  std::string name;  // "kernel", "memcpy", "memset", then the parts of analysis/accounting.h but "busy"
  std::string what;  // one clause for people
  Ns ns = 0;
};

// Where the wall time of one run went; the parts add up to it, to the nanosecond. Work that overlaps counts
// once: as a kernel where any runs, else as a copy, else as a memset.
struct AccountingRow {
  int64_t run = 0;  // from 1: the run with the median wall time
  Ns wall_ns = 0;
  Ns sum_ns = 0;                                               // of the parts, added up here
  Ns kernel_sum_ns = 0, memcpy_sum_ns = 0, memset_sum_ns = 0;  // durations as recorded, overlaps in each
  Ns overlap_ns = 0;                                           // these sums less the time the device was busy
  std::vector<AccountingPart> parts;                           // all, also those of 0 ns
};

// How a forward is split up on request.
enum class Per { none, op, layer, step };
std::string_view name_of(Per per);  // "none", "op", "layer", "step"

struct PerRow {
  std::string name;              // the outermost op (empty: no op launched it), the layer, "run 2"
  std::optional<int64_t> calls;  // op: calls of it that launched work
  int64_t kernels = 0, memcpy = 0, memset = 0;
  Ns device_ns = 0;
  std::optional<Ns> host_ns, busy_ns;  // step
};

struct ForwardRow {
  std::string range;
  std::string found_by;  // analysis::name_of(ForwardSource): "annotation", "step", ...
  int64_t runs = 0;
  Spread kernels, memcpy, memset, device_ns, busy_ns, host_ns;
  std::optional<Spread> peak_bytes;
  std::string backend;
  std::vector<Step> sequence;               // of the first run
  std::optional<AccountingRow> accounting;  // nothing: a run without any time of its own
  // By op or layer, of the run of `per_run`, whose rows add up to it; or a row a run.
  std::vector<PerRow> per;
  int64_t per_run = 0;    // from 1; 0: all runs
  std::string layers_by;  // "module", "repetition", "none": how layers were found
};

struct OccupancyCell {
  std::optional<double> reported_pct;
  std::optional<double> theoretical_pct;
  std::optional<double> grid_limited_pct;  // the same with this launch's grid
  std::string limited_by;
  std::optional<double> driver_pct = {};  // theoretical, by the driver's own calculator; hunch's recordings
};

// Device work of one forward that shares name, launching op, geometry and resources.
struct KernelRow {
  std::string range;
  std::string name;
  std::string readable;
  std::string family;
  std::string kind;  // "kernel", "memcpy", "memset"
  std::string op;
  std::string inner_op;
  bool launched = true;  // a call that launched one of them is in the trace
  int64_t calls = 0;     // in one forward, median over the range's runs
  Ns device_ns = 0;      // in one forward, median over the range's runs
  int registers = -1;
  int64_t shared_bytes = -1;
  std::string block, grid;  // "128x1x1"; empty: not said
  std::optional<OccupancyCell> occupancy;
};

struct Evidence {     // an event that a finding or a verdict points at
  int64_t event = 0;  // source_index
  std::string kind;   // "kernel", "op", "runtime_call", ...
  std::string name;   // readable for device work
  std::string op;     // device work: outermost op that launched it; empty: unlinked
  Ns start_ns = 0;    // since the trace's first event
  Ns duration_ns = 0;
};

struct FindingRow {
  analysis::rules::Finding finding;
  std::vector<int64_t> events;     // source indices
  std::vector<Evidence> evidence;  // the same events, told
};

struct VerdictRow {
  std::optional<int64_t> rank;  // of several ranks: which, and its file
  std::string source;
  guess::Verdict verdict;
  std::vector<int64_t> events;     // source indices
  std::vector<Evidence> evidence;  // the same events, told
};

struct TraceSummary {
  std::string source, format, device;
  uint64_t events = 0;
  Ns span_ns = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
};

struct Statistics {
  uint64_t events = 0, skipped = 0, device_events = 0, unattributed_device_events = 0,
           unlinked_device_events = 0;
  Ns device_ns = 0, unattributed_device_ns = 0;  // sums of durations over the whole trace
  std::vector<std::pair<std::string, uint64_t>> skipped_reasons;
  std::vector<std::string> warnings;
};

struct ExplainReport {
  TraceSummary trace;
  std::vector<ForwardRow> forwards;
  std::vector<KernelRow> kernels;
  std::vector<FindingRow> findings;
  Statistics statistics;
  Per per = Per::none;
};

// The first call of a variant, on the host: what is paid once.
struct FirstCall {
  Ns prepare_ns = 0;          // before it: masks made, plans asked for
  std::optional<Ns> host_ns;  // of the call itself, until it returned
  Ns total_ns() const { return prepare_ns + host_ns.value_or(0); }
};

struct VariantRow {
  std::string name;      // "flash", "torch.flash"
  std::string backend;   // "flash"
  std::string provider;  // "native", "torch"
  bool available = false;
  std::vector<std::string> reasons;  // why not
  std::optional<Spread> kernels, memcpy, memset, device_ns, host_ns, peak_bytes;
  std::optional<FirstCall> first_call;
  std::optional<OccupancyCell> occupancy;            // of the kernel with the most time
  std::optional<double> max_abs_error, error_bound;  // NaN: the output held one where the reference does not
  std::optional<bool> error_ok;                      // within the bound
  std::vector<VerdictRow> guess;
  std::vector<FindingRow> findings;
  std::string trace_file;  // empty: not written
};

struct RunReport {
  std::string device_name, device_kind, device_features;
  int threads = 0;
  std::string problem_text;
  std::vector<std::pair<std::string, std::string>> problem;  // fields in order, values as JSON text
  int wait = 0, warmup = 0, active = 0;
  uint64_t seed = 0;
  // Of the variants that run, native first: name, and what it is ("PyTorch 2.11.0, CUDA 13.0"; empty: hunch).
  std::vector<std::pair<std::string, std::string>> providers;
  std::vector<VariantRow> variants;
};

// Of several ranks: verdicts name theirs, by rank and then as of one trace.
struct CheckReport {
  std::string trace, guess;
  std::vector<VerdictRow> verdicts;
  int64_t ranks = 0;  // 0: one trace alone
  std::vector<std::string> warnings = {};
};

struct DoctorItem {
  std::string name;    // "CUDA", "oneDNN"
  std::string status;  // "ok", "missing", "off"
  std::string detail;  // version, or what to do
};
struct DoctorReport {
  std::vector<DoctorItem> items;
};

struct NameRow {
  std::string name;
  analysis::KernelFacts facts;
};
struct NameReport {
  std::vector<NameRow> names;
};

struct DiffForward {
  analysis::diff::ForwardDiff diff;
  std::vector<FindingRow> appeared, vanished;  // its findings, with their events in the trace that has them
};
struct DiffFailure {  // a --fail-on condition that holds
  std::string condition, what;
};
struct DiffReport {
  std::string before, after;                // the traces
  std::string before_device, after_device;  // empty: not said
  std::vector<DiffForward> forwards;
  std::vector<std::string> only_before, only_after;  // ranges
  std::vector<std::string> warnings;
  std::vector<DiffFailure> failures;
};

// What is kept of one rank's trace: its report without what only a single trace shows (sequence, account).
struct RankTrace {
  analysis::RankIdentity identity;
  TraceSummary trace;
  std::vector<ForwardRow> forwards;  // the last may be the profiler's steps, beside ranges of other names
  std::vector<analysis::RankRange> ranges;  // of each forward
  std::vector<KernelRow> kernels;
  std::vector<FindingRow> findings;
  Statistics statistics;
};

// A range on one rank; medians over its runs.
struct RankForward {
  std::size_t rank = 0;  // index into RanksReport::ranks
  int64_t runs = 0;
  Spread kernels, memcpy, memset;
  Ns device_ns = 0, host_ns = 0, busy_ns = 0;
  Ns wall_ns = 0, idle_ns = 0, compute_ns = 0, communication_ns = 0, exposed_ns = 0;
  double busy_pct = 0;          // of the wall time; the device worked, for this run or another
  std::optional<Ns> waited_ns;  // in collectives, for the last rank; nothing: cannot be told
};

// Device work that shares name and launching op, over ranks.
struct RanksKernel {
  KernelRow row;  // geometry only where all launches have the same; calls and device_ns unused
  std::vector<std::size_t> ranks;
  std::vector<Ns> times;  // of these ranks
  Spread calls, device_ns;
};

struct RanksForward {
  std::string range, found_by;
  std::vector<RankForward> ranks;        // those that have it
  Spread runs, kernels, memcpy, memset;  // over ranks and runs
  Spread device_ns, host_ns, busy_ns, wall_ns, compute_ns, communication_ns, exposed_ns;  // over ranks
  double least_busy_pct = 0, median_busy_pct = 0, most_busy_pct = 0;
  // Ranks whose counts are not those of most ranks, and the counts of most; empty where they all agree or
  // more than half differ.
  std::vector<std::size_t> odd;
  std::optional<std::size_t> usual;  // one that is not odd
  analysis::Waiting waiting;         // by index into `ranks`
  // Of the late ranks: the work that takes longer there than on the others, most first.
  struct Slower {
    std::string readable, op;
    Ns more = 0;
  };
  std::vector<Slower> slower;
};

// A finding over ranks: the same rule and range, and the same cause but for its numbers.
struct RanksFinding {
  FindingRow row;              // of the rank where it costs most
  std::size_t shown_rank = 0;  // that rank
  std::vector<std::size_t> ranks;
  std::optional<Spread> cost_ns, cost_bytes;
  bool everywhere = false;  // on all ranks that have the range
};

struct SkippedFile {
  std::string path, why;
};

struct RanksReport {
  TraceSummary trace;  // source: the folder, or how many files; device: of all ranks, or of each kind
  std::vector<RankTrace> ranks;  // by rank; kernels and findings are moved into those below
  std::optional<int64_t> world_size;
  std::string backend;
  std::vector<int64_t> missing;
  std::vector<analysis::RankDouble> doubles;
  std::vector<SkippedFile> skipped_files;
  std::vector<std::string> warnings;
  std::vector<RanksForward> forwards;
  std::vector<RanksKernel> kernels;
  std::vector<RanksFinding> findings;
  Statistics statistics;  // summed; warnings name their rank

  std::vector<int64_t> numbers_of(const std::vector<std::size_t>& indices) const;
};

// What `hunch why` answers: for each problem, what each dispatcher takes and why.
struct WhyReason {
  std::string stand;         // "against", "unknown", "note", "for"
  std::string text, change;  // change: empty where there is nothing to change
};
struct WhyBackend {
  std::string name;
  int order = 0;               // from 1
  std::optional<bool> usable;  // nothing: not established
  std::string kernel;          // which one it launches; empty: not told
  std::vector<WhyReason> reasons;
};
struct WhyDispatcher {
  std::string name;                                        // "hunch", "pytorch"
  std::vector<std::pair<std::string, std::string>> where;  // "version": "2.11", ...; empty text: not said
  std::string takes;                                       // empty: none, or not settled
  bool settled = true;
  std::string order;  // why this order
  std::vector<std::string> notes;
  std::vector<WhyBackend> backends;
};
struct WhyProblem {
  std::string text;
  std::vector<std::pair<std::string, std::string>> fields;  // in order, values as JSON text
  std::vector<WhyDispatcher> dispatchers;
  // From a trace: the call that it stands for.
  std::string call, took, agrees;            // "3 calls", "flash", "yes" / "no" / "not told"
  std::vector<int64_t> events;               // source indices
  std::string gradients, gradients_because;  // "needed", "of the mask only", "not needed", "not told"; how
  std::vector<std::string> not_told;         // what else the trace does not tell of it
  std::vector<std::string> explanations;     // agrees "no": of what is not told, what alone would explain it
};
struct WhyReport {
  std::vector<WhyProblem> problems;
  bool lines = false;  // JSON: one object a line
  bool from_trace = false;
  std::string source;
  std::vector<std::string> notes;  // about all
};

using Document = std::variant<ExplainReport, RunReport, CheckReport, DoctorReport, NameReport, DiffReport,
                              RanksReport, WhyReport>;

// Its backend for people; where none is known, what attention kernel there is, if any.
std::string attention_text(const ExplainReport& report, const ForwardRow& forward);

// The trace as a report. Everything is copied: the analysis need not outlive it.
ExplainReport explain(const analysis::Analysis& analysis,
                      const std::vector<analysis::rules::Finding>& findings, Per per = Per::none);
std::vector<VerdictRow> verdict_rows(const analysis::Analysis& analysis,
                                     const std::vector<guess::Verdict>& verdicts);
std::vector<FindingRow> finding_rows(const analysis::Analysis& analysis,
                                     const std::vector<analysis::rules::Finding>& findings);

// One rank's part, and all of them in one: ranks.cc and ranks_merge.cc. `traces` by path; `skipped` are files
// of a folder that are no traces.
RankTrace rank_trace(const analysis::Analysis& analysis,
                     const std::vector<analysis::rules::Finding>& findings);
RanksReport ranks(std::string source, std::vector<RankTrace> traces, std::vector<SkippedFile> skipped);

// Two traces held against each other; as above, everything is copied.
DiffReport diff(const analysis::diff::Side& before, const analysis::diff::Side& after,
                const analysis::diff::Diff& differences);

// Over the runs of a forward; `values` is not empty. The median of an even number is the lower one: it
// occurred.
Spread spread_of(std::vector<int64_t> values);

// One forward as a row, without its sequence; what `run` puts in its table.
ForwardRow forward_row(const analysis::Forward& forward);
// The forward's device work, grouped, the most time first.
std::vector<KernelRow> kernel_rows(const analysis::Analysis& analysis, const analysis::Forward& forward);

// Which run has the median wall time, and where that time went. Nothing where there is no run.
std::optional<AccountingRow> accounting_row(const analysis::Analysis& analysis,
                                            const analysis::Forward& forward);
// Fills `per`, `per_run` and `layers_by`.
void split(const analysis::Analysis& analysis, const analysis::Forward& forward, Per per, ForwardRow& row);

// How to draw; set from flags and the terminal.
struct Style {
  int width = 100;  // columns
  bool color = false;
  bool unicode = true;
  int top = 20;             // rows of long tables; 0: all
  bool top_given = false;   // asked for: then formats for programs cut their tables too
  bool full_names = false;  // kernels as the trace names them, below the readable names
};

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual std::string_view name() const = 0;                                           // "text", "json"
  virtual std::string render(const Document& document, const Style& style) const = 0;  // ends in a newline
};

std::span<const Renderer* const> renderers();
const Renderer* find_renderer(std::string_view name);

}  // namespace hunch::report
