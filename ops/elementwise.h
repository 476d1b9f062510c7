#pragma once

#include "oracle/kernel.h"
#include "oracle/loops.h"

// Kernels of operators that work element by element, made from the function of one element:
//
//     .kernels = &kUnary<[](const auto& x) { return exp(x); }>
namespace ulpfuzz {

// out = f(self), floating; an integral operand is read as numbers.
template <auto kFunction>
struct UnaryKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map_real(
        k.out(), [](const T& x) -> T { return kFunction(x); }, k.in("self"));
  }
};
template <auto kFunction>
inline constexpr OpKernels kUnary = kKernels<UnaryKernel<kFunction>>;

// The same, with a function of its own for integral operands: int64 to int64, wrapped to the
// result's dtype when stored.
template <auto kReal, auto kInteger>
struct NumericUnaryKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.in("self").integral()) {
      map_int(
          k.out(), [](std::int64_t x) -> std::int64_t { return kInteger(x); }, k.in("self"));
    } else {
      map_real(
          k.out(), [](const T& x) -> T { return kReal(x); }, k.in("self"));
    }
  }
};
template <auto kReal, auto kInteger>
inline constexpr OpKernels kNumericUnary = kKernels<NumericUnaryKernel<kReal, kInteger>>;

// out = f(self) is a bool; `kReal` returns Int<T>.
template <auto kReal, auto kInteger>
struct PredicateKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.in("self").integral()) {
      map_int(
          k.out(), [](std::int64_t x) -> std::int64_t { return kInteger(x); }, k.in("self"));
    } else {
      map_real(
          k.out(), [](const T& x) -> Int<T> { return kReal(x); }, k.in("self"));
    }
  }
};
template <auto kReal, auto kInteger>
inline constexpr OpKernels kPredicate = kKernels<PredicateKernel<kReal, kInteger>>;

// out = f(self, other), floating, broadcast.
template <auto kFunction>
struct BinaryKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map_real(
        k.out(), [](const T& a, const T& b) -> T { return kFunction(a, b); }, k.in("self"),
        k.in("other"));
  }
};
template <auto kFunction>
inline constexpr OpKernels kBinary = kKernels<BinaryKernel<kFunction>>;

// Both operands as integers of the dtype that ATen computes in, which the result has: uint8 with
// the Python number -1 computes with 255.
template <class T, class F>
void map_integers(Kernel<T>& k, F&& f) {
  const DType dtype = k.out().dtype();
  map_int(
      k.out(),
      [&](std::int64_t a, std::int64_t b) { return f(wrap_to(dtype, a), wrap_to(dtype, b)); },
      k.in("self"), k.in("other"));
}

// The same, with a function of its own for an integral result: int64 x int64 to int64.
template <auto kReal, auto kInteger>
struct NumericBinaryKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    if (k.out().integral()) {
      map_integers(k, kInteger);
    } else {
      BinaryKernel<kReal>::run(k);
    }
  }
};
template <auto kReal, auto kInteger>
inline constexpr OpKernels kNumericBinary = kKernels<NumericBinaryKernel<kReal, kInteger>>;

// A number inside a kernel that is exact in every floating dtype: 0, 1, 3, an infinity.
template <class T>
T exactly(const T&, double value) {
  return widen<T>(value);
}

// `condition ? a : b` of a function that is continuous where the condition changes: the other
// branch adds to the error, and there is no tie to mark.
template <class T>
T joined(const Int<T>& condition, const T& a, const T& b) {
  T r = select(condition, a, b);
  if constexpr (kIsRunning<T>) {
    if (!(marks_of(condition) & kUndefined)) r.marks = static_cast<std::uint8_t>(a.marks | b.marks);
  }
  return r;
}

inline constexpr double kInf = std::numeric_limits<double>::infinity();

// 1 + erf(x) as GELU has it. What is added to 1 need be accurate beside 1 only: ATen's vector code
// takes a polynomial of absolute error 1.5e-7 (Abramowitz and Stegun 7.1.26) plus its own rounding.
template <class T>
T one_plus_erf(const T& x) {
  T y = erf(x);
  if constexpr (kIsRunning<T>) y.e += 4 * ErrorModel::current().unit;
  return y + 1.0;
}

}  // namespace ulpfuzz
