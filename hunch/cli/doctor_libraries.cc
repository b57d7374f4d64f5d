// Versions as the libraries themselves tell them, at run time where they can; of header-only ones as found by
// CMake.
#include "hunch/cli/doctor_libraries.h"

#include <fmt/format.h>
#include <isa-l.h>
#include <libdeflate.h>
#include <oneapi/dnnl/dnnl.h>
#include <simdjson.h>
#include <sqlite3.h>
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
      {"libdeflate", "ok", fmt::format("{}, writes gzip", LIBDEFLATE_VERSION_STRING)},
      {"igzip", "ok",
       fmt::format("{}.{}.{}, reads gzip", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION)},
      {"SQLite", "ok", fmt::format("{}, reads exports of Nsight Systems", sqlite3_libversion())},
      {"Highway", "ok", HUNCH_HIGHWAY_VERSION ", SIMD of the CPU kernels"},
      {"toml++", "ok", HUNCH_TOMLPLUSPLUS_VERSION ", reads guesses"},
      {"fmt", "ok", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"CLI11", "ok", CLI11_VERSION},
  };
}

}  // namespace hunch::cli
