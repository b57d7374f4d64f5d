// A read-only SQLite database in memory, through SQLite's own library: tables by name, columns that may be
// missing, rows one by one.
//
// In:  the bytes of a database, which must outlive the Database and are not copied (but for one in
//      write-ahead-log mode, which SQLite cannot open in place).
// Out: values. Errors: parse, with what SQLite says; where a table ends early, the rows before have been
// given. Holds: whatever the bytes are, reading ends: only real tables are read (no views, no virtual tables,
// nothing
//        of the schema is executed), row ids must rise, and all text together is bounded by the size of the
//        file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hunch/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hunch::formats::nsys_sqlite {

class Database {
 public:
  // With `salvage`, a database that is shorter than it says is opened as far as it goes.
  static base::Result<Database> open(std::string_view bytes, bool salvage);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // The names of its tables.
  base::Result<std::vector<std::string>> tables() const;

  // It was opened in spite of being in write-ahead-log mode: what the log holds is not in it.
  bool has_write_ahead_log() const { return !copy_.empty(); }

 private:
  friend class Rows;
  friend class Lookup;
  Database() = default;
  base::Error error(std::string_view doing) const;

  std::string copy_;
  std::size_t size_ = 0;
  sqlite3* handle_ = nullptr;
  mutable std::size_t text_budget_ = 0;  // bytes of text that may still be read
};

// The rows of one table. Columns that the table lacks read as missing.
class Rows {
 public:
  // `columns` in the order in which they are asked for below. A table that does not exist has no rows.
  static base::Result<Rows> of(const Database& database, const std::string& table,
                               const std::vector<std::string_view>& columns);
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  bool has_table() const { return statement_ != nullptr; }
  bool has(std::size_t column) const { return present_[column]; }

  // To the next row; false behind the last one.
  base::Result<bool> next();
  uint64_t count() const { return count_; }  // rows so far

  // Of the current row. Missing: no such column, NULL, or another type.
  std::optional<int64_t> integer(std::size_t column) const;
  std::optional<std::string_view> text(std::size_t column) const;  // until next()

 private:
  Rows(const Database& database, std::string table) : database_(&database), table_(std::move(table)) {}

  const Database* database_;
  std::string table_;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<bool> present_;
  uint64_t count_ = 0;
  int64_t last_row_ = INT64_MIN;
  mutable bool over_budget_ = false;
};

// StringIds: text by number, each fetched when it is first asked for.
class Lookup {
 public:
  static base::Result<Lookup> of(const Database& database, const std::string& table, std::string_view key,
                                 std::string_view value);
  Lookup(Lookup&& other) noexcept;
  Lookup& operator=(Lookup&&) = delete;
  ~Lookup();

  // Missing: no such number, or it cannot be read. Valid until the next call.
  std::optional<std::string_view> find(int64_t number);

 private:
  explicit Lookup(const Database& database) : database_(&database) {}
  const Database* database_;
  sqlite3_stmt* statement_ = nullptr;
  std::unordered_map<int64_t, std::string> all_;  // where the table has no index
};

}  // namespace hunch::formats::nsys_sqlite
