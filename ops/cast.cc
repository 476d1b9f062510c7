#include <array>

#include "ir/differentiate.h"
#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/infer.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// Conversions of dtype. Between floating types they are the identity of real numbers; to integers
// they cut off, and what does not fit is undefined.
namespace ulpfuzz {
namespace {

std::vector<TensorType> infer_to(const Call& call) {
  require_real(call, "self");
  TensorType type = call.tensor("self");
  if (call.given("dtype")) type.dtype = call.dtype("dtype");
  if (is_complex(type.dtype)) call.fail("complex dtypes are not supported");
  return {type};
}

struct CopyKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const DType dtype = k.out().dtype();
    if (self.integral() && k.out().integral()) {
      map(
          k.out(), [](const Int<T>& i) { return i; }, as_int(self));
    } else if (k.out().integral()) {
      map(
          k.out(), [dtype](const T& x) { return to_integer<T>(x, dtype); }, as_real(self));
    } else {
      map(
          k.out(), [](const T& x) { return x; }, as_real(self));
    }
  }
};

// Without a conversion `.to` gives its operand.
struct ToKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const bool same = k.in("self").dtype() == k.out().dtype();
    if (same && !k.call().boolean("copy")) {
      k.out() = k.in("self");
    } else {
      CopyKernel::run(k);
    }
  }
};

void derive_to(Backward& b) { b.contribute("self", b.gradient()); }

// Mostly between floating types, as mixed precision does.
bool draw_to(Draw& d) {
  const bool floating = d.random().chance(0.75);
  const Ref self = d.operand({.types = floating ? Want::Types::kFloating : Want::Types::kAny});
  static constexpr std::array kFloats{DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                                      DType::kFloat64};
  const DType dtype = d.random().chance(0.75) ? d.random().pick(kFloats) : d.any_dtype();
  std::vector<NamedArgument> args = {{"self", self}, {"dtype", dtype}};
  if (d.random().chance(0.1)) args.push_back({"copy", true});
  return d.call(std::move(args));
}

constexpr OpRow kRows[] = {
    {.schema = "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, "
               "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
     .python = ".to",
     .infer = infer_to,
     .kernels = &kKernels<ToKernel>,
     .derivative = derive_to,
     .draw = draw_to,
     .weight = 2},
    {.schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
               "MemoryFormat? memory_format=None) -> Tensor",
     .python = "{self}.to({dtype}, copy=True)",
     .infer = infer_to,
     .kernels = &kKernels<CopyKernel>,
     .derivative = derive_to,
     .weight = 0},
};

}  // namespace

std::span<const OpRow> cast_rows() { return kRows; }

}  // namespace ulpfuzz
