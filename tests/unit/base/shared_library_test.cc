#include "hunch/base/shared_library.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "hunch/base/function_ref.h"

namespace hunch::base {
namespace {

TEST(shared_library, opens_the_first_that_is_there) {
  const auto library = SharedLibrary::open({"libno_such_thing.so.9", "libc.so.6"});
  ASSERT_TRUE(library.has_value());
  EXPECT_EQ(library->name(), "libc.so.6");
  auto* const absolute = library->function<int(int)>("abs");
  ASSERT_NE(absolute, nullptr);
  EXPECT_EQ(absolute(-3), 3);
  EXPECT_EQ(library->function<int(int)>("no_such_function"), nullptr);
}

TEST(shared_library, says_what_the_loader_says) {
  const auto library = SharedLibrary::open({"libno_such_thing.so.9"}, {"/no/such/folder"});
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().code, ErrorCode::environment);
  EXPECT_NE(library.error().message.find("libno_such_thing.so.9"), std::string::npos);
}

TEST(shared_library, looks_where_cuda_is_said_to_be) {
  ::setenv("CUDA_HOME", "/opt/some-cuda", 1);
  const auto folders = cuda_library_folders();
  ::unsetenv("CUDA_HOME");
  EXPECT_EQ(folders.front(), "/opt/some-cuda/lib64");
  EXPECT_NE(std::find(folders.begin(), folders.end(), "/usr/local/cuda/lib64"), folders.end());
}

int twice(int x) { return 2 * x; }

TEST(function_ref, calls_what_it_refers_to) {
  int calls = 0;
  const auto count = [&calls](int by) { return calls += by; };
  const FunctionRef<int(int)> ref = count;
  EXPECT_EQ(ref(2), 2);
  EXPECT_EQ(ref(3), 5);
  EXPECT_EQ(calls, 5);
  const FunctionRef<int(int)> copy = ref;
  EXPECT_EQ(copy(1), 6);
  auto* const pointer = &twice;
  const FunctionRef<int(int)> function = pointer;
  EXPECT_EQ(function(21), 42);
}

}  // namespace
}  // namespace hunch::base
