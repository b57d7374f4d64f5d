// Where the wall time of one run went, to the nanosecond: every part of it is the device working for this
// run, the device working for others, or the device idle for a named cause; the parts add up to the whole.
//
// The whole begins with the range (or with its first device work, where clocks put that earlier) and ends
// with the range or with its last device work, whichever is later. Overlapping work counts once. A device
// counts as one: with several, it is busy while any device that the run uses is.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis {

enum class Part {
  busy,         // work of this run
  busy_other,   // work that is not this run's, mostly of the run before
  wait_host,    // idle: the host had not come to the next launch
  wait_sync,    // idle, and the launching thread waited for the device
  wait_launch,  // idle: the host was in the launch call
  wait_device,  // idle: launched and not yet started; the device's own latency, or work it depends on
  after_work,   // idle: the run launched nothing more
  unknown,      // idle before work whose launch the trace lacks
};
inline constexpr std::size_t kParts = 8;
std::string_view name_of(Part part);         // "busy", "wait_host", ...
std::string_view explanation_of(Part part);  // one clause for people

struct Slice {
  Part part = Part::busy;
  Ns start = 0;
  Ns end = 0;
  EventId next = kNone;  // idle parts: the run's next work; kNone after the last
};

struct Accounting {
  Ns start = 0;
  Ns end = 0;
  std::vector<Slice> slices;          // in order, without gaps or overlaps, from start to end; none is empty
  std::array<Ns, kParts> total = {};  // by Part

  Ns whole() const { return end - start; }
  Ns of(Part part) const { return total[static_cast<std::size_t>(part)]; }
  Ns idle() const { return whole() - of(Part::busy) - of(Part::busy_other); }
  // Idle because of the host: it was on its way to the launch, in it, or waiting for the device.
  Ns host_bound() const { return of(Part::wait_host) + of(Part::wait_sync) + of(Part::wait_launch); }
};

// O(work of the run + work beside it, log of the trace).
Accounting account(const Analysis& analysis, const ForwardRun& run);
// Its whole() alone. O(work of the run).
Ns wall_ns(const Analysis& analysis, const ForwardRun& run);

}  // namespace hunch::analysis
