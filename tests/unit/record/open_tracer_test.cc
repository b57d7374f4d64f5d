// Opening the device tracer on whatever machine this is: a tracer, or an error that a person can act on.
#include <gtest/gtest.h>

#include <string>

#include "hunch/record/device_tracer.h"

namespace hunch::record {
namespace {

TEST(OpenDeviceTracer, OpensOrSaysWhyNot) {
  const auto tracer = open_device_tracer();
  if (tracer) {
    EXPECT_NE(tracer->get(), nullptr);
    return;
  }
  EXPECT_EQ(tracer.error().code, base::ErrorCode::environment);
  EXPECT_FALSE(tracer.error().message.empty());
  EXPECT_FALSE(tracer.error().remedy.empty()) << tracer.error().message;
  // It can be asked again: an error leaves nothing half open.
  const auto again = open_device_tracer();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, tracer.error().message);
}

}  // namespace
}  // namespace hunch::record
