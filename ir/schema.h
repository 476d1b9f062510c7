#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace ulpfuzz {

// One argument or result of an ATen schema, such as `Tensor(a!) self` or `int[]? dim=None`.
struct SchemaArgument {
  enum class Kind : std::uint8_t {
    kTensor,
    kTensorList,  // Tensor[], Tensor?[]
    kInt,         // int, SymInt
    kIntList,     // int[], SymInt[], int[1]
    kFloat,
    kBool,
    kScalar,  // Scalar, number
    kDType,   // ScalarType
    kString,
    kFloatList,
    kOther,  // Layout, Device, MemoryFormat, Generator: only their default None is supported
  };
  std::string name;
  Kind kind = Kind::kTensor;
  bool optional = false;           // Type?
  bool optional_elements = false;  // Tensor?[]
  bool keyword_only = false;       // after *
  std::string alias;               // "a" of Tensor(a) and Tensor(a!); empty: none
  bool writes = false;             // Tensor(a!)
  std::optional<Argument> default_value;
};

// A parsed ATen schema: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
struct Schema {
  std::string name;  // "aten.add.Tensor"
  std::vector<SchemaArgument> args;
  std::vector<SchemaArgument> returns;

  const SchemaArgument* find(std::string_view arg) const;
  bool mutates() const;  // some argument is written
};

Schema parse_schema(std::string_view text);  // throws Error with the column

}  // namespace ulpfuzz
