// What rules share: picking device events of each run, adding up what they cost, reading the ops around a
// launch and their inputs, and the words in which claims are written. Rules include this, never each other.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/memo.h"
#include "hunch/analysis/op_inputs.h"
#include "hunch/analysis/rules/rule.h"

namespace hunch::analysis::rules {

// Events of one forward, by run, each in launch order.
struct Selection {
  std::vector<std::vector<EventId>> runs;

  bool empty() const;  // no event in any run
  // The events of the first run that has some: a finding's evidence.
  std::vector<EventId> evidence() const;
};

// Events of one of many groups of a forward, gathered run after run. Most groups are of few runs, and room
// for each run of each group would grow with their product.
class Gathered {
 public:
  void add(std::size_t run, EventId event) {
    if (events_.empty() || events_.back().first != run) ++runs_;
    events_.emplace_back(static_cast<uint32_t>(run), event);
  }
  // Whether more than half of all runs have some: else the median of their counts is 0.
  bool in_most(std::size_t all_runs) const { return runs_ > all_runs / 2; }
  Selection of_runs(std::size_t all_runs) const;

 private:
  std::vector<std::pair<uint32_t, EventId>> events_;  // run, event
  std::size_t runs_ = 0;                              // that have some
};

// The device work for which `wanted` holds.
Selection select(const Forward& forward, const std::function<bool(EventId)>& wanted);

// The middle value; of an even number of values the lower of the two. 0 for none.
int64_t median(std::vector<int64_t> values);

// Per forward, over its runs.
int64_t median_count(const Selection& selection);
Ns median_ns(const Analysis& analysis, const Selection& selection);  // sum of durations
Ns median_device_ns(const Forward& forward);
Ns median_host_ns(const Forward& forward);
// Sum of bytes(event); nothing where one of a run's events does not tell.
std::optional<int64_t> median_bytes(const Selection& selection,
                                    const std::function<std::optional<int64_t>(EventId)>& bytes);

// "2 copies per forward", "2 to 5 copies per forward" where runs differ.
std::string count_text(const Selection& selection, std::string_view one, std::string_view many);
// "127 us (12 % of the forward)": the share is of the forward's device time.
std::string cost_text(const Analysis& analysis, const Forward& forward, const Selection& selection);
std::string percent_text(double percent);  // "12 %", "1.4 %", "under 0.1 %"
double share_pct(Ns part, Ns whole);

// Ops. A word is an op's name without its namespace: "masked_fill" of "aten::masked_fill". The words around a
// launch, outermost first, are those of its chain (op_chains.h): what is asked of many launches is asked once
// a chain, by a Memo.
using Words = std::span<const std::string_view>;
Words words_of(const Analysis& analysis, EventId device_event);
bool has_word(Words words, std::initializer_list<std::string_view> wanted);
// The ops around an event's launch, outermost first, below the innermost range.
std::vector<EventId> ops_of(const Analysis& analysis, EventId device_event);
// The op at a place of an event's chain, which must be there.
EventId op_at(const Analysis& analysis, EventId device_event, std::size_t place);
// The same around a host event, which is among them where it is an op itself.
std::vector<EventId> ops_around(const Analysis& analysis, EventId host);
// "aten::masked_fill > aten::clone > aten::copy_" from ops_of(...)[first] on; the same of a chain.
std::string chain_text(const Analysis& analysis, const std::vector<EventId>& ops, std::size_t first = 0);
std::string chain_text(const Analysis& analysis, uint32_t chain, std::size_t first = 0);
// The place in `ops` of the outermost op with this word, or nothing.
std::optional<std::size_t> find_op(const Analysis& analysis, const std::vector<EventId>& ops,
                                   std::string_view word);
// Where the program stood, if the trace has Python stacks: ", from llama.py(243): forward in
// LlamaAttention_3"; else empty. The frame is the innermost outside of PyTorch itself.
std::string place_text(const Analysis& analysis, EventId host);

// SDPA's math path around a launch ("_scaled_dot_product_attention_math"), or kNone.
EventId math_path_of(const Analysis& analysis, EventId device_event);

// Inputs (op_inputs.h).
int64_t elements(const Shape& shape);
// Bytes an element: 2 for "c10::BFloat16" and "bf16"; nothing for words that are no type.
std::optional<int64_t> bytes_of_type(std::string_view type);
bool is_16_bit(std::string_view dtype);  // "bf16", "f16", "16-bit", "c10::BFloat16", "c10::Half"

// "[8, 16, 1024, 64]".
std::string shape_text(const Shape& shape);

// The device that a forward ran on; null where the trace does not describe it.
const trace::DeviceProperties* device_of(const Analysis& analysis, const Forward& forward);

// Whether a host event lies in a run: on the thread of the run's range and within it; always for a whole
// trace.
bool lies_in(const Analysis& analysis, const ForwardRun& run, EventId host);

// Those of `calls` that lie in the run; both by track, then start.
std::vector<EventId> calls_in(const Analysis& analysis, const ForwardRun& run,
                              const std::vector<EventId>& calls);

// How a device event was launched, to stand behind a cause: ": `aten::matmul > aten::bmm`, from model.py(12):
// f".
std::string launch_text(const Analysis& analysis, EventId device_event);

// "registers and shared memory" of "registers+shared memory".
std::string limits_text(std::string_view limited_by);
// "cuBLAS" of "cublas".
std::string library_text(std::string_view provider);

// "masked_fill" in backticks: how names of code stand in claims.
std::string code(std::string_view text);

}  // namespace hunch::analysis::rules
