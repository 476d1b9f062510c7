#pragma once

#include <string_view>

#include "ir/program.h"

// Operators that draw random numbers. No exact value says what they give (every element is marked
// undefined); they are judged by the relation equal-random alone.
namespace ulpfuzz {

bool draws_random(std::string_view op);
bool draws_random(const Program& program);

// Its result depends on the generator, and on no operand's values: rand_like, not dropout.
bool is_function_of_draw(std::string_view op);

}  // namespace ulpfuzz
