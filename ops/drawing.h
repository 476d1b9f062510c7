#pragma once

#include <string_view>
#include <vector>

#include "generators/draw.h"

// Draw rules that many operators share, and the choices that others are made of.
namespace ulpfuzz {

// Operators of one tensor, `self`.
bool draw_unary_float(Draw& d);  // floating mostly, integers (which become float32) now and then
bool draw_floating(Draw& d);     // floating
bool draw_numeric(Draw& d);      // floating or integer
bool draw_any(Draw& d);          // bool too
bool draw_inplace(Draw& d);      // a floating tensor that may be written
bool draw_inplace_numeric(Draw& d);  // a floating or integer one

// Operators of `self` and `other`, which broadcast. `other` is a Python number now and then, except
// for the `_tensors` rules; `self` is one rarely.
bool draw_binary(Draw& d);      // floating or integer
bool draw_binary_any(Draw& d);  // bool too
bool draw_binary_tensors(Draw& d);
bool draw_binary_any_tensors(Draw& d);
bool draw_binary_float_tensors(Draw& d);  // floating
bool draw_tensor_scalar(Draw& d);         // `self` a tensor, `other` a Scalar
bool draw_inplace_binary(Draw& d);        // self is written; `other` as for draw_binary

// Reductions of `self` over `dim` with `keepdim`, as far as the schema has them.
bool draw_reduction(Draw& d);           // floating or integer
bool draw_reduction_floating(Draw& d);  // floating
bool draw_reduction_any(Draw& d);       // bool too

Want want_floating(int min_rank = 0);
Want want_numeric(int min_rank = 0);
Want want_fresh(Want::Types types = Want::Types::kFloating);

// `dim` and `keepdim` arguments as the operator's schema has them: an int, an optional int, or a
// list, left out now and then where it may be.
void add_reduced_dims(Draw& d, const Ref& self, std::vector<NamedArgument>& args);

// A Python number for an operand of `dtype`, or mostly of a fractional kind for a floating one.
Scalar draw_fraction(Draw& d);              // 0.5, -1.25, 0.1, ...
Scalar draw_nonzero(Draw& d, DType dtype);  // for divisors
// An input whose integers are never zero: divisors; ATen raises on zero ones.
Ref draw_nonzero_input(Draw& d, DType dtype, const Shape& shape, bool minus_one = true);

}  // namespace ulpfuzz
