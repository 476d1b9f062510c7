#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <limits>

// The numbers that oracle kernels are written over, and the vocabulary they use. A kernel is one
// template; instantiating it with another scalar gives another evaluation:
//
//   double            legal executions: fast, errors put in from outside
//   Running<double>   the exact value to about 2^-53 with a running error estimate, for systems
//   that
//                     compute in float32 or less
//   Running<Quad>     the same with 113 bits, for systems that compute in float64
//
// The error that a Running number carries is the error which a *system under test* may have, not
// the oracle's own: every operation adds `unit` times the magnitude of its result, where `unit` is
// the unit roundoff of the system's opmath type (running error analysis, Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd ed., section 3.3). The oracle's own error is smaller by
// the ratio of the unit roundoffs, at least 2^29.
namespace ulpfuzz {

using Quad = boost::multiprecision::cpp_bin_float_quad;

// Why an element may not be held against the exact value.
enum Mark : std::uint8_t {
  kNearTie = 1,    // a discontinuity upstream is within error of its edge: another branch is legal
  kUndefined = 2,  // ATen leaves it undefined (out-of-range cast, shift by the width, ...)
  kRange = 4,      // an intermediate may overflow in the system's nominal dtype
};

// How errors are added up.
enum class ErrorMode : std::uint8_t {
  kBound,  // absolute values: a first-order worst case
  kRms,  // root of the sum of squares: the expected size, for scaling the noise of legal executions
};

// The error model in force on this thread. Set by the interpreter for each node.
struct ErrorModel {
  double unit = 0;  // unit roundoff of the opmath type
  ErrorMode mode = ErrorMode::kBound;
  // What include_rounding adds, in units of the error of one rounding; the interpreter's policies
  // that enlarge `unit` enlarge it alike.
  double deviations = 1;
  double function_ulps = 0;  // of the row, for the functions inside
  double scalar_unit = 0;    // roundoff of the type in which Python numbers may be seen
  // Range of the opmath type; the defaults switch these checks off.
  double max_finite = std::numeric_limits<double>::infinity();
  double min_normal = 0;
  double min_subnormal = 0;
  static ErrorModel& current();
};

namespace internal {
inline constinit thread_local ErrorModel error_model;
}
inline ErrorModel& ErrorModel::current() { return internal::error_model; }

// Restores the thread's model whatever happens inside.
class ErrorModelScope {
 public:
  ErrorModelScope() : before_(ErrorModel::current()) {}
  ~ErrorModelScope() { ErrorModel::current() = before_; }
  ErrorModelScope(const ErrorModelScope&) = delete;
  ErrorModelScope& operator=(const ErrorModelScope&) = delete;

 private:
  ErrorModel before_;
};

template <class B>
struct Running {
  B v{};                   // value
  double e = 0;            // error the system may have; infinite: anything
  std::uint8_t marks = 0;  // of Mark
};

// An integer or bool element: plain under double, with marks under Running.
struct MarkedInt {
  std::int64_t v = 0;
  std::uint8_t marks = 0;
};

template <class T>
struct ScalarTraits;
template <>
struct ScalarTraits<double> {
  using Int = std::int64_t;
};
template <class B>
struct ScalarTraits<Running<B>> {
  using Int = MarkedInt;
};
template <class T>
using Int = typename ScalarTraits<T>::Int;

// The vocabulary (overloaded for double, Running<double>, Running<Quad>; oracle/running.h,
// oracle/integers.h, oracle/functions.h): + - * / and unary -, also with a double on one side (a
// constant that the system holds in opmath); abs sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin
// cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc lgamma digamma trigamma
// pow atan2 floor ceil trunc round_even fmod sign;
//   less(a, b), less_equal, equal, is_nan, is_inf -> Int<T>   marked kNearTie within error
//   logical_and, logical_or, logical_not of Int<T>
//   select(Int<T> condition, a, b)                            marked by a marked condition
//   max_of(a, b), min_of(a, b)                                NaN propagates, as ATen's maximum
//   to_integer<T>(x, DType), from_integer<T>(Int<T>), widen<T>(double) exact, constant<T>(double)
//   rounded to opmath in the system, narrow(x) -> double
// and Sum<T>: an accumulator with ATen's accumulation error (oracle/sum.h).

}  // namespace ulpfuzz
