// The one clock of a recording: nanoseconds since the Unix epoch, monotonic within a process.
#pragma once

#include <cstdint>

namespace hunch::base {

using Ns = int64_t;  // nanoseconds: a point in time (since the Unix epoch) or a length of time

// Monotonic time, shifted once at the process's start so that it reads as wall-clock time.
Ns now_ns();

// What that shift is: now_ns() less the machine's steady clock, which all processes share.
Ns clock_shift();

}  // namespace hunch::base
