// Parsing and phases of a step schedule.
// In:  the text that a person typed; a schedule and a step of it. Out: a Schedule, or an error that says
// which of the three numbers is wrong and how it should look; the step's phase.
#include "hunch/record/schedule.h"

#include <array>
#include <string>
#include <vector>

#include "hunch/base/check.h"
#include "hunch/base/strings.h"

namespace hunch::record {
namespace {

constexpr int64_t kMostSteps = 1'000'000;  // of one phase; more is a slip of the finger

}  // namespace

Phase phase_of(const Schedule& schedule, int step) {
  HUNCH_CHECK(step >= 0 && step < schedule.total(), "a step outside of its schedule");
  if (step < schedule.wait) return Phase::wait;
  if (step < schedule.wait + schedule.warmup) return Phase::warmup;
  return Phase::active;
}

base::Result<Schedule> parse_schedule(std::string_view text) {
  const std::string remedy = "three whole numbers, wait,warmup,active, such as 1,1,3";
  const auto failed = [&](const std::string& why) {
    return base::fail(base::ErrorCode::usage, "bad steps '" + std::string(text) + "': " + why, remedy);
  };
  const std::vector<std::string_view> parts = base::split(text, ',');
  if (parts.size() != 3) return failed("three numbers belong there, not " + std::to_string(parts.size()));
  constexpr std::array<std::string_view, 3> kNames = {"wait", "warmup", "active"};
  std::array<int, 3> numbers = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = base::parse_int(base::trim(parts[i]));
    if (!number) return failed(std::string(kNames[i]) + " is not a whole number");
    if (*number < 0) return failed(std::string(kNames[i]) + " is negative");
    if (*number > kMostSteps) return failed(std::string(kNames[i]) + " is over a million");
    numbers[i] = static_cast<int>(*number);
  }
  if (numbers[2] == 0) return failed("with no active step nothing would be recorded");
  return Schedule{numbers[0], numbers[1], numbers[2]};
}

}  // namespace hunch::record
