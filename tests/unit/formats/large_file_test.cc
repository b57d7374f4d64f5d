// Cases T53: a file of more than 4 GiB. Offsets count in 64 bits, memory is bounded by what is kept of the
// events, and damage at the far end is told by its byte. The file is one block of events in memory that is
// mapped again and again, so that the test needs 64 MiB and no disk.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"

namespace hunch::formats {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 20;
constexpr std::size_t kBlocks = 66;
constexpr std::size_t kPage = 4096;  // what stands before and behind the blocks
constexpr std::size_t kSize = kPage + kBlocks * kBlock + kPage;

// Events with long arguments, as shapes and call stacks are, each of one page: "ts" is `first` and counts on.
std::string events_of(std::size_t bytes) {
  std::string text;
  const std::string stack(3800, 's');
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    std::string one = fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "op {}", "pid": 1, "tid": 1, "ts": {}, "dur": 1, "args": {{"Call stack": "{}", "External id": {}}}}})",
        i % 10, i, stack, i);
    one.resize(kPage - 2, ' ');
    text += one + ",\n";
  }
  return text;
}

// A process's memory that is no file's, in bytes.
std::size_t own_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
  return 0;
}

class LargeFile : public testing::Test {
 protected:
  void SetUp() override {
    if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPage)) GTEST_SKIP() << "pages of another size";
    memory_ =
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    const int file = memfd_create("hunch_events", 0);
    ASSERT_GE(file, 0);
    const std::string events = events_of(kBlock);
    ASSERT_EQ(events.size(), kBlock);
    ASSERT_EQ(write(file, events.data(), events.size()), static_cast<ssize_t>(events.size()));
    for (std::size_t i = 0; i < kBlocks; ++i)
      ASSERT_NE(mmap(bytes() + kPage + i * kBlock, kBlock, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0),
                MAP_FAILED);
    close(file);
    std::memset(bytes(), ' ', kPage);
    std::memset(bytes() + kSize - kPage, ' ', kPage);
    put(0, R"({"traceEvents": [)");
  }
  void TearDown() override {
    if (memory_ != nullptr && memory_ != MAP_FAILED) munmap(memory_, kSize);
  }
  char* bytes() { return static_cast<char*>(memory_); }
  void put(std::size_t at, std::string_view text) { std::copy(text.begin(), text.end(), bytes() + at); }

  void* memory_ = nullptr;
};

TEST_F(LargeFile, T53_OffsetsBeyond4GiBAndBoundedMemory) {
  static_assert(kSize > std::size_t{1} << 32);
  constexpr std::size_t kEvents = kBlocks * kBlock / kPage;
  constexpr std::size_t kTail = kSize - kPage;
  const std::string damaged = R"({"ph": "X", "name": "lost", oops})";
  put(kTail, damaged + R"(,{"ph": "X", "cat": "cpu_op", "name": "last", "ts": 7.5, "dur": 2}]})");
  const std::size_t before = own_memory();
  const auto trace = read_trace_bytes({bytes(), kSize}, "large");
  ASSERT_TRUE(trace) << base::describe(trace.error());
  EXPECT_EQ(trace->stats.events, kEvents + 2);
  EXPECT_EQ(trace->stats.skipped, 1u);
  ASSERT_EQ(trace->size(), kEvents + 1);
  EXPECT_EQ(trace->name_of(kEvents), "last");
  EXPECT_EQ(trace->start[kEvents], 7500);
  EXPECT_EQ(trace->source_index[kEvents], kEvents + 1);
  constexpr std::size_t kEach = kBlock / kPage;
  for (const std::size_t row : {std::size_t{0}, kEach - 1, kEach, kEvents / 2, kEvents - 1}) {
    EXPECT_EQ(trace->start[row], static_cast<base::Ns>(row % kEach) * 1000);
    EXPECT_EQ(trace->external_id[row], row % kEach);
  }
  ASSERT_EQ(trace->stats.warnings.size(), 1u);
  EXPECT_EQ(trace->stats.warnings[0],
            fmt::format("byte {}: damaged JSON, one event skipped; read on at byte {}", kTail,
                        kTail + damaged.size() + 1));
#ifndef __SANITIZE_THREAD__  // which keeps memory of its own for all that is read
  EXPECT_LT(own_memory(), before + kSize / 4);
#else
  static_cast<void>(before);
#endif

  // Cut behind 4 GiB, in the middle of that last event.
  const auto cut = read_trace_bytes({bytes(), kTail + 60}, "large");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().byte, kTail + 60);
}

}  // namespace
}  // namespace hunch::formats
