// See the header.
#include "hunch/cli/pipeline.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "hunch/base/mapped_file.h"
#include "hunch/base/strings.h"
#include "hunch/base/thread_pool.h"
#include "hunch/cli/progress.h"

namespace hunch::cli {

namespace {

// What a trace of fewer events takes is less than what threads cost.
constexpr std::size_t kLittle = 50'000;

int threads_for(const trace::Trace& trace, int threads) {
  if (trace.size() < kLittle) return 1;
  return threads > 0 ? threads : base::ThreadPool::hardware_threads();
}

}  // namespace

Study::Study(trace::Trace source, int threads)
    : trace(std::move(source)),
      analysis(analysis::analyze(trace, threads_for(trace, threads))),
      findings(analysis::rules::find_all(analysis, threads_for(trace, threads))) {}

base::Result<std::unique_ptr<Study>> study_file(const std::string& path,
                                                const formats::ReadOptions& options) {
  Progress progress(fmt::format("reading {} ...", path));
  HUNCH_ASSIGN(trace::Trace trace, formats::read_trace(path, options));
  progress.say(fmt::format("analysing {} ...", path));
  return std::make_unique<Study>(std::move(trace), options.threads);
}

base::Result<guess::Guess> guess_of_file(const std::string& path) {
  HUNCH_ASSIGN(const base::MappedFile file, base::MappedFile::open(path));
  return guess::parse_guess_toml(file.bytes(), path == "-" ? "standard input" : path);
}

base::Result<guess::Guess> guess_of(const std::string& words_or_file) {
  struct stat info {};
  const bool exists = ::stat(words_or_file.c_str(), &info) == 0;
  // A name with a dot or a slash and no relation is a file that is missing; anything else is a guess in
  // words.
  const bool has_relation = words_or_file.find_first_of("=<>") != std::string::npos;
  const bool is_file = words_or_file == "-" || exists ||
                       (!has_relation && words_or_file.find_first_of("./") != std::string::npos);
  if (!is_file) return guess::parse_guess_words(words_or_file);
  auto guess = guess_of_file(words_or_file);
  if (!guess && guess.error().code == base::ErrorCode::not_found)
    guess.error().remedy = "a guess file, or words such as 'kernels=5 memcpy=0'";
  return guess;
}

}  // namespace hunch::cli
