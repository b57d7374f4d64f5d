// Spools: what is written is read again, and a file that is cut, damaged or foreign is read as far as it is
// one.
#include "hunch/record/spool/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "hunch/record/spool/spool_reader.h"
#include "hunch/record/spool/spool_trace.h"
#include "hunch/record/spool/spool_writer.h"
#include "hunch/record/spool/wire.h"

namespace hunch::record::spool {
namespace {

using base::WorkKind;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hunch-spool-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder = pattern;
  }
  ~SpoolTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  static Process process() { return {4711, 4710, "python3", 1'000'000}; }
  SpoolWriter writer() const {
    auto made = SpoolWriter::create(folder, process());
    if (!made) ADD_FAILURE() << base::describe(made.error());
    return std::move(*made);
  }
  std::string path() const { return folder + "/4711.spool"; }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Spool read() const {
    auto spool = read_spool_file(path());
    if (!spool) {
      ADD_FAILURE() << base::describe(spool.error());
      return {};
    }
    return std::move(*spool);
  }

  // One record of each kind, with a value of its own in each field.
  static DeviceActivity activity() {
    DeviceActivity made;
    made.names.intern("unused");
    ApiCall call;
    call.driver = true;
    call.name = made.names.intern("cuLaunchKernel");
    call.tid = 77;
    call.start = 1'700'000'000'000'000'001;
    call.end = 1'700'000'000'000'000'009;
    call.correlation = 0xFFFFFFFE;
    call.result = -3;
    call.driver_blocks = 5;
    made.calls = {call};
    TracedWork kernel;
    kernel.name = made.names.intern("void kernel<int>(float*)");
    kernel.start = 11;
    kernel.end = 22;
    kernel.correlation = 33;
    kernel.device = 1;
    kernel.context = 2;
    kernel.stream = 7;
    kernel.graph_id = 8;
    kernel.graph_node_id = 9;
    kernel.registers = 255;
    kernel.static_shared_bytes = 1024;
    kernel.dynamic_shared_bytes = 98'304;
    kernel.grid = {1, 2, 3};
    kernel.block = {4, 5, 6};
    kernel.cluster = {7, 8, 9};
    kernel.shared_optin = true;
    TracedWork copy;
    copy.kind = WorkKind::memcpy;
    copy.name = made.names.intern("Memcpy");
    copy.start = 20;
    copy.end = 20;
    copy.bytes = int64_t{1} << 40;
    made.work = {kernel, copy};
    Synchronization wait;
    wait.name = made.names.intern("Stream Sync");
    wait.start = 1;
    wait.end = 2;
    wait.correlation = 3;
    wait.device = 4;
    wait.stream = 5;
    made.synchronizations = {wait};
    Overhead overhead;
    overhead.name = made.names.intern("Buffer Flush");
    overhead.start = 6;
    overhead.end = 7;
    overhead.tid = 8;
    made.overheads = {overhead};
    made.lost = 12;
    made.untimed = 13;
    made.metadata["cupti_version"] = "130000";
    made.warnings = {"a note"};
    return made;
  }
  static std::vector<RangeEvent> ranges() {
    return {{RangeWhat::push, 77, 100, 0, "", "attn_fwd"},
            {RangeWhat::start, 77, 110, 5, "NCCL", "ncclAllReduce"},
            {RangeWhat::end, 78, 120, 5, "", ""},
            {RangeWhat::pop, 77, 130, 0, "", ""}};
  }
  static trace::DeviceProperties device() {
    trace::DeviceProperties made;
    made.id = 1;
    made.name = "NVIDIA H200";
    made.compute_major = 9;
    made.multiprocessors = 132;
    made.shared_bytes_per_block_optin = 232'448;
    made.memory_bytes = int64_t{140} << 30;
    return made;
  }
  void write_all() const {
    SpoolWriter to = writer();
    to.add(activity());
    ASSERT_TRUE(to.flush());
    to.add(ranges());
    to.add(device());
    to.name_thread(77, "python3");
    to.add(activity());
    to.end();
    ASSERT_TRUE(to.flush());
  }
  // How many things a spool holds; a longer file of the same never holds fewer.
  static std::size_t size_of(const Spool& spool) {
    return spool.activity.calls.size() + spool.activity.work.size() + spool.activity.synchronizations.size() +
           spool.activity.overheads.size() + spool.ranges.size() + spool.devices.size() +
           spool.threads.size() + spool.activity.warnings.size() + spool.activity.metadata.size() +
           (spool.ended ? 1 : 0);
  }

  std::string folder;
};

TEST_F(SpoolTest, WhatIsWrittenIsRead) {
  write_all();
  const Spool spool = read();
  EXPECT_FALSE(spool.cut);
  EXPECT_TRUE(spool.ended);
  EXPECT_EQ(spool.process.pid, 4711);
  EXPECT_EQ(spool.process.parent, 4710);
  EXPECT_EQ(spool.process.name, "python3");
  EXPECT_EQ(spool.process.clock_shift, 1'000'000);
  const DeviceActivity wrote = activity();
  ASSERT_EQ(spool.activity.calls.size(), 2u);
  for (const ApiCall& call : spool.activity.calls) {
    const ApiCall& was = wrote.calls[0];
    EXPECT_TRUE(call.driver);
    EXPECT_EQ(spool.activity.names.view(call.name), "cuLaunchKernel");
    EXPECT_EQ(call.tid, was.tid);
    EXPECT_EQ(call.start, was.start);
    EXPECT_EQ(call.end, was.end);
    EXPECT_EQ(call.correlation, was.correlation);
    EXPECT_EQ(call.result, was.result);
    EXPECT_EQ(call.driver_blocks, was.driver_blocks);
  }
  ASSERT_EQ(spool.activity.work.size(), 4u);
  const TracedWork& kernel = spool.activity.work[2];
  EXPECT_EQ(kernel.kind, WorkKind::kernel);
  EXPECT_EQ(spool.activity.names.view(kernel.name), "void kernel<int>(float*)");
  EXPECT_EQ(kernel.start, 11);
  EXPECT_EQ(kernel.end, 22);
  EXPECT_EQ(kernel.correlation, 33u);
  EXPECT_EQ(kernel.device, 1);
  EXPECT_EQ(kernel.context, 2);
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(kernel.graph_id, 8);
  EXPECT_EQ(kernel.graph_node_id, 9);
  EXPECT_EQ(kernel.registers, 255);
  EXPECT_EQ(kernel.static_shared_bytes, 1024);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 98'304);
  EXPECT_THAT(kernel.grid, ElementsAre(1, 2, 3));
  EXPECT_THAT(kernel.block, ElementsAre(4, 5, 6));
  EXPECT_THAT(kernel.cluster, ElementsAre(7, 8, 9));
  EXPECT_TRUE(kernel.shared_optin);
  EXPECT_EQ(spool.activity.work[3].kind, WorkKind::memcpy);
  EXPECT_EQ(spool.activity.work[3].bytes, int64_t{1} << 40);
  EXPECT_EQ(spool.activity.work[3].registers, -1);
  ASSERT_EQ(spool.activity.synchronizations.size(), 2u);
  EXPECT_EQ(spool.activity.synchronizations[0].stream, 5);
  EXPECT_EQ(spool.activity.names.view(spool.activity.synchronizations[0].name), "Stream Sync");
  ASSERT_EQ(spool.activity.overheads.size(), 2u);
  EXPECT_EQ(spool.activity.overheads[1].tid, 8);
  EXPECT_EQ(spool.activity.lost, 24u);
  EXPECT_EQ(spool.activity.untimed, 26u);
  EXPECT_EQ(spool.activity.metadata.at("cupti_version"), "130000");
  EXPECT_THAT(spool.activity.warnings, ElementsAre("a note", "a note"));
  ASSERT_EQ(spool.ranges.size(), 4u);
  EXPECT_EQ(spool.ranges[0].text, "attn_fwd");
  EXPECT_EQ(spool.ranges[0].domain, "");
  EXPECT_EQ(spool.ranges[1].what, RangeWhat::start);
  EXPECT_EQ(spool.ranges[1].domain, "NCCL");
  EXPECT_EQ(spool.ranges[1].id, 5u);
  EXPECT_EQ(spool.ranges[2].tid, 78);
  EXPECT_EQ(spool.ranges[3].time, 130);
  ASSERT_EQ(spool.devices.size(), 1u);
  EXPECT_EQ(spool.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(spool.devices[0].shared_bytes_per_block_optin, 232'448);
  EXPECT_EQ(spool.devices[0].memory_bytes, int64_t{140} << 30);
  EXPECT_EQ(spool.threads.at(77), "python3");
}

TEST_F(SpoolTest, WhatIsFlushedIsThereAtOnce) {
  SpoolWriter to = writer();
  to.add(activity());
  EXPECT_THAT(read().activity.calls, IsEmpty());
  ASSERT_TRUE(to.flush());
  EXPECT_EQ(read().activity.calls.size(), 1u);
  to.add(activity());
  ASSERT_TRUE(to.flush());
  const Spool spool = read();
  EXPECT_EQ(spool.activity.calls.size(), 2u);
  EXPECT_FALSE(spool.ended);
  EXPECT_FALSE(spool.cut);
}

TEST_F(SpoolTest, CutAnywhereGivesWhatIsBefore) {
  write_all();
  const std::string whole = bytes();
  std::size_t before = 0, boundaries = 0;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const auto spool = read_spool(std::string_view(whole).substr(0, length), "cut");
    if (length < kMagic.size()) {
      ASSERT_FALSE(spool) << length;
      continue;
    }
    ASSERT_TRUE(spool) << length;
    const std::size_t size = size_of(*spool);
    EXPECT_GE(size, before) << length;
    before = size;
    EXPECT_EQ(spool->ended, length == whole.size()) << length;
    EXPECT_EQ(spool->cut_reason, "") << length;
    if (spool->cut)
      EXPECT_LE(*spool->cut, length);
    else
      ++boundaries;
    trace_of(std::move(*read_spool(std::string_view(whole).substr(0, length), "cut")));
  }
  EXPECT_GT(boundaries, 5u);
  EXPECT_LT(boundaries, 40u);
}

TEST_F(SpoolTest, ForeignBytesAreAnError) {
  for (const std::string& foreign : {std::string(), std::string("{\"traceEvents\": []}"),
                                     std::string("HUNCHSP2rest"), std::string(5000, '\0')}) {
    const auto spool = read_spool(foreign, "other.file");
    ASSERT_FALSE(spool);
    EXPECT_EQ(spool.error().code, base::ErrorCode::parse);
    EXPECT_EQ(spool.error().file, "other.file");
    EXPECT_FALSE(spool.error().remedy.empty());
  }
}

TEST_F(SpoolTest, DamageIsToldWithItsPlace) {
  write_all();
  const std::string whole = bytes();
  const auto second = whole.find("CALL");
  ASSERT_NE(second, std::string::npos);
  std::string other = whole;
  other.replace(second, 4, "JUNK");
  auto spool = read_spool(other, "damaged");
  ASSERT_TRUE(spool);
  EXPECT_EQ(spool->cut, second);
  EXPECT_THAT(spool->cut_reason, HasSubstr("no block"));
  EXPECT_THAT(spool->activity.calls, IsEmpty());
  const trace::Trace trace = trace_of(std::move(*spool));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("damaged at byte " + std::to_string(second))));

  std::string misnamed = whole;  // a call whose name is the file's text number 2^24 and more
  misnamed[second + 8 + 1 + 3] = '\x01';
  spool = read_spool(misnamed, "misnamed");
  ASSERT_TRUE(spool);
  EXPECT_THAT(spool->cut_reason, HasSubstr("name"));
}

TEST_F(SpoolTest, AnyByteMayBeWrong) {
  write_all();
  const std::string whole = bytes();
  std::mt19937 random(7);
  for (int turn = 0; turn < 4000; ++turn) {
    std::string damaged = whole;
    for (int i = 0; i <= turn % 3; ++i)
      damaged[kMagic.size() + random() % (damaged.size() - kMagic.size())] = static_cast<char>(random());
    auto spool = read_spool(damaged, "damaged");
    ASSERT_TRUE(spool);
    EXPECT_LE(spool->cut.value_or(0), damaged.size());
    for (const TracedWork& work : spool->activity.work) EXPECT_LE(work.start, work.end);
    trace_of(std::move(*spool));
  }
}

TEST_F(SpoolTest, AProcessThatStartsAnewHasAnotherFile) {
  writer();
  writer();
  EXPECT_TRUE(std::filesystem::exists(folder + "/4711.spool"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/4711-2.spool"));
  const auto nowhere = SpoolWriter::create(folder + "/not/there", process());
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, base::ErrorCode::io);
}

// A full disk, played by a limit on the size of files.
TEST_F(SpoolTest, WhatDoesNotFitIsAnErrorAndTheRestStaysWhole) {
  SpoolWriter to = writer();
  to.add(activity());
  ASSERT_TRUE(to.flush());
  const auto before = bytes().size();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {before + 100, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 100; ++i) to.add(activity());
  const base::Status full = to.flush();
  to.add(activity());
  const base::Status after = to.flush();
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, base::ErrorCode::io);
  EXPECT_EQ(full.error().file, path());
  EXPECT_FALSE(after);
  EXPECT_EQ(bytes().size(), before);
  EXPECT_EQ(read().activity.calls.size(), 1u);
}

TEST(SpoolWire, NumbersOfEverySize) {
  Output output;
  const auto write = [&](auto value) { output.field(value); };
  write(true);
  write(uint8_t{200});
  write(int32_t{-2});
  write(uint32_t{0xFFFFFFFF});
  write(INT64_MIN);
  write(UINT64_MAX);
  write(std::string_view("te\0xt", 5));
  EXPECT_EQ(output.bytes().size(), 1u + 1 + 4 + 4 + 8 + 8 + 4 + 5);
  Input input(output.bytes());
  bool flag = false;
  uint8_t byte = 0;
  int32_t negative = 0;
  uint32_t large = 0;
  int64_t least = 0;
  uint64_t most = 0;
  std::string text;
  input.field(flag);
  input.field(byte);
  input.field(negative);
  input.field(large);
  input.field(least);
  input.field(most);
  input.field(text);
  EXPECT_TRUE(input.ok() && input.at_end());
  EXPECT_TRUE(flag);
  EXPECT_EQ(byte, 200);
  EXPECT_EQ(negative, -2);
  EXPECT_EQ(large, 0xFFFFFFFF);
  EXPECT_EQ(least, INT64_MIN);
  EXPECT_EQ(most, UINT64_MAX);
  EXPECT_EQ(text, std::string("te\0xt", 5));
  input.field(byte);
  EXPECT_FALSE(input.ok());
  EXPECT_EQ(byte, 0);
}

}  // namespace
}  // namespace hunch::record::spool
