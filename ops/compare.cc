#include <cmath>

#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/infer.h"

// Comparisons and logic. Nothing here has a gradient.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0, -0.0, 1.0,   -1.0,   kInf,      -kInf,
                             NAN, 0.1,  255.0, -128.0, 16777216.0};

constexpr Numerics kRoundsNumbers{.rounds_numbers = true};

// Both operands as integers of the dtype that they promote to, or as numbers.
template <auto kReal, auto kInteger>
struct CompareKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Call& call = k.call();
    const DType dtype = promoted(call, {"self", "other"});
    if (is_integral(dtype)) {
      const auto f = [&](std::int64_t a, std::int64_t b) -> std::int64_t {
        return kInteger(wrap_to(dtype, a), wrap_to(dtype, b));
      };
      if (call.is_tensor("other")) {
        map_int(k.out(), f, k.in("self"), k.in("other"));
      } else {
        const std::int64_t other = call.scalar("other").as_integer();
        map_int(
            k.out(), [&](std::int64_t a) { return f(a, other); }, k.in("self"));
      }
    } else if (call.is_tensor("other")) {
      map_real(
          k.out(), [](const T& a, const T& b) -> Int<T> { return kReal(a, b); }, k.in("self"),
          k.in("other"));
    } else {
      const T other = k.number("other");
      map_real(
          k.out(), [&](const T& a) -> Int<T> { return kReal(a, other); }, k.in("self"));
    }
  }
};
template <auto kReal, auto kInteger>
inline constexpr OpKernels kCompare = kKernels<CompareKernel<kReal, kInteger>>;

constexpr auto kEq = [](const auto& a, const auto& b) { return equal(a, b); };
constexpr auto kNe = [](const auto& a, const auto& b) { return logical_not(equal(a, b)); };
constexpr auto kLt = [](const auto& a, const auto& b) { return less(a, b); };
constexpr auto kLe = [](const auto& a, const auto& b) { return less_equal(a, b); };
constexpr auto kGt = [](const auto& a, const auto& b) { return less(b, a); };
constexpr auto kGe = [](const auto& a, const auto& b) { return less_equal(b, a); };
constexpr OpKernels kEqual = kCompare<kEq, [](auto a, auto b) { return a == b; }>;
constexpr OpKernels kNotEqual = kCompare<kNe, [](auto a, auto b) { return a != b; }>;
constexpr OpKernels kLess = kCompare<kLt, [](auto a, auto b) { return a < b; }>;
constexpr OpKernels kLessEqual = kCompare<kLe, [](auto a, auto b) { return a <= b; }>;
constexpr OpKernels kGreater = kCompare<kGt, [](auto a, auto b) { return b < a; }>;
constexpr OpKernels kGreaterEqual = kCompare<kGe, [](auto a, auto b) { return b <= a; }>;

// The truth of elements of any dtype, NaN included: != 0.
template <class T>
struct TruthOperand {
  using Element = Int<T>;
  explicit TruthOperand(const Tensor<T>& t) : tensor({DType::kBool, t.shape()}) {
    if (t.integral()) {
      map_int(
          tensor, [](std::int64_t x) -> std::int64_t { return x != 0; }, t);
    } else {
      map_real(
          tensor, [](const T& x) { return logical_not(equal(x, widen<T>(0))); }, t);
    }
  }
  Int<T>* data() const { return tensor.integers(); }
  Tensor<T> tensor;
};

template <auto kFunction>
struct LogicalKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map<T>(
        k.out(), [](const Int<T>& a, const Int<T>& b) -> Int<T> { return kFunction(a, b); },
        TruthOperand<T>(k.in("self")), TruthOperand<T>(k.in("other")));
  }
};
template <auto kFunction>
inline constexpr OpKernels kLogical = kKernels<LogicalKernel<kFunction>>;

struct LogicalNotKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map<T>(
        k.out(), [](const Int<T>& a) { return logical_not(a); }, TruthOperand<T>(k.in("self")));
  }
};

constexpr auto kXor = [](const auto& a, const auto& b) {
  return logical_or(logical_and(a, logical_not(b)), logical_and(logical_not(a), b));
};

constexpr OpRow kRows[] = {
    {.schema = "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.eq",
     .infer = infer_comparison_tensors,
     .kernels = &kEqual,
     .draw = draw_binary_any_tensors,
     .weight = 0.6,
     .edges = kEdges},
    {.schema = "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.eq",
     .infer = infer_comparison,
     .kernels = &kEqual,
     .draw = draw_tensor_scalar,
     .weight = 0.4,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.ne",
     .infer = infer_comparison_tensors,
     .kernels = &kNotEqual,
     .draw = draw_binary_any_tensors,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.ne",
     .infer = infer_comparison,
     .kernels = &kNotEqual,
     .draw = draw_tensor_scalar,
     .weight = 0.4,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.lt",
     .infer = infer_comparison_tensors,
     .kernels = &kLess,
     .draw = draw_binary_any_tensors,
     .weight = 0.6,
     .edges = kEdges},
    {.schema = "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.lt",
     .infer = infer_comparison,
     .kernels = &kLess,
     .draw = draw_tensor_scalar,
     .weight = 0.4,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::le.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.le",
     .infer = infer_comparison_tensors,
     .kernels = &kLessEqual,
     .draw = draw_binary_any_tensors,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::le.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.le",
     .infer = infer_comparison,
     .kernels = &kLessEqual,
     .draw = draw_tensor_scalar,
     .weight = 0.4,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.gt",
     .infer = infer_comparison_tensors,
     .kernels = &kGreater,
     .draw = draw_binary_any_tensors,
     .weight = 0.6,
     .edges = kEdges},
    {.schema = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.gt",
     .infer = infer_comparison,
     .kernels = &kGreater,
     .draw = draw_tensor_scalar,
     .weight = 0.4,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.ge",
     .infer = infer_comparison_tensors,
     .kernels = &kGreaterEqual,
     .draw = draw_binary_any_tensors,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.ge",
     .infer = infer_comparison,
     .kernels = &kGreaterEqual,
     .draw = draw_tensor_scalar,
     .weight = 0.4,
     .numerics = kRoundsNumbers,
     .edges = kEdges},
    {.schema = "aten::logical_and(Tensor self, Tensor other) -> Tensor",
     .python = "torch.logical_and",
     .infer = infer_comparison_tensors,
     .kernels = &kLogical<[](const auto& a, const auto& b) { return logical_and(a, b); }>,
     .draw = draw_binary_any_tensors,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::logical_or(Tensor self, Tensor other) -> Tensor",
     .python = "torch.logical_or",
     .infer = infer_comparison_tensors,
     .kernels = &kLogical<[](const auto& a, const auto& b) { return logical_or(a, b); }>,
     .draw = draw_binary_any_tensors,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::logical_xor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.logical_xor",
     .infer = infer_comparison_tensors,
     .kernels = &kLogical<kXor>,
     .draw = draw_binary_any_tensors,
     .weight = 0.4,
     .edges = kEdges},
    {.schema = "aten::logical_not(Tensor self) -> Tensor",
     .python = "torch.logical_not",
     .infer = infer_predicate,
     .kernels = &kKernels<LogicalNotKernel>,
     .draw = draw_any,
     .weight = 0.4,
     .edges = kEdges},
};

}  // namespace

std::span<const OpRow> compare_rows() { return kRows; }

}  // namespace ulpfuzz
