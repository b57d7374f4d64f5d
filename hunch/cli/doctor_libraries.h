// The versions of the libraries in this build; apart from doctor.cc because their headers are heavy.
#pragma once

#include <vector>

#include "hunch/report/report.h"

namespace hunch::cli {

std::vector<report::DoctorItem> library_items();

}  // namespace hunch::cli
