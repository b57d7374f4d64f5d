// One walk outwards from each launch; a table of the chains seen so far, by a hash of their names. See the
// header.
#include "hunch/analysis/op_chains.h"

#include <algorithm>

#include "hunch/base/large_pages.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::StringId;

bool is_range(EventKind kind) { return kind == EventKind::annotation || kind == EventKind::step; }

}  // namespace

std::string_view op_word(std::string_view op) {
  const auto separator = op.rfind("::");
  return separator == std::string_view::npos ? op : op.substr(separator + 2);
}

OpChains::OpChains(const trace::Trace& trace, const Timeline& timeline) : begin_{0, 0} {
  base::assign_large(chain_, trace.size(), uint32_t{0});
  std::vector<uint32_t> table(256, 0);  // open addressing; 0: free, as the empty chain is never looked up
  std::vector<uint64_t> hashes(1, 0);   // by chain
  const auto place_of = [&table](uint64_t hash) {
    return static_cast<std::size_t>((hash * 0x9E3779B97F4A7C15u) >> 32) & (table.size() - 1);
  };
  const auto grow = [&] {
    table.assign(2 * table.size(), 0);
    for (uint32_t chain = 1; chain < hashes.size(); ++chain) {
      std::size_t at = place_of(hashes[chain]);
      while (table[at] != 0) at = (at + 1) & (table.size() - 1);
      table[at] = chain;
    }
  };

  std::vector<StringId> path;  // innermost first
  for (const EventId work : timeline.device_order) {
    path.clear();
    uint64_t hash = 0;
    for (EventId at = timeline.launch[work]; at != kNone; at = timeline.parent[at]) {
      const EventKind kind = trace.kind[at];
      if (is_range(kind) && !path.empty()) break;
      if (kind != EventKind::op) continue;
      path.push_back(trace.name[at]);
      hash = (hash ^ (trace.name[at] + 1)) * 0xD1B54A32D192ED03u;
      hash ^= hash >> 29;
    }
    if (path.empty()) continue;
    std::size_t at = place_of(hash);
    for (; table[at] != 0; at = (at + 1) & (table.size() - 1)) {
      const uint32_t chain = table[at];
      if (hashes[chain] != hash) continue;
      const auto known = names(chain);
      if (std::equal(known.begin(), known.end(), path.rbegin(), path.rend())) break;
    }
    if (table[at] == 0) {
      table[at] = static_cast<uint32_t>(hashes.size());
      hashes.push_back(hash);
      names_.insert(names_.end(), path.rbegin(), path.rend());
      begin_.push_back(static_cast<uint32_t>(names_.size()));
      chain_[work] = table[at];
      if (2 * hashes.size() > table.size()) grow();
      continue;
    }
    chain_[work] = table[at];
  }
  words_.reserve(names_.size());
  for (const StringId name : names_) words_.push_back(op_word(trace.strings.view(name)));
}

}  // namespace hunch::analysis
