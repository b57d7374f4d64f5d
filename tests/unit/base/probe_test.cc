// Probes nest, spans go to the probe of their beginning; and the clock that stamps them.
#include "hunch/base/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace hunch::base {
namespace {

using ::testing::ElementsAre;

class Names final : public Probe {
 public:
  void begin_span(SpanKind, std::string_view name, std::string_view) override { seen.emplace_back(name); }
  void end_span() override { seen.emplace_back("end"); }
  uint64_t launch_begin(std::string_view, const WorkInfo&) override { return 1; }
  void launch_end(uint64_t) override {}
  void device_work(uint64_t, const WorkInfo&, int64_t, Ns, Ns) override {}
  void host_wait(std::string_view, Ns, Ns) override {}
  void memory(int64_t, int64_t) override {}
  std::vector<std::string> seen;
};

TEST(Probe, ScopesNestAndRestore) {
  EXPECT_EQ(current_probe(), nullptr);
  Names outer, inner;
  {
    const ScopedProbe first(&outer);
    const Span a(SpanKind::op, "a");
    {
      const ScopedProbe second(&inner);
      const Span b(SpanKind::op, "b");
      EXPECT_EQ(current_probe(), &inner);
    }
    EXPECT_EQ(current_probe(), &outer);
  }
  EXPECT_EQ(current_probe(), nullptr);
  EXPECT_THAT(outer.seen, ElementsAre("a", "end"));
  EXPECT_THAT(inner.seen, ElementsAre("b", "end"));
}

TEST(Probe, SpanEndsWhereItBegan) {
  Names names;
  {
    const Span silent(SpanKind::op, "before");
    const ScopedProbe scope(&names);
  }
  EXPECT_TRUE(names.seen.empty());
}

TEST(Clock, ReadsAsWallTimeAndNeverGoesBack) {
  const Ns wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  Ns last = now_ns();
  EXPECT_NEAR(static_cast<double>(last - wall), 0.0, 60e9);
  for (int i = 0; i < 1000; ++i) {
    const Ns now = now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace hunch::base
