#include "hunch/base/clock.h"

#include <chrono>

namespace hunch::base {
namespace {

Ns steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Computed once: a later step of the wall clock must not move a recording's events against each other.
Ns epoch_shift() {
  static const Ns shift = std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count() -
                          steady_ns();
  return shift;
}

}  // namespace

Ns now_ns() { return epoch_shift() + steady_ns(); }

}  // namespace hunch::base
