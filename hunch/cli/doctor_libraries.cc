// Versions as the libraries themselves tell them, at run time where they can; of header-only ones as found by
// CMake.
#include "hunch/cli/doctor_libraries.h"

#include <fmt/format.h>
#include <libdeflate.h>
#include <oneapi/dnnl/dnnl.h>
#include <simdjson.h>
#include <CLI/Version.hpp>

namespace hunch::cli {

std::vector<report::DoctorItem> library_items() {
  const dnnl_version_t* dnnl = dnnl_version();
  return {
      {"oneDNN", "ok",
       fmt::format("{}.{}.{}, matrix products on the CPU", dnnl->major, dnnl->minor, dnnl->patch)},
      {"simdjson", "ok",
       fmt::format("{}, reads traces, kernel '{}'", SIMDJSON_STRINGIFY(SIMDJSON_VERSION),
                   simdjson::get_active_implementation()->name())},
      {"libdeflate", "ok", fmt::format("{}, reads and writes gzip", LIBDEFLATE_VERSION_STRING)},
      {"Highway", "ok", HUNCH_HIGHWAY_VERSION ", SIMD of the CPU kernels"},
      {"toml++", "ok", HUNCH_TOMLPLUSPLUS_VERSION ", reads guesses"},
      {"fmt", "ok", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"CLI11", "ok", CLI11_VERSION},
  };
}

}  // namespace hunch::cli
