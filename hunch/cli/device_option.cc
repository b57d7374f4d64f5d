#include "hunch/cli/device_option.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "hunch/base/strings.h"

namespace hunch::cli {

base::Result<std::optional<int>> cuda_index(const Arguments& arguments) {
  const std::string device = arguments.text("--device").value_or("cpu");
  if (device == "cpu") return std::optional<int>();
  if (device == "cuda") return std::optional<int>(0);
  constexpr std::string_view kPrefix = "cuda:";
  if (device.rfind(kPrefix, 0) == 0) {
    const auto index = base::parse_int(std::string_view(device).substr(kPrefix.size()));
    if (index && *index >= 0 && *index < 1024) return std::optional<int>(static_cast<int>(*index));
    return base::fail(base::ErrorCode::usage,
                      fmt::format("--device {}: expected a number behind the colon", device),
                      "--device cuda:0");
  }
  return base::fail(base::ErrorCode::usage, fmt::format("--device {}: unknown", device),
                    "--device cpu, or --device cuda for a GPU");
}

base::Result<ScoreOptions> score_options(const Arguments& arguments) {
  ScoreOptions scores;
  if (arguments.text("--window")) {
    HUNCH_ASSIGN(scores.window, arguments.integer("--window", 1, 1, std::numeric_limits<int32_t>::max()));
  }
  if (const auto text = arguments.text("--softcap")) {
    scores.softcap = base::parse_double(base::trim(*text));
    if (!scores.softcap || !std::isfinite(*scores.softcap) || *scores.softcap <= 0)
      return base::fail(base::ErrorCode::usage, fmt::format("--softcap {}: expected a number above 0", *text),
                        "--softcap 50");
  }
  if (const auto text = arguments.text("--scale")) {
    scores.scale = base::parse_double(base::trim(*text));
    if (!scores.scale || !std::isfinite(*scores.scale))
      return base::fail(base::ErrorCode::usage, fmt::format("--scale {}: expected a finite number", *text),
                        "--scale 0.125");
  }
  return scores;
}

base::Error named(base::Error error, std::string_view option) {
  error.message = fmt::format("{}: {}", option, error.message);
  return error;
}

}  // namespace hunch::cli
