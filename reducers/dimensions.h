#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/op_row.h"
#include "reducers/origin.h"

namespace ulpfuzz {

// What may be varied of a case: of a model or module the fields of its origin; of a program its
// sizes (equal sizes above 1 are one dimension, named by the first input that has it:
// "x.shape[1]"), the dtype of its floating inputs and the seed of its fills.
OriginFields dimensions(const Case& c);

// The case with another value of one dimension; nullopt where it is none. A module's case has no
// program then.
std::optional<Case> with_dimension(const Case& c, const std::string& dimension,
                                   const ConfigValue& value, const OpTable& table);

// The smallest value that a dimension may have; nullopt: not a number.
std::optional<ConfigValue> least_value(const Case& c, const std::string& dimension);

}  // namespace ulpfuzz
