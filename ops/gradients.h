#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/differentiate.h"

// A small language for derivative rules, so that they read as the formulas of ATen's
// derivatives.yaml:
//
//     void sin_backward(Backward& b) {
//       give(b, "self", gradient(b) * unary("cos", input(b, "self")));
//     }
//
// Every operator here appends one node to the gradient program. Rules follow ATen's formulas, not
// better ones: the intermediate roundings are the ones that a system has.
namespace ulpfuzz {

// A value of the gradient program under construction.
struct Expr {
  Backward* builder = nullptr;
  Ref ref;
  const TensorType& type() const { return builder->type(ref); }
};

Expr input(Backward& b, std::string_view arg);  // a forward operand, which must be a tensor
Expr output(Backward& b, int index = 0);        // a forward result
Expr gradient(Backward& b, int index = 0);      // of a forward result
void give(Backward& b, std::string_view arg, const Expr& value);  // adds to its gradient

// A gradient is wanted for this operand, which is a tensor.
bool wanted(Backward& b, std::string_view arg);

// One call of any operator, arguments by schema name.
Expr emit(Backward& b, const std::string& op, std::vector<NamedArgument> args);

// An operand as the forward call has it: a tensor or a Python number.
Argument operand(Backward& b, std::string_view arg);

// self / other of the forward call, either of which may be a number; rounded when a mode is given.
Expr quotient(Backward& b, const std::string& rounding_mode = "");

// Broadcasting arithmetic, with Python numbers where a double is given.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator+(const Expr& a, double b);
Expr operator-(const Expr& a, double b);
Expr operator-(double a, const Expr& b);
Expr operator*(const Expr& a, double b);
Expr operator/(const Expr& a, double b);
Expr operator-(const Expr& a);
Expr times(const Expr& a, const Argument& b);  // for operands that may be numbers
Expr over(const Expr& a, const Argument& b);

// aten.NAME.default of one tensor: unary("cos", x).
Expr unary(const std::string& name, const Expr& x);
Expr pow(const Expr& x, double exponent);
Expr where(const Expr& condition, const Expr& a, const Expr& b);
Expr masked_fill(const Expr& x, const Expr& mask, double value);
Expr cast(const Expr& x, DType dtype);  // itself when it has the dtype
Expr zeros_like(const Expr& x);

// aten.NAME.Tensor or .Scalar: compare("lt", x, y), compare("le", x, 0.0).
Expr compare(const std::string& name, const Expr& a, const Expr& b);
Expr compare(const std::string& name, const Expr& a, double b);
Expr compare(const std::string& name, const Expr& a, const Argument& b);
Expr logical(const std::string& name, const Expr& a, const Expr& b);  // "and", "or"

Expr sum(const Expr& x, const std::vector<int>& dims, bool keepdim);
Expr expand(const Expr& x, const Shape& shape);
// `x` is the result (or its gradient) of reducing `dims` of a tensor of `rank` dimensions: with
// those dimensions back as size 1, unless keepdim left them.
Expr unreduced(const Expr& x, const std::vector<int>& dims, std::size_t rank, bool keepdim);

std::vector<Dim> as_dims(const Shape& shape);
std::vector<Dim> as_dims(const std::vector<int>& dims);

}  // namespace ulpfuzz
