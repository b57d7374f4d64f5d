// The log of calls, told of calls by hand as CUPTI would: which are logged, with what, and on which thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hunch/record/cupti/call_log.h"

namespace hunch::record::cupti {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Ids of the fake interfaces.
constexpr uint32_t kLaunch = 1, kGetDevice = 2, kMemcpy = 3, kRuntimeIds = 4;
constexpr uint32_t kCuLaunch = 1, kCuModuleLoad = 3, kCuMemcpy = 4, kDriverIds = 5;

std::set<std::pair<int, uint32_t>> g_enabled;
CUptiResult g_answer = CUPTI_SUCCESS;

CUptiResult name_of_id(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  static const char* const kRuntime[] = {nullptr, "cudaLaunchKernel_v7000", "cudaGetDevice_v3020",
                                         "cudaMemcpyAsync_v3020"};
  static const char* const kDriver[] = {nullptr, "cuLaunchKernel", "cuCtxGetCurrent", "cuModuleLoadData",
                                        "cuMemcpyDtoDAsync_v2"};
  const bool driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  if (id == 0 || id >= (driver ? kDriverIds : kRuntimeIds)) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = driver ? kDriver[id] : kRuntime[id];
  return CUPTI_SUCCESS;
}

CUptiResult enable(uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (on != 0)
    g_enabled.insert({domain, id});
  else
    g_enabled.erase({domain, id});
  return g_answer;
}

CUptiResult words_of(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_OF_A_TEST";
  return CUPTI_SUCCESS;
}

Library fake_library() {
  Library library;
  library.cuptiGetCallbackName = &name_of_id;
  library.cuptiEnableCallback = &enable;
  library.cuptiGetResultString = &words_of;
  return library;
}

class CallLogTest : public testing::Test {
 protected:
  CallLogTest() : library_(fake_library()), log(library_) {
    g_enabled.clear();
    g_answer = CUPTI_SUCCESS;
  }

  void tell(bool driver, uint32_t id, uint32_t correlation, bool enter, int32_t result = 0) {
    CUpti_CallbackData data{};
    data.callbackSite = enter ? CUPTI_API_ENTER : CUPTI_API_EXIT;
    data.correlationId = correlation;
    data.functionReturnValue = &result;
    log.called(driver, id, data);
  }
  void call(bool driver, uint32_t id, uint32_t correlation, const std::function<void()>& inside = {},
            int32_t result = 0) {
    tell(driver, id, correlation, true);
    if (inside) inside();
    tell(driver, id, correlation, false, result);
  }
  static std::vector<std::string> names(const DeviceActivity& activity) {
    std::vector<std::string> found;
    for (const ApiCall& each : activity.calls) found.emplace_back(activity.names.view(each.name));
    return found;
  }
  DeviceActivity take() {
    DeviceActivity activity;
    log.take(activity);
    return activity;
  }

  const Library library_;
  CallLog log;
};

TEST_F(CallLogTest, AsksForTheKeptCallsAlone) {
  ASSERT_TRUE(log.enable(nullptr));
  EXPECT_THAT(g_enabled, ElementsAre(std::pair<int, uint32_t>(CUPTI_CB_DOMAIN_DRIVER_API, kCuLaunch),
                                     std::pair<int, uint32_t>(CUPTI_CB_DOMAIN_DRIVER_API, kCuModuleLoad),
                                     std::pair<int, uint32_t>(CUPTI_CB_DOMAIN_DRIVER_API, kCuMemcpy),
                                     std::pair<int, uint32_t>(CUPTI_CB_DOMAIN_RUNTIME_API, kLaunch),
                                     std::pair<int, uint32_t>(CUPTI_CB_DOMAIN_RUNTIME_API, kMemcpy)));
  log.disable(nullptr);
  EXPECT_THAT(g_enabled, IsEmpty());
  g_answer = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  const base::Status refused = log.enable(nullptr);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("CUPTI_ERROR_OF_A_TEST"));
}

TEST_F(CallLogTest, ACallHasItsTimesThreadAndResult) {
  const base::Ns before = base::now_ns();
  call(false, kLaunch, 7, {}, 98);
  call(false, kGetDevice, 8);
  const DeviceActivity activity = take();
  ASSERT_THAT(names(activity), ElementsAre("cudaLaunchKernel"));
  const ApiCall& made = activity.calls[0];
  EXPECT_FALSE(made.driver);
  EXPECT_EQ(made.tid, gettid());
  EXPECT_EQ(made.correlation, 7u);
  EXPECT_EQ(made.result, 98);
  EXPECT_EQ(made.external, 0u);
  EXPECT_GE(made.start, before);
  EXPECT_GE(made.end, made.start);
  EXPECT_LE(made.end, base::now_ns());
  EXPECT_THAT(take().calls, IsEmpty());
}

TEST_F(CallLogTest, TheInsideOfACallIsNotLoggedUnlessItLoadsCode) {
  call(false, kLaunch, 1, [&] {
    call(true, kCuModuleLoad, 1);
    call(true, kCuLaunch, 1);
  });
  call(false, kMemcpy, 2, [&] { call(true, kCuMemcpy, 3); });  // of its own correlation: its work has that
  call(true, kCuLaunch, 4);
  EXPECT_THAT(names(take()), ElementsAre("cuModuleLoadData", "cudaLaunchKernel", "cuMemcpyDtoDAsync_v2",
                                         "cudaMemcpyAsync", "cuLaunchKernel"));
}

TEST_F(CallLogTest, CallsHaveTheIdPushedLast) {
  log.pop();  // nothing was pushed
  log.push(10);
  call(false, kLaunch, 1);
  log.push(11);
  call(false, kLaunch, 2);
  std::thread([&] { call(false, kLaunch, 3); }).join();
  log.pop();
  call(false, kLaunch, 4);
  log.pop();
  call(false, kLaunch, 5);
  std::vector<std::pair<uint32_t, uint64_t>> seen;
  std::set<int64_t> threads;
  for (const ApiCall& each : take().calls) {
    seen.emplace_back(each.correlation, each.external);
    threads.insert(each.tid);
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(std::pair(1u, 10u), std::pair(2u, 11u), std::pair(3u, 0u),
                                                  std::pair(4u, 10u), std::pair(5u, 0u)));
  EXPECT_EQ(threads.size(), 2u);
}

TEST_F(CallLogTest, HalvesOfCallsAreNoCalls) {
  tell(false, kLaunch, 1, false);  // was under way when logging began
  tell(false, kLaunch, 2, true);   // its exit never comes
  call(false, kMemcpy, 3);
  call(false, kLaunch, 2);  // ends a call of the same correlation
  EXPECT_THAT(names(take()), testing::Contains("cudaMemcpyAsync"));
  call(false, kMemcpy, 4);
  EXPECT_THAT(names(take()), ElementsAre("cudaMemcpyAsync"));
}

TEST_F(CallLogTest, ThreadsLogWhileCallsAreTaken) {
  constexpr uint32_t kCalls = 20'000;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kCalls; ++i) call(false, kLaunch, t * kCalls + i + 1);
    });
  std::set<uint32_t> seen;
  std::size_t taken = 0;
  const auto add = [&] {
    for (const ApiCall& each : take().calls) {
      seen.insert(each.correlation);
      ++taken;
    }
  };
  for (int i = 0; i < 50; ++i) add();
  for (auto& thread : threads) thread.join();
  add();
  EXPECT_EQ(taken, 3u * kCalls);
  EXPECT_EQ(seen.size(), 3u * kCalls);
}

TEST_F(CallLogTest, AnotherLogOfTheSameThreadIsAnother) {
  call(false, kLaunch, 1);
  CallLog other(library_);
  EXPECT_THAT(names(take()), ElementsAre("cudaLaunchKernel"));
  DeviceActivity activity;
  other.take(activity);
  EXPECT_THAT(activity.calls, IsEmpty());
}

}  // namespace
}  // namespace hunch::record::cupti
