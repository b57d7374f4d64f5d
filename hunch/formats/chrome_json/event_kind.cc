#include "hunch/formats/chrome_json/event_kind.h"

#include <algorithm>
#include <array>

#include "hunch/formats/chrome_json/token_walker.h"

namespace hunch::formats::chrome_json {
namespace {

using trace::EventKind;

struct Category {
  std::string_view name;
  EventKind kind;
};

// As they are written; other writings are lowered first.
constexpr std::array kCategories = {
    Category{"cpu_op", EventKind::op},
    Category{"python_function", EventKind::python_frame},
    Category{"cuda_runtime", EventKind::runtime_call},
    Category{"kernel", EventKind::kernel},
    Category{"cuda_driver", EventKind::driver_call},
    Category{"user_annotation", EventKind::annotation},
    Category{"gpu_memcpy", EventKind::memcpy},
    Category{"gpu_memset", EventKind::memset},
    Category{"gpu_user_annotation", EventKind::device_annotation},
    Category{"overhead", EventKind::overhead},
    Category{"operator", EventKind::op},           // until 2022
    Category{"runtime", EventKind::runtime_call},  // until 2022
    Category{"driver", EventKind::driver_call},
    Category{"memcpy", EventKind::memcpy},
    Category{"memset", EventKind::memset},
    Category{"concurrent_kernel", EventKind::kernel},
    Category{"mtia_ccp_events", EventKind::kernel},  // work of Meta's accelerator
};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

EventKind kind_of_category(std::string_view category) {
  // The common ones.
  switch (category.size()) {
    case 6:
      if (is(category, "cpu_op")) return EventKind::op;
      if (is(category, "kernel")) return EventKind::kernel;
      break;
    case 11:
      if (is(category, "cuda_driver")) return EventKind::driver_call;
      break;
    case 12:
      if (is(category, "cuda_runtime")) return EventKind::runtime_call;
      break;
    case 15:
      if (is(category, "python_function")) return EventKind::python_frame;
      if (is(category, "user_annotation")) return EventKind::annotation;
      break;
    default:
      break;
  }
  std::array<char, 32> lowered{};
  if (category.size() > lowered.size()) return EventKind::other;
  std::transform(category.begin(), category.end(), lowered.begin(), lower);
  const std::string_view name(lowered.data(), category.size());
  for (const auto& known : kCategories)
    if (name == known.name) return known.kind;
  // Other vendors' names differ in the first word only: xpu_runtime, mtia_runtime, privateuse1_driver.
  if (ends_with(name, "_runtime")) return EventKind::runtime_call;
  if (ends_with(name, "_driver")) return EventKind::driver_call;
  if (ends_with(name, "_sync")) return EventKind::sync;
  return EventKind::other;
}

}  // namespace hunch::formats::chrome_json
