// What an event's category says it is: the categories of Kineto of all years and vendors.
#pragma once

#include <string_view>

#include "hunch/trace/trace.h"

namespace hunch::formats::chrome_json {

// `category` is the inside of the string; matched without regard to case.
trace::EventKind kind_of_category(std::string_view category);

}  // namespace hunch::formats::chrome_json
