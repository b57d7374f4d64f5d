// The files of a job's ranks: from the command line's words, which are files and folders of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::cli {

struct RankFiles {
  std::vector<std::pair<std::string, uint64_t>> files;  // path and bytes, in natural order, each once
  std::vector<bool> in_folder;       // beside files: found in a folder, so it need not be a trace
  std::vector<std::string> missing;  // words that name nothing here
  std::vector<std::string> below;    // folders in the folders, which are not looked into
};

// Folders give the files right in them but hidden ones. Error: io, where a folder cannot be read.
base::Result<RankFiles> find_rank_files(const std::vector<std::string>& words);

bool is_folder(const std::string& path);

// "rank2" before "rank10": numbers count as numbers.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace hunch::cli
