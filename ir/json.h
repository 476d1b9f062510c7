#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/case.h"
#include "ir/run.h"

// Records as JSON values, for rooms that put them into larger documents (worker frames, the store).
// To read or write members of a Json include <nlohmann/json.hpp> in the .cc.
namespace ulpfuzz {

using Json = nlohmann::json;
class JsonReader;

// The one way in for text of unknown origin: UTF-8, no key twice in an object, nesting up to 64.
// Throws Error with line and column.
Json parse_json(std::string_view text, const std::string& place);

// Canonical text (RFC 8785): keys sorted, no spaces. Holds as long as numbers are integers up to
// 2^53, which is so for all records of this project that are hashed. Bytes that are not UTF-8 (a
// message of a system) become U+FFFD.
std::string canonical(const Json& json);
std::string pretty(const Json& json);  // indented by two, short arrays and objects on one line

// IEEE 754 binary64 as 16 hex digits, most significant first: 1.0 is "3ff0000000000000". All NaNs
// become the quiet one.
std::string float_bits(double value);
std::optional<double> parse_float_bits(std::string_view text);

// A number for reports, not for hashing: JSON has none for these: "inf", "-inf", "nan".
Json report_number(double value);

// {"kind":"normal","seed":"7","scale":"3ff0...","shift":"0000...","low":"0","high":"0",
//  "special_rate":0,"values":["7ff0..."],"integers":["3"],"grid":"float64"}
Json json_of(const Fill& fill);
// All fields of ir/environment.h by name; sdpa, primed_by: null or
// {"kernels":["MATH","FLASH_ATTENTION"],"set_priority":false}
Json json_of(const Environment& environment);
// {"family":"qwen2","config":{"layers":2,"eps":{"float":"3eb0..."},"tie":true,"dtype":"bfloat16"}}
Json json_of(const ModelConfig& model);
// {"module":"litgpt.GPT","config":{"n_layer":1},"dtype":"float32","batch":1,"length":8,
//  "labels":true,"gradients":true,"seed":"0"}
Json json_of(const ModuleConfig& module);
Json json_of(const Program& program);  // see ir/schema/case.schema.json
Json json_of(const Case& c);
Json json_of(const KernelRecord& kernel);  // see ir/schema/run.schema.json
Json json_of(const TensorLayout& layout);  // {"dtype":...,"shape":[],"strides":[],"offset":0}

// The inverses. Numbers may be plain JSON numbers where a person would write them so, and members
// that have a default may be left out. Throw Error at the reader's place (ir/json_reader.h).
Fill fill_from(const JsonReader& reader);
Environment environment_from(const JsonReader& reader);
ModelConfig model_from(const JsonReader& reader);
// Only what ir/modules.h has.
ModuleConfig module_from(const JsonReader& reader);
Program program_from(const JsonReader& reader);
Case case_from(const JsonReader& reader);
TensorLayout layout_from(const Json& json, const std::string& place);

// Text of a reference: "x", or "x:1" for output 1.
std::string to_string(const Ref& ref);

// What stands in front of pointers into a file: "case.json" becomes "case.json#", "" stays.
std::string pointer_root(const std::string& place);

}  // namespace ulpfuzz
