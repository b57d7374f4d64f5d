// Which thread ran the forward of an autograd op. PyTorch numbers threads in its own way ("Fwd thread id"),
// but a backward op carries the sequence number of its forward op: the thread whose forward ops have all the
// numbers of one id, and no other thread has as many, is that id's.
#pragma once

#include <map>
#include <utility>

#include "hunch/analysis/timeline.h"

namespace hunch::analysis {

class ForwardThreads {
 public:
  ForwardThreads(const trace::Trace& trace, const Timeline& timeline, const Processes& processes);

  // The track whose forward led to the autograd op that encloses `host` (or is it); kNone where not told.
  uint32_t track_of(EventId host) const;

 private:
  const trace::Trace& trace_;
  const Timeline& timeline_;
  const Processes& processes_;
  std::map<std::pair<uint32_t, int64_t>, uint32_t> track_of_id_;  // (process, forward thread id)
};

}  // namespace hunch::analysis
