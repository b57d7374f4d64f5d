// `hunch doctor`: what this machine and this build offer, and what to do about what is missing.
//
// In:  nothing. Out: one line a thing, with its status: ok, missing (needed, and not here) or off (not part
// of
//      this build).
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "hunch/attention/backend.h"
#include "hunch/attention/providers.h"
#include "hunch/attention/torch/torch.h"
#include "hunch/base/strings.h"
#include "hunch/base/thread_pool.h"
#include "hunch/base/units.h"
#include "hunch/cli/cuda_items.h"
#include "hunch/cli/doctor_libraries.h"
#include "hunch/cli/injection.h"
#include "hunch/cli/output.h"
#include "hunch/cli/verbs.h"
#include "hunch/formats/reader.h"
#include "hunch/tensor/cpu_device.h"
#include "hunch/tensor/cuda.h"

namespace hunch::cli {
namespace {

using report::DoctorItem;

std::string compiler_text() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "an unknown compiler";
#endif
}

void add_machine(std::vector<DoctorItem>& items, const tensor::Device& device) {
  const tensor::DeviceInfo& info = device.info();
  items.push_back({"hunch", "ok", fmt::format("{}, built by {}", HUNCH_VERSION, compiler_text())});
  items.push_back(
      {"CPU", "ok",
       fmt::format("{}, {} hardware threads for this process", info.name.empty() ? "unnamed" : info.name,
                   base::ThreadPool::hardware_threads())});
  items.push_back({"SIMD", "ok", info.features.empty() ? "portable code" : info.features});
  items.push_back({"memory", "ok",
                   fmt::format("{}, of which {} can be had now", base::format_bytes(info.memory_bytes),
                               base::format_bytes(device.available_bytes()))});
}

// Each backend on a small problem that all of them are made for: what refuses that, this build does not have.
// `where` stands behind the names: empty for the CPU, " on cuda:0".
void add_backends(std::vector<DoctorItem>& items, tensor::Device& device, std::string_view where) {
  attention::Problem problem;
  problem.length = problem.kv_length = 16;
  problem.head_dim = 64;
  const attention::Call call = attention::make_call(device, problem, 1);
  for (const auto* backend : attention::backends()) {
    const std::vector<std::string> refusals = backend->refusals(call);
    items.push_back({fmt::format("variant {}{}", backend->name(), where), refusals.empty() ? "ok" : "off",
                     refusals.empty() ? std::string(backend->summary()) : base::join(refusals, "; ")});
  }
  device.synchronize();
}

DoctorItem pytorch_item() {
  const attention::Provider* const torch = attention::find_provider("torch");
  const auto library = torch->open();
  if (library) return {"PyTorch", "ok", fmt::format("{}, hunch run --provider torch", *library)};
  const bool here = !attention::torch::plugin_path().empty();
  return {"PyTorch", here ? "missing" : "off", base::describe(library.error())};
}

DoctorItem injection_item() {
  const auto library = find_injection();
  if (library) return {"hunch record", "ok", fmt::format("{}, loaded into programs", *library)};
  return {"hunch record", HUNCH_HAS_CUDA ? "missing" : "off", base::describe(library.error())};
}

void add_formats(std::vector<DoctorItem>& items) {
  std::vector<std::string> names;
  for (const auto* reader : formats::readers()) names.emplace_back(reader->name());
  items.push_back({"trace formats", names.empty() ? "missing" : "ok", base::join(names, ", ")});
}

void add_folder(std::vector<DoctorItem>& items, std::string_view name, const std::string& path) {
  const bool writable = ::access(path.c_str(), W_OK | X_OK) == 0;
  items.push_back(
      {std::string(name), writable ? "ok" : "missing",
       writable ? fmt::format("{} can be written", path)
                : fmt::format("{} cannot be written: name another with --trace-dir or --output", path)});
}

base::Result<int> execute(const Arguments& arguments) {
  if (!arguments.positionals.empty())
    return base::fail(base::ErrorCode::usage, "doctor: takes no arguments", "hunch doctor");
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  // PyTorch first: it must find the libraries that it was made with, not those that others have opened.
  DoctorItem pytorch = pytorch_item();
  report::DoctorReport report;
  tensor::CpuDevice device;
  add_machine(report.items, device);
  add_backends(report.items, device, "");
  for (DoctorItem& item : cuda_items()) report.items.push_back(std::move(item));
  if (const auto gpu = tensor::open_cuda()) add_backends(report.items, **gpu, " on cuda:0");
  report.items.push_back(std::move(pytorch));
  report.items.push_back(injection_item());
  add_formats(report.items);
  for (DoctorItem& item : library_items()) report.items.push_back(std::move(item));
  char* here = ::getcwd(nullptr, 0);
  add_folder(report.items, "this folder", here == nullptr ? "." : here);
  std::free(here);
  HUNCH_RETURN_IF_ERROR(presentation.show(report));
  return kFine;
}

}  // namespace

const Command& doctor_command() {
  static const Command kCommand = {
      "doctor",
      "what this machine and this build offer: devices, libraries, permissions",
      "hunch doctor                       what this machine and this build offer\n"
      "hunch doctor --format json",
      "hunch doctor [OPTIONS]",
      "",
      {kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
