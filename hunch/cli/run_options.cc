// See the header. Every error names its option, the value, and an example of a good one.
#include "hunch/cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hunch/attention/providers.h"
#include "hunch/base/strings.h"
#include "hunch/base/thread_pool.h"
#include "hunch/cli/device_option.h"
#include "hunch/cli/pipeline.h"

namespace hunch::cli {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

// On the CPU what finishes in seconds on two cores, its naive variants included; on a GPU enough to fill it.
constexpr std::string_view kDefaultProblem = "1x8x512x64";
constexpr std::string_view kDefaultCudaProblem = "8x16x1024x64";

constexpr std::array<Option, 16> kOptions = {{
    {"--problem", "-p", "SIZES", "batch x heads x length x head_dim (1x8x512x64; on a GPU 8x16x1024x64)",
     false},
    {"--kv-heads", "", "COUNT", "key and value heads; divides the heads", false},
    {"--kv-length", "", "LENGTH", "length of key and value", false},
    {"--dtype", "", "TYPE", "f32, bf16 (default) or f16", false},
    {"--mask", "", "KIND", "none, causal (default, top-left), bool or float", false},
    {"--window", "", "KEYS", "causal: each query sees the last so many of its keys only", false},
    {"--scale", "", "NUMBER", "of the scores (1/sqrt(head_dim)); 0 and negative too", false},
    {"--softcap", "", "NUMBER", "scores become NUMBER * tanh(score / NUMBER)", false},
    {"--variant", "-v", "NAMES", "only these, separated by commas; repeats", true},
    {"--provider", "", "NAMES", "whose: native (default), torch, or both, separated by commas", true},
    {"--steps", "", "W,U,A", "steps to wait, warm up and record (1,1,3)", false},
    {"--threads", "-t", "COUNT", "threads of the CPU device (all that this process may use)", false},
    {"--seed", "", "NUMBER", "of the random inputs (1)", false},
    {"--trace-dir", "", "DIR", "write each variant's trace there, as VARIANT.json.gz", false},
    {"--guess", "-g", "GUESS", "words or a TOML file, instead of the shipped guesses; a miss then exits 1",
     false},
    {"--device", "", "NAME", "cpu (default), cuda, or cuda:1 for the second GPU", false},
}};

std::vector<std::string> variant_names(const std::vector<const attention::Provider*>& providers) {
  std::vector<std::string> names;
  for (const auto* provider : providers)
    for (const auto* backend : provider->backends()) names.push_back(attention::variant_name(*backend));
  return names;
}

std::vector<const attention::Provider*> all_providers() {
  std::vector<const attention::Provider*> all;
  for (const auto& provider : attention::providers()) all.push_back(&provider);
  return all;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  return base::did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end()));
}

Result<attention::Problem> problem_of(const Arguments& arguments, bool on_gpu) {
  const std::string sizes =
      arguments.text("--problem").value_or(std::string(on_gpu ? kDefaultCudaProblem : kDefaultProblem));
  auto parsed = attention::parse_problem(sizes);
  if (!parsed) return fail(named(parsed.error(), fmt::format("--problem {}", sizes)));
  attention::Problem problem = *parsed;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  HUNCH_ASSIGN(problem.kv_heads, arguments.integer("--kv-heads", problem.kv_heads, 1, kMost));
  HUNCH_ASSIGN(problem.kv_length, arguments.integer("--kv-length", problem.kv_length, 0, kMost));
  if (const auto text = arguments.text("--dtype")) {
    const auto dtype = tensor::parse_dtype(*text);
    if (!dtype || *dtype == tensor::DType::boolean)
      return fail(ErrorCode::usage, fmt::format("--dtype {}: not a type that attention runs in", *text),
                  "f32, bf16 or f16");
    problem.dtype = *dtype;
  }
  if (const auto text = arguments.text("--mask")) {
    const auto mask = attention::parse_mask(*text);
    if (!mask)
      return fail(ErrorCode::usage, fmt::format("--mask {}: unknown", *text), "none, causal, bool or float");
    problem.mask = *mask;
  }
  HUNCH_ASSIGN(const ScoreOptions scores, score_options(arguments));
  problem.window = scores.window;
  problem.softcap = scores.softcap;
  problem.scale = scores.scale;
  if (const Status valid = attention::validate(problem); !valid) return fail(named(valid.error(), "run"));
  return problem;
}

// Whose variants run; nothing where --provider was not given.
Result<std::vector<const attention::Provider*>> providers_of(const Arguments& arguments) {
  std::vector<const attention::Provider*> chosen;
  std::vector<std::string_view> names;
  for (const auto& provider : attention::providers()) names.push_back(provider.name);
  for (const std::string& list : arguments.all("--provider")) {
    for (const std::string_view part : base::split(list, ',')) {
      const std::string_view name = base::trim(part);
      const auto* const provider = attention::find_provider(name);
      if (provider == nullptr)
        return fail(ErrorCode::usage,
                    fmt::format("--provider {}: no such provider", name.empty() ? "''" : name),
                    base::did_you_mean(name, names));
      if (std::find(chosen.begin(), chosen.end(), provider) == chosen.end()) chosen.push_back(provider);
    }
  }
  return chosen;
}

using Providers = std::vector<const attention::Provider*>;

// What a word names: "torch.flash" one variant, "flash" that of each of the providers, in their order: a
// table of several shows them below each other. Empty: nothing.
std::vector<std::string> variants_named(std::string_view word, const Providers& providers) {
  std::vector<std::string> found;
  const auto* const variant = attention::find_variant(word);
  if (variant != nullptr && word != variant->name()) return {std::string(word)};
  for (const auto* provider : providers)
    for (const auto* backend : provider->backends())
      if (backend->name() == word) found.push_back(attention::variant_name(*backend));
  return found;
}

void add_new(const std::vector<std::string>& names, std::vector<std::string>& chosen) {
  for (const std::string& name : names)
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
}

Result<std::vector<std::string>> variants_of(const Arguments& arguments) {
  HUNCH_ASSIGN(Providers providers, providers_of(arguments));
  const bool given = !providers.empty();
  if (!given) providers.push_back(attention::find_provider(attention::kNative));
  std::vector<std::string> chosen;
  for (const std::string& list : arguments.all("--variant")) {
    for (const std::string_view part : base::split(list, ',')) {
      const std::string_view word = base::trim(part);
      const auto named = variants_named(word, providers);
      if (named.empty())
        return fail(
            ErrorCode::usage, fmt::format("--variant {}: no such variant", word.empty() ? "''" : word),
            did_you_mean(word, variant_names(base::contains(word, ".") ? all_providers() : providers)));
      const std::string_view provider = attention::find_variant(named.front())->provider();
      const bool left_out = given && std::find(providers.begin(), providers.end(),
                                               attention::find_provider(provider)) == providers.end();
      if (left_out)
        return fail(ErrorCode::usage, fmt::format("--variant {}: --provider leaves it out", word),
                    fmt::format("--provider {}, or no --provider", provider));
      add_new(named, chosen);
    }
  }
  if (chosen.empty())
    for (const auto* provider : providers)
      for (const auto* backend : provider->backends())
        add_new(variants_named(backend->name(), providers), chosen);
  return chosen;
}

// Ranges that a guess for `run` may name: the range of all variants, or a variant that runs.
Status check_ranges(const guess::Guess& guess, const std::vector<std::string>& variants) {
  for (const auto& expectation : guess.expectations) {
    const std::string& range = expectation.range;
    if (range.empty() || range == kForwardRange) continue;
    if (std::find(variants.begin(), variants.end(), range) != variants.end()) continue;
    base::Error error;
    error.file = guess.source;
    if (const auto* const known = attention::find_variant(range)) {
      const bool own = known->provider() == attention::kNative;
      error.message = fmt::format("it guesses about '{}', which does not run", range);
      error.remedy = own ? fmt::format("--variant {}", range)
                         : fmt::format("--variant {}, or --provider {}", range, known->provider());
    } else {
      error.message = fmt::format("there is no variant '{}'", range);
      error.remedy = did_you_mean(range, variant_names(all_providers()));
    }
    return fail(std::move(error));
  }
  return {};
}

}  // namespace

const std::span<const Option> kRunOptions = kOptions;

Result<RunPlan> plan_of(const Arguments& arguments) {
  if (!arguments.positionals.empty())
    return fail(ErrorCode::usage, fmt::format("run: what is '{}'?", arguments.positionals.front()),
                fmt::format("hunch run --problem {}", kDefaultProblem));
  RunPlan plan;
  HUNCH_ASSIGN(plan.cuda_device, cuda_index(arguments));
  HUNCH_ASSIGN(plan.lab.problem, problem_of(arguments, plan.cuda_device.has_value()));
  HUNCH_ASSIGN(plan.lab.variants, variants_of(arguments));
  if (const auto steps = arguments.text("--steps")) {
    auto schedule = record::parse_schedule(*steps);
    if (!schedule) return fail(named(schedule.error(), fmt::format("--steps {}", *steps)));
    plan.lab.schedule = *schedule;
  }
  HUNCH_ASSIGN(const int64_t threads,
               arguments.integer("--threads", base::ThreadPool::hardware_threads(), 1, 1024));
  if (!plan.cuda_device)
    plan.threads = static_cast<int>(threads);
  else if (arguments.has("--threads"))
    return fail(ErrorCode::usage, "--threads: a GPU has none to choose", "--device cpu, or no --threads");
  HUNCH_ASSIGN(const int64_t seed, arguments.integer("--seed", static_cast<int64_t>(plan.lab.seed), 0,
                                                     std::numeric_limits<int64_t>::max()));
  plan.lab.seed = static_cast<uint64_t>(seed);
  plan.trace_dir = arguments.text("--trace-dir").value_or("");
  if (const auto guess = arguments.text("--guess")) {
    HUNCH_ASSIGN(plan.guess, guess_of(*guess));
    HUNCH_RETURN_IF_ERROR(check_ranges(*plan.guess, plan.lab.variants));
  }
  return plan;
}

guess::Guess guess_for(const guess::Guess& guess, const std::string& variant) {
  guess::Guess own;
  own.source = guess.source;
  for (const auto& expectation : guess.expectations) {
    if (!expectation.range.empty() && expectation.range != kForwardRange && expectation.range != variant)
      continue;
    own.expectations.push_back(expectation);
    own.expectations.back().range = kForwardRange;
  }
  return own;
}

}  // namespace hunch::cli
