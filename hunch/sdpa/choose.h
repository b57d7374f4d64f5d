// The verdict on a problem: which backend PyTorch takes, and about every backend, in order of preference,
// what speaks for and against it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hunch/sdpa/problem.h"
#include "hunch/sdpa/setup.h"

namespace hunch::sdpa {

enum class Stand { against, unknown, note, favour };
std::string_view name_of(Stand stand);  // "against", "unknown", "note", "for"

struct Reason {
  Stand stand = Stand::against;
  std::string text;    // "head_dim up to 256: head_dim is 512"
  std::string change;  // what to change; empty: nothing
};

struct Opinion {
  Backend backend = Backend::math;
  int order = 0;               // from 1
  std::optional<bool> usable;  // nothing: not established
  std::vector<Reason> reasons;
};

struct Choice {
  std::optional<Backend> takes;    // nothing: none, or not settled
  bool settled = true;             // false: what decides is not established
  std::string order_words;         // why this order
  std::vector<std::string> notes;  // about the call as a whole
  std::vector<Opinion> opinions;   // in order of preference
};

// Only for what validate() accepts.
Choice choose(const Problem& problem, const Setup& setup);

}  // namespace hunch::sdpa
