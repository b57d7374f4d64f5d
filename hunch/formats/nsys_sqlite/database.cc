#include "hunch/formats/nsys_sqlite/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace hunch::formats::nsys_sqlite {
namespace {

constexpr std::size_t kHeader = 100;
constexpr std::size_t kTextSlack = std::size_t{1} << 20;
constexpr const char* kRemedy =
    "export it again: nsys export --type sqlite --force-overwrite true FILE.nsys-rep";
constexpr const char* kSalvage =
    "export it again (nsys export --type sqlite FILE.nsys-rep); or add --salvage to read what is whole";

uint32_t big_endian(std::string_view bytes, std::size_t at, std::size_t length) {
  uint32_t value = 0;
  for (std::size_t i = 0; i < length; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// The size that the header tells, where it can be trusted (it counts as of the last change); else 0.
uint64_t told_size(std::string_view bytes) {
  const uint32_t page = big_endian(bytes, 16, 2) == 1 ? 65536 : big_endian(bytes, 16, 2);
  if (bytes.substr(24, 4) != bytes.substr(92, 4)) return 0;
  return uint64_t{page} * big_endian(bytes, 28, 4);
}

bool is_primary_key(sqlite3* handle, const std::string& table, std::string_view column) {
  sqlite3_stmt* info = nullptr;
  const std::string pragma = fmt::format("PRAGMA table_info({})", quoted(table));
  if (sqlite3_prepare_v2(handle, pragma.c_str(), -1, &info, nullptr) != SQLITE_OK) return false;
  bool is_key = false;
  while (sqlite3_step(info) == SQLITE_ROW) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(info, 1));
    const bool same = name != nullptr && sqlite3_stricmp(name, std::string(column).c_str()) == 0;
    is_key = is_key || (same && sqlite3_column_int(info, 5) == 1);
  }
  sqlite3_finalize(info);
  return is_key;
}

}  // namespace

base::Result<Database> Database::open(std::string_view bytes, bool salvage) {
  const auto failed = [&](std::string message, uint64_t byte, const char* remedy) {
    return base::fail(base::Error{base::ErrorCode::parse, std::move(message), {}, byte, remedy});
  };
  if (bytes.size() < kHeader)
    return failed("the SQLite database is cut in its header", bytes.size(), kRemedy);
  if (const uint64_t told = told_size(bytes); told > bytes.size() && !salvage)
    return failed(fmt::format("the SQLite database is cut: {} of {} bytes are there", bytes.size(), told),
                  bytes.size(), kSalvage);
  Database database;
  database.size_ = bytes.size();
  database.text_budget_ = 2 * bytes.size() + kTextSlack;
  if (bytes[18] == 2 || bytes[19] == 2) {
    database.copy_ = bytes;
    database.copy_[18] = database.copy_[19] = 1;
    bytes = database.copy_;
  }
  const int opened =
      sqlite3_open_v2(":memory:", &database.handle_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
  if (opened != SQLITE_OK)
    return base::fail(base::ErrorCode::environment, "SQLite cannot start: out of memory");
  sqlite3* const handle = database.handle_;
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  if (sqlite3_deserialize(handle, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    return base::fail(database.error("opening it"));
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (salvage)
    sqlite3_db_config(handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);  // else a cut one is refused
  const auto longest = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, static_cast<int>(std::max<std::size_t>(longest, 4096)));
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  // Pages are used where they lie instead of being copied; where SQLite cannot, it copies.
  sqlite3_exec(handle, fmt::format("PRAGMA mmap_size={}", bytes.size()).c_str(), nullptr, nullptr, nullptr);
  return database;
}

Database::Database(Database&& other) noexcept
    : copy_(std::move(other.copy_)),
      size_(other.size_),
      handle_(std::exchange(other.handle_, nullptr)),
      text_budget_(other.text_budget_) {}

Database::~Database() { sqlite3_close_v2(handle_); }

base::Error Database::error(std::string_view doing) const {
  const int code = sqlite3_errcode(handle_);
  std::string message = fmt::format("SQLite cannot go on {}: {}", doing, sqlite3_errmsg(handle_));
  if (code == SQLITE_NOMEM) return base::Error{base::ErrorCode::environment, std::move(message)};
  return base::Error{base::ErrorCode::parse, std::move(message), {}, {}, kSalvage};
}

base::Result<std::vector<std::string>> Database::tables() const {
  std::vector<std::string> names;
  HUNCH_ASSIGN(auto rows, Rows::of(*this, "sqlite_master", {"type", "name", "rootpage"}));
  while (true) {
    HUNCH_ASSIGN(const bool more, rows.next());
    if (!more) return names;
    // Views and virtual tables have no pages of their own.
    if (rows.text(0) == "table" && rows.integer(2).value_or(0) > 0 && rows.text(1))
      names.emplace_back(*rows.text(1));
  }
}

base::Result<Rows> Rows::of(const Database& database, const std::string& table,
                            const std::vector<std::string_view>& columns) {
  Rows rows(database, table);
  rows.present_.assign(columns.size(), table == "sqlite_master");
  bool exists = table == "sqlite_master";
  if (!exists) {
    // Generated columns are not listed there, so that reading computes nothing.
    sqlite3_stmt* info = nullptr;
    const std::string pragma = fmt::format("PRAGMA table_info({})", quoted(table));
    if (sqlite3_prepare_v2(database.handle_, pragma.c_str(), -1, &info, nullptr) != SQLITE_OK)
      return base::fail(database.error("in its schema"));
    while (sqlite3_step(info) == SQLITE_ROW) {
      exists = true;
      const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(info, 1));
      for (std::size_t i = 0; name != nullptr && i < columns.size(); ++i)
        if (sqlite3_stricmp(name, std::string(columns[i]).c_str()) == 0) rows.present_[i] = true;
    }
    if (sqlite3_finalize(info) != SQLITE_OK) return base::fail(database.error("in its schema"));
  }
  if (!exists) return rows;
  std::string select = "SELECT rowid";
  for (std::size_t i = 0; i < columns.size(); ++i)
    select += ", " + (rows.present_[i] ? quoted(columns[i]) : std::string("NULL"));
  select += fmt::format(" FROM {} NOT INDEXED", quoted(table));
  if (sqlite3_prepare_v2(database.handle_, select.c_str(), -1, &rows.statement_, nullptr) != SQLITE_OK)
    return base::fail(database.error("in table " + table));
  return rows;
}

Rows::Rows(Rows&& other) noexcept
    : database_(other.database_),
      table_(std::move(other.table_)),
      statement_(std::exchange(other.statement_, nullptr)),
      present_(std::move(other.present_)),
      count_(other.count_),
      last_row_(other.last_row_),
      over_budget_(other.over_budget_) {}

Rows::~Rows() { sqlite3_finalize(statement_); }

base::Result<bool> Rows::next() {
  if (statement_ == nullptr) return false;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_DONE) return false;
  if (result != SQLITE_ROW)
    return base::fail(database_->error(fmt::format("in table {} behind row {}", table_, count_)));
  const int64_t row = sqlite3_column_int64(statement_, 0);
  if ((count_ > 0 && row <= last_row_) || over_budget_)
    return base::fail(
        base::Error{base::ErrorCode::parse,
                    fmt::format("table {} is damaged behind row {}: it runs in a circle", table_, count_),
                    {},
                    {},
                    kSalvage});
  last_row_ = row;
  ++count_;
  return true;
}

std::optional<int64_t> Rows::integer(std::size_t column) const {
  const int at = static_cast<int>(column) + 1;
  if (sqlite3_column_type(statement_, at) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, at);
}

std::optional<std::string_view> Rows::text(std::size_t column) const {
  const int at = static_cast<int>(column) + 1;
  if (sqlite3_column_type(statement_, at) != SQLITE_TEXT) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, at));
  if (text == nullptr) return std::nullopt;
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, at));
  over_budget_ = over_budget_ || size > database_->text_budget_;
  database_->text_budget_ -= std::min(size, database_->text_budget_);
  return std::string_view(text, size);
}

base::Result<Lookup> Lookup::of(const Database& database, const std::string& table, std::string_view key,
                                std::string_view value) {
  Lookup lookup(database);
  HUNCH_ASSIGN(auto rows, Rows::of(database, table, {key, value}));
  if (!rows.has_table() || !rows.has(0) || !rows.has(1)) return lookup;
  if (!is_primary_key(database.handle_, table, key)) {
    // Without an index each look would read the whole table.
    while (true) {
      const auto more = rows.next();
      if (!more || !*more) return lookup;  // what cannot be read is missing
      const auto number = rows.integer(0);
      const auto text = rows.text(1);
      if (number && text) lookup.all_.emplace(*number, *text);
    }
  }
  const std::string select =
      fmt::format("SELECT {} FROM {} WHERE {} = ?1 LIMIT 1", quoted(value), quoted(table), quoted(key));
  if (sqlite3_prepare_v2(database.handle_, select.c_str(), -1, &lookup.statement_, nullptr) != SQLITE_OK)
    return base::fail(database.error("in table " + table));
  return lookup;
}

Lookup::Lookup(Lookup&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      all_(std::move(other.all_)) {}

Lookup::~Lookup() { sqlite3_finalize(statement_); }

std::optional<std::string_view> Lookup::find(int64_t number) {
  if (const auto found = all_.find(number); found != all_.end()) return found->second;
  if (statement_ == nullptr) return std::nullopt;
  sqlite3_reset(statement_);
  sqlite3_bind_int64(statement_, 1, number);
  if (sqlite3_step(statement_) != SQLITE_ROW || sqlite3_column_type(statement_, 0) != SQLITE_TEXT)
    return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, 0));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, 0));
  if (text == nullptr || size > database_->text_budget_) return std::nullopt;
  database_->text_budget_ -= size;
  return std::string_view(text, size);
}

}  // namespace hunch::formats::nsys_sqlite
