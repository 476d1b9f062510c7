#include <array>

#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// Convolution over one dimension: stride 1, dilation 1, one group.
namespace ulpfuzz {
namespace {

// An int[1] argument: one number, or a list of one.
std::int64_t single(const Call& call, std::string_view arg) {
  const std::vector<std::int64_t> list = call.integers(arg);
  if (list.size() != 1) call.fail(std::string(arg) + " must be one number");
  return list[0];
}

std::vector<TensorType> infer_conv1d(const Call& call) {
  require_floating(call, "input");
  const DType dtype = call.tensor("input").dtype;
  require_dtype(call, "weight", dtype);
  const Shape& input = call.tensor("input").shape;
  const Shape& weight = call.tensor("weight").shape;
  if (input.size() != 3 || weight.size() != 3) call.fail("input and weight need 3 dimensions");
  if (single(call, "stride") != 1 || single(call, "dilation") != 1 || call.integer("groups") != 1) {
    call.fail("only stride 1, dilation 1 and one group are supported");
  }
  const std::int64_t padding = single(call, "padding");
  const std::int64_t length = input[2] + 2 * padding - weight[2] + 1;
  if (padding < 0 || weight[2] < 1 || length < 1) call.fail("the kernel is longer than the input");
  if (padding >= weight[2]) call.fail("padding must be less than the kernel's length");
  if (input[1] != weight[1]) call.fail("numbers of channels differ");
  if (call.given("bias")) {
    require_dtype(call, "bias", dtype);
    if (call.tensor("bias").shape != Shape{weight[0]}) call.fail("bias must have weight's rows");
  }
  return {{dtype, {input[0], weight[0], length}}};
}

// The product of the weight, channels and taps as one dimension, with the windows of the padded
// input.
struct Conv1dKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& input = k.in("input");
    const Tensor<T> weight = k.in("weight").contiguous();
    const std::int64_t n = input.shape()[0], channels = input.shape()[1], size = input.shape()[2];
    const std::int64_t taps = weight.shape()[2], length = k.out().shape()[2];
    const std::int64_t padding = single(k.call(), "padding");
    const Tensor<T> windows(TensorType{k.out().dtype(), {n, channels * taps, length}});
    std::int64_t to = 0;
    for (std::int64_t b = 0; b < n; ++b) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t t = 0; t < taps; ++t) {
          for (std::int64_t l = 0; l < length; ++l, ++to) {
            const std::int64_t at = l + t - padding;
            windows.real(to) = at < 0 || at >= size
                                   ? widen<T>(0)
                                   : input.real(input.position((b * channels + c) * size + at));
          }
        }
      }
    }
    const std::int64_t rows = weight.shape()[0];
    batched_matmul(k.out(), weight.view({1, rows, channels * taps}, {0, channels * taps, 1}, 0),
                   windows);
    if (!k.has("bias")) return;
    const Tensor<T>& bias = k.in("bias");
    map_real(
        k.out(), [](const T& a, const T& b) { return a + b; }, k.out(),
        bias.view(k.out().shape(), {0, bias.strides()[0], 0}, bias.offset()));
  }
};

Expr swapped(const Expr& x) {
  return emit(*x.builder, "aten.transpose.int",
              {{"self", x.ref}, {"dim0", Dim(0)}, {"dim1", Dim(1)}});
}

// Of stride 1: the input's gradient is the convolution of the result's with the reversed weight,
// the weight's that of the input with the result's gradient, batches and channels exchanged.
void derive_conv1d(Backward& b) {
  const Expr g = gradient(b), x = input(b, "input"), w = input(b, "weight");
  const std::int64_t taps = w.type().shape[2];
  const std::int64_t padding = g.type().shape[2] - x.type().shape[2] + taps - 1;  // twice
  const auto convolve = [&](const Expr& of, const Expr& with, std::int64_t by) {
    return emit(b, "aten.conv1d.default",
                {{"input", of.ref}, {"weight", with.ref}, {"padding", std::vector<Dim>{by}}});
  };
  if (b.needs("input")) {
    const std::int64_t by = taps - 1 - padding / 2;
    const Expr reversed =
        emit(b, "aten.flip.default", {{"self", w.ref}, {"dims", std::vector<Dim>{2}}});
    give(b, "input", convolve(g, swapped(reversed), by));
  }
  if (b.needs("weight")) {
    give(b, "weight", swapped(convolve(swapped(x), swapped(g), padding / 2)));
  }
  if (wanted(b, "bias")) give(b, "bias", sum(g, {0, 2}, false));
}

constexpr std::array<OpRow, 1> kRows{{
    {.schema = "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
               "SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
     .python = "torch.nn.functional.conv1d",
     .infer = infer_conv1d,
     .kernels = &kKernels<Conv1dKernel>,
     .derivative = derive_conv1d,
     .weight = 0,
     .numerics = {.extern_kernel = true}},
}};

}  // namespace

std::span<const OpRow> convolution_rows() { return kRows; }

}  // namespace ulpfuzz
