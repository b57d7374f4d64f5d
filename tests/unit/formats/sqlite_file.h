// Makes SQLite files in memory for tests, by SQL.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace hunch::formats {

class SqliteFile {
 public:
  SqliteFile() { EXPECT_EQ(sqlite3_open(":memory:", &handle_), SQLITE_OK); }
  explicit SqliteFile(const std::string& sql) : SqliteFile() { run(sql); }
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  ~SqliteFile() { sqlite3_close(handle_); }

  SqliteFile& run(const std::string& sql) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << (message != nullptr ? message : "") << "\n"
        << sql;
    sqlite3_free(message);
    return *this;
  }

  std::string bytes() const {
    sqlite3_int64 size = 0;
    unsigned char* data = sqlite3_serialize(handle_, "main", &size, 0);
    std::string out(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    sqlite3_free(data);
    return out;
  }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace hunch::formats
