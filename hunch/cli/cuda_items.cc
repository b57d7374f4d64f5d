// The libraries are opened as those who use them open them, and asked for their version; so "ok" here means
// that they load. Each tells its version in a form of its own.
#include "hunch/cli/cuda_items.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

#include "hunch/base/nvidia_libraries.h"
#include "hunch/base/shared_library.h"
#include "hunch/base/units.h"
#include "hunch/tensor/cuda.h"

namespace hunch::cli {
namespace {

using base::SharedLibrary;
using report::DoctorItem;

struct Wanted {
  std::string name;
  std::vector<std::string> files;
  std::string purpose;
  std::string package;  // what to install where it is missing
  std::function<std::string(const SharedLibrary&)> version;
};

std::string three_parts(std::size_t version, std::size_t major, std::size_t minor) {
  return fmt::format("{}.{}.{}", version / major, version % major / minor, version % minor);
}

// For a build with this version of the CUDA runtime, as 13000.
std::vector<Wanted> wanted(int runtime_version) {
  return {
      {"cuBLASLt", base::nvidia::cublaslt(runtime_version / 1000), "matrix products on the GPU",
       "the CUDA toolkit, or pip's nvidia-cublas",
       [](const SharedLibrary& library) -> std::string {
         auto* const ask = library.function<std::size_t()>("cublasLtGetVersion");
         return ask == nullptr ? "" : three_parts(ask(), 10000, 100);
       }},
      {"CUPTI", base::nvidia::cupti(), "records what the GPU does",
       "the CUDA toolkit, or pip's nvidia-cuda-cupti",
       [](const SharedLibrary& library) -> std::string {
         auto* const ask = library.function<int(uint32_t*)>("cuptiGetVersion");
         uint32_t version = 0;
         return ask == nullptr || ask(&version) != 0 ? "" : fmt::format("API {}", version);
       }},
      {"cuDNN", base::nvidia::cudnn(), "the variant cudnn", "pip's nvidia-cudnn-cu13",
       [](const SharedLibrary& library) -> std::string {
         auto* const ask = library.function<std::size_t()>("cudnnGetVersion");
         return ask == nullptr ? "" : three_parts(ask(), 10000, 100);
       }},
  };
}

DoctorItem item_of(const Wanted& library) {
  const auto opened = SharedLibrary::open(library.files, base::cuda_library_folders());
  if (!opened)
    return {library.name, "missing", fmt::format("{}; install {}", opened.error().message, library.package)};
  const std::string version = library.version(*opened);
  return {library.name, "ok", fmt::format("{}{}{}", version, version.empty() ? "" : ", ", library.purpose)};
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

std::vector<DoctorItem> cuda_items() {
  const tensor::CudaStatus status = tensor::cuda_status();
  if (!status.built) {
    const bool driver = ::access("/dev/nvidiactl", F_OK) == 0;
    return {{"CUDA", "off",
             driver ? "not in this build, though the machine has an NVIDIA driver: build where nvcc is"
                    : "not in this build; traces of it can be read"}};
  }
  std::vector<DoctorItem> items;
  items.push_back({"CUDA", status.missing.empty() ? "ok" : "missing",
                   status.missing.empty()
                       ? fmt::format("{}, and the driver serves {}", version_text(status.runtime_version),
                                     version_text(status.driver_version))
                       : fmt::format("{} is in this build, but {}; traces of a GPU can be read",
                                     version_text(status.runtime_version), status.missing)});
  for (const tensor::DeviceInfo& info : status.devices)
    items.push_back({fmt::format("cuda:{}", info.index), "ok",
                     fmt::format("{}, {}, {} multiprocessors, {}", info.name, info.features,
                                 info.multiprocessors, base::format_bytes(info.memory_bytes))});
  for (const Wanted& library : wanted(status.runtime_version)) {
    if (library.name == "cuDNN" && HUNCH_HAS_CUDNN == 0) {
      items.push_back({"cuDNN", "off", "not in this build: it needs cudnn-frontend's headers"});
      continue;
    }
    items.push_back(item_of(library));
  }
  return items;
}

}  // namespace hunch::cli
