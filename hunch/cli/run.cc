// `hunch run`: every attention variant on this machine, recorded, counted, compared and explained.
//
// In:  a problem and how to run it. Out: the table of all variants, each with its guess and what its trace
//      reveals. Every count and time is read from the recordings; nothing is expected into being.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>

#include "hunch/attention/providers.h"
#include "hunch/base/check.h"
#include "hunch/base/strings.h"
#include "hunch/cli/device_option.h"
#include "hunch/cli/fail_on.h"
#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/progress.h"
#include "hunch/cli/run_options.h"
#include "hunch/cli/verbs.h"
#include "hunch/formats/writer.h"
#include "hunch/guess/shipped.h"
#include "hunch/report/json/json_writer.h"
#include "hunch/report/utf8.h"
#include "hunch/tensor/cpu_device.h"
#include "hunch/tensor/cuda.h"

namespace hunch::cli {
namespace {

using base::Result;
using base::Status;

constexpr std::array<Option, 2> kReportOptions = {{
    {"--top", "-n", "COUNT", "findings told of each variant (20); 0 tells all", false},
    {"--fail-on", "", "RULES", "exit 1 where one of these rules has a finding; any: whatever rule", true},
}};

Status make_folder(const std::string& path) {
  std::error_code reason;
  std::filesystem::create_directories(path, reason);
  if (!reason && !std::filesystem::is_directory(path, reason))
    reason = std::make_error_code(std::errc::not_a_directory);
  if (!reason) return {};
  return base::fail(base::Error{base::ErrorCode::io,
                                fmt::format("--trace-dir: cannot make it: {}", reason.message()),
                                path,
                                {},
                                "another folder"});
}

std::vector<std::pair<std::string, std::string>> problem_fields(const attention::Problem& problem) {
  const auto number = [](int64_t value) { return fmt::format("{}", value); };
  const double scale =
      problem.scale.value_or(1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(problem.head_dim, 1))));
  return {{"batch", number(problem.batch)},
          {"heads", number(problem.heads)},
          {"kv_heads", number(problem.kv_heads)},
          {"length", number(problem.length)},
          {"kv_length", number(problem.kv_length)},
          {"head_dim", number(problem.head_dim)},
          {"dtype", report::json::quoted(tensor::name_of(problem.dtype))},
          {"mask", report::json::quoted(attention::name_of(problem.mask))},
          {"window", problem.window ? number(*problem.window) : "null"},
          {"softcap", problem.softcap ? fmt::format("{}", *problem.softcap) : "null"},
          {"scale", fmt::format("{}", scale)}};
}

// The libraries of the variants' providers, opened before anything else: name, and what each is.
using Providers = std::vector<std::pair<std::string, std::string>>;
Result<Providers> open_providers(const RunPlan& plan) {
  Providers opened;
  for (const attention::Provider& provider : attention::providers()) {
    const bool runs =
        std::any_of(plan.lab.variants.begin(), plan.lab.variants.end(), [&](const std::string& variant) {
          return attention::find_variant(variant)->provider() == provider.name;
        });
    if (!runs) continue;
    auto library = provider.open();
    if (!library) {
      base::Error error = named(library.error(), fmt::format("--provider {}", provider.name));
      return base::fail(std::move(error));
    }
    opened.emplace_back(provider.name, std::move(*library));
  }
  return opened;
}

report::RunReport header_of(const RunPlan& plan, const tensor::Device& device, Providers providers) {
  const tensor::DeviceInfo& info = device.info();
  report::RunReport report;
  report.device_name = info.name;
  report.device_kind = info.kind == tensor::DeviceKind::cpu ? "cpu" : "cuda";
  report.device_features = info.features;
  report.threads = plan.threads;
  report.problem_text = plan.lab.problem.text();
  report.problem = problem_fields(plan.lab.problem);
  report.wait = plan.lab.schedule.wait;
  report.warmup = plan.lab.schedule.warmup;
  report.active = plan.lab.schedule.active;
  report.seed = plan.lab.seed;
  report.providers = std::move(providers);
  return report;
}

// A variant's recording, studied; no study where the variant refused.
struct Ran {
  lab::Recording recording;
  std::unique_ptr<Study> study;
};

// The guess to hold against a variant: the user's part for it, or the shipped one, which is of its backend
// whoever provides it.
Result<guess::Guess> guess_of_variant(const RunPlan& plan, const lab::Recording& recording) {
  if (plan.guess) return guess_for(*plan.guess, recording.variant);
  const std::string_view words = guess::shipped_guess(recording.backend);
  if (words.empty()) return guess::Guess{};
  HUNCH_ASSIGN(const guess::Guess shipped, guess::parse_guess_words(words));
  return guess_for(shipped, recording.variant);
}

// What bounds may name ("< naive"): by the variants' names; in the shipped guesses those of the same
// provider, without its name.
std::vector<guess::Reference> references_for(const RunPlan& plan, const std::vector<Ran>& all,
                                             const lab::Recording& recording) {
  std::vector<guess::Reference> references;
  for (const Ran& ran : all) {
    if (ran.study == nullptr) continue;
    if (plan.guess)
      references.push_back({ran.recording.variant, &ran.study->analysis});
    else if (ran.recording.provider == recording.provider)
      references.push_back({ran.recording.backend, &ran.study->analysis});
  }
  return references;
}

// How long the annotations of this name lasted, in the order they began.
std::vector<base::Ns> durations_of(const trace::Trace& trace, std::string_view range) {
  std::vector<base::Ns> durations;
  for (trace::EventId event = 0; event < trace.size(); ++event)
    if (trace.kind[event] == trace::EventKind::annotation && trace.name_of(event) == range)
      durations.push_back(trace.duration[event]);
  return durations;
}

// What happens once, from the recording of it; where the first step was a recorded one, its call is there.
report::FirstCall first_call_of(const lab::Recording& recording, const trace::Trace& recorded) {
  report::FirstCall first;
  std::vector<base::Ns> calls;
  if (recording.first_call) {
    for (const base::Ns prepared : durations_of(*recording.first_call, lab::kPrepareRange))
      first.prepare_ns += prepared;
    calls = durations_of(*recording.first_call, kForwardRange);
  }
  if (calls.empty()) calls = durations_of(recorded, kForwardRange);
  if (!calls.empty()) first.host_ns = calls.front();
  return first;
}

Result<report::VariantRow> row_of(const RunPlan& plan, const Ran& ran, const std::vector<Ran>& all) {
  report::VariantRow row;
  row.name = ran.recording.variant;
  row.backend = ran.recording.backend;
  row.provider = ran.recording.provider;
  row.available = ran.study != nullptr;
  row.reasons = ran.recording.refusals;
  if (ran.study == nullptr) return row;
  const Study& study = *ran.study;
  row.max_abs_error = ran.recording.max_abs_error;
  row.error_bound = ran.recording.error_bound;
  row.error_ok = ran.recording.error_ok;
  const auto& forwards = study.analysis.forwards;
  const auto found = std::find_if(forwards.begin(), forwards.end(),
                                  [](const auto& candidate) { return candidate.range == kForwardRange; });
  HUNCH_CHECK(found != forwards.end(), "a recording of the laboratory has its range of forwards");
  const analysis::Forward& forward = *found;
  const report::ForwardRow numbers = report::forward_row(forward);
  row.kernels = numbers.kernels;
  row.memcpy = numbers.memcpy;
  row.memset = numbers.memset;
  row.device_ns = numbers.device_ns;
  row.host_ns = numbers.host_ns;
  row.peak_bytes = numbers.peak_bytes;
  row.first_call = first_call_of(ran.recording, study.trace);
  const auto kernels = report::kernel_rows(study.analysis, forward);
  if (!kernels.empty()) row.occupancy = kernels.front().occupancy;
  std::vector<analysis::rules::Finding> findings = study.findings;
  std::erase_if(findings, [](const auto& finding) { return finding.range != kForwardRange; });
  row.findings = report::finding_rows(study.analysis, findings);
  HUNCH_ASSIGN(const guess::Guess guess, guess_of_variant(plan, ran.recording));
  HUNCH_ASSIGN(const auto verdicts, guess::compare(guess, study.analysis, study.findings,
                                                   references_for(plan, all, ran.recording)));
  row.guess = report::verdict_rows(study.analysis, verdicts);
  if (!plan.trace_dir.empty()) {
    row.trace_file = (std::filesystem::path(plan.trace_dir) / (row.name + ".json.gz")).string();
    HUNCH_RETURN_IF_ERROR(formats::write_chrome_json(study.trace, row.trace_file));
  }
  return row;
}

Result<std::unique_ptr<tensor::Device>> open_device(const RunPlan& plan) {
  if (!plan.cuda_device) return std::make_unique<tensor::CpuDevice>(plan.threads);
  auto device = tensor::open_cuda(*plan.cuda_device);
  if (device) return device;
  base::Error error = named(device.error(), "--device cuda");
  error.remedy =
      error.remedy.empty() ? "hunch doctor" : fmt::format("{}; hunch doctor tells more", error.remedy);
  return base::fail(std::move(error));
}

Result<std::vector<Ran>> record_all(const RunPlan& plan, tensor::Device& device) {
  Progress progress("preparing ...");
  const auto told = [&](const std::string& what, int done, int total) {
    progress.say(fmt::format("{} ({} of {})", what, done, total));
  };
  HUNCH_ASSIGN(std::vector<lab::Recording> recordings, lab::run(device, plan.lab, told));
  progress.say("analysing ...");
  std::vector<Ran> all;
  for (lab::Recording& recording : recordings) {
    Ran& ran = all.emplace_back();
    if (recording.trace) ran.study = std::make_unique<Study>(std::move(*recording.trace));
    ran.recording = std::move(recording);
  }
  return all;
}

// What recordings lack, and why: the same for several variants is told once.
void tell_what_lacks(const std::vector<Ran>& all) {
  std::set<std::string> told;
  for (const Ran& ran : all) {
    for (const std::string& note : ran.recording.notes)
      if (told.insert(note).second) fmt::print(stderr, "hunch: {}\n", report::printable(note));
    if (ran.study == nullptr) continue;
    for (const std::string& warning : ran.study->trace.stats.warnings)
      if (told.count(warning) == 0)
        fmt::print(stderr, "hunch: {}: {}\n", ran.recording.variant, report::printable(warning));
  }
}

Result<int> execute(const Arguments& arguments) {
  HUNCH_ASSIGN(const RunPlan plan, plan_of(arguments));
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  HUNCH_ASSIGN(const FailOn fail_on, FailOn::from(arguments));
  if (!plan.trace_dir.empty()) HUNCH_RETURN_IF_ERROR(make_folder(plan.trace_dir));
  HUNCH_ASSIGN(Providers providers, open_providers(plan));
  HUNCH_ASSIGN(const std::unique_ptr<tensor::Device> device, open_device(plan));
  HUNCH_ASSIGN(const std::vector<Ran> all, record_all(plan, *device));
  tell_what_lacks(all);
  report::RunReport report = header_of(plan, *device, std::move(providers));
  bool missed = false;
  for (const Ran& ran : all) {
    HUNCH_ASSIGN(report::VariantRow row, row_of(plan, ran, all));
    for (const auto& verdict : row.guess)
      missed = missed || verdict.verdict.outcome == guess::Outcome::misses;
    report.variants.push_back(std::move(row));
  }
  HUNCH_RETURN_IF_ERROR(presentation.show(report));
  // The shipped guesses miss on purpose; a guess of the user's own that misses is a failed test.
  bool failed = missed && plan.guess;
  for (const report::VariantRow& row : report.variants) {
    std::vector<analysis::rules::Finding> findings;
    for (const auto& each : row.findings) findings.push_back(each.finding);
    if (fail_on.tell(findings, row.name)) failed = true;
  }
  return failed ? kMissed : kFine;
}

// The end of help: what a run is, and the variants that there are.
std::string details_text() {
  std::vector<std::string_view> names;
  for (const auto* backend : attention::backends()) names.push_back(backend->name());
  return fmt::format(
      "Variants: {}. 'hunch doctor' tells what each is. Other providers have theirs: 'torch.flash' is "
      "PyTorch's flash, on the same tensors, and '--provider native,torch' runs both's.\n\n"
      "Each variant runs the same problem under the recorder; counts and times are per forward and come from "
      "the "
      "recording. Without --guess, each variant is held against the guess that a newcomer would make: some "
      "miss, and "
      "the report says why. In a guess file, [forward.\"flash\"] and [forward.\"torch.flash\"] speak of one "
      "variant, "
      "[forward] of all that run.",
      fmt::join(names, ", "));
}

}  // namespace

const Command& run_command() {
  static const std::string kDetails = details_text();
  static const Command kCommand = {
      "run",
      "run attention variants here, record, count, compare, explain",
      "hunch run                          every attention variant here, explained\n"
      "hunch run --problem 2x16x1024x64 --dtype f32 --mask none\n"
      "hunch run --variant naive,flash --trace-dir traces\n"
      "hunch run --provider native,torch  PyTorch's variants beside hunch's own\n"
      "hunch run --variant naive --guess 'kernels=5 memcpy=0'",
      "hunch run [OPTIONS]",
      kDetails,
      {kRunOptions, kReportOptions, kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
