#pragma once

#include <limits>

#include "oracle/arithmetic.h"

// Functions of Running numbers. The error that an operand brings is |f'| e as long as e is small
// against the distance over which f' changes (`scale`); beyond that f is looked at where the
// operand may lie as well, and an edge of the domain or a pole within reach makes it infinite.
namespace ulpfuzz {

namespace internal {

inline constexpr double kFirstOrder = 0.05;  // of scale

// What functions may be off by, in units: an ulp is up to two of them. The expected size stays
// smaller, as an implementation's largest error is rarely met.
inline double function_units() {
  const ErrorModel& model = ErrorModel::current();
  const double units = model.mode == ErrorMode::kBound ? 2 : 1;
  return std::max(1.0, units * model.function_ulps);
}

// Both NaN, or the same infinity.
template <class B>
bool same(const B& v, double other) {
  return base::is_nan(v) ? std::isnan(other) : base::narrow(v) == other;
}

template <class B, class F>
Running<B> function(const Running<B>& x, const B& v, double slope, double scale, F&& at) {
  if (!is_finite(v)) {
    const bool decided = x.e == 0 || (finite(x.e) && same(v, at(base::narrow(x.v) - x.e)) &&
                                      same(v, at(base::narrow(x.v) + x.e)));
    return {v, decided ? 0 : kInfinity, x.marks};
  }
  const double ulps = function_units();
  if (x.e == 0) return rounded(v, 0, x.marks, ulps, false);
  if (base::is_inf(x.v)) return {v, finite(x.e) ? 0 : kInfinity, x.marks};
  double e = std::fabs(slope) * x.e;
  if (!(x.e <= kFirstOrder * scale)) {
    const double here = base::narrow(x.v), value = base::narrow(v);
    const double low = at(here - x.e), high = at(here + x.e);
    e = std::max({e, std::fabs(low - value), std::fabs(high - value)});
    if (std::isnan(low) || std::isnan(high)) e = kInfinity;
  }
  return rounded(v, finite(e) ? e : kInfinity, x.marks, ulps, false);
}

// The same where |f| <= bound for every finite operand.
template <class B>
Running<B> at_most(const Running<B>& x, Running<B> f, double bound) {
  if (!finite(x.e)) return f;
  const double farthest = bound + std::fabs(base::narrow(f.v));
  if (f.e > farthest) f.e = farthest;
  return f;
}

// Distance to the nearest of 0, -1, -2, ...
inline double pole_distance(double x) { return x > 0 ? x : std::fabs(x - std::nearbyint(x)); }

}  // namespace internal

// abs is in running.h. Each line: the function, |f'|, and the scale on which f' changes.
#define ULPFUZZ_FUNCTION(name, slope, scale)                                                 \
  inline double name(double x) { return base::name(x); }                                     \
  template <class B>                                                                         \
  Running<B> name(const Running<B>& x) {                                                     \
    const B f = base::name(x.v);                                                             \
    [[maybe_unused]] const double v = base::narrow(x.v), y = base::narrow(f);                \
    return internal::function(x, f, slope, scale, [](double at) { return base::name(at); }); \
  }
ULPFUZZ_FUNCTION(sqrt, 0.5 / y, v)
ULPFUZZ_FUNCTION(exp, y, 1)
ULPFUZZ_FUNCTION(exp2, y * 0.6931471805599453, 1)
ULPFUZZ_FUNCTION(expm1, y + 1, 1)
ULPFUZZ_FUNCTION(log, 1 / v, v)
ULPFUZZ_FUNCTION(log2, 1.4426950408889634 / v, v)
ULPFUZZ_FUNCTION(log10, 0.4342944819032518 / v, v)
ULPFUZZ_FUNCTION(log1p, 1 / (1 + v), 1 + v)
ULPFUZZ_FUNCTION(asin, 1 / std::sqrt((1 - v) * (1 + v)), 1 - std::fabs(v))
ULPFUZZ_FUNCTION(acos, 1 / std::sqrt((1 - v) * (1 + v)), 1 - std::fabs(v))
ULPFUZZ_FUNCTION(atan, 1 / (1 + v * v), 1)
ULPFUZZ_FUNCTION(sinh, std::cosh(v), 1)
ULPFUZZ_FUNCTION(cosh, std::sinh(v), 1)
ULPFUZZ_FUNCTION(tanh, (1 - y) * (1 + y), 1)
ULPFUZZ_FUNCTION(asinh, 1 / std::hypot(1, v), 1)
ULPFUZZ_FUNCTION(acosh, 1 / std::sqrt((v - 1) * (v + 1)), v - 1)
ULPFUZZ_FUNCTION(atanh, 1 / ((1 - v) * (1 + v)), 1 - std::fabs(v))
ULPFUZZ_FUNCTION(erf, 1.1283791670955126 * std::exp(-v * v), 0.5 / (1 + std::fabs(v)))
ULPFUZZ_FUNCTION(erfc, 1.1283791670955126 * std::exp(-v * v), 0.5 / (1 + std::fabs(v)))
#undef ULPFUZZ_FUNCTION

inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
template <class B>
Running<B> sin(const Running<B>& x) {
  const auto at = [](double y) { return std::sin(y); };
  return internal::at_most(
      x,
      internal::function(x, base::sin(x.v), std::fabs(std::cos(base::narrow(x.v))) + x.e, 1e9, at),
      1);
}
template <class B>
Running<B> cos(const Running<B>& x) {
  const auto at = [](double y) { return std::cos(y); };
  return internal::at_most(
      x,
      internal::function(x, base::cos(x.v), std::fabs(std::sin(base::narrow(x.v))) + x.e, 1e9, at),
      1);
}

namespace internal {
// Implementations are accurate against 1, not relative to the function, around its zeros.
template <class B>
Running<B> roughly(Running<B> f) {
  const ErrorModel& model = ErrorModel::current();
  if (is_finite(f.v)) f.e = add_errors(f.e, function_units() * model.unit, model);
  return f;
}
// A function with poles: infinite error when one is within reach.
template <class B, class F>
Running<B> with_pole(const Running<B>& x, const B& v, double slope, double distance, F&& at) {
  Running<B> f = function(x, v, slope, distance, at);
  if (x.e > 0 && !(x.e < distance)) f.e = kInfinity;
  return f;
}
}  // namespace internal

inline double tan(double x) { return std::tan(x); }
template <class B>
Running<B> tan(const Running<B>& x) {
  const B f = base::tan(x.v);
  const double y = base::narrow(f);
  return internal::with_pole(x, f, 1 + y * y, std::fabs(std::atan(1 / y)),
                             [](double at) { return std::tan(at); });
}

inline double lgamma(double x) { return base::lgamma(x); }
inline double digamma(double x) { return base::digamma(x); }
inline double trigamma(double x) { return base::trigamma(x); }
template <class B>
Running<B> lgamma(const Running<B>& x) {
  const double v = base::narrow(x.v);
  const double slope = x.e > 0 ? base::digamma(v) : 0;
  return internal::roughly(internal::with_pole(x, base::lgamma(x.v), slope,
                                               internal::pole_distance(v),
                                               [](double at) { return base::lgamma(at); }));
}
template <class B>
Running<B> digamma(const Running<B>& x) {
  const double v = base::narrow(x.v);
  const double slope = x.e > 0 ? base::trigamma(v) : 0;
  return internal::roughly(internal::with_pole(x, base::digamma(x.v), slope,
                                               internal::pole_distance(v),
                                               [](double at) { return base::digamma(at); }));
}
template <class B>
Running<B> trigamma(const Running<B>& x) {
  // |psi''(x)| <= 2/d^3 + 2/d^2 at distance d from the nearest pole.
  const double v = base::narrow(x.v), d = internal::pole_distance(v);
  return internal::with_pole(x, base::trigamma(x.v), 2 / (d * d * d) + 2 / (d * d), d,
                             [](double at) { return base::trigamma(at); });
}

inline double rsqrt(double x) { return 1 / std::sqrt(x); }
template <class B>
Running<B> rsqrt(const Running<B>& x) {
  return 1.0 / sqrt(x);
}

// 1 / (1 + exp(-x)), without an intermediate overflow for the error to see.
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
template <class B>
Running<B> sigmoid(const Running<B>& x) {
  const B f = B(1) / (B(1) + base::exp(B(-x.v)));
  const double y = base::narrow(f);
  const auto at = [](double z) { return 1 / (1 + std::exp(-z)); };
  Running<B> r = internal::function(x, f, y * (1 - y), 1, at);
  // The sum 1 + exp(-x) and the quotient are rounded too.
  r.e = internal::add_errors(r.e, 2 * ErrorModel::current().unit * y, ErrorModel::current());
  return internal::at_most(x, r, 1);
}

inline double pow(double x, double y) { return std::pow(x, y); }
template <class B>
Running<B> pow(const Running<B>& x, const Running<B>& y) {
  const B f = base::pow(x.v, y.v);
  if (y.v == 0 && y.e == 0) return {f, 0, y.marks};  // 1, whatever x is
  const auto marks = static_cast<std::uint8_t>(x.marks | y.marks);
  if (x.v == 0 && base::is_inf(f)) return internal::pole(f, marks);
  if (!internal::is_finite(f)) {
    // NaN^0 and 1^NaN are 1.
    bool decided = (y.e == 0 || internal::size_of(y) > y.e) &&
                   (x.e == 0 || std::fabs(base::narrow(x.v) - 1) > x.e);
    decided = decided && internal::finite(x.e) && internal::finite(y.e);
    for (const double p : {base::narrow(x.v) - x.e, base::narrow(x.v) + x.e}) {
      for (const double q : {base::narrow(y.v) - y.e, base::narrow(y.v), base::narrow(y.v) + y.e}) {
        decided = decided && internal::same(f, std::pow(p, q));
      }
    }
    return {f, decided || (x.e == 0 && y.e == 0) ? 0 : internal::kInfinity, marks};
  }
  const double ulps = internal::function_units();
  if (x.e == 0 && y.e == 0) {
    // Squares and the like of exact numbers are products.
    const bool whole = y.v == base::trunc(y.v) && y.v > 0 && y.v <= 4;
    return internal::rounded(f, 0, marks, ulps, whole);
  }
  if (!internal::finite(x.e) || !internal::finite(y.e)) return {f, internal::kInfinity, marks};
  const double a = base::narrow(x.v), b = base::narrow(y.v), value = base::narrow(f);
  double e = 0;
  if (x.e > 0) e += std::fabs(a == 0 ? (b == 1 ? 1 : 0) : b * value / a) * x.e;
  if (y.e > 0) e += std::fabs(value * (a == 0 ? 0 : std::log(std::fabs(a)))) * y.e;
  const double reach =
      std::max(x.e * (1 + std::fabs(b)) / std::fabs(a), y.e * std::fabs(std::log(std::fabs(a))));
  if (!(reach <= internal::kFirstOrder)) {
    for (const double p : {a - x.e, a + x.e}) {
      for (const double q : {b - y.e, b + y.e}) {
        const double other = std::fabs(std::pow(p, q) - value);
        e = std::isnan(other) ? internal::kInfinity : std::max(e, other);
      }
    }
    if (b < 0 && std::fabs(a) <= x.e) e = internal::kInfinity;
  }
  if (y.e > 0 && a - x.e <= 0) e = internal::kInfinity;
  return internal::rounded(f, e, marks, ulps, false);
}
template <class B>
Running<B> pow(const Running<B>& x, double y) {
  return pow(x, widen<Running<B>>(y));
}
template <class B>
Running<B> pow(double x, const Running<B>& y) {
  return pow(widen<Running<B>>(x), y);
}

inline double atan2(double y, double x) { return std::atan2(y, x); }
template <class B>
Running<B> atan2(const Running<B>& y, const Running<B>& x) {
  const B f = base::atan2(y.v, x.v);
  auto marks = static_cast<std::uint8_t>(x.marks | y.marks);
  if (base::is_nan(f)) return internal::nonfinite(f, y, x);
  double e = 0;
  if (x.e > 0 || y.e > 0) {
    const double a = base::narrow(y.v), b = base::narrow(x.v);
    const double far = std::hypot(a, b) - x.e - y.e;  // of the origin
    // The cut: the other side of the negative real axis is 2 pi away.
    if (b - x.e < 0 && std::fabs(a) <= y.e) {
      marks |= kNearTie;
      e = 6.283185307179587;
    } else {
      e = far > 0 ? (x.e + y.e) / far : 6.283185307179587;
    }
    if (std::isnan(e)) e = 6.283185307179587;
  }
  const double ulps = internal::function_units();
  return internal::rounded(f, e, marks, ulps, false);
}

// Steps. An exact operand decides; otherwise an edge within error is marked, with the step's size
// as the error.
namespace internal {
template <class B>
Running<B> step(const Running<B>& x, const B& v, bool at_edge) {
  if (x.e == 0 || base::is_nan(x.v)) return {v, x.e, x.marks};
  if (!finite(x.e)) return {v, kInfinity, static_cast<std::uint8_t>(x.marks | kNearTie)};
  if (!at_edge) return {v, 0, x.marks};
  return {v, 1 + x.e, static_cast<std::uint8_t>(x.marks | kNearTie)};
}
// Is a whole number within e of x?
template <class B>
bool near_whole(const B& x, double e) {
  return std::fabs(base::narrow(B(x - base::round_even(x)))) <= e;
}
}  // namespace internal

inline double floor(double x) { return std::floor(x); }
inline double ceil(double x) { return std::ceil(x); }
inline double trunc(double x) { return std::trunc(x); }
inline double round_even(double x) { return base::round_even(x); }
inline double fmod(double x, double y) { return std::fmod(x, y); }
inline double sign(double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); }
template <class B>
Running<B> floor(const Running<B>& x) {
  return internal::step(x, base::floor(x.v), internal::near_whole(x.v, x.e));
}
template <class B>
Running<B> ceil(const Running<B>& x) {
  return internal::step(x, base::ceil(x.v), internal::near_whole(x.v, x.e));
}
template <class B>
Running<B> trunc(const Running<B>& x) {
  const bool inside = internal::size_of(x) + x.e < 1;  // no step at 0
  return internal::step(x, base::trunc(x.v), !inside && internal::near_whole(x.v, x.e));
}
template <class B>
Running<B> round_even(const Running<B>& x) {
  return internal::step(x, base::round_even(x.v), internal::near_whole(B(x.v - B(0.5)), x.e));
}
template <class B>
Running<B> sign(const Running<B>& x) {
  if (base::is_nan(x.v)) return x;
  Running<B> s{B((x.v > 0) - (x.v < 0)), 0, x.marks};
  if (x.e > 0 && !(internal::size_of(x) > x.e)) {
    s.e = 2;
    s.marks |= kNearTie;
  }
  return s;
}

// C's fmod: the sign of x. Exact on exact operands.
template <class B>
Running<B> fmod(const Running<B>& x, const Running<B>& y) {
  const B v = base::fmod(x.v, y.v);
  auto marks = static_cast<std::uint8_t>(x.marks | y.marks);
  if (x.e == 0 && y.e == 0) return {v, 0, marks};
  if (base::is_nan(v)) return internal::nonfinite(v, x, y);
  if (base::is_inf(y.v) && y.e == 0) return {v, x.e, marks};
  const double quotient = std::fabs(base::narrow(B((x.v - v) / y.v)));
  const double size = std::fabs(base::narrow(v)), period = internal::size_of(y);
  double e = x.e + quotient * y.e;
  // Near a multiple of y: below the next one, or above the one that was taken off (no step at 0).
  if (!(period - size > e + y.e) || (quotient > 0 && !(size > e))) {
    marks |= kNearTie;
    e += period;
  }
  return internal::rounded(v, internal::finite(e) ? e : internal::kInfinity, marks);
}

}  // namespace ulpfuzz
