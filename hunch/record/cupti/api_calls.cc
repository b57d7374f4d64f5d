// Names by callback id, asked of the library itself, so that ids of a newer version have theirs. The
// runtime's names come with the version that brought them ("cudaLaunchKernel_v7000"), which no one else
// shows.
#include "hunch/record/cupti/api_calls.h"

#include <algorithm>
#include <array>

namespace hunch::record::cupti {
namespace {

constexpr uint32_t kMostIds = 4096;
constexpr uint32_t kGap = 64;  // ids without a name in a row: the end

bool starts_with_one_of(std::string_view name, const auto& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_kept(bool driver, std::string_view name) {
  static constexpr std::array<std::string_view, 25> kRuntime = {"cudaLaunch",
                                                                "cudaMemcpy",
                                                                "cudaMemset",
                                                                "cudaMalloc",
                                                                "cudaFree",
                                                                "cudaHostAlloc",
                                                                "cudaHostRegister",
                                                                "cudaHostUnregister",
                                                                "cudaMemPrefetch",
                                                                "cudaMemDiscard",
                                                                "cudaDeviceSynchronize",
                                                                "cudaThreadSynchronize",
                                                                "cudaStreamSynchronize",
                                                                "cudaEventSynchronize",
                                                                "cudaStreamWaitEvent",
                                                                "cudaGraphLaunch",
                                                                "cudaGraphInstantiate",
                                                                "cudaGraphUpload",
                                                                "cudaGraphExecUpdate",
                                                                "cudaStreamBeginCapture",
                                                                "cudaStreamEndCapture",
                                                                "cudaLibraryLoad",
                                                                "cudaDeviceReset",
                                                                "cudaMemPoolTrimTo",
                                                                "cudaDeviceGraphMemTrim"};
  static constexpr std::array<std::string_view, 24> kDriver = {"cuLaunch",
                                                               "cuMemcpy",
                                                               "cuMemset",
                                                               "cuMemAlloc",
                                                               "cuMemFree",
                                                               "cuMemCreate",
                                                               "cuMemMap",
                                                               "cuMemHostAlloc",
                                                               "cuMemHostRegister",
                                                               "cuMemHostUnregister",
                                                               "cuMemPrefetch",
                                                               "cuMemDiscard",
                                                               "cuCtxSynchronize",
                                                               "cuStreamSynchronize",
                                                               "cuEventSynchronize",
                                                               "cuStreamWaitEvent",
                                                               "cuGraphLaunch",
                                                               "cuGraphInstantiate",
                                                               "cuGraphUpload",
                                                               "cuGraphExecUpdate",
                                                               "cuStreamBeginCapture",
                                                               "cuModuleLoad",
                                                               "cuLibraryLoad",
                                                               "cuLink"};
  return driver ? starts_with_one_of(name, kDriver) : starts_with_one_of(name, kRuntime);
}

// "__cudaLaunchKernel_ptsz_v13000" is cudaLaunchKernel.
std::string readable(bool driver, std::string_view name) {
  if (driver) return std::string(name);
  while (name.starts_with('_')) name.remove_prefix(1);
  const std::size_t at = name.rfind("_v");
  if (at != std::string_view::npos && at + 2 < name.size() &&
      std::all_of(name.begin() + at + 2, name.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
      name.size() - at > 4)  // a version of four digits or more; "_v2" is part of a name
    name = name.substr(0, at);
  for (const std::string_view end : {"_ptsz", "_ptds"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  return std::string(name);
}

std::vector<std::string> names_of(const Library& library, bool driver) {
  std::vector<std::string> names(1);  // id 0 is invalid
  uint32_t gap = 0;
  for (uint32_t id = 1; id < kMostIds && gap < kGap; ++id) {
    const char* name = nullptr;
    const CUptiResult found = library.cuptiGetCallbackName(
        driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, id, &name);
    const bool known = found == CUPTI_SUCCESS && name != nullptr;
    gap = known ? 0 : gap + 1;
    std::string text = known ? readable(driver, name) : std::string();
    names.push_back(is_kept(driver, text) ? std::move(text) : std::string());
  }
  names.resize(names.size() - gap);  // ids behind the last that has a name
  return names;
}

}  // namespace

ApiCalls::ApiCalls(const Library& library)
    : runtime_(names_of(library, false)), driver_(names_of(library, true)) {}

}  // namespace hunch::record::cupti
