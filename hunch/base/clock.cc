#include "hunch/base/clock.h"

#include <chrono>

namespace hunch::base {
namespace {

Ns steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// Computed once: a later step of the wall clock must not move a recording's events against each other.
Ns clock_shift() {
  static const Ns shift = std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count() -
                          steady_ns();
  return shift;
}

Ns now_ns() { return clock_shift() + steady_ns(); }

}  // namespace hunch::base
