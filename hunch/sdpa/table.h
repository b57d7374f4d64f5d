// The table of what PyTorch's dispatcher checks: one row a constraint, with the versions and architectures
// that it holds for. A check reads a problem and says what breaks the constraint; the row's words say what it
// asks for and what to change. Rows stand in the order in which they are told.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hunch/sdpa/problem.h"
#include "hunch/sdpa/setup.h"

namespace hunch::sdpa {

struct Constraint;

// What of the problem breaks the constraint, as a clause ("query has head_dim 512"); nothing where it holds.
using Check = std::optional<std::string> (*)(const Problem& problem, const Setup& setup,
                                             const Constraint& constraint);

struct Constraint {
  std::string_view id;  // "head_dim"
  Backend backend;
  int since, until;              // PyTorch's versions: since <= version < until; until 0: still so
  int sm_least, sm_most;         // architectures that it is about; 0, 0: the CPU
  int cudnn_least, cudnn_until;  // versions of cuDNN likewise; 0, 0: whatever it is
  Check check;
  int64_t limit, limit2;    // what the check compares with
  std::string_view words;   // what it asks for
  std::string_view change;  // what to do about it
};

std::span<const Constraint> cuda_constraints();
std::span<const Constraint> cpu_constraints();

// The order of preference: the first row that applies.
struct Order {
  int since, until;
  int sm_least, sm_most;
  int cudnn_above;              // cuDNN newer than this at run time; 0: whatever it is
  std::string_view unless_set;  // a variable that switches the row off where it is 1
  std::string_view only_set;    // a variable that the row needs to be 1
  std::span<const Backend> backends;
  bool unsettled;          // whether cudnn comes first is not established
  std::string_view words;  // why this order
};
std::span<const Order> orders();

// Whether a row is about this setup. Unknown cuDNN: rows about versions of it are, where `cudnn_least` is 0
// and `cudnn_until` too.
bool applies(const Constraint& constraint, const Setup& setup);

}  // namespace hunch::sdpa
