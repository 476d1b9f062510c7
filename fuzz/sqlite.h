#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "ir/error.h"

namespace ulpfuzz {

// A connection, a statement and a transaction: what the store needs of SQLite. Errors are Error
// with SQLite's message. Integers are 64 bits; text is UTF-8.
class Sqlite {
 public:
  explicit Sqlite(const std::filesystem::path& file) {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open(file.c_str(), &handle);
    db_.reset(handle);
    if (code != SQLITE_OK) throw Error(file.string(), sqlite3_errmsg(handle));
    sqlite3_busy_timeout(handle, 10000);
  }

  void execute(const std::string& sql) {
    if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }

  std::int64_t last_id() const { return sqlite3_last_insert_rowid(db_.get()); }
  sqlite3* handle() const { return db_.get(); }
  [[noreturn]] void fail() const { throw Error("store", sqlite3_errmsg(db_.get())); }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
};

class Statement {
 public:
  template <class... Values>
  Statement(Sqlite& db, const std::string& sql, const Values&... values) : db_(db) {
    sqlite3_stmt* handle = nullptr;
    if (sqlite3_prepare_v2(db.handle(), sql.c_str(), -1, &handle, nullptr) != SQLITE_OK) db.fail();
    statement_.reset(handle);
    int index = 0;
    (bind(++index, values), ...);
  }

  // The next row, if there is one.
  bool step() {
    const int code = sqlite3_step(statement_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) db_.fail();
    return code == SQLITE_ROW;
  }

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  std::string text(int column) const {
    const auto* bytes =
        reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return bytes == nullptr ? "" : bytes;
  }

 private:
  void bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_.get(), index, value); }
  void bind(int index, double value) { sqlite3_bind_double(statement_.get(), index, value); }
  void bind(int index, const std::string& value) {
    sqlite3_bind_text(statement_.get(), index, value.data(), static_cast<int>(value.size()),
                      SQLITE_TRANSIENT);
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Sqlite& db_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// All or nothing: rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Sqlite& db) : db_(db) { db_.execute("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!done_) sqlite3_exec(db_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    db_.execute("COMMIT");
    done_ = true;
  }

 private:
  Sqlite& db_;
  bool done_ = false;
};

}  // namespace ulpfuzz
