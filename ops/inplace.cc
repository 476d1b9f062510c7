#include <cmath>
#include <string>
#include <type_traits>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/table.h"

// In-place operators. All but their names, draws and checks is the out-of-place operator of the
// same name without the underscore, which functionalisation puts in their place as well: types,
// kernel and derivative are its.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, -0.0, 1.0, -1.0, 1e-8, 1e-6, 88.0, 1e20, kInf, -kInf, NAN};

const Op& functional_of(const Op& op) {
  std::string name = op.name();
  name.erase(name.find("_."), 1);
  return op_table().at(name);
}

std::vector<TensorType> infer_inplace(const Call& call) {
  return written(call, functional_of(call.op()).row->infer(call)[0]);
}

// The result is computed whole before it is written: an operand may overlap self.
struct InPlaceKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const OpKernels& kernels = *functional_of(k.call().op()).row->kernels;
    if constexpr (std::is_same_v<T, double>) {
      kernels.f64(k);
    } else if constexpr (std::is_same_v<T, Running<double>>) {
      kernels.running(k);
    } else {
      kernels.running_quad(k);
    }
    const Tensor<T> self = k.in("self");
    self.assign(k.out());
    k.out() = self;
  }
};
constexpr OpKernels kInPlace = kKernels<InPlaceKernel>;

bool draw_add_inplace(Draw& d) {
  const Ref self = d.operand(want_fresh(Want::Types::kNumeric));
  std::vector<NamedArgument> args{{"self", self}};
  if (d.random().chance(0.25)) {
    args.push_back({"other", d.number(d.type(self).dtype)});
  } else {
    args.push_back({"other", d.broadcastable(self, false)});
  }
  if (d.random().chance(0.2)) args.push_back({"alpha", Scalar{std::int64_t{2}}});
  return d.call(std::move(args));
}

bool draw_clamp_inplace(Draw& d) {
  const Ref self = d.operand(want_fresh(Want::Types::kNumeric));
  const bool real = is_floating(d.type(self).dtype);
  std::vector<NamedArgument> args{{"self", self},
                                  {"min", real ? Scalar{-0.5} : Scalar{std::int64_t{0}}}};
  if (d.random().chance(0.6)) {
    args.push_back({"max", real ? Scalar{0.75} : Scalar{std::int64_t{3}}});
  }
  return d.call(std::move(args));
}

bool draw_fill_inplace(Draw& d) {
  const Ref self = d.operand(want_fresh(Want::Types::kNumeric));
  return d.call({{"self", self}, {"value", d.number(d.type(self).dtype)}});
}

bool draw_masked_fill_inplace(Draw& d) {
  const Ref self = d.operand(want_fresh(Want::Types::kNumeric));
  return d.call({{"self", self},
                 {"mask", d.operand_of(DType::kBool, d.type(self).shape)},
                 {"value", d.number(d.type(self).dtype)}});
}

bool draw_copy_inplace(Draw& d) {
  const Ref self = d.operand(want_fresh(Want::Types::kNumeric));
  return d.call({{"self", self}, {"src", d.broadcastable(self)}});
}

// Most rows differ in name, draw and numerics alone.
constexpr OpRow row(std::string_view schema, std::string_view python, DrawRule draw,
                    double weight = 0.4, double function_ulps = 0) {
  return {.schema = schema,
          .python = python,
          .infer = infer_inplace,
          .kernels = &kInPlace,
          .draw = draw,
          .weight = weight,
          .numerics = {.function_ulps = function_ulps},
          .edges = kEdges};
}

constexpr OpRow kRows[] = {
    row("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        ".add_", draw_add_inplace, 0.7),
    row("aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        ".sub_", draw_add_inplace),
    row("aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", ".mul_",
        draw_inplace_binary, 0.6),
    row("aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", ".div_",
        draw_inplace_binary),
    row("aten::exp_(Tensor(a!) self) -> Tensor(a!)", ".exp_", draw_inplace, 0.4, 4),
    row("aten::sin_(Tensor(a!) self) -> Tensor(a!)", ".sin_", draw_inplace, 0.4, 4),
    row("aten::cos_(Tensor(a!) self) -> Tensor(a!)", ".cos_", draw_inplace, 0.4, 4),
    row("aten::tan_(Tensor(a!) self) -> Tensor(a!)", ".tan_", draw_inplace, 0.4, 8),
    row("aten::tanh_(Tensor(a!) self) -> Tensor(a!)", ".tanh_", draw_inplace, 0.4, 4),
    row("aten::sigmoid_(Tensor(a!) self) -> Tensor(a!)", ".sigmoid_", draw_inplace, 0.4, 4),
    row("aten::sqrt_(Tensor(a!) self) -> Tensor(a!)", ".sqrt_", draw_inplace, 0.3, 1),
    row("aten::relu_(Tensor(a!) self) -> Tensor(a!)", ".relu_", draw_inplace_numeric),
    row("aten::abs_(Tensor(a!) self) -> Tensor(a!)", ".abs_", draw_inplace_numeric),
    row("aten::neg_(Tensor(a!) self) -> Tensor(a!)", ".neg_", draw_inplace_numeric),
    row("aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)",
        ".clamp_", draw_clamp_inplace),
    row("aten::zero_(Tensor(a!) self) -> Tensor(a!)", ".zero_", draw_inplace_numeric, 0.3),
    row("aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", ".fill_",
        draw_fill_inplace, 0.3),
    row("aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
        ".masked_fill_", draw_masked_fill_inplace),
    row("aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", ".copy_",
        draw_copy_inplace),
};

}  // namespace

std::span<const OpRow> inplace_rows() { return kRows; }

}  // namespace ulpfuzz
