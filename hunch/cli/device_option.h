// What verbs share of their options: which device --device names, and errors that say whose value was wrong.
#pragma once

#include <optional>
#include <string_view>

#include "hunch/cli/command.h"

namespace hunch::cli {

// The index of the GPU that --device names, or none for the CPU, also where the option is not given. Whether
// it is there shows when it is opened. Error: usage.
base::Result<std::optional<int>> cuda_index(const Arguments& arguments);

// --window, --scale and --softcap, where they are given. Error: usage.
struct ScoreOptions {
  std::optional<int64_t> window;
  std::optional<double> scale, softcap;
};
base::Result<ScoreOptions> score_options(const Arguments& arguments);

// The same error, with the option or the verb before its words.
base::Error named(base::Error error, std::string_view option);

}  // namespace hunch::cli
