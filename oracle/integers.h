#pragma once

#include "ir/dtype.h"
#include "oracle/functions.h"

// Integers and bools of the oracle, comparisons, choices and conversions: where real numbers become
// decisions. A decision within error of its edge is marked kNearTie; one on exact operands never
// is.
namespace ulpfuzz {

inline std::int64_t value_of(std::int64_t i) { return i; }
inline std::int64_t value_of(const MarkedInt& i) { return i.v; }
inline std::uint8_t marks_of(std::int64_t) { return 0; }
inline std::uint8_t marks_of(const MarkedInt& i) { return i.marks; }

// An Int<T> of a value and marks (dropped under double).
template <class T>
inline Int<T> make_int(std::int64_t value, int marks = 0) {
  if constexpr (kIsRunning<T>) {
    return MarkedInt{value, static_cast<std::uint8_t>(marks)};
  } else {
    return value;
  }
}

// A real result that ATen leaves undefined: any value is right.
template <class T>
inline T undefined() {
  if constexpr (kIsRunning<T>) {
    return T{decltype(T::v)(0), internal::kInfinity, kUndefined};
  } else {
    return 0;
  }
}

// Two's complement arithmetic modulo 2^64; results are wrapped to their dtype when stored.
inline std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrap_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline std::int64_t wrap_neg(std::int64_t a) { return wrap_sub(0, a); }

namespace internal {
// Marks of a decision between a and b: near when their difference may have another sign.
template <class B>
inline std::uint8_t decision_marks(const Running<B>& a, const Running<B>& b) {
  const auto marks = static_cast<std::uint8_t>(a.marks | b.marks);
  const double e = a.e + b.e;
  if (e == 0) return marks;
  if (!finite(e)) return marks | kNearTie;
  if (base::is_inf(a.v) || base::is_inf(b.v) || base::is_nan(a.v) || base::is_nan(b.v))
    return marks;
  return std::fabs(base::narrow(B(a.v - b.v))) <= e ? marks | kNearTie : marks;
}
}  // namespace internal

inline std::int64_t less(double a, double b) { return a < b; }
inline std::int64_t less_equal(double a, double b) { return a <= b; }
inline std::int64_t equal(double a, double b) { return a == b; }
template <class B>
inline MarkedInt less(const Running<B>& a, const Running<B>& b) {
  return {a.v < b.v, internal::decision_marks(a, b)};
}
template <class B>
inline MarkedInt less_equal(const Running<B>& a, const Running<B>& b) {
  return {a.v <= b.v, internal::decision_marks(a, b)};
}
template <class B>
inline MarkedInt equal(const Running<B>& a, const Running<B>& b) {
  return {a.v == b.v, internal::decision_marks(a, b)};
}

inline std::int64_t is_nan(double x) { return std::isnan(x); }
inline std::int64_t is_inf(double x) { return std::isinf(x); }
template <class B>
inline MarkedInt is_nan(const Running<B>& x) {
  return {base::is_nan(x.v),
          static_cast<std::uint8_t>(x.marks | (internal::finite(x.e) ? 0 : kNearTie))};
}
template <class B>
inline MarkedInt is_inf(const Running<B>& x) {
  return {base::is_inf(x.v),
          static_cast<std::uint8_t>(x.marks | (internal::finite(x.e) ? 0 : kNearTie))};
}

// Logic keeps the marks of what decides: (false && near) is false.
inline std::int64_t logical_not(std::int64_t a) { return a == 0; }
inline std::int64_t logical_and(std::int64_t a, std::int64_t b) { return a != 0 && b != 0; }
inline std::int64_t logical_or(std::int64_t a, std::int64_t b) { return a != 0 || b != 0; }
inline MarkedInt logical_not(const MarkedInt& a) { return {a.v == 0, a.marks}; }
inline MarkedInt logical_and(const MarkedInt& a, const MarkedInt& b) {
  if (a.v == 0 && a.marks == 0) return {0, 0};
  if (b.v == 0 && b.marks == 0) return {0, 0};
  return {a.v != 0 && b.v != 0, static_cast<std::uint8_t>(a.marks | b.marks)};
}
inline MarkedInt logical_or(const MarkedInt& a, const MarkedInt& b) {
  return logical_not(logical_and(logical_not(a), logical_not(b)));
}

// `condition ? a : b`. With a marked condition the other branch is legal as well: the error covers
// both, and the mark is passed on unless both are the same.
inline double select(std::int64_t condition, double a, double b) { return condition != 0 ? a : b; }
inline std::int64_t select(std::int64_t condition, std::int64_t a, std::int64_t b) {
  return condition != 0 ? a : b;
}
template <class B>
inline Running<B> select(const MarkedInt& condition, const Running<B>& a, const Running<B>& b) {
  const Running<B>& chosen = condition.v != 0 ? a : b;
  if (condition.marks == 0) return chosen;
  const auto marks = static_cast<std::uint8_t>(a.marks | b.marks | condition.marks);
  double e = internal::kInfinity;
  if (!(condition.marks & kUndefined)) {
    const double jump = a.v == b.v ? 0 : std::fabs(base::narrow(B(a.v - b.v)));
    e = jump + std::max(a.e, b.e);
    if (!internal::finite(e)) e = internal::kInfinity;
    if (a.v == b.v && a.e == 0 && b.e == 0)
      return {chosen.v, 0, static_cast<std::uint8_t>(a.marks | b.marks)};
  }
  return {chosen.v, e, marks};
}
inline MarkedInt select(const MarkedInt& condition, const MarkedInt& a, const MarkedInt& b) {
  const MarkedInt& chosen = condition.v != 0 ? a : b;
  if (condition.marks == 0) return chosen;
  const int passed_on = a.v == b.v && !(condition.marks & kUndefined) ? 0 : condition.marks;
  return {chosen.v, static_cast<std::uint8_t>(a.marks | b.marks | passed_on)};
}

// An integer as a number. One that the opmath type does not hold is rounded by the system.
template <class T>
inline T from_integer(const Int<T>& i) {
  if constexpr (kIsRunning<T>) {
    using B = decltype(T::v);
    const B v = static_cast<B>(i.v);
    const double unit = ErrorModel::current().unit;
    const double size = std::fabs(base::narrow(v));
    const bool exact = size * unit <= 1 || internal::representable(v, unit);
    const bool open = i.marks & (kNearTie | kUndefined);
    return T{v, open ? internal::kInfinity : exact ? 0 : unit * size, i.marks};
  } else {
    return static_cast<double>(i);
  }
}

// Conversion to an integral dtype: towards zero, bool by != 0. What does not fit is kUndefined.
template <class T>
Int<T> to_integer(const T& x, DType dtype) {
  const double v = narrow(x);
  const double e = error_of(x);
  int marks = marks_of(x);
  if (dtype == DType::kBool) {
    if (e > 0 && !(std::fabs(v) > e)) marks |= kNearTie;
    if constexpr (kIsRunning<T>) return make_int<T>(!(x.v == 0), marks);
    return make_int<T>(v != 0, marks);
  }
  // The limits as doubles: int64's upper one is 2^63, which does not fit.
  const double low = static_cast<double>(min_integer(dtype)) - (item_size(dtype) < 8 ? 1 : 0);
  const double high = item_size(dtype) < 8 ? static_cast<double>(max_integer(dtype)) + 1 : 0x1p63;
  const bool fits =
      item_size(dtype) < 8 ? v - e > low && v + e < high : v - e >= low && v + e < high;
  if (!fits) {
    const bool in_int64 = v >= -0x1p63 && v < 0x1p63;
    return make_int<T>(in_int64 ? wrap_to(dtype, static_cast<std::int64_t>(v)) : 0,
                       marks | kUndefined);
  }
  const T whole = trunc(x);
  if constexpr (kIsRunning<T>) {
    return make_int<T>(static_cast<std::int64_t>(whole.v), marks | whole.marks);
  } else {
    return static_cast<std::int64_t>(whole);
  }
}

}  // namespace ulpfuzz
