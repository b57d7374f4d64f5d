// See the header. Names of files are read by hand: a number counts only as a whole ("rank12" is 12), and a
// long one is a time or a process and no rank.
#include "hunch/analysis/rank_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

namespace hunch::analysis {
namespace {

constexpr std::size_t kMostDigits = 6;
constexpr int64_t kMostRanks = 1'000'000;  // a larger world size is no world size

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

std::optional<int64_t> whole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// The number right behind `word`, one of "-_=." or nothing between them.
std::optional<int64_t> behind(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (at > 0 && is_letter(name[at - 1])) continue;
    const std::string_view before = name.substr(0, at);
    if (before.ends_with("local_") || before.ends_with("local-") || before.ends_with("local.")) continue;
    std::size_t begin = at + word.size();
    if (begin < name.size() && std::string_view("-_=.").find(name[begin]) != std::string_view::npos) ++begin;
    std::size_t end = begin;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end - begin <= kMostDigits)
      if (const auto value = whole(name.substr(begin, end - begin))) return value;
  }
  return std::nullopt;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view folder_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : file_name(path.substr(0, slash));
}

}  // namespace

std::string_view name_of(RankSource source) {
  switch (source) {
    case RankSource::trace:
      return "trace";
    case RankSource::file_name:
      return "file name";
    case RankSource::order:
      return "order";
  }
  return "order";
}

RankIdentity identify_rank(const std::map<std::string, std::string>& metadata, std::string path) {
  RankIdentity identity;
  identity.path = std::move(path);
  const auto number = [&](const char* key, int64_t least) -> std::optional<int64_t> {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return std::nullopt;
    const auto value = whole(found->second);
    return value && *value >= least && *value <= kMostRanks ? value : std::nullopt;
  };
  identity.told = number("distributedInfo.rank", 0);
  identity.world_size = number("distributedInfo.world_size", 1);
  const auto backend = metadata.find("distributedInfo.backend");
  if (backend != metadata.end()) identity.backend = backend->second;
  return identity;
}

std::optional<int64_t> rank_of_name(std::string_view path) {
  for (const std::string& name : {lower(file_name(path)), lower(folder_name(path))})
    for (const std::string_view word : {"rank", "worker"})
      if (const auto rank = behind(name, word)) return rank;
  return std::nullopt;
}

std::optional<int64_t> number_of_name(std::string_view path) {
  std::string name = lower(file_name(path));
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view end : {".gz", ".json", ".trace", ".pt", ".sqlite"})
      if (name.size() > end.size() && name.ends_with(end)) {
        name.resize(name.size() - end.size());
        cut = true;
      }
  }
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  if (name.size() - begin > kMostDigits) return std::nullopt;
  if (begin > 0 && std::string_view("-_.=").find(name[begin - 1]) == std::string_view::npos)
    return std::nullopt;
  return whole(std::string_view(name).substr(begin));
}

RankSet settle_ranks(std::vector<RankIdentity>& identities) {
  RankSet set;
  std::set<int64_t> taken;
  for (RankIdentity& identity : identities) {
    identity.rank = -1;
    if (identity.told) {
      identity.rank = *identity.told;
      identity.source = RankSource::trace;
    } else if (const auto named = rank_of_name(identity.path)) {
      identity.rank = *named;
      identity.source = RankSource::file_name;
    }
    if (identity.rank >= 0) taken.insert(identity.rank);
  }
  std::vector<RankIdentity*> open;
  for (RankIdentity& identity : identities)
    if (identity.rank < 0) open.push_back(&identity);
  // Numbers at the ends of names, where they are ranks of their own.
  std::set<int64_t> numbers;
  for (const RankIdentity* identity : open)
    if (const auto number = number_of_name(identity->path); number && !taken.contains(*number))
      numbers.insert(*number);
  if (!open.empty() && numbers.size() == open.size()) {
    for (RankIdentity* identity : open) {
      identity->rank = *number_of_name(identity->path);
      identity->source = RankSource::file_name;
    }
  } else if (!open.empty()) {
    int64_t next = 0;
    for (RankIdentity* identity : open) {
      while (taken.contains(next)) ++next;
      identity->rank = next;
      identity->source = RankSource::order;
      taken.insert(next);
    }
    set.warnings.push_back(
        open.size() == identities.size()
            ? "neither the traces nor their names tell a rank: they are numbered in the order of their names"
            : fmt::format("{} of {} traces tell no rank: they got free numbers in the order of their names",
                          open.size(), identities.size()));
  }

  for (std::size_t i = 0; i < identities.size(); ++i) set.order.push_back(i);
  std::stable_sort(set.order.begin(), set.order.end(),
                   [&](std::size_t a, std::size_t b) { return identities[a].rank < identities[b].rank; });
  std::vector<std::size_t> once;
  for (const std::size_t i : set.order) {
    if (!once.empty() && identities[once.back()].rank == identities[i].rank)
      set.doubles.push_back({identities[i].rank, identities[once.back()].path, identities[i].path});
    else
      once.push_back(i);
  }
  set.order = std::move(once);

  std::map<int64_t, std::vector<int64_t>> worlds;  // size: its ranks
  std::set<std::string> backends;
  for (const std::size_t i : set.order) {
    if (identities[i].world_size) worlds[*identities[i].world_size].push_back(identities[i].rank);
    if (!identities[i].backend.empty()) backends.insert(identities[i].backend);
  }
  for (const std::string& backend : backends) set.backend += (set.backend.empty() ? "" : ", ") + backend;
  int64_t beyond = set.order.empty() ? 0 : identities[set.order.back()].rank + 1;
  if (worlds.size() == 1) {
    set.world_size = worlds.begin()->first;
    std::vector<int64_t> outside;
    for (const std::size_t i : set.order)
      if (identities[i].rank >= *set.world_size) outside.push_back(identities[i].rank);
    if (!outside.empty())
      set.warnings.push_back(fmt::format("{} {} outside of the world size {}: these may be several jobs",
                                         outside.size() == 1 ? "rank" : "ranks",
                                         ranks_text(outside) + (outside.size() == 1 ? " is" : " are"),
                                         *set.world_size));
    beyond = *set.world_size;
  } else if (worlds.size() > 1) {
    std::string sizes;
    for (const auto& [size, ranks] : worlds)
      sizes += fmt::format("{}{} ({} {})", sizes.empty() ? "" : ", ", size,
                           ranks.size() == 1 ? "rank" : "ranks", ranks_text(ranks));
    set.warnings.push_back(
        fmt::format("the traces tell different world sizes: {}: these may be several jobs", sizes));
  }
  std::size_t at = 0;
  for (int64_t rank = 0; rank < beyond; ++rank) {
    while (at < set.order.size() && identities[set.order[at]].rank < rank) ++at;
    if (at == set.order.size() || identities[set.order[at]].rank != rank) set.missing.push_back(rank);
  }
  return set;
}

std::string ranks_text(const std::vector<int64_t>& ranks) {
  constexpr int kMostPieces = 8;
  std::string text;
  int pieces = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (++pieces > kMostPieces) {
      text += fmt::format(" and {} more", ranks.size() - i);
      break;
    }
    text += text.empty() ? "" : ", ";
    if (end - i == 1)
      text += fmt::format("{}", ranks[i]);
    else
      text += fmt::format("{}{}{}", ranks[i], end - i == 2 ? ", " : "-", ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace hunch::analysis
