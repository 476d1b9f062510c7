#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"

namespace ulpfuzz {

// A JSON value together with where it stands. Each getter throws Error at that place, a JSON
// pointer, when the value is of another kind.
class JsonReader {
 public:
  // `place` in front of the pointer: "" or "case.json#".
  JsonReader(const nlohmann::json& json, std::string place)
      : json_(&json), document_(new Document{&json, std::move(place)}) {}

  const nlohmann::json& json() const { return *json_; }
  std::string place() const;
  [[noreturn]] void fail(const std::string& message) const;

  // Of an object.
  void only(std::initializer_list<std::string_view> keys) const;  // other keys are errors
  JsonReader at(std::string_view key) const;                      // throws when absent
  std::optional<JsonReader> find(std::string_view key) const;     // nullopt when absent
  std::vector<std::string> keys() const;
  std::pair<std::string, JsonReader> single() const;  // the only member

  // Of an array; `limit` bounds its length.
  std::vector<JsonReader> elements(std::size_t limit) const;

  bool is_null() const;
  bool boolean() const;
  std::int64_t integer() const;  // a JSON integer, or its decimal digits in a string
  std::int64_t integer_in(std::int64_t low, std::int64_t high) const;
  std::uint64_t unsigned_integer() const;
  double floating() const;  // 16 hex digits of the IEEE bits, or a JSON number
  std::string string(std::size_t limit = 4096) const;
  DType dtype() const;
  Dim dim() const;  // an integer, or an expression in a string
  std::vector<Dim> dims() const;
  Shape integers(std::size_t limit) const;

 private:
  struct Document {
    const nlohmann::json* root;
    std::string place;  // of the root
  };
  JsonReader(const nlohmann::json& json, std::shared_ptr<const Document> document)
      : json_(&json), document_(std::move(document)) {}

  const nlohmann::json* json_;
  // A place is looked up when it is asked for: most values are as they should be.
  std::shared_ptr<const Document> document_;
};

}  // namespace ulpfuzz
