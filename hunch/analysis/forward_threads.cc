// Votes by sequence number; see forward_threads.h.
#include "hunch/analysis/forward_threads.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace hunch::analysis {
namespace {

struct Numbered {
  uint32_t process;
  int64_t sequence;
  uint32_t track;      // forward ops
  int64_t forward_id;  // backward ops
};

bool by_number(const Numbered& a, const Numbered& b) {
  return std::tie(a.process, a.sequence, a.track, a.forward_id) <
         std::tie(b.process, b.sequence, b.track, b.forward_id);
}
bool same(const Numbered& a, const Numbered& b) { return !by_number(a, b) && !by_number(b, a); }

void sort_unique(std::vector<Numbered>& numbered) {
  std::sort(numbered.begin(), numbered.end(), by_number);
  numbered.erase(std::unique(numbered.begin(), numbered.end(), same), numbered.end());
}

}  // namespace

ForwardThreads::ForwardThreads(const trace::Trace& trace, const Timeline& timeline,
                               const Processes& processes)
    : trace_(trace), timeline_(timeline), processes_(processes) {
  std::vector<Numbered> forward, backward;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto* op = trace.op_detail(static_cast<EventId>(i));
    if (op == nullptr || op->sequence_number < 0) continue;
    const uint32_t process = processes.of_track[trace.track[i]];
    if (op->forward_thread > 0)
      backward.push_back({process, op->sequence_number, 0, op->forward_thread});
    else
      forward.push_back({process, op->sequence_number, trace.track[i], 0});
  }
  sort_unique(forward);
  sort_unique(backward);

  std::map<std::pair<uint32_t, int64_t>, std::map<uint32_t, std::size_t>> votes;
  std::map<std::pair<uint32_t, int64_t>, std::size_t> answered;
  for (const Numbered& op : backward) {
    const auto key = std::pair(op.process, op.forward_id);
    auto at =
        std::lower_bound(forward.begin(), forward.end(), Numbered{op.process, op.sequence, 0, 0}, by_number);
    if (at == forward.end() || at->process != op.process || at->sequence != op.sequence) continue;
    ++answered[key];
    for (; at != forward.end() && at->process == op.process && at->sequence == op.sequence; ++at)
      ++votes[key][at->track];
  }
  for (const auto& [key, by_track] : votes) {
    uint32_t winner = kNone;
    std::size_t full = 0;
    for (const auto& [track, count] : by_track) {
      if (count != answered[key]) continue;
      winner = track;
      ++full;
    }
    if (full == 1) track_of_id_.emplace(key, winner);
  }
}

uint32_t ForwardThreads::track_of(EventId host) const {
  for (EventId at = host; at != kNone; at = timeline_.parent[at]) {
    const auto* op = trace_.op_detail(at);
    if (op == nullptr || op->forward_thread <= 0) continue;
    const auto found = track_of_id_.find({processes_.of_track[trace_.track[at]], op->forward_thread});
    return found == track_of_id_.end() ? kNone : found->second;
  }
  return kNone;
}

}  // namespace hunch::analysis
