#include "ops/infer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ir/error.h"

namespace ulpfuzz {

namespace {

bool has_argument(const Call& call, std::string_view arg) {
  return call.op().schema.find(arg) != nullptr;
}

TensorType binary(const Call& call) {
  if (!call.is_tensor("self") && !call.is_tensor("other")) {
    call.fail("one of self and other must be a tensor");
  }
  return {promoted(call, {"self", "other"}), broadcast_shape(call, {"self", "other"})};
}

TensorType binary_tensors(const Call& call) {
  require_tensor(call, "self");
  require_tensor(call, "other");
  return binary(call);
}

std::string quoted(std::string_view arg) { return "'" + std::string(arg) + "'"; }

std::string text_of(const TensorType& type) { return ", got " + to_string(type); }

}  // namespace

std::vector<TensorType> infer_same(const Call& call) {
  require_real(call, "self");
  return {call.tensor("self")};
}

std::vector<TensorType> infer_same_no_bool(const Call& call) {
  require_no_bool(call, "self");
  return infer_same(call);
}

std::vector<TensorType> infer_floating(const Call& call) {
  require_floating(call, "self");
  return {call.tensor("self")};
}

std::vector<TensorType> infer_unary_float(const Call& call) {
  require_real(call, "self");
  const TensorType& self = call.tensor("self");
  return {{float_of(self.dtype), self.shape}};
}

std::vector<TensorType> infer_predicate(const Call& call) {
  require_real(call, "self");
  return {{DType::kBool, call.tensor("self").shape}};
}

std::vector<TensorType> infer_binary(const Call& call) { return {binary(call)}; }

std::vector<TensorType> infer_binary_tensors(const Call& call) { return {binary_tensors(call)}; }

std::vector<TensorType> infer_binary_no_bool(const Call& call) {
  const TensorType result = binary(call);
  if (result.dtype == DType::kBool) call.fail("not implemented for bool operands");
  return {result};
}

std::vector<TensorType> infer_binary_float(const Call& call) {
  const TensorType result = binary(call);
  return {{float_of(result.dtype), result.shape}};
}

std::vector<TensorType> infer_binary_float_tensors(const Call& call) {
  const TensorType result = binary_tensors(call);
  return {{float_of(result.dtype), result.shape}};
}

std::vector<TensorType> infer_comparison(const Call& call) {
  return {{DType::kBool, binary(call).shape}};
}

std::vector<TensorType> infer_comparison_tensors(const Call& call) {
  return {{DType::kBool, binary_tensors(call).shape}};
}

Shape broadcast_shape(const Call& call, std::initializer_list<std::string_view> args) {
  Shape shape;
  for (const std::string_view arg : args) {
    if (!call.is_tensor(arg)) continue;
    try {
      shape = broadcast(shape, call.tensor(arg).shape);
    } catch (const Error& error) {
      call.fail(error.what());
    }
  }
  return shape;
}

DType promoted(const Call& call, std::initializer_list<std::string_view> args) {
  Promotion promotion;
  for (const std::string_view arg : args) {
    if (!call.given(arg)) continue;
    if (call.is_tensor(arg)) {
      require_real(call, arg);
      promotion.add(call.tensor(arg));
    } else {
      promotion.add(call.scalar(arg));
    }
  }
  return promotion.result();
}

DType float_of(DType dtype) { return is_integral(dtype) ? DType::kFloat32 : dtype; }

bool can_cast(DType from, DType to) {
  if (is_complex(from)) return is_complex(to);
  if (is_floating(from)) return !is_integral(to);
  return from == DType::kBool || to != DType::kBool;
}

std::vector<TensorType> written(const Call& call, const TensorType& result,
                                std::string_view operand) {
  const TensorType& self = call.tensor(operand);
  if (!can_cast(result.dtype, self.dtype)) {
    call.fail("a result of " + std::string(name(result.dtype)) + " cannot be written into " +
              std::string(name(self.dtype)));
  }
  if (result.shape != self.shape) {
    call.fail("the result's shape is not that of the tensor written into" + text_of(result));
  }
  return {self};
}

void require_tensor(const Call& call, std::string_view arg) {
  if (!call.is_tensor(arg)) call.fail(quoted(arg) + " must be a tensor");
}

void require_real(const Call& call, std::string_view arg) {
  if (is_complex(call.tensor(arg).dtype)) {
    call.fail(quoted(arg) + " must not be complex" + text_of(call.tensor(arg)));
  }
}

void require_floating(const Call& call, std::string_view arg) {
  if (!is_floating(call.tensor(arg).dtype)) {
    call.fail(quoted(arg) + " must be floating" + text_of(call.tensor(arg)));
  }
}

void require_integral(const Call& call, std::string_view arg) {
  if (!is_integral(call.tensor(arg).dtype)) {
    call.fail(quoted(arg) + " must be an integer or bool tensor" + text_of(call.tensor(arg)));
  }
}

void require_no_bool(const Call& call, std::string_view arg) {
  if (call.tensor(arg).dtype == DType::kBool) {
    call.fail(quoted(arg) + " must not be bool" + text_of(call.tensor(arg)));
  }
}

void require_dtype(const Call& call, std::string_view arg, DType dtype) {
  if (call.tensor(arg).dtype != dtype) {
    call.fail(quoted(arg) + " must be " + std::string(name(dtype)) + text_of(call.tensor(arg)));
  }
}

void require_fits(const Call& call, const Scalar& number, DType dtype) {
  if (dtype == DType::kBool) return;
  const double value = number.as_double();
  bool fits = true;
  if (is_integral(dtype)) {
    // An unsigned type takes negative numbers down to -max: c10 lets -1 stand for all bits.
    const double largest = static_cast<double>(max_integer(dtype));
    const double smallest =
        dtype == DType::kUInt8 ? -largest : static_cast<double>(min_integer(dtype));
    fits = std::isfinite(value) && value >= smallest && value <= largest;
  } else {
    fits = !std::isfinite(value) || std::abs(value) <= float_format(dtype).max_finite;
  }
  if (!fits) call.fail("the number cannot be converted to " + std::string(name(dtype)));
}

std::vector<int> reduced_dims(const Call& call, std::string_view arg, std::string_view operand) {
  const std::size_t rank = call.tensor(operand).shape.size();
  std::vector<int> dims;
  if (has_argument(call, arg) && call.given(arg)) {
    for (const std::int64_t dim : call.integers(arg)) {
      try {
        dims.push_back(wrap_dim(dim, rank));
      } catch (const Error& error) {
        call.fail(error.what());
      }
    }
  }
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) {
    call.fail("a dimension appears twice in " + quoted(arg));
  }
  if (dims.empty()) {
    for (std::size_t dim = 0; dim < rank; ++dim) dims.push_back(static_cast<int>(dim));
  } else if (rank == 0) {
    dims.clear();  // dim 0 of a zero-dimensional tensor: the element itself
  }
  return dims;
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& dims, bool keepdim) {
  Shape result;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const bool is_reduced =
        std::find(dims.begin(), dims.end(), static_cast<int>(dim)) != dims.end();
    if (!is_reduced) {
      result.push_back(shape[dim]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

TensorType reduced(const Call& call, DType dtype) {
  require_real(call, "self");
  const bool keepdim = has_argument(call, "keepdim") && call.boolean("keepdim");
  return {dtype, reduced_shape(call.tensor("self").shape, reduced_dims(call), keepdim)};
}

std::vector<TensorType> infer_reduction(const Call& call) {
  const TensorType& self = call.tensor("self");
  for (const int dim : reduced_dims(call)) {
    if (self.shape[static_cast<std::size_t>(dim)] == 0) {
      call.fail("there is no extremum over an empty dimension" + text_of(self));
    }
  }
  return {reduced(call, self.dtype)};
}

std::vector<TensorType> infer_sum(const Call& call) {
  const DType self = call.tensor("self").dtype;
  const DType natural = is_integral(self) ? DType::kInt64 : self;
  return {reduced(call, call.given("dtype") ? call.dtype("dtype") : natural)};
}

}  // namespace ulpfuzz
