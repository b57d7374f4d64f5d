// Files as bytes: mapped, empty, from a pipe; and the errors, each with the path.
#include "hunch/base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

namespace hunch::base {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "hunch_mapped_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string& name, const std::string& bytes) {
    const auto path = (folder / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::filesystem::path folder;
};

TEST_F(MappedFileTest, ReadsAllBytes) {
  const std::string bytes = std::string("a\0b\n", 4) + std::string(100'000, 'x');
  auto opened = MappedFile::open(file("plain", bytes));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->bytes(), bytes);
  MappedFile moved = std::move(*opened);
  EXPECT_EQ(moved.bytes(), bytes);
  auto other = MappedFile::open(file("other", "second"));
  ASSERT_TRUE(other);
  moved = std::move(*other);
  EXPECT_EQ(moved.bytes(), "second");
}

// Pages of files that this process has in memory, in bytes.
std::size_t shared_bytes() {
  std::size_t all = 0, resident = 0, shared = 0;
  std::ifstream("/proc/self/statm") >> all >> resident >> shared;
  return shared * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(MappedFileTest, WhatIsForgottenLeavesMemoryAndCanBeReadAgain) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::string bytes(24 * kMiB, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 64) bytes[i] = static_cast<char>(i >> 12);
  const auto opened = MappedFile::open(file("large", bytes));
  ASSERT_TRUE(opened);
  const std::size_t before = shared_bytes();
  for (std::size_t at = 0; at < bytes.size(); at += kMiB) {
    ASSERT_EQ(opened->bytes().substr(at, kMiB), std::string_view(bytes).substr(at, kMiB));
    opened->forget_before(at);
    EXPECT_LE(shared_bytes(), before + 4 * kMiB);
  }
  opened->forget_before(5);  // long ago
  opened->forget_before(SIZE_MAX);
  EXPECT_LE(shared_bytes(), before + 2 * kMiB);
  EXPECT_EQ(opened->bytes(), bytes);
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  const auto opened = MappedFile::open(file("empty", ""));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->bytes().empty());
}

TEST_F(MappedFileTest, ReadsAPipe) {
  const auto path = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string bytes(300'000, 'p');
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
  const auto opened = MappedFile::open(path);
  writer.join();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->bytes(), bytes);
}

TEST_F(MappedFileTest, ErrorsNameThePath) {
  const auto missing = MappedFile::open((folder / "missing").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().file, (folder / "missing").string());
  const auto directory = MappedFile::open(folder.string());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::io);
  EXPECT_NE(directory.error().message.find("directory"), std::string::npos);
  const auto below = MappedFile::open(file("plain", "x") + "/below");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, ErrorCode::not_found);
  if (geteuid() == 0) return;  // root may read anything
  const auto path = file("secret", "x");
  chmod(path.c_str(), 0);
  const auto secret = MappedFile::open(path);
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace hunch::base
