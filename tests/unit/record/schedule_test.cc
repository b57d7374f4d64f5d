// The schedule: which text is one, what is said of the others, and which phase a step is in.
#include "hunch/record/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch::record {
namespace {

using testing::HasSubstr;

TEST(Schedule, ReadsThreeNumbers) {
  const auto schedule = parse_schedule(" 2, 0 ,7");
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->wait, 2);
  EXPECT_EQ(schedule->warmup, 0);
  EXPECT_EQ(schedule->active, 7);
  EXPECT_EQ(schedule->total(), 9);
}

TEST(Schedule, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not 1"},
      {"1,1", "not 2"},
      {"1,1,1,1", "not 4"},
      {"1,x,3", "warmup is not"},
      {"1,1,", "active is not"},
      {"1,1,0", "nothing would be recorded"},
      {"-1,1,3", "wait is neg"},
      {"1,1,3.5", "active is not"},
      {"0,0,1000001", "over a million"},
      {"1,1,99999999999999999999", "active is not"},
  };
  for (const auto& [text, why] : cases) {
    const auto schedule = parse_schedule(text);
    ASSERT_FALSE(schedule) << text;
    EXPECT_EQ(schedule.error().code, base::ErrorCode::usage) << text;
    EXPECT_THAT(schedule.error().message, HasSubstr(why)) << text;
    EXPECT_THAT(schedule.error().remedy, HasSubstr("1,1,3")) << text;
  }
}

TEST(Schedule, PhasesFollowEachOther) {
  const Schedule schedule{1, 2, 3};
  const Phase expected[] = {Phase::wait,   Phase::warmup, Phase::warmup,
                            Phase::active, Phase::active, Phase::active};
  for (int step = 0; step < schedule.total(); ++step) EXPECT_EQ(phase_of(schedule, step), expected[step]);
  EXPECT_EQ(phase_of({0, 0, 1}, 0), Phase::active);
}

}  // namespace
}  // namespace hunch::record
