#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "oracle/base_math.h"
#include "oracle/scalar.h"

// Arithmetic of Running numbers, and the same names for double. Error propagation is first order;
// an error that reaches what first order cannot describe (a pole, an edge of a domain) becomes
// infinite. An infinite or NaN value whose error is 0 is decided: every system must give it.
//
// One thing that rounding analysis usually gives away is kept: an operation on exact operands
// (e == 0) whose result is a number of the opmath type has no error. Comparisons of sums of small
// integers are therefore decided.
namespace ulpfuzz {

template <class T>
inline constexpr bool kIsRunning = false;
template <class B>
inline constexpr bool kIsRunning<Running<B>> = true;

namespace internal {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline double add_errors(double a, double b, const ErrorModel& model) {
  if (model.mode == ErrorMode::kBound) return a + b;
  return a == 0 ? b : b == 0 ? a : std::hypot(a, b);
}

// Is x a number with `unit` = 2^-p's p significant bits? Veltkamp's splitting.
inline bool representable(double x, double unit) {
  const double c = (unit * 0x1p53 + 1) * x;
  return c - (c - x) == x;
}
inline bool representable(const Quad& x, double unit) {
  const double d = base::narrow(x);
  return Quad(d) == x && (unit <= 0x1p-53 || representable(d, unit));
}

// kRange for a value that may overflow; none where only its error is so large that it says nothing.
inline std::uint8_t range_mark(double size, double max_finite) {
  return static_cast<std::uint8_t>(size > max_finite / 4 ? kRange : 0);
}

inline bool finite(double e) { return e < kInfinity; }  // of an error; false for NaN

// The result of one rounded operation in the system: its own rounding, `ulps` units of it, added to
// the error e that came from the operands. v is finite.
template <class B>
inline Running<B> rounded(const B& v, double e, std::uint8_t marks, double ulps = 1,
                          bool may_be_exact = true) {
  const ErrorModel& model = ErrorModel::current();
  const double size = std::fabs(base::narrow(v));
  if (!(size + e <= model.max_finite)) {
    return {v, kInfinity, static_cast<std::uint8_t>(marks | range_mark(size, model.max_finite))};
  }
  if (size == 0 && e == 0 && v == 0) return {v, 0, marks};
  if (size < model.min_normal) {
    // Gradual underflow, or flushing to zero: both are legal.
    const double tiny =
        model.mode == ErrorMode::kBound ? size + model.min_subnormal : model.min_subnormal;
    return {v, add_errors(e, tiny, model), marks};
  }
  if (e == 0 && may_be_exact && representable(v, model.unit)) return {v, 0, marks};
  return {v, add_errors(e, ulps * model.unit * (size + e), model), marks};
}

// The error of a result that is infinite or NaN: none when the operands decide it.
template <class B>
inline double undecided(const Running<B>& x) {
  if (base::is_nan(x.v)) return x.e == 0 ? -1 : kInfinity;  // -1: decides alone
  return x.e > 0 && !(std::fabs(base::narrow(x.v)) > x.e) ? kInfinity : 0;
}
template <class B>
inline Running<B> nonfinite(const B& v, const Running<B>& a, const Running<B>& b) {
  const double x = undecided(a), y = undecided(b);
  const double e = x < 0 || y < 0 ? 0 : std::max(x, y);
  return {v, e, static_cast<std::uint8_t>(a.marks | b.marks)};
}
template <class B>
inline Running<B> nonfinite(const B& v, const Running<B>& a) {
  return {v, std::max(0.0, undecided(a)), a.marks};
}

// An infinity of which the sign is that of a zero, which compiled code need not keep.
template <class B>
inline Running<B> pole(const B& v, std::uint8_t marks) {
  return {v, kInfinity, static_cast<std::uint8_t>(marks | kNearTie)};
}

template <class B>
inline bool is_finite(const B& v) {
  return !base::is_nan(v) && !base::is_inf(v);
}
inline bool is_finite(double v) { return std::fabs(v) <= std::numeric_limits<double>::max(); }

template <class B>
inline double size_of(const Running<B>& x) {
  return std::fabs(base::narrow(x.v));
}

}  // namespace internal

// An exact number.
template <class T>
inline T widen(double x) {
  if constexpr (kIsRunning<T>) {
    return T{decltype(T::v)(x), 0, 0};
  } else {
    return x;
  }
}

// A number that the system holds rounded: a coefficient to its opmath type, a Python number perhaps
// to the nominal dtype of a tensor beside it (`unit`).
template <class T>
inline T constant(double x, double unit) {
  if constexpr (kIsRunning<T>) {
    const bool exact = !std::isfinite(x) || internal::representable(x, unit);
    return T{decltype(T::v)(x), exact ? 0 : unit * std::fabs(x), 0};
  } else {
    return x;
  }
}
template <class T>
inline T constant(double x) {
  return constant<T>(x, ErrorModel::current().unit);
}

inline double narrow(double x) { return x; }
template <class B>
inline double narrow(const Running<B>& x) {
  return base::narrow(x.v);
}

inline double error_of(double) { return 0; }
template <class B>
inline double error_of(const Running<B>& x) {
  return x.e;
}
inline std::uint8_t marks_of(double) { return 0; }
template <class B>
inline std::uint8_t marks_of(const Running<B>& x) {
  return x.marks;
}

template <class B>
inline Running<B> operator+(const Running<B>& a, const Running<B>& b) {
  const B v = a.v + b.v;
  if (!internal::is_finite(v)) {
    const bool open = !internal::finite(a.e) || !internal::finite(b.e);
    return {v, open ? internal::kInfinity : 0, static_cast<std::uint8_t>(a.marks | b.marks)};
  }
  const double e = internal::add_errors(a.e, b.e, ErrorModel::current());
  return internal::rounded(v, e, static_cast<std::uint8_t>(a.marks | b.marks));
}
template <class B>
inline Running<B> operator-(const Running<B>& a) {
  return {-a.v, a.e, a.marks};
}
template <class B>
inline Running<B> operator-(const Running<B>& a, const Running<B>& b) {
  return a + (-b);
}
template <class B>
inline Running<B> operator*(const Running<B>& a, const Running<B>& b) {
  const B v = a.v * b.v;
  if (!internal::is_finite(v)) return internal::nonfinite(v, a, b);
  const auto marks = static_cast<std::uint8_t>(a.marks | b.marks);
  if (a.e == 0 && b.e == 0) return internal::rounded(v, 0, marks);
  if (!internal::finite(a.e) || !internal::finite(b.e)) return {v, internal::kInfinity, marks};
  const ErrorModel& model = ErrorModel::current();
  double e = internal::add_errors(internal::size_of(a) * b.e, internal::size_of(b) * a.e, model);
  e = internal::add_errors(e, a.e * b.e, model);
  return internal::rounded(v, e, marks);
}
template <class B>
inline Running<B> operator/(const Running<B>& a, const Running<B>& b) {
  const B v = a.v / b.v;
  const auto marks = static_cast<std::uint8_t>(a.marks | b.marks);
  if (b.v == 0 && base::is_inf(v)) return internal::pole(v, marks);
  if (!internal::is_finite(v)) return internal::nonfinite(v, a, b);
  if (a.e == 0 && b.e == 0) return internal::rounded(v, 0, marks);
  if (base::is_inf(b.v) && b.e == 0 && internal::finite(a.e)) return {v, 0, marks};
  const double nearest = internal::size_of(b) - b.e;  // to the pole
  if (!(nearest > 0) || !internal::finite(a.e)) return {v, internal::kInfinity, marks};
  const double through_b = std::fabs(base::narrow(v)) * b.e / nearest;
  return internal::rounded(v, internal::add_errors(a.e / nearest, through_b, ErrorModel::current()),
                           marks);
}

template <class B>
inline Running<B> operator+(const Running<B>& a, double b) {
  return a + constant<Running<B>>(b);
}
template <class B>
inline Running<B> operator+(double a, const Running<B>& b) {
  return constant<Running<B>>(a) + b;
}
template <class B>
inline Running<B> operator-(const Running<B>& a, double b) {
  return a - constant<Running<B>>(b);
}
template <class B>
inline Running<B> operator-(double a, const Running<B>& b) {
  return constant<Running<B>>(a) - b;
}
template <class B>
inline Running<B> operator*(const Running<B>& a, double b) {
  return a * constant<Running<B>>(b);
}
template <class B>
inline Running<B> operator*(double a, const Running<B>& b) {
  return constant<Running<B>>(a) * b;
}
template <class B>
inline Running<B> operator/(const Running<B>& a, double b) {
  return a / constant<Running<B>>(b);
}
template <class B>
inline Running<B> operator/(double a, const Running<B>& b) {
  return constant<Running<B>>(a) / b;
}

inline double abs(double x) { return std::fabs(x); }
template <class B>
inline Running<B> abs(const Running<B>& x) {
  return {base::abs(x.v), x.e, x.marks};
}

// NaN propagates. Continuous: no mark; the error is that of whichever may be chosen.
inline double max_of(double a, double b) { return std::isnan(a) || a > b ? a : b; }
inline double min_of(double a, double b) { return std::isnan(a) || a < b ? a : b; }

namespace internal {
template <class B>
inline Running<B> chosen(const Running<B>& a, const Running<B>& b, bool first) {
  const auto marks = static_cast<std::uint8_t>(a.marks | b.marks);
  if (base::is_nan(a.v)) return {a.v, a.e, marks};
  if (base::is_nan(b.v)) return {b.v, b.e, marks};
  const Running<B>& c = first ? a : b;
  if (a.v == b.v) return {c.v, std::max(a.e, b.e), marks};
  const double distance = std::fabs(base::narrow(B(a.v - b.v)));
  if (distance > a.e + b.e) return {c.v, c.e, marks};
  return {c.v, std::max(a.e, b.e), marks};
}
}  // namespace internal
template <class B>
inline Running<B> max_of(const Running<B>& a, const Running<B>& b) {
  return internal::chosen(a, b, a.v > b.v);
}
template <class B>
inline Running<B> min_of(const Running<B>& a, const Running<B>& b) {
  return internal::chosen(a, b, a.v < b.v);
}

}  // namespace ulpfuzz
