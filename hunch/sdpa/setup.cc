// Words to versions and architectures. In: text of a command line or a file. Out: a Setup's fields, or one
// usage error that names what is known. Holds: a Setup from here has a PyTorch that the table knows, and an
// architecture that NVIDIA made.
#include "hunch/sdpa/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hunch/base/strings.h"

namespace hunch::sdpa {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"flash", "efficient", "math", "cudnn"};
constexpr std::array<std::string_view, 19> kArchitectures = {
    "cpu",   "sm_50", "sm_52", "sm_53", "sm_60", "sm_61",  "sm_62",  "sm_70",  "sm_72", "sm_75",
    "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121"};

// Up to three numbers between dots.
std::optional<std::array<int, 3>> numbers(std::string_view text) {
  std::array<int, 3> out = {0, 0, -1};
  const auto parts = base::split(text, '.');
  if (parts.size() > 4) return std::nullopt;
  for (std::size_t i = 0; i < parts.size() && i < 3; ++i) {
    const auto value = base::parse_int(parts[i]);
    if (!value || *value < 0 || *value > 99) return std::nullopt;
    out[i] = static_cast<int>(*value);
  }
  if (parts.size() < 2) return std::nullopt;
  return out;
}

}  // namespace

std::string_view name_of(Backend backend) { return kNames[static_cast<std::size_t>(backend)]; }

std::optional<Backend> parse_backend(std::string_view name) {
  for (const Backend backend : kBackends)
    if (name_of(backend) == name) return backend;
  return std::nullopt;
}

bool Setup::is_enabled(Backend backend) const {
  return std::find(enabled.begin(), enabled.end(), backend) != enabled.end();
}

std::string Setup::arch_text() const { return sm == 0 ? "cpu" : fmt::format("sm_{}", sm); }

std::string cudnn_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::optional<int> bundled_cudnn(int torch) {
  constexpr std::pair<int, int> kBundled[] = {{20400, 90100}, {20500, 90100}, {20600, 90100}, {20700, 90501},
                                              {20800, 91002}, {20900, 91002}, {21000, 91002}, {21100, 91900}};
  for (const auto& [release, cudnn] : kBundled)
    if (torch / 100 * 100 == release) return cudnn;
  return std::nullopt;
}

base::Status set_torch(Setup& setup, std::string_view text) {
  // "2.11.0+cu130", "2.9.0a0+git123"
  std::string_view plain = base::trim(text);
  plain = plain.substr(0, plain.find('+'));
  plain = plain.substr(0, plain.find_first_not_of("0123456789."));
  const auto parts = numbers(plain);
  const std::string known = fmt::format("2.{} to 2.{}", kOldestTorch / 100 % 100, kNewestTorch / 100 % 100);
  if (!parts)
    return base::fail(base::ErrorCode::usage, fmt::format("torch {}: not a version", text), "--torch 2.11");
  const int code = (*parts)[0] * 10000 + (*parts)[1] * 100;
  if (code < kOldestTorch)
    return base::fail(base::ErrorCode::usage,
                      fmt::format("torch {}: what it takes is not established; known are {}", text, known),
                      fmt::format("--torch 2.{}", kOldestTorch / 100 % 100));
  setup.torch_text = std::string(base::trim(text));
  setup.torch_unknown = code > kNewestTorch;
  setup.torch = setup.torch_unknown ? kNewestTorch : code + std::max((*parts)[2], 0);
  // A version without a patch is its last release: 2.5.0 and 2.9.0 differ from theirs.
  if ((*parts)[2] < 0 && (code == 20500 || code == 20900)) setup.torch = code + 1;
  return {};
}

base::Result<int> parse_arch(std::string_view text) {
  std::string word(base::trim(text));
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "cpu") return 0;
  std::string digits = word.rfind("sm_", 0) == 0  ? word.substr(3)
                       : word.rfind("sm", 0) == 0 ? word.substr(2)
                                                  : word;
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) digits.pop_back();
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  const std::string name = "sm_" + digits;
  if (std::find(kArchitectures.begin(), kArchitectures.end(), name) != kArchitectures.end())
    return static_cast<int>(*base::parse_int(digits));
  return base::fail(base::ErrorCode::usage, fmt::format("arch {}: unknown", text),
                    base::did_you_mean(word.rfind("sm", 0) == 0 ? name : word, kArchitectures));
}

base::Result<int> parse_cudnn(std::string_view text) {
  const auto whole = base::parse_int(base::trim(text));
  if (whole && *whole >= 80000 && *whole < 1000000) return static_cast<int>(*whole);
  if (whole && *whole >= 8000 && *whole < 9000)  // cuDNN 8 wrote 8906
    return static_cast<int>(*whole / 1000 * 10000 + *whole / 100 % 10 * 100 + *whole % 100);
  const auto parts = numbers(base::trim(text));
  if (!parts || (*parts)[0] < 8)
    return base::fail(base::ErrorCode::usage, fmt::format("cudnn {}: not a version", text), "--cudnn 9.19");
  return (*parts)[0] * 10000 + (*parts)[1] * 100 + std::max((*parts)[2], 0);
}

base::Result<int> parse_cuda(std::string_view text) {
  const auto parts = numbers(base::trim(text));
  if (!parts)
    return base::fail(base::ErrorCode::usage, fmt::format("cuda {}: not a version", text), "--cuda 13.0");
  return (*parts)[0] * 100 + (*parts)[1];
}

base::Result<std::vector<Backend>> parse_backends(std::string_view text) {
  std::vector<Backend> backends;
  for (const std::string_view part : base::split(text, ',')) {
    const std::string_view word = base::trim(part);
    const auto backend = parse_backend(word);
    if (!backend)
      return base::fail(base::ErrorCode::usage, fmt::format("'{}' is no backend", word),
                        base::did_you_mean(word, kNames));
    if (std::find(backends.begin(), backends.end(), *backend) == backends.end()) backends.push_back(*backend);
  }
  return backends;
}

}  // namespace hunch::sdpa
