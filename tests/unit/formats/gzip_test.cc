// Gzip while it is read: the same bytes as ever, whatever the members' sizes; memory bounded by what the
// reader holds; a cut or corrupt file located by byte, and read up to there when asked to.
#include "hunch/formats/gzip.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"
#include "tests/unit/formats/pack.h"

namespace hunch::formats {
namespace {

using testing::HasSubstr;

// A trace of many events that does not pack to almost nothing.
std::string long_trace(int events) {
  std::string text = R"({"traceEvents": [)";
  uint64_t noise = 88172645463325252u;
  for (int i = 0; i < events; ++i) {
    noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
    text += fmt::format(
        R"({}{{"ph": "X", "cat": "cpu_op", "name": "op{}", "pid": 1, "tid": 1, "ts": {}.{:03}, "dur": {}}})",
        i > 0 ? ",\n" : "", noise % 1000, i, noise % 997, noise % 100000);
  }
  return text + R"(], "baseTimeNanoseconds": 7})";
}

TEST(Gzip, ArrivesInOrderAndStaysInPlace) {
  const std::string text = long_trace(60000);
  const std::string packed = gzip(text);
  ASSERT_GT(packed.size(), std::size_t{256} << 10);
  auto input = GunzipInput::open(packed);
  ASSERT_TRUE(input);
  const std::string_view some = (*input)->first(1000);
  ASSERT_GE(some.size(), 1000u);
  const std::string_view all = (*input)->all();
  EXPECT_EQ(all.data(), some.data());
  EXPECT_EQ(all, text);
  EXPECT_TRUE((*input)->status());
  EXPECT_EQ((*input)->garbage(), 0u);
}

TEST(Gzip, MembersOfAnySize) {
  const std::string text = long_trace(10000);
  for (const std::size_t size : {std::size_t{1}, std::size_t{77}, std::size_t{65536}, std::size_t{1000003}}) {
    std::string packed;
    const std::size_t until = size < 100 ? size * 300 : text.size();
    for (std::size_t at = 0; at < until; at += size)
      packed += gzip(text.substr(at, std::min(size, until - at)));
    packed += gzip("") + gzip(text.substr(std::min(until, text.size()))) + std::string(1000, '\0');
    const auto unpacked = gunzip(packed);
    ASSERT_TRUE(unpacked) << base::describe(unpacked.error());
    EXPECT_EQ(unpacked->bytes(), text);
    EXPECT_EQ(unpacked->garbage(), 0u);
  }
}

TEST(Gzip, HeadersWithAllFields) {
  // Extra field, name, comment and a checksum of the header, as RFC 1952 allows.
  std::string packed = gzip("[1]");
  packed[3] = 4 | 8 | 16;
  packed.insert(10, std::string("\x03\0abc", 5) + std::string("name\0", 5) + std::string("words\0", 6));
  const auto unpacked = gunzip(packed);
  ASSERT_TRUE(unpacked) << base::describe(unpacked.error());
  EXPECT_EQ(unpacked->bytes(), "[1]");
}

TEST(Gzip, ADecompressionBombIsOneError) {
  std::string packed = gzip(std::string(std::size_t{20} << 20, ' '));
  const auto trace = read_trace_bytes(packed, "bomb.json.gz");
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("white space"));
}

TEST(Gzip, PackedTwice) {
  const auto trace = read_trace_bytes(gzip(gzip("[1]")), "twice.json.gz");
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("gzip data within gzip data"));
}

TEST(Gzip, CutAnywhereNamesTheEnd) {
  const std::string packed = gzip(long_trace(30000));
  for (const double part : {0.1, 0.5, 0.9, 0.999}) {
    const auto size = static_cast<std::size_t>(static_cast<double>(packed.size()) * part);
    const auto trace = read_trace_bytes(packed.substr(0, size), "cut.json.gz");
    ASSERT_FALSE(trace) << part;
    EXPECT_EQ(trace.error().code, base::ErrorCode::parse);
    EXPECT_EQ(trace.error().byte, size);
    EXPECT_THAT(trace.error().message, HasSubstr("cut"));
    EXPECT_THAT(trace.error().remedy, HasSubstr("--salvage"));
  }
}

TEST(Gzip, SalvageReadsWhatUnpacks) {
  const std::string text = long_trace(30000);
  const std::string packed = gzip(text);
  const ReadOptions salvage{.salvage = true, .threads = 0};
  const auto whole = read_trace_bytes(packed, "whole.json.gz", salvage);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->stats.warnings.empty());
  const auto half = read_trace_bytes(packed.substr(0, packed.size() / 2), "cut.json.gz", salvage);
  ASSERT_TRUE(half) << base::describe(half.error());
  EXPECT_GT(half->size(), 14000u);
  EXPECT_LT(half->size(), 16000u);
  for (trace::EventId event = 0; event < half->size(); event += 999) {
    EXPECT_EQ(half->name_of(event), whole->name_of(event));
    EXPECT_EQ(half->start[event] + 7, whole->start[event]);  // the base time stood behind the cut
  }
  EXPECT_THAT(half->stats.warnings,
              testing::Contains(HasSubstr(fmt::format("byte {}: the gzip data is cut", packed.size() / 2))));
}

TEST(Gzip, CorruptionIsLocatedAndSalvaged) {
  const std::string text = long_trace(30000);
  std::string packed = gzip(text);
  const std::size_t at = packed.size() / 2;
  for (std::size_t i = at; i < at + 64; ++i) packed[i] = static_cast<char>(~packed[i]);
  const auto broken = read_trace_bytes(packed, "bad.json.gz");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("gzip data is corrupt"));
  ASSERT_TRUE(broken.error().byte);
  EXPECT_GE(*broken.error().byte, at);
  const auto salvaged = read_trace_bytes(packed, "bad.json.gz", {.salvage = true, .threads = 0});
  ASSERT_TRUE(salvaged) << base::describe(salvaged.error());
  EXPECT_GT(salvaged->size(), 14000u);
  EXPECT_FALSE(salvaged->stats.warnings.empty());
}

TEST(Gzip, CorruptionAtTheEndLiesInTheFile) {
  // igzip 2.30 counts itself past the end of this one.
  const std::string packed(
      "\x1f\x8b\x08\0\0\0\0\0\x02\x03\x4b\x4c\x84\x82\x41\xa4\x44\x2c\x2c\xd7\0\x99\x66\x34\x10\x1e\0\0\0",
      29);
  const auto unpacked = gunzip(packed);
  ASSERT_FALSE(unpacked);
  ASSERT_TRUE(unpacked.error().byte);
  EXPECT_LE(*unpacked.error().byte, packed.size());
}

TEST(Gzip, AWrongChecksumIsCorruptionToo) {
  std::string packed = gzip(long_trace(100));
  packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] ^ 1);
  const auto broken = read_trace_bytes(packed, "bad.json.gz");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("corrupt"));
  const auto salvaged = read_trace_bytes(packed, "bad.json.gz", {.salvage = true, .threads = 0});
  ASSERT_TRUE(salvaged);
  EXPECT_EQ(salvaged->size(), 100u);
}

}  // namespace
}  // namespace hunch::formats
