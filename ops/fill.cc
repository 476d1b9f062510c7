#include <cmath>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"

// Tensors that are told their elements: fills, copies into, constants in another's shape. The
// functional forms of in-place operators are no public API, so op graphs do not draw them.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, -0.0, kInf, -kInf, NAN, 3e38};

// A number as an element of `dtype`: integers cut towards zero and wrap (-1 of uint8 is 255).
std::int64_t as_integer_element(const Scalar& number, DType dtype) {
  if (dtype == DType::kBool) return number.as_double() != 0;
  if (const double* real = std::get_if<double>(&number.value)) {
    return wrap_to(dtype, static_cast<std::int64_t>(*real));
  }
  return wrap_to(dtype, number.as_integer());
}

template <class T>
void fill_with(const Tensor<T>& out, const Scalar& number) {
  const std::int64_t size = out.size();  // results are contiguous
  if (out.integral()) {
    const std::int64_t value = as_integer_element(number, out.dtype());
    for (std::int64_t i = 0; i < size; ++i) out.integer(i) = make_int<T>(value);
  } else {
    const T value = constant<T>(number.as_double());
    for (std::int64_t i = 0; i < size; ++i) out.real(i) = value;
  }
}

template <int kValue>
struct ConstantKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    fill_with(k.out(), Scalar{std::int64_t{kValue}});
  }
};

struct FillKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    fill_with(k.out(), k.call().scalar("value"));
  }
};

struct FullLikeKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    fill_with(k.out(), k.call().scalar("fill_value"));
  }
};

struct MaskedFillKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const IntOperand<T> mask = as_int(k.in("mask"));
    const Scalar value = k.call().scalar("value");
    if (k.out().integral()) {
      const Int<T> element = make_int<T>(as_integer_element(value, k.out().dtype()));
      map<T>(
          k.out(), [&](const Int<T>& m, const Int<T>& x) { return select(m, element, x); }, mask,
          as_int(k.in("self")));
    } else {
      const T element = k.number("value");
      map<T>(
          k.out(), [&](const Int<T>& m, const T& x) { return select(m, element, x); }, mask,
          as_real(k.in("self")));
    }
  }
};

// src broadcast to self's shape and converted to its dtype.
struct CopyKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& src = k.in("src");
    const DType dtype = k.out().dtype();
    if (!k.out().integral()) {
      map_real(
          k.out(), [](const T& x) { return x; }, src);
    } else if (src.integral()) {
      map_int(
          k.out(), [](std::int64_t x) { return x; }, src);
    } else {
      map_real(
          k.out(), [&](const T& x) { return to_integer<T>(x, dtype); }, src);
    }
  }
};

std::vector<TensorType> infer_fill(const Call& call) {
  require_fits(call, call.scalar("value"), call.tensor("self").dtype);
  return infer_same(call);
}

std::vector<TensorType> infer_like(const Call& call) {
  require_real(call, "self");
  const TensorType& self = call.tensor("self");
  const TensorType result{call.given("dtype") ? call.dtype("dtype") : self.dtype, self.shape};
  if (is_complex(result.dtype)) call.fail("complex results are not known here");
  if (call.op().schema.find("fill_value") != nullptr) {
    require_fits(call, call.scalar("fill_value"), result.dtype);
  }
  return {result};
}

std::vector<TensorType> infer_masked_fill(const Call& call) {
  require_real(call, "self");
  require_dtype(call, "mask", DType::kBool);
  const TensorType& self = call.tensor("self");
  require_fits(call, call.scalar("value"), self.dtype);
  return {{self.dtype, broadcast_shape(call, {"self", "mask"})}};
}

std::vector<TensorType> infer_copy(const Call& call) {
  require_real(call, "self");
  require_real(call, "src");
  if (broadcast_shape(call, {"self", "src"}) != call.tensor("self").shape) {
    call.fail("src does not broadcast to self");
  }
  return {call.tensor("self")};
}

void zero_backward(Backward& b) { give(b, "self", zeros_like(gradient(b))); }

void copy_backward(Backward& b) {
  const Expr g = gradient(b);
  if (wanted(b, "self")) give(b, "self", zeros_like(g));
  if (wanted(b, "src")) give(b, "src", g);
}

void masked_fill_backward(Backward& b) {
  give(b, "self", masked_fill(gradient(b), input(b, "mask"), 0));
}

bool draw_masked_fill(Draw& d) {
  const Ref self = d.operand(want_numeric());
  return d.call({{"self", self},
                 {"mask", d.operand_of(DType::kBool, d.type(self).shape)},
                 {"value", d.number(d.type(self).dtype)}});
}

bool draw_like(Draw& d) {
  std::vector<NamedArgument> args{{"self", d.operand()}};
  if (d.op().schema.find("fill_value") != nullptr) {
    args.push_back({"fill_value", Scalar{std::int64_t{d.random().integer(-2, 7)}}});
  }
  if (d.random().chance(0.3)) args.push_back({"dtype", d.any_dtype()});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) "
               "-> Tensor",
     .python = "torch.zeros_like",
     .infer = infer_like,
     .kernels = &kKernels<ConstantKernel<0>>,
     .draw = draw_like,
     .weight = 0.3},
    {.schema = "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) "
               "-> Tensor",
     .python = "torch.ones_like",
     .infer = infer_like,
     .kernels = &kKernels<ConstantKernel<1>>,
     .draw = draw_like,
     .weight = 0.3},
    {.schema = "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, "
               "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
               "MemoryFormat? memory_format=None) -> Tensor",
     .python = "torch.full_like",
     .infer = infer_like,
     .kernels = &kKernels<FullLikeKernel>,
     .draw = draw_like,
     .weight = 0.3},
    {.schema = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
     .python = "torch.masked_fill",
     .infer = infer_masked_fill,
     .kernels = &kKernels<MaskedFillKernel>,
     .derivative = masked_fill_backward,
     .draw = draw_masked_fill,
     .weight = 0.8,
     .edges = kEdges},
    {.schema = "aten::zero(Tensor self) -> Tensor",
     .python = "torch.ops.aten.zero",
     .infer = infer_same,
     .kernels = &kKernels<ConstantKernel<0>>,
     .derivative = zero_backward,
     .weight = 0},
    {.schema = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
     .python = "torch.ops.aten.fill",
     .infer = infer_fill,
     .kernels = &kKernels<FillKernel>,
     .derivative = zero_backward,
     .weight = 0},
    {.schema = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     .python = "torch.ops.aten.copy",
     .infer = infer_copy,
     .kernels = &kKernels<CopyKernel>,
     .derivative = copy_backward,
     .weight = 0},
};

}  // namespace

std::span<const OpRow> fill_rows() { return kRows; }

}  // namespace ulpfuzz
