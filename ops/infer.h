#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "ir/call.h"

// Type rules that many operators share, and the steps that others are made of. All refuse complex
// operands, which only the rows of fft.cc know, and throw Error at the node. They accept what eager
// accepts on a CPU and refuse what it refuses.
namespace ulpfuzz {

// Rules for operators of one tensor, `self`.
std::vector<TensorType> infer_same(const Call& call);          // as self
std::vector<TensorType> infer_same_no_bool(const Call& call);  // as self, which is not bool
std::vector<TensorType> infer_floating(const Call& call);      // as self, which is floating
std::vector<TensorType> infer_unary_float(const Call& call);   // integers give float32
std::vector<TensorType> infer_predicate(const Call& call);     // bool of self's shape

// Rules for operators of `self` and `other`, broadcast. These take Python numbers in tensor slots
// (at least one operand is a tensor); the `_tensors` ones do not, as their Python functions.
std::vector<TensorType> infer_binary(const Call& call);  // promoted
std::vector<TensorType> infer_binary_tensors(const Call& call);
std::vector<TensorType> infer_binary_no_bool(const Call& call);  // promoted, and not bool
std::vector<TensorType> infer_binary_float(const Call& call);    // promoted; integers give float32
std::vector<TensorType> infer_binary_float_tensors(const Call& call);
std::vector<TensorType> infer_comparison(const Call& call);  // bool
std::vector<TensorType> infer_comparison_tensors(const Call& call);

// The broadcast shape of the arguments that are tensors; numbers and None do not count.
Shape broadcast_shape(const Call& call, std::initializer_list<std::string_view> args);

// ATen's promotion of tensors, numbers in tensor slots and Scalars; None does not count.
DType promoted(const Call& call, std::initializer_list<std::string_view> args);

DType float_of(DType dtype);  // integral types become float32, the default dtype

// An in-place operator that would give `result` out of place: the operand's type, when the dtype
// can be cast to it (c10::canCast: no float to integer, no integer to bool) and the shape is its.
std::vector<TensorType> written(const Call& call, const TensorType& result,
                                std::string_view operand = "self");
bool can_cast(DType from, DType to);

// What is asked of one argument; each throws Error at the node.
void require_tensor(const Call& call, std::string_view arg);  // not a Python number
void require_real(const Call& call, std::string_view arg);    // not complex
void require_floating(const Call& call, std::string_view arg);
void require_integral(const Call& call, std::string_view arg);  // or bool
void require_no_bool(const Call& call, std::string_view arg);
void require_dtype(const Call& call, std::string_view arg, DType dtype);
// `number` converts to `dtype` without overflow, as c10's checked conversion asks (fill,
// masked_fill, clamp; arithmetic does not ask).
void require_fits(const Call& call, const Scalar& number, DType dtype);

// Dimensions that a reduction runs over, sorted: those of an int, int? or int[]? argument, all of
// them for None and for the empty list. Throws Error for one out of range or given twice.
std::vector<int> reduced_dims(const Call& call, std::string_view arg = "dim",
                              std::string_view operand = "self");
Shape reduced_shape(const Shape& shape, const std::vector<int>& dims, bool keepdim);

// Reductions of `self` over `dim` (when the schema has it) with `keepdim` (likewise).
TensorType reduced(const Call& call, DType dtype);
std::vector<TensorType> infer_reduction(const Call& call);  // self's dtype; for amax, an extremum:
                                                            // no empty dimension is reduced
std::vector<TensorType> infer_sum(const Call& call);        // `dtype`, else int64 for integers

}  // namespace ulpfuzz
