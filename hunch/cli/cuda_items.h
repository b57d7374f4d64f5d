// What this build and machine have of CUDA: the driver, each GPU, and the libraries that are opened when
// used.
#pragma once

#include <vector>

#include "hunch/report/report.h"

namespace hunch::cli {

std::vector<report::DoctorItem> cuda_items();

}  // namespace hunch::cli
