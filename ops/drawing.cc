#include "ops/drawing.h"

#include <array>
#include <cmath>
#include <string>

namespace ulpfuzz {

namespace {

using Kind = Want::Types;

bool unary(Draw& d, Kind types) { return d.call({{"self", d.operand({.types = types})}}); }

bool binary(Draw& d, Kind types, double number_share) {
  const Ref self = d.operand({.types = types});
  Random& random = d.random();
  if (random.chance(number_share)) {
    const Scalar number = d.number(d.type(self).dtype);
    if (random.chance(0.1)) return d.call({{"self", number}, {"other", self}});
    return d.call({{"self", self}, {"other", number}});
  }
  Ref other = d.broadcastable(self);
  Ref first = self;
  if (random.chance(0.3)) std::swap(first, other);
  return d.call({{"self", first}, {"other", other}});
}

bool reduction(Draw& d, Kind types) {
  const Ref self = d.operand({.types = types, .min_rank = d.random().chance(0.05) ? 0 : 1});
  std::vector<NamedArgument> args{{"self", self}};
  add_reduced_dims(d, self, args);
  return d.call(std::move(args));
}

}  // namespace

bool draw_unary_float(Draw& d) {
  return unary(d, d.random().chance(0.05) ? Kind::kNumeric : Kind::kFloating);
}
bool draw_floating(Draw& d) { return unary(d, Kind::kFloating); }
bool draw_numeric(Draw& d) { return unary(d, Kind::kNumeric); }
bool draw_any(Draw& d) { return unary(d, d.random().chance(0.2) ? Kind::kBool : Kind::kNumeric); }
bool draw_inplace(Draw& d) { return d.call({{"self", d.operand(want_fresh())}}); }
bool draw_inplace_numeric(Draw& d) {
  return d.call({{"self", d.operand(want_fresh(Kind::kNumeric))}});
}

bool draw_binary(Draw& d) { return binary(d, Kind::kNumeric, 0.2); }
bool draw_binary_any(Draw& d) {
  return binary(d, d.random().chance(0.15) ? Kind::kBool : Kind::kNumeric, 0.2);
}
bool draw_binary_tensors(Draw& d) { return binary(d, Kind::kNumeric, 0); }
bool draw_binary_any_tensors(Draw& d) {
  return binary(d, d.random().chance(0.15) ? Kind::kBool : Kind::kNumeric, 0);
}
bool draw_binary_float_tensors(Draw& d) { return binary(d, Kind::kFloating, 0); }

bool draw_tensor_scalar(Draw& d) {
  const Ref self = d.operand({.types = Kind::kNumeric});
  return d.call({{"self", self}, {"other", d.number(d.type(self).dtype)}});
}

bool draw_inplace_binary(Draw& d) {
  const Ref self = d.operand(want_fresh(Kind::kNumeric));
  const Ref other = d.broadcastable(self, false);
  // Autograd saves `other`: what is written must be another tensor.
  if (other == self || d.random().chance(0.25)) {
    return d.call({{"self", self}, {"other", d.number(d.type(self).dtype)}});
  }
  return d.call({{"self", self}, {"other", other}});
}

bool draw_reduction(Draw& d) { return reduction(d, Kind::kNumeric); }
bool draw_reduction_floating(Draw& d) { return reduction(d, Kind::kFloating); }
bool draw_reduction_any(Draw& d) {
  return reduction(d, d.random().chance(0.4) ? Kind::kBool : Kind::kNumeric);
}

Want want_floating(int min_rank) { return {.types = Kind::kFloating, .min_rank = min_rank}; }
Want want_numeric(int min_rank) { return {.types = Kind::kNumeric, .min_rank = min_rank}; }
Want want_fresh(Kind types) { return {.types = types, .fresh = true}; }

void add_reduced_dims(Draw& d, const Ref& self, std::vector<NamedArgument>& args) {
  const Schema& schema = d.op().schema;
  const SchemaArgument* dim = schema.find("dim");
  if (dim == nullptr) return;
  if (dim->default_value.has_value() && d.random().chance(0.2)) return;
  if (dim->kind == SchemaArgument::Kind::kIntList) {
    args.push_back({"dim", d.some_dims(self)});
  } else {
    args.push_back({"dim", Dim(d.dim(self))});
  }
  if (schema.find("keepdim") != nullptr && d.random().chance(0.4))
    args.push_back({"keepdim", true});
}

Scalar draw_fraction(Draw& d) {
  static constexpr std::array kFractions{0.5, -1.25, 0.1, 2.0, -0.01, 3.0, 0.3};
  return {d.random().pick(kFractions)};
}

Scalar draw_nonzero(Draw& d, DType dtype) {
  const Scalar number = d.number(dtype);
  return number.as_double() != 0 ? number : Scalar{std::int64_t{3}};
}

Ref draw_nonzero_input(Draw& d, DType dtype, const Shape& shape, bool minus_one) {
  Fill fill;
  fill.kind = Fill::Kind::kChoice;
  fill.seed = d.random().bits();
  fill.values = {1, 2, 3, 5, 7, 10, 63, 100};
  if (dtype == DType::kBool) fill.values = {1};
  if (dtype != DType::kBool && dtype != DType::kUInt8) {
    fill.values.insert(fill.values.end(),
                       {-2, -3, -7, -64, static_cast<double>(min_integer(dtype))});
    if (minus_one) fill.values.push_back(-1);
  }
  return d.new_input(dtype, shape, fill);
}

}  // namespace ulpfuzz
