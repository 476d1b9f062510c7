#include "ops/drawing.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/infer.h"

// Bits of integers and bools.
namespace ulpfuzz {

namespace {

constexpr double kEdges[] = {0.0,   1.0,     -1.0,     127.0,        -128.0,
                             255.0, 32767.0, -32768.0, 2147483647.0, -2147483648.0};

std::vector<TensorType> infer_bits(const Call& call) {
  const std::vector<TensorType> result = infer_binary(call);
  if (!is_integral(result[0].dtype)) call.fail("implemented for integers and bool only");
  return result;
}

std::vector<TensorType> infer_bits_tensors(const Call& call) {
  require_tensor(call, "self");
  require_tensor(call, "other");
  return infer_bits(call);
}

std::vector<TensorType> infer_not(const Call& call) {
  require_integral(call, "self");
  return {call.tensor("self")};
}

std::vector<TensorType> infer_shift(const Call& call) {
  const std::vector<TensorType> result = infer_bits_tensors(call);
  if (result[0].dtype == DType::kBool) call.fail("not implemented for bool");
  return result;
}

// out = f(self, other) on integers of the result's dtype; other is a tensor or a Scalar.
template <auto kFunction>
struct BitsKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.call().is_tensor("other")) return map_integers(k, kFunction);
    const DType dtype = k.out().dtype();
    const std::int64_t other = wrap_to(dtype, k.call().scalar("other").as_integer());
    map_int(
        k.out(), [&](std::int64_t a) { return kFunction(wrap_to(dtype, a), other); }, k.in("self"));
  }
};
template <auto kFunction>
inline constexpr OpKernels kBits = kKernels<BitsKernel<kFunction>>;

struct NotKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const bool is_bool = k.out().dtype() == DType::kBool;
    map_int(
        k.out(), [&](std::int64_t x) -> std::int64_t { return is_bool ? x == 0 : ~x; },
        k.in("self"));
  }
};

std::int64_t shifted_left(std::int64_t a, std::int64_t by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << by);
}
std::int64_t shifted_right(std::int64_t a, std::int64_t by) { return a >> by; }

// Counts below 0 or from the width on are undefined (torch's documentation of bitwise_left_shift).
template <auto kFunction>
struct ShiftKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const DType dtype = k.out().dtype();
    const std::int64_t width = 8 * item_size(dtype);
    map<T>(
        k.out(),
        [&](const Int<T>& a, const Int<T>& count) {
          const std::int64_t by = wrap_to(dtype, value_of(count));
          const int marks = marks_of(a) | marks_of(count);
          if (by < 0 || by >= width) return make_int<T>(0, marks | kUndefined);
          return make_int<T>(kFunction(wrap_to(dtype, value_of(a)), by), marks);
        },
        as_int(k.in("self")), as_int(k.in("other")));
  }
};

Ref draw_bits(Draw& d) {
  return d.operand({.types = d.random().chance(0.25) ? Want::Types::kBool : Want::Types::kInteger});
}

bool draw_binary_bits(Draw& d) {
  const Ref self = draw_bits(d);
  return d.call({{"self", self}, {"other", d.broadcastable(self)}});
}

bool draw_bits_number(Draw& d) {
  const Ref self = d.operand({.types = Want::Types::kInteger});
  return d.call({{"self", self}, {"other", d.number(d.type(self).dtype)}});
}

bool draw_not(Draw& d) { return d.call({{"self", draw_bits(d)}}); }

bool draw_shift(Draw& d) {
  const Ref self = d.operand({.types = Want::Types::kInteger});
  const TensorType type = d.type(self);
  Fill fill;
  fill.kind = Fill::Kind::kInteger;
  fill.seed = d.random().bits();
  fill.high = 8 * item_size(type.dtype) - 1;
  return d.call({{"self", self}, {"other", d.new_input(type.dtype, type.shape, fill)}});
}

constexpr OpRow kRows[] = {
    {.schema = "aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.bitwise_and",
     .infer = infer_bits_tensors,
     .kernels = &kBits<[](std::int64_t a, std::int64_t b) { return a & b; }>,
     .draw = draw_binary_bits,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
     .python = "torch.bitwise_and",
     .infer = infer_bits,
     .kernels = &kBits<[](std::int64_t a, std::int64_t b) { return a & b; }>,
     .draw = draw_bits_number,
     .weight = 0.4,
     .edges = kEdges},
    {.schema = "aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.bitwise_or",
     .infer = infer_bits_tensors,
     .kernels = &kBits<[](std::int64_t a, std::int64_t b) { return a | b; }>,
     .draw = draw_binary_bits,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.bitwise_xor",
     .infer = infer_bits_tensors,
     .kernels = &kBits<[](std::int64_t a, std::int64_t b) { return a ^ b; }>,
     .draw = draw_binary_bits,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::bitwise_not(Tensor self) -> Tensor",
     .python = "torch.bitwise_not",
     .infer = infer_not,
     .kernels = &kKernels<NotKernel>,
     .draw = draw_not,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.bitwise_left_shift",
     .infer = infer_shift,
     .kernels = &kKernels<ShiftKernel<shifted_left>>,
     .draw = draw_shift,
     .weight = 0.5,
     .edges = kEdges},
    {.schema = "aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "torch.bitwise_right_shift",
     .infer = infer_shift,
     .kernels = &kKernels<ShiftKernel<shifted_right>>,
     .draw = draw_shift,
     .weight = 0.5,
     .edges = kEdges},
};

}  // namespace

std::span<const OpRow> bitwise_rows() { return kRows; }

}  // namespace ulpfuzz
