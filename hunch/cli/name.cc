// `hunch name NAME...`: what a kernel's name says, and nothing that it does not say.
//
// In:  names as arguments, or with "-" one a line on standard input. Out: facts of each name, in order.
#include <utility>

#include "hunch/base/mapped_file.h"
#include "hunch/base/strings.h"
#include "hunch/cli/output.h"
#include "hunch/cli/verbs.h"

namespace hunch::cli {
namespace {

base::Result<int> execute(const Arguments& arguments) {
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  if (arguments.positionals.empty())
    return base::fail(
        base::ErrorCode::usage, "name: a kernel's name is missing",
        "hunch name 'ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn', or - for lines of "
        "standard input");
  report::NameReport report;
  const auto add = [&](std::string_view name) {
    report.names.push_back({std::string(name), analysis::kernel_facts(name)});
  };
  for (const std::string& name : arguments.positionals) {
    if (name != "-") {
      add(name);
      continue;
    }
    HUNCH_ASSIGN(const base::MappedFile lines, base::MappedFile::open("-"));
    for (const std::string_view one : base::split(lines.bytes(), '\n'))
      if (!base::trim(one).empty()) add(base::trim(one));
  }
  HUNCH_RETURN_IF_ERROR(presentation.show(report));
  return kFine;
}

}  // namespace

const Command& name_command() {
  static const Command kCommand = {
      "name",
      "what a kernel's name says: family, backend, dtype, tile, Tensor Cores",
      "hunch name 'void flash_fwd_kernel<...>'   what a kernel's name says\n"
      "hunch name - < names.txt\n"
      "hunch name --format json nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
      "hunch name NAME... [OPTIONS]",
      "NAME is a kernel's name as a profiler prints it, demangled; '-' reads one a line from standard input. "
      "What a "
      "name does not tell stays '-' (null in JSON); nothing is guessed.",
      {kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
