// Databases that are cut, corrupt, hostile or of something else: one clear error, never a crash, and with
// salvage what is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"
#include "tests/unit/formats/nsys_file.h"

namespace hunch::formats {
namespace {

using testing::HasSubstr;

base::Error error_of(const std::string& bytes) {
  const auto trace = read_trace_bytes(bytes, "run.sqlite");
  EXPECT_FALSE(trace);
  return trace ? base::Error{} : trace.error();
}

// Enough kernels for many pages.
std::string many_kernels(int kernels) {
  return SqliteFile(
             kStrings + kKernels + string_row(1, "k") +
             fmt::format(
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {}) "
                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10 * i, 10 * i + 5, 0, 1, NULL, 7, i + "
                 "1, {}, 1, 1, NULL, 1, 168, 8, 4, 2, 128, 2, 1, 1024, 65536, NULL, NULL FROM n;",
                 kernels, global_id(4242)))
      .bytes();
}

TEST(NsysDamage, ADatabaseOfSomethingElse) {
  const auto other =
      error_of(SqliteFile("CREATE TABLE cookies (a, b); CREATE TABLE moz_places (c);").bytes());
  EXPECT_EQ(other.code, base::ErrorCode::parse);
  EXPECT_THAT(other.message, HasSubstr("no export of Nsight Systems: it has cookies, moz_places"));
  EXPECT_THAT(other.remedy, HasSubstr("nsys export --type sqlite"));
  EXPECT_EQ(other.file, "run.sqlite");
  EXPECT_THAT(error_of(SqliteFile("CREATE TABLE rocpd_api (a); CREATE TABLE rocpd_op (b)").bytes()).remedy,
              HasSubstr("rocprofiler"));
  EXPECT_THAT(error_of(SqliteFile("CREATE TABLE a (b); DROP TABLE a").bytes()).message,
              HasSubstr("no tables"));
}

TEST(NsysDamage, CutAnywhereIsOneError) {
  const std::string whole = many_kernels(2000);
  for (std::size_t size = 16; size < whole.size(); size += size < 200 ? 7 : 3001) {
    const auto error = error_of(whole.substr(0, size));
    EXPECT_EQ(error.code, base::ErrorCode::parse) << size;
    EXPECT_THAT(error.message, HasSubstr("cut")) << size;
    EXPECT_EQ(error.byte, size);
    EXPECT_FALSE(error.remedy.empty());
  }
}

TEST(NsysDamage, SalvageKeepsTheRowsBeforeTheCut) {
  const std::string whole = many_kernels(2000);
  const auto all = read_trace_bytes(whole, "run.sqlite");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 2000u);
  const auto half = read_trace_bytes(whole.substr(0, whole.size() / 8192 * 4096), "run.sqlite",
                                     {.salvage = true, .threads = 0});
  ASSERT_TRUE(half) << base::describe(half.error());
  EXPECT_GT(half->size(), 500u);
  EXPECT_LT(half->size(), 1500u);
  EXPECT_THAT(half->stats.warnings, testing::Contains(HasSubstr("rows before are kept")));
}

TEST(NsysDamage, NoByteMakesItCrash) {
  const std::string whole = SqliteFile(recent_export()).bytes();
  uint64_t noise = 88172645463325252u;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round % 5; ++i) {
      noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
      bytes[16 + noise % (bytes.size() - 16)] = static_cast<char>(noise >> 40);
    }
    for (const bool salvage : {false, true}) {
      const auto trace = read_trace_bytes(bytes, "run.sqlite", {.salvage = salvage, .threads = 0});
      EXPECT_TRUE(trace || !trace.error().message.empty());
    }
  }
}

TEST(NsysDamage, NothingOfTheSchemaIsExecuted) {
  // A view that never ends in the place of a table, and a generated column that would.
  const std::string endless =
      "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n)";
  SqliteFile view("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);");
  view.run("CREATE VIEW NVTX_EVENTS AS SELECT " + endless + " AS start;");
  const auto trace = read_trace_bytes(view.bytes(), "run.sqlite");
  EXPECT_FALSE(trace && trace->size() > 0);
  SqliteFile generated(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (a INTEGER, start INTEGER GENERATED ALWAYS AS (a + 1), "
      "\"end\" INTEGER "
      "GENERATED ALWAYS AS (a + 2)); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5);");
  const auto without = read_trace_bytes(generated.bytes(), "run.sqlite");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->size(), 0u);
  EXPECT_EQ(without->stats.skipped, 1u);
}

TEST(NsysDamage, APageThatIsItsOwnChildEnds) {
  // The root of the kernels' tree points to one leaf again and again.
  std::string bytes = many_kernels(3000);
  const std::size_t page = static_cast<uint8_t>(bytes[16]) << 8 | static_cast<uint8_t>(bytes[17]);
  int changed = 0;
  for (std::size_t at = page; at < bytes.size(); at += page) {
    if (bytes[at] != 5) continue;  // an inner page of a table
    const std::size_t cells = static_cast<uint8_t>(bytes[at + 3]) << 8 | static_cast<uint8_t>(bytes[at + 4]);
    const auto cell = [&](std::size_t i) {
      return at + (static_cast<uint8_t>(bytes[at + 12 + 2 * i]) << 8 |
                   static_cast<uint8_t>(bytes[at + 13 + 2 * i]));
    };
    for (std::size_t i = 1; i < cells; ++i) bytes.replace(cell(i), 4, bytes, cell(0), 4);
    ++changed;
  }
  ASSERT_GT(changed, 0);
  const auto error = error_of(bytes);
  EXPECT_THAT(error.message, HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL"));
}

}  // namespace
}  // namespace hunch::formats
