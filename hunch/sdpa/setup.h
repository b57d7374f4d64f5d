// Where the call is made: PyTorch's version, the device's architecture, cuDNN, and the switches that a
// program or its environment sets. Versions are numbers that compare: 2.5.1 is 20501.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::sdpa {

enum class Backend { flash, efficient, math, cudnn };
std::string_view name_of(Backend backend);
std::optional<Backend> parse_backend(std::string_view name);
inline constexpr Backend kBackends[] = {Backend::flash, Backend::efficient, Backend::math, Backend::cudnn};

inline constexpr int kOldestTorch = 20400, kNewestTorch = 21100;  // what the table was established for

struct Setup {
  int torch = kNewestTorch;         // 21100
  std::string torch_text = "2.11";  // as given
  bool torch_unknown = false;       // newer than the newest known: judged as that one
  int sm = 90;                      // 90, 121; 0: the CPU
  std::optional<int> cudnn;         // 91900; not given: what that PyTorch's wheels bring, where known
  std::optional<int> cuda;          // 1300: of the build
  std::vector<Backend> enabled = {Backend::flash, Backend::efficient, Backend::math, Backend::cudnn};
  std::vector<Backend> priority;  // sdpa_kernel(..., set_priority=True); empty: the default order
  bool deterministic = false;     // torch.use_deterministic_algorithms(True), not warn_only
  std::map<std::string, std::string> environment;

  bool is_cpu() const { return sm == 0; }
  bool is_enabled(Backend backend) const;
  std::string arch_text() const;  // "sm_90", "cpu"
};

std::string cudnn_text(int version);  // "9.19.0"
// What that version's wheels on PyPI bring; nothing where it is not known.
std::optional<int> bundled_cudnn(int torch);

// "2.11", "2.5.1". Newer than known: taken as the newest, and said. Error: usage for what is no version, or
// older than the oldest known.
base::Status set_torch(Setup& setup, std::string_view text);
// "sm_90", "sm90", "9.0", "cpu". Error: usage, with the closest one.
base::Result<int> parse_arch(std::string_view text);
// "9.19", "9.19.0", or the number that torch.backends.cudnn.version() gives. Error: usage.
base::Result<int> parse_cudnn(std::string_view text);
base::Result<int> parse_cuda(std::string_view text);
// "flash,math". Error: usage.
base::Result<std::vector<Backend>> parse_backends(std::string_view text);

}  // namespace hunch::sdpa
