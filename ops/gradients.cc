#include "ops/gradients.h"

#include <utility>

namespace ulpfuzz {

namespace {

Argument number(double value) { return Scalar{value}; }

Expr binary(const Expr& a, const std::string& op, const Argument& b) {
  return emit(*a.builder, op, {{"self", a.ref}, {"other", b}});
}

}  // namespace

Expr input(Backward& b, std::string_view arg) { return {&b, b.input(arg)}; }
Expr output(Backward& b, int index) { return {&b, b.output(index)}; }
Expr gradient(Backward& b, int index) { return {&b, b.gradient(index)}; }

void give(Backward& b, std::string_view arg, const Expr& value) { b.contribute(arg, value.ref); }

bool wanted(Backward& b, std::string_view arg) { return b.call().is_tensor(arg) && b.needs(arg); }

Expr emit(Backward& b, const std::string& op, std::vector<NamedArgument> args) {
  return {&b, b.emit(op, std::move(args))};
}

Argument operand(Backward& b, std::string_view arg) {
  if (b.call().is_tensor(arg)) return b.input(arg);
  return b.call().scalar(arg);
}

Expr quotient(Backward& b, const std::string& rounding_mode) {
  std::vector<NamedArgument> args{{"self", operand(b, "self")}, {"other", operand(b, "other")}};
  if (rounding_mode.empty()) return emit(b, "aten.div.Tensor", std::move(args));
  args.push_back({"rounding_mode", rounding_mode});
  return emit(b, "aten.div.Tensor_mode", std::move(args));
}

Expr operator+(const Expr& a, const Expr& b) { return binary(a, "aten.add.Tensor", b.ref); }
Expr operator-(const Expr& a, const Expr& b) { return binary(a, "aten.sub.Tensor", b.ref); }
Expr operator*(const Expr& a, const Expr& b) { return binary(a, "aten.mul.Tensor", b.ref); }
Expr operator/(const Expr& a, const Expr& b) { return binary(a, "aten.div.Tensor", b.ref); }
Expr operator+(const Expr& a, double b) { return binary(a, "aten.add.Tensor", number(b)); }
Expr operator-(const Expr& a, double b) { return binary(a, "aten.sub.Tensor", number(b)); }
Expr operator-(double a, const Expr& b) { return binary(b, "aten.rsub.Scalar", number(a)); }
Expr operator*(const Expr& a, double b) { return binary(a, "aten.mul.Tensor", number(b)); }
Expr operator/(const Expr& a, double b) { return binary(a, "aten.div.Tensor", number(b)); }
Expr operator-(const Expr& a) { return unary("neg", a); }
Expr times(const Expr& a, const Argument& b) { return binary(a, "aten.mul.Tensor", b); }
Expr over(const Expr& a, const Argument& b) { return binary(a, "aten.div.Tensor", b); }

Expr unary(const std::string& name, const Expr& x) {
  return emit(*x.builder, "aten." + name + ".default", {{"self", x.ref}});
}

Expr pow(const Expr& x, double exponent) {
  return emit(*x.builder, "aten.pow.Tensor_Scalar",
              {{"self", x.ref}, {"exponent", number(exponent)}});
}

Expr where(const Expr& condition, const Expr& a, const Expr& b) {
  return emit(*a.builder, "aten.where.self",
              {{"condition", condition.ref}, {"self", a.ref}, {"other", b.ref}});
}

Expr masked_fill(const Expr& x, const Expr& mask, double value) {
  return emit(*x.builder, "aten.masked_fill.Scalar",
              {{"self", x.ref}, {"mask", mask.ref}, {"value", number(value)}});
}

Expr cast(const Expr& x, DType dtype) {
  if (x.type().dtype == dtype) return x;
  return emit(*x.builder, "aten._to_copy.default", {{"self", x.ref}, {"dtype", dtype}});
}

Expr zeros_like(const Expr& x) { return unary("zeros_like", x); }

Expr compare(const std::string& name, const Expr& a, const Expr& b) {
  return binary(a, "aten." + name + ".Tensor", b.ref);
}

Expr compare(const std::string& name, const Expr& a, double b) {
  return binary(a, "aten." + name + ".Scalar", number(b));
}

Expr compare(const std::string& name, const Expr& a, const Argument& b) {
  const bool is_tensor = std::holds_alternative<Ref>(b);
  return binary(a, "aten." + name + (is_tensor ? ".Tensor" : ".Scalar"), b);
}

Expr logical(const std::string& name, const Expr& a, const Expr& b) {
  return binary(a, "aten.logical_" + name + ".default", b.ref);
}

Expr sum(const Expr& x, const std::vector<int>& dims, bool keepdim) {
  if (dims.empty()) return x;
  return emit(*x.builder, "aten.sum.dim_IntList",
              {{"self", x.ref}, {"dim", as_dims(dims)}, {"keepdim", keepdim}});
}

Expr expand(const Expr& x, const Shape& shape) {
  if (x.type().shape == shape) return x;
  return emit(*x.builder, "aten.expand.default", {{"self", x.ref}, {"size", as_dims(shape)}});
}

Expr unreduced(const Expr& x, const std::vector<int>& dims, std::size_t rank, bool keepdim) {
  if (keepdim || rank == 0) return x;
  Expr result = x;
  for (const int dim : dims) {
    result = emit(*x.builder, "aten.unsqueeze.default", {{"self", result.ref}, {"dim", Dim(dim)}});
  }
  return result;
}

std::vector<Dim> as_dims(const Shape& shape) { return {shape.begin(), shape.end()}; }
std::vector<Dim> as_dims(const std::vector<int>& dims) { return {dims.begin(), dims.end()}; }

}  // namespace ulpfuzz
