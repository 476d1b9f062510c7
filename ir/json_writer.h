#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/case.h"

namespace ulpfuzz {

// Writes canonical text (ir/json.h) from front to back, without a document in memory: content
// hashes are of such text, and a campaign takes many. The members of an object are given in the
// order of their keys; keys live until the object ends.
class JsonWriter {
 public:
  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  JsonWriter& key(std::string_view key);  // of the value that follows

  void null();
  void boolean(bool value);
  void integer(std::int64_t value);
  void string(std::string_view value);
  void digits(std::int64_t value);  // in a string
  void digits(std::uint64_t value);
  void bits(double value);  // float_bits()

  // An array of what `write` writes of each.
  template <class Range, class Write>
  void list(const Range& range, const Write& write) {
    begin_array();
    for (const auto& element : range) write(element);
    end_array();
  }

  std::string take() { return std::move(text_); }

 private:
  void separate();

  std::string text_;
  std::vector<std::string_view> keys_;  // the last of each object that is open
};

// Records, each where its json_of() is.
void write(JsonWriter& out, const Fill& fill);
void write(JsonWriter& out, const Environment& environment);
void write(JsonWriter& out, const ModelConfig& model);
void write(JsonWriter& out, const ModuleConfig& module);
void write(JsonWriter& out, const Program& program);
void write(JsonWriter& out, const Case& c);

template <class Record>
std::string canonical_text(const Record& record) {
  JsonWriter out;
  write(out, record);
  return out.take();
}

}  // namespace ulpfuzz
