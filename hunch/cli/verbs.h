// One function a verb; each is in the file of its name.
#pragma once

#include "hunch/cli/command.h"

namespace hunch::cli {

const Command& run_command();
const Command& explain_command();
const Command& check_command();
const Command& diff_command();
const Command& record_command();
const Command& why_command();
const Command& name_command();
const Command& doctor_command();
const Command& help_command();

}  // namespace hunch::cli
