// See the header. What each process has on its disks comes together first, so that traces which lie on the
// node that wrote them are read there; a file that several processes have goes to the one with the least to
// read. No process returns before the others know.
#include "hunch/cli/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "hunch/base/strings.h"
#include "hunch/base/thread_pool.h"
#include "hunch/cli/command.h"
#include "hunch/cli/commands.h"
#include "hunch/cli/processes.h"
#include "hunch/cli/progress.h"
#include "hunch/cli/rank_files.h"
#include "hunch/cli/rank_wire.h"
#include "hunch/cli/wire.h"

namespace hunch::cli {
namespace {

enum class What : uint8_t { summary, skipped, failed };

struct Listing {      // of one process
  std::string error;  // packed; empty: none
  RankFiles files;
};
struct Share {  // one file, and who reads it
  std::string path;
  bool in_folder = false;
  int owner = 0;
};
struct Plan {
  bool stop = false;
  std::vector<Share> shares;
};
struct Piece {  // what one file became
  uint64_t index = 0;
  What what = What::summary;
  std::string bytes;  // the summary, the reason, the packed error
};

template <class Archive>
void fields(Archive& archive, Listing& listing) {
  uint64_t count = listing.files.in_folder.size();
  archive(listing.error, listing.files.files, listing.files.missing, listing.files.below, count);
  listing.files.in_folder.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    bool flag = listing.files.in_folder[i];
    archive(flag);
    listing.files.in_folder[i] = flag;
  }
}
template <class Archive>
void fields(Archive& archive, Share& share) {
  archive(share.path, share.in_folder, share.owner);
}
template <class Archive>
void fields(Archive& archive, Plan& plan) {
  archive(plan.stop, plan.shares);
}
template <class Archive>
void fields(Archive& archive, Piece& piece) {
  archive(piece.index, piece.what, piece.bytes);
}

template <class T>
std::string packed(const T& value) {
  Packer packer;
  packer(value);
  return packer.take();
}
template <class T>
T unpacked(const std::string& bytes) {
  T value{};
  Unpacker unpacker(bytes);
  unpacker(value);
  return value;
}

// Libraries throw; a process that dies of it would leave the others waiting.
template <class Body>
auto guarded(Body body) -> decltype(body()) {
  base::Error error;
  error.code = base::ErrorCode::environment;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    error.message = "out of memory";
    error.remedy = "fewer ranks at a time, or more processes under mpirun";
  } catch (const std::exception& exception) {
    error.message = fmt::format("a library failed: {}", exception.what());
  }
  return base::fail(std::move(error));
}

Listing listing_of(const RankJob& job, bool first) {
  Listing listing;
  const auto status = guarded([&]() -> base::Status {
    HUNCH_RETURN_IF_ERROR(job.prepare(first));
    HUNCH_ASSIGN(listing.files, find_rank_files(job.words));
    return {};
  });
  if (!status) listing.error = pack(status.error());
  return listing;
}

base::Error nothing_found(const RankJob& job, const std::vector<Listing>& listings) {
  base::Error error;
  error.code = base::ErrorCode::not_found;
  error.message = job.words.size() == 1 ? "the folder has no traces" : "no traces in these folders";
  if (job.words.size() == 1) error.file = job.words.front();
  const auto& below = listings.front().files.below;
  error.remedy = below.empty()
                     ? "the folder that torch.profiler wrote to, or the files themselves"
                     : fmt::format("one of the folders in it, such as {}: only files right in a folder count",
                                   below.front());
  return error;
}

// Error: what stops the whole job.
base::Result<Plan> plan_of(const RankJob& job, const std::vector<Listing>& listings) {
  for (const Listing& listing : listings)
    if (!listing.error.empty()) {
      HUNCH_ASSIGN(base::Error error, unpack_error(listing.error));
      return base::fail(std::move(error));
    }
  // A word is missing where no process has it.
  for (const std::string& word : listings.front().files.missing) {
    const bool nowhere = std::all_of(listings.begin(), listings.end(), [&](const Listing& listing) {
      const auto& missing = listing.files.missing;
      return std::find(missing.begin(), missing.end(), word) != missing.end();
    });
    if (nowhere)
      return base::fail(
          base::Error{base::ErrorCode::not_found, "no such file or folder", word, {}, "check the path"});
  }
  // The same path with the same size is the same file, on a disk that processes share.
  std::map<std::pair<std::string, uint64_t>, std::pair<bool, std::vector<int>>> files;
  for (std::size_t process = 0; process < listings.size(); ++process)
    for (std::size_t i = 0; i < listings[process].files.files.size(); ++i) {
      auto& [in_folder, having] = files[listings[process].files.files[i]];
      in_folder = listings[process].files.in_folder[i];
      having.push_back(static_cast<int>(process));
    }
  std::vector<std::pair<std::pair<std::string, uint64_t>, std::pair<bool, std::vector<int>>>> sorted(
      files.begin(), files.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return natural_less(a.first.first, b.first.first); });
  if (sorted.empty()) return base::fail(nothing_found(job, listings));
  Plan plan;
  std::vector<uint64_t> load(listings.size(), 0);
  for (const auto& [file, had] : sorted) {
    const int owner = *std::min_element(had.second.begin(), had.second.end(), [&](int a, int b) {
      return load[static_cast<std::size_t>(a)] < load[static_cast<std::size_t>(b)];
    });
    load[static_cast<std::size_t>(owner)] += std::max<uint64_t>(file.second, 1);
    plan.shares.push_back({file.first, had.first, owner});
  }
  return plan;
}

// A file of a folder that is no trace at all is passed over, and said; a damaged trace is an error.
bool is_no_trace(const base::Error& error) {
  if (error.code != base::ErrorCode::parse) return false;
  constexpr std::array<std::string_view, 5> kWords = {"not a trace", ": no trace", "without one trace event",
                                                      "the file is empty", "only white space"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view words) { return base::contains(error.message, words); });
}

Piece reduce_file(const RankJob& job, const Share& share, uint64_t index,
                  const formats::ReadOptions& options) {
  Piece piece;
  piece.index = index;
  const auto summary = guarded([&]() -> base::Result<std::string> {
    HUNCH_ASSIGN(trace::Trace trace, formats::read_trace(share.path, options));
    const Study study(std::move(trace));
    return job.reduce(study);
  });
  if (summary) {
    piece.bytes = *summary;
  } else if (share.in_folder && is_no_trace(summary.error())) {
    piece.what = What::skipped;
    piece.bytes = summary.error().message;
  } else {
    base::Error error = summary.error();
    if (error.file.empty()) error.file = share.path;
    piece.what = What::failed;
    piece.bytes = pack(error);
  }
  return piece;
}

// This process's files, in rising order; after an error no new one is begun.
std::vector<Piece> reduce_mine(const RankJob& job, const Plan& plan, const Processes& processes) {
  std::vector<uint64_t> mine;
  for (std::size_t i = 0; i < plan.shares.size(); ++i)
    if (plan.shares[i].owner == processes.rank()) mine.push_back(i);
  std::vector<Piece> pieces(mine.size());
  if (mine.empty()) return pieces;
  const auto cores = static_cast<std::size_t>(std::max(1, base::ThreadPool::hardware_threads()));
  const std::size_t threads = processes.size() > 1 ? 1 : std::min(cores, mine.size());
  formats::ReadOptions options = job.options;
  options.threads = static_cast<int>(std::max<std::size_t>(1, cores / threads));

  std::optional<Progress> progress;
  if (processes.first()) progress.emplace(fmt::format("reading {} traces ...", mine.size()));
  std::atomic<std::size_t> next = 0, done = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    while (!failed) {
      const std::size_t i = next++;
      if (i >= mine.size()) return;
      pieces[i] = reduce_file(job, plan.shares[mine[i]], mine[i], options);
      if (pieces[i].what == What::failed) failed = true;
      const std::size_t so_far = ++done;
      if (progress) progress->say(fmt::format("reading traces: {} of {} done ...", so_far, mine.size()));
    }
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::erase_if(pieces,
                [](const Piece& piece) { return piece.what == What::summary && piece.bytes.empty(); });
  return pieces;
}

std::string source_of(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  return fmt::format("{} and {} more", words.front(), words.size() - 1);
}

base::Result<int> conclude(const RankJob& job, const Plan& plan, const std::vector<std::string>& messages) {
  std::vector<Piece> pieces;
  for (const std::string& message : messages)
    for (Piece& piece : unpacked<std::vector<Piece>>(message)) pieces.push_back(std::move(piece));
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.index < b.index; });
  ReducedRanks ranks;
  ranks.source = source_of(job.words);
  for (Piece& piece : pieces) {
    switch (piece.what) {
      case What::failed: {
        HUNCH_ASSIGN(base::Error error, unpack_error(piece.bytes));
        return base::fail(std::move(error));
      }
      case What::skipped:
        ranks.skipped.push_back({plan.shares[piece.index].path, piece.bytes});
        break;
      case What::summary:
        ranks.summaries.push_back(std::move(piece.bytes));
        break;
    }
  }
  if (ranks.summaries.empty()) {
    base::Error error;
    error.code = base::ErrorCode::not_found;
    error.message = fmt::format("none of {} files is a trace", ranks.skipped.size());
    if (ranks.skipped.size() == 1)
      error.message = fmt::format("its one file ({}) is no trace", ranks.skipped.front().path);
    if (job.words.size() == 1) error.file = job.words.front();
    error.remedy = "the folder that torch.profiler wrote to, or the files themselves";
    return base::fail(std::move(error));
  }
  return job.show(std::move(ranks));
}

}  // namespace

bool means_ranks(const std::vector<std::string>& words) {
  return words.size() > 1 || (words.size() == 1 && is_folder(words.front()));
}

base::Result<int> run_rank_job(const RankJob& job) {
  for (const std::string& word : job.words)
    if (word == "-")
      return base::fail(base::ErrorCode::usage, "standard input cannot be one of several traces",
                        "a file for it");
  Processes processes = Processes::join();
  if (processes.idle()) return kFine;
  if (!processes.note().empty()) fmt::print(stderr, "hunch: {}\n", processes.note());

  HUNCH_ASSIGN(const auto listings, processes.gather(packed(listing_of(job, processes.first()))));
  base::Result<Plan> planned = Plan{};
  if (processes.first())
    planned = guarded([&]() -> base::Result<Plan> {
      std::vector<Listing> all;
      for (const std::string& bytes : listings) all.push_back(unpacked<Listing>(bytes));
      return plan_of(job, all);
    });
  // mpirun ends all processes once one of them ends with a failure, so the error is told before any of them
  // can.
  if (!planned) tell(planned.error());
  Plan plan = planned ? *planned : Plan{true, {}};
  HUNCH_ASSIGN(const std::string agreed, processes.broadcast(packed(plan)));
  plan = unpacked<Plan>(agreed);
  if (plan.stop) return kFailed;

  HUNCH_ASSIGN(const auto messages, processes.gather(packed(reduce_mine(job, plan, processes))));
  base::Result<int> status = kFailed;
  if (processes.first()) status = guarded([&] { return conclude(job, plan, messages); });
  if (!status) tell(status.error());
  HUNCH_ASSIGN(const std::string told, processes.broadcast(packed(status ? *status : kFailed)));
  return unpacked<int>(told);
}

}  // namespace hunch::cli
