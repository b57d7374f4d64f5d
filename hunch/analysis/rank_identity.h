// Which rank of a job a trace is: from the trace's own words, else from its file's name, else from the order
// of the names; and what is wrong with a set of such ranks: missing ones, doubles, world sizes that differ.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hunch::analysis {

enum class RankSource { trace, file_name, order };
std::string_view name_of(RankSource source);  // "trace", "file name", "order"

struct RankIdentity {
  std::string path;
  std::optional<int64_t> told;  // by the trace (distributedInfo)
  std::optional<int64_t> world_size;
  std::string backend;  // "nccl"; empty: not said
  int64_t rank = -1;    // settled by settle_ranks
  RankSource source = RankSource::order;
};

// From a trace's metadata ("distributedInfo.rank", ...); `rank` is not settled yet.
RankIdentity identify_rank(const std::map<std::string, std::string>& metadata, std::string path);

// "rank0", "rank_12", "rank-3" anywhere in the file's name, else in its folder's, else "worker3"; nothing for
// "local_rank0", which is another number.
std::optional<int64_t> rank_of_name(std::string_view path);
// A number at the end of the name's stem: "trace_3.json.gz", "3.json". It may count anything, so it is only
// believed where all names have another one.
std::optional<int64_t> number_of_name(std::string_view path);

struct RankDouble {
  int64_t rank = 0;
  std::string kept, left_out;  // paths
};
struct RankSet {
  std::vector<std::size_t> order;  // the identities by rank, doubles left out: the first by path stays
  std::vector<RankDouble> doubles;
  std::vector<int64_t> missing;       // below the world size, else below the largest rank
  std::optional<int64_t> world_size;  // where the traces say one, and the same
  std::string backend;
  std::vector<std::string> warnings;  // world sizes that differ, ranks beyond them, ranks by order
};

// `identities` by path; fills in rank and source of each.
RankSet settle_ranks(std::vector<RankIdentity>& identities);

// "0-3, 5", of sorted ranks; "0-3, 5 and 12 more" where there are many pieces.
std::string ranks_text(const std::vector<int64_t>& ranks);

}  // namespace hunch::analysis
