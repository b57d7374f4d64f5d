// `hunch why`: which backend scaled_dot_product_attention takes for a problem, and why not the others.
//
// In:  a problem in words, a batch of them as JSON lines, or a trace with shapes. Out: what PyTorch takes,
// from
//      the table in hunch/sdpa, and for a single problem what hunch's own dispatcher takes, and which of its
//      kernels runs, on a device here or on a GPU that only has a name.
//      No data is made: hunch's dispatcher is asked with tensors that have no memory.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/attention/dispatch.h"
#include "hunch/base/strings.h"
#include "hunch/base/thread_pool.h"
#include "hunch/cli/device_option.h"
#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/verbs.h"
#include "hunch/cli/why_options.h"
#include "hunch/cli/why_trace.h"
#include "hunch/sdpa/choose.h"
#include "hunch/tensor/absent_gpu.h"
#include "hunch/tensor/cpu_device.h"
#include "hunch/tensor/cuda.h"

namespace hunch::cli {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::array<Option, 1> kReadOptions = {{
    {"--salvage", "", "", "read a trace that is cut off as far as it goes", false},
}};

report::WhyDispatcher pytorch(const WhyQuestion& question) {
  const sdpa::Setup& setup = question.setup;
  const sdpa::Choice choice = sdpa::choose(question.problem, setup);
  report::WhyDispatcher out;
  out.name = "pytorch";
  out.where = {{"version", setup.torch_text},
               {"arch", setup.arch_text()},
               {"cudnn", setup.cudnn && !setup.is_cpu() ? sdpa::cudnn_text(*setup.cudnn) : std::string()}};
  out.takes = choice.takes ? std::string(sdpa::name_of(*choice.takes)) : std::string();
  out.settled = choice.settled;
  out.order = choice.order_words;
  out.notes = choice.notes;
  for (const sdpa::Opinion& opinion : choice.opinions) {
    report::WhyBackend backend{
        std::string(sdpa::name_of(opinion.backend)), opinion.order, opinion.usable, {}, {}};
    for (const sdpa::Reason& reason : opinion.reasons)
      backend.reasons.push_back({std::string(sdpa::name_of(reason.stand)), reason.text, reason.change});
    out.backends.push_back(std::move(backend));
  }
  return out;
}

// What --device names; else a GPU of the architecture that --arch names, which need not be here; else the
// CPU.
Result<std::unique_ptr<tensor::Device>> device_of(const Arguments& arguments, const sdpa::Setup& setup) {
  HUNCH_ASSIGN(const std::optional<int> gpu, cuda_index(arguments));
  if (gpu) return tensor::open_cuda(*gpu);
  if (!arguments.has("--device") && arguments.has("--arch") && !setup.is_cpu())
    return std::make_unique<tensor::AbsentGpu>(setup.sm);
  HUNCH_ASSIGN(const int64_t threads, arguments.integer("--threads", 1, 1, 1024));
  return std::make_unique<tensor::CpuDevice>(static_cast<int>(threads));
}

// A 4-dimensional tensor that says its shape and strides and has no memory: nobody reads it.
tensor::Tensor unread(tensor::Device& device, tensor::DType dtype, const std::vector<int64_t>& sizes,
                      const std::vector<int64_t>& strides) {
  alignas(64) static std::byte nowhere[64];
  tensor::Shape shape;
  tensor::Strides steps;
  for (std::size_t missing = sizes.size(); missing < 4; ++missing) {
    shape.push_back(1);
    steps.push_back(0);
  }
  for (const int64_t size : sizes) shape.push_back(size);
  for (const int64_t stride : strides) steps.push_back(stride);
  if (strides.empty()) steps = tensor::contiguous_strides(shape);
  return tensor::Tensor::borrow(device, dtype, shape, steps, nowhere, std::make_shared<int>());
}

std::vector<int64_t> listed(const std::optional<sdpa::Strides>& strides) {
  return strides ? std::vector<int64_t>(strides->begin(), strides->end()) : std::vector<int64_t>();
}

// hunch's own dispatcher; what it has no notion of is noted.
Result<report::WhyDispatcher> own(const sdpa::Problem& p, const sdpa::Setup& setup,
                                  const Arguments& arguments) {
  HUNCH_ASSIGN(const ScoreOptions scores, score_options(arguments));
  HUNCH_ASSIGN(const auto device, device_of(arguments, setup));
  report::WhyDispatcher out;
  out.name = "hunch";
  out.where = {{"device", device->info().name}};
  if (p.dtype == sdpa::DType::f64 || p.nested || p.head_dim == 0 || p.value_dim == 0) {
    out.notes.emplace_back("hunch's attention has neither f64, nested tensors nor a head_dim of 0");
    return out;
  }
  const tensor::DType dtype = p.dtype == sdpa::DType::f32    ? tensor::DType::f32
                              : p.dtype == sdpa::DType::bf16 ? tensor::DType::bf16
                                                             : tensor::DType::f16;
  attention::Call call;
  call.query = unread(*device, dtype, {p.batch, p.heads, p.length, p.head_dim}, listed(p.query_strides));
  call.key = unread(*device, dtype, {p.batch, p.kv_heads, p.kv_length, p.head_dim}, listed(p.key_strides));
  call.value =
      unread(*device, dtype, {p.batch, p.kv_heads, p.kv_length, p.value_dim}, listed(p.value_strides));
  call.is_causal = p.mask == sdpa::MaskKind::causal;
  call.enable_gqa = p.grouped();
  call.window = scores.window;
  call.scale = scores.scale;
  call.softcap = scores.softcap;
  if (p.tensor_mask())
    call.mask = unread(*device, p.mask == sdpa::MaskKind::boolean ? tensor::DType::boolean : dtype,
                       p.mask_sizes(), p.mask_strides);
  const attention::Choice choice = attention::choose_backend(call);
  out.takes = choice.backend != nullptr ? std::string(choice.backend->name()) : std::string();
  int order = 0;
  for (const attention::Opinion& opinion : choice.opinions) {
    report::WhyBackend backend{
        std::string(opinion.backend->name()), ++order, opinion.refusals.empty(), {}, {}};
    for (const std::string& refusal : opinion.refusals) backend.reasons.push_back({"against", refusal, {}});
    if (opinion.refusals.empty()) {
      backend.reasons.push_back({"for", "it takes this call", {}});
      if (const auto note = opinion.backend->kernel(call)) {
        backend.kernel = note->kernel;
        for (const std::string& clause : note->because) backend.reasons.push_back({"note", clause, {}});
      }
    }
    out.backends.push_back(std::move(backend));
  }
  if (device->info().kind == tensor::DeviceKind::cuda && device->as_cuda() == nullptr)
    out.notes.emplace_back("judged for a GPU that is not here: its memory and cuDNN's library are not asked");
  if (p.dropout > 0 || p.grad)
    out.notes.emplace_back(
        "hunch runs forwards without dropout: what the question says of these is left aside");
  return out;
}

report::WhyProblem problem_row(const WhyQuestion& question) {
  report::WhyProblem row;
  row.text = question.problem.text();
  row.fields = why_fields(question.problem);
  row.dispatchers.push_back(pytorch(question));
  return row;
}

Result<report::WhyReport> from_trace(const Arguments& arguments, const std::string& path,
                                     const sdpa::Setup& setup) {
  formats::ReadOptions options;
  options.salvage = arguments.has("--salvage");
  HUNCH_ASSIGN(const auto study, study_file(path, options));
  HUNCH_ASSIGN(const auto found, calls_of(study->analysis, setup, arguments.has("--arch"),
                                          arguments.has("--torch"), arguments.has("--cudnn")));
  report::WhyReport report;
  report.from_trace = true;
  report.source = path == "-" ? "standard input" : path;
  report.notes = found.notes;
  for (const TraceCall& call : found.calls) {
    report::WhyProblem row = problem_row(call.question);
    const auto count = call.events.size();
    row.call =
        fmt::format("{} {}, event {}", count, count == 1 ? "call" : "calls alike", call.events.front());
    if (call.direct) row.call += ", of the backend's own op: compiled code, or called by hand";
    row.took = call.took;
    row.gradients = call.gradients;
    row.gradients_because = call.because;
    row.not_told = call.not_told;
    row.explanations = call.explanations;
    row.events = call.events;
    const auto& dispatcher = row.dispatchers.front();
    row.agrees = call.took.empty() || !dispatcher.settled ? "not told"
                 : call.took == dispatcher.takes          ? "yes"
                                                          : "no";
    report.problems.push_back(std::move(row));
  }
  return report;
}

Result<int> execute(const Arguments& arguments) {
  if (!arguments.positionals.empty())
    return fail(ErrorCode::usage, fmt::format("why: what is '{}'?", arguments.positionals.front()),
                "hunch why --problem 8x16x1024x64");
  const bool one = arguments.has("--problem"), many = arguments.has("--problems"),
             traced = arguments.has("--from-trace");
  if (one + many + traced != 1)
    return fail(ErrorCode::usage,
                one + many + traced == 0 ? "why: no problem is given"
                                         : "why: of --problem, --problems and --from-trace one is enough",
                "hunch why --problem 8x16x1024x64");
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  HUNCH_ASSIGN(const sdpa::Setup setup, why_setup(arguments));
  const std::string wanted = arguments.text("--dispatcher").value_or("both");
  if (wanted != "both" && wanted != "pytorch" && wanted != "hunch")
    return fail(ErrorCode::usage, fmt::format("--dispatcher {}: unknown", wanted), "pytorch, hunch or both");
  if (wanted == "hunch" && !one)
    return fail(ErrorCode::usage, "--dispatcher hunch: batches and traces are PyTorch's", "--problem SIZES");
  report::WhyReport report;
  if (many) {
    HUNCH_ASSIGN(const auto questions, why_questions(*arguments.text("--problems"), setup));
    report.lines = true;
    for (const WhyQuestion& question : questions) report.problems.push_back(problem_row(question));
  } else if (traced) {
    HUNCH_ASSIGN(report, from_trace(arguments, *arguments.text("--from-trace"), setup));
  } else {
    HUNCH_ASSIGN(const sdpa::Problem problem, why_problem(arguments));
    report.problems.push_back(problem_row({problem, setup}));
    auto& dispatchers = report.problems.front().dispatchers;
    if (arguments.has("--window") || arguments.has("--softcap"))
      dispatchers.front().notes.emplace_back(
          "scaled_dot_product_attention has neither a window nor capped scores: judged without");
    if (wanted == "hunch") dispatchers.clear();
    if (wanted != "pytorch") {
      HUNCH_ASSIGN(auto ours, own(problem, setup, arguments));
      dispatchers.push_back(std::move(ours));
    }
  }
  HUNCH_RETURN_IF_ERROR(presentation.show(report));
  return kFine;
}

}  // namespace

const Command& why_command() {
  static const Command kCommand = {
      "why",
      "which backend SDPA takes for a problem, and why not the others",
      "hunch why --problem 8x16x1024x64 --dtype bf16 --mask causal\n"
      "hunch why -p 8x16x1024x64 --mask bool --torch 2.6 --arch sm_80   an A100\n"
      "hunch why -p 1x32x1x128 --kv-heads 8 --kv-length 4096 --mask none\n"
      "hunch why --from-trace trace.json.gz   each attention call of a trace\n"
      "hunch why --problems cases.jsonl --format json   an answer a line",
      "hunch why --problem SIZES [OPTIONS]",
      "PyTorch's answer comes from a table of what its releases 2.4 to 2.11 check, so PyTorch need not be "
      "installed; "
      "hunch's own dispatcher, and which of its kernels runs, is asked for the GPU of --arch, which need not "
      "be here, or on the device that --device names. What is not established for a "
      "version is "
      "said to be so. docs/why.md tells the constraints and what they were established from.",
      {kWhyOptions, kReadOptions, kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
