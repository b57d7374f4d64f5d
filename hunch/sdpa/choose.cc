// Goes through the table for each backend, in the order of preference. In: a valid problem and a setup. Out:
// the choice with every reason. Holds: what the table does not settle is said to be unknown, and what depends
// on it too.
#include "hunch/sdpa/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hunch/sdpa/table.h"

namespace hunch::sdpa {
namespace {

constexpr std::array<std::string_view, 4> kStands = {"against", "unknown", "note", "for"};

bool is_set(const Setup& setup, std::string_view variable) {
  const auto at = setup.environment.find(std::string(variable));
  return at != setup.environment.end() && at->second == "1";
}

// The row that gives the order. A row that asks for a version of cuDNN does not hold where none is known.
const Order& order_of(const Setup& setup) {
  for (const Order& order : orders()) {
    if (setup.torch < order.since || (order.until != 0 && setup.torch >= order.until)) continue;
    if (setup.sm < order.sm_least || setup.sm > order.sm_most) continue;
    if (order.cudnn_above != 0 && !(setup.cudnn && *setup.cudnn > order.cudnn_above)) continue;
    if (!order.unless_set.empty() && is_set(setup, order.unless_set)) continue;
    if (!order.only_set.empty() && !is_set(setup, order.only_set)) continue;
    return order;
  }
  return orders().back();
}

std::vector<Backend> backends_in_order(const Setup& setup, const Order& order) {
  std::vector<Backend> backends;
  const auto add = [&](Backend backend) {
    const bool known =
        std::find(order.backends.begin(), order.backends.end(), backend) != order.backends.end();
    if (known && std::find(backends.begin(), backends.end(), backend) == backends.end())
      backends.push_back(backend);
  };
  for (const Backend backend : setup.priority) add(backend);
  for (const Backend backend : order.backends) add(backend);
  return backends;
}

// What is worth knowing about a backend that takes the problem.
void add_notes(const Problem& p, const Setup& setup, Opinion& opinion) {
  const auto note = [&](std::string text, std::string change = {}) {
    opinion.reasons.push_back({Stand::note, std::move(text), std::move(change)});
  };
  if (opinion.backend == Backend::flash && !setup.is_cpu() && p.head_dim % 8 != 0)
    note(fmt::format("head_dim {} is padded to {} before the kernel, and the result cut: extra copies",
                     p.head_dim, (p.head_dim + 7) / 8 * 8),
         "a head_dim that is a multiple of 8");
  if (opinion.backend == Backend::math) {
    if (p.heads != p.kv_heads && !p.grouped() && p.kv_heads != 1 && p.heads != 1)
      note(fmt::format("the call then fails: {} query heads do not broadcast with {} key and value heads",
                       p.heads, p.kv_heads),
           "enable_gqa=True");
    else if (p.grouped() && p.heads % p.kv_heads != 0)
      note(fmt::format("the call then fails: {} key and value heads do not divide query's {}", p.kv_heads,
                       p.heads),
           "a number of key and value heads that divides query's");
    if (!setup.is_cpu() && setup.torch >= 20500 && (p.dtype == DType::f16 || p.dtype == DType::bf16))
      note("it computes 16-bit inputs in f32, with casts before and after",
           "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True) keeps 16 bits");
    note("it writes the scores to memory, length x kv_length for each head");
  }
  if (opinion.backend == Backend::efficient && p.tensor_mask() && p.kv_length > 65536)
    note("with a mask and a kv_length above 65536 wrong results were reported for 2.9");
  if ((opinion.backend == Backend::flash || opinion.backend == Backend::efficient) && setup.deterministic &&
      p.grad && !setup.is_cpu())
    note("deterministic algorithms are asked for, and its backward is not deterministic by default");
}

Opinion opinion_on(const Problem& problem, const Setup& setup, Backend backend, int place) {
  Opinion opinion{backend, place, true, {}};
  const auto rows = setup.is_cpu() ? cpu_constraints() : cuda_constraints();
  int held = 0;
  for (const Constraint& row : rows) {
    if (row.backend != backend || !applies(row, setup)) continue;
    const auto found = row.check(problem, setup, row);
    if (!found) {
      ++held;
      continue;
    }
    opinion.usable = false;
    opinion.reasons.push_back(
        {Stand::against, fmt::format("it takes {}, and {}", row.words, *found), std::string(row.change)});
  }
  if (!*opinion.usable) return opinion;
  const auto unknown = [&](std::string text, std::string change = {}) {
    opinion.usable.reset();
    opinion.reasons.push_back({Stand::unknown, std::move(text), std::move(change)});
  };
  if (problem.nested && backend != Backend::math)
    unknown("what it takes of nested tensors depends on each tensor's size, which is not given");
  if (backend == Backend::cudnn && setup.torch < 20500)
    unknown("what else 2.4 checks once TORCH_CUDNN_SDPA_ENABLED is set is not established");
  if (backend == Backend::cudnn && !setup.cudnn && setup.torch >= 20500)
    unknown("it depends on cuDNN's version, which is not given", "--cudnn 9.19");
  if (!opinion.usable) return opinion;
  opinion.reasons.push_back({Stand::favour,
                             backend == Backend::math ? std::string("it takes every problem")
                                                      : fmt::format("all {} constraints hold", held),
                             {}});
  add_notes(problem, setup, opinion);
  return opinion;
}

}  // namespace

std::string_view name_of(Stand stand) { return kStands[static_cast<std::size_t>(stand)]; }

Choice choose(const Problem& problem, const Setup& setup) {
  Choice choice;
  const Order& order = order_of(setup);
  const bool pinned_order = !setup.priority.empty();
  choice.order_words =
      pinned_order ? "the order is the one that set_priority gives" : std::string(order.words);
  int place = 0;
  for (const Backend backend : backends_in_order(setup, order)) {
    choice.opinions.push_back(opinion_on(problem, setup, backend, ++place));
    const Opinion& opinion = choice.opinions.back();
    if (choice.takes || !choice.settled) continue;
    if (!opinion.usable)
      choice.settled = false;
    else if (*opinion.usable)
      choice.takes = backend;
  }
  if (order.unsettled && !pinned_order && choice.takes != Backend::cudnn)
    for (const Opinion& opinion : choice.opinions)
      if (opinion.backend == Backend::cudnn && opinion.usable.value_or(true)) {
        choice.takes.reset();
        choice.settled = false;
      }
  if (setup.torch_unknown)
    choice.notes.push_back(fmt::format("PyTorch {} is newer than the newest known, 2.{}: judged as that one",
                                       setup.torch_text, kNewestTorch / 100 % 100));
  if (choice.settled && !choice.takes)
    choice.notes.emplace_back("no backend is left: PyTorch raises \"No available kernel\"");
  if (problem.dropout > 0 && !problem.grad)
    choice.notes.push_back(fmt::format(
        "dropout {} is applied in evaluation too: eval() does not change dropout_p", problem.dropout));
  if (problem.mask == MaskKind::causal && problem.length == 1 && problem.kv_length > 1)
    choice.notes.emplace_back(
        "is_causal is aligned to the top left: with length 1 the query attends to the first key alone");
  return choice;
}

}  // namespace hunch::sdpa
