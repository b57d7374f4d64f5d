// See the header. Folders in a folder are often other iterations of the same job, so that taking them too
// would mix ranks; they are told where a folder has nothing else.
#include "hunch/cli/rank_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

namespace hunch::cli {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without_slash(std::string text) {
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

struct Found {
  std::string path;
  uint64_t bytes = 0;
  bool in_folder = false;
};

base::Status list(const std::string& folder, std::vector<Found>& found, std::vector<std::string>& below) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(".")) continue;
    const std::string path = (folder == "/" ? "" : folder) + "/" + name;
    std::error_code gone;  // a link to nothing, a file that was removed meanwhile
    if (at->is_directory(gone)) below.push_back(path);
    if (!at->is_regular_file(gone)) continue;
    const uint64_t bytes = at->file_size(gone);
    if (!gone) found.push_back({path, bytes, true});
  }
  if (!error) return {};
  base::Error problem;
  problem.code = base::ErrorCode::io;
  problem.file = folder;
  problem.message = fmt::format("cannot read the folder: {}", error.message());
  problem.remedy = "check its permissions";
  return base::fail(std::move(problem));
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto number = [](std::string_view text, std::size_t& at) {
        while (at < text.size() && text[at] == '0') ++at;
        const std::size_t begin = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return text.substr(begin, at - begin);
      };
      const auto x = number(a, i), y = number(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    ++i, ++j;
  }
  const std::size_t left = a.size() - i, right = b.size() - j;
  return left != right ? left < right : a < b;  // "a01" and "a1" are not the same
}

base::Result<RankFiles> find_rank_files(const std::vector<std::string>& words) {
  RankFiles result;
  std::vector<Found> found;
  for (const std::string& word : words) {
    if (is_folder(word)) {
      HUNCH_RETURN_IF_ERROR(list(without_slash(word), found, result.below));
      continue;
    }
    std::error_code error;
    const bool there = fs::exists(word, error);
    const auto bytes = there ? fs::file_size(word, error) : 0;
    if (there)
      found.push_back({word, error ? 0 : bytes, false});
    else
      result.missing.push_back(word);
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.path != b.path ? natural_less(a.path, b.path) : a.in_folder < b.in_folder;
  });
  for (const Found& each : found) {
    if (!result.files.empty() && result.files.back().first == each.path) continue;
    result.files.emplace_back(each.path, each.bytes);
    result.in_folder.push_back(each.in_folder);
  }
  std::sort(result.below.begin(), result.below.end(), natural_less);
  return result;
}

}  // namespace hunch::cli
