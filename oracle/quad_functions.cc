#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/acosh.hpp>
#include <boost/math/special_functions/asinh.hpp>
#include <boost/math/special_functions/atanh.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <limits>

#include "oracle/base_math.h"

namespace ulpfuzz::base {

namespace {

namespace bm = boost::math;
namespace mp = boost::multiprecision;

using Quiet =
    bm::policies::policy<bm::policies::domain_error<bm::policies::ignore_error>,
                         bm::policies::pole_error<bm::policies::ignore_error>,
                         bm::policies::overflow_error<bm::policies::ignore_error>,
                         bm::policies::evaluation_error<bm::policies::ignore_error>,
                         bm::policies::rounding_error<bm::policies::ignore_error>,
                         bm::policies::promote_double<false>, bm::policies::promote_float<false>>;

const Quad kInf = std::numeric_limits<Quad>::infinity();
const Quad kNaN = std::numeric_limits<Quad>::quiet_NaN();

bool finite(const Quad& x) { return !is_nan(x) && !is_inf(x); }
// An angle within a turn of 0 that has the same sine. Quad's own reduction runs out of digits of pi
// for large angles; this one has them for all that fit a double.
Quad reduced(const Quad& x) {
  if (mp::fabs(x) < 64) return x;
  using Wide = mp::number<mp::cpp_bin_float<1280, mp::digit_base_2>, mp::et_off>;
  static const Wide turn = 8 * mp::atan(Wide(1));
  return static_cast<Quad>(mp::fmod(Wide(x), turn));
}

bool odd(const Quad& whole) { return mp::fmod(whole, Quad(2)) != 0; }
bool is_pole(const Quad& x) { return x <= 0 && mp::floor(x) == x; }

}  // namespace

double lgamma(double x) {
  int sign = 0;  // lgamma itself writes a global
  return lgamma_r(x, &sign);
}
double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(x) || (x < 0 && std::floor(x) == x))
    return std::numeric_limits<double>::quiet_NaN();
  return bm::digamma(x, Quiet());
}
double trigamma(double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  if (x <= 0 && std::floor(x) == x) return std::numeric_limits<double>::infinity();
  return bm::trigamma(x, Quiet());
}

double narrow(const Quad& x) { return static_cast<double>(x); }

Quad abs(const Quad& x) { return mp::fabs(x); }
Quad sqrt(const Quad& x) { return x < 0 ? kNaN : mp::sqrt(x); }
Quad exp(const Quad& x) {
  if (is_inf(x)) return x > 0 ? kInf : Quad(0);
  return mp::exp(x);
}
Quad exp2(const Quad& x) {
  if (is_inf(x)) return x > 0 ? kInf : Quad(0);
  return mp::pow(Quad(2), x);
}
Quad expm1(const Quad& x) {
  if (is_inf(x)) return x > 0 ? kInf : Quad(-1);
  if (is_nan(x) || x == 0) return x;
  return bm::expm1(x, Quiet());
}
Quad log(const Quad& x) {
  if (is_nan(x) || x < 0) return kNaN;
  if (x == 0) return -kInf;
  if (is_inf(x)) return kInf;
  return mp::log(x);
}
Quad log2(const Quad& x) {
  const Quad y = log(x);
  return finite(x) && x > 0 ? mp::log2(x) : y;
}
Quad log10(const Quad& x) {
  const Quad y = log(x);
  return finite(x) && x > 0 ? mp::log10(x) : y;
}
Quad log1p(const Quad& x) {
  if (is_nan(x) || x < -1) return kNaN;
  if (x == -1) return -kInf;
  if (is_inf(x) || x == 0) return x;
  return bm::log1p(x, Quiet());
}
Quad sin(const Quad& x) { return finite(x) ? Quad(mp::sin(reduced(x))) : kNaN; }
Quad cos(const Quad& x) { return finite(x) ? Quad(mp::cos(reduced(x))) : kNaN; }
Quad tan(const Quad& x) { return finite(x) ? Quad(mp::tan(reduced(x))) : kNaN; }
Quad asin(const Quad& x) { return !(mp::fabs(x) <= 1) ? kNaN : Quad(mp::asin(x)); }
Quad acos(const Quad& x) { return !(mp::fabs(x) <= 1) ? kNaN : Quad(mp::acos(x)); }
Quad atan(const Quad& x) { return is_nan(x) ? x : Quad(mp::atan(x)); }
Quad sinh(const Quad& x) { return finite(x) ? Quad(mp::sinh(x)) : x; }
Quad cosh(const Quad& x) { return finite(x) ? Quad(mp::cosh(x)) : Quad(mp::fabs(x)); }
Quad tanh(const Quad& x) {
  if (is_nan(x) || x == 0) return x;
  if (mp::fabs(x) > 100) return x > 0 ? Quad(1) : Quad(-1);
  return mp::tanh(x);
}
Quad asinh(const Quad& x) { return finite(x) && x != 0 ? Quad(bm::asinh(x, Quiet())) : x; }
Quad acosh(const Quad& x) {
  if (!(x >= 1)) return kNaN;
  return is_inf(x) ? x : Quad(bm::acosh(x, Quiet()));
}
Quad atanh(const Quad& x) {
  if (!(mp::fabs(x) <= 1)) return kNaN;
  if (mp::fabs(x) == 1) return x * kInf;
  return x == 0 ? x : Quad(bm::atanh(x, Quiet()));
}
Quad erf(const Quad& x) {
  if (is_nan(x) || x == 0) return x;
  return is_inf(x) ? Quad(x > 0 ? 1 : -1) : Quad(bm::erf(x, Quiet()));
}
Quad erfc(const Quad& x) {
  if (is_nan(x)) return x;
  return is_inf(x) ? Quad(x > 0 ? 0 : 2) : Quad(bm::erfc(x, Quiet()));
}
Quad lgamma(const Quad& x) {
  if (is_nan(x)) return x;
  return is_inf(x) || is_pole(x) ? kInf : Quad(bm::lgamma(x, Quiet()));
}
Quad digamma(const Quad& x) {
  if (x == 0) return sign_bit(x) ? kInf : -kInf;
  if (is_inf(x)) return x > 0 ? kInf : kNaN;
  return is_nan(x) || is_pole(x) ? kNaN : Quad(bm::digamma(x, Quiet()));
}
Quad trigamma(const Quad& x) {
  if (is_nan(x)) return x;
  if (is_inf(x)) return x > 0 ? Quad(0) : kNaN;
  return is_pole(x) ? kInf : Quad(bm::trigamma(x, Quiet()));
}
Quad floor(const Quad& x) { return finite(x) ? Quad(mp::floor(x)) : x; }
Quad ceil(const Quad& x) { return finite(x) ? Quad(mp::ceil(x)) : x; }
Quad trunc(const Quad& x) { return finite(x) ? Quad(mp::trunc(x)) : x; }
Quad round_even(const Quad& x) {
  if (!finite(x)) return x;
  const Quad low = mp::floor(x), rest = x - low;
  if (rest < 0.5) return low;
  if (rest > 0.5) return low + 1;
  return odd(low) ? Quad(low + 1) : low;
}

// C's rules at zeros, infinities and negative bases, by way of double where both agree on them.
Quad pow(const Quad& x, const Quad& y) {
  if (y == 0 || x == 1) return Quad(1);
  if (is_nan(x) || is_nan(y)) return kNaN;
  if (x == 0 || is_inf(x) || is_inf(y)) {
    const double a = x == 0      ? (sign_bit(x) ? -0.0 : 0.0)
                     : is_inf(x) ? narrow(x)
                     : x < 0     ? (x > -1    ? -0.5
                                    : x == -1 ? -1.0
                                              : -2.0)
                                 : (x < 1 ? 0.5 : 2.0);
    const bool whole = !is_inf(y) && mp::trunc(y) == y;
    const double size = is_inf(y) ? std::numeric_limits<double>::infinity()
                        : whole   ? (odd(y) ? 3.0 : 2.0)
                                  : 2.5;
    return Quad(std::pow(a, y < 0 ? -size : size));
  }
  if (x < 0) {
    if (mp::trunc(y) != y) return kNaN;
    const Quad size = mp::pow(Quad(-x), y);
    return odd(y) ? Quad(-size) : size;
  }
  return mp::pow(x, y);
}
Quad atan2(const Quad& y, const Quad& x) {
  if (is_nan(x) || is_nan(y)) return kNaN;
  const Quad pi = mp::acos(Quad(-1));
  if (is_inf(x) || is_inf(y) || x == 0 || y == 0) {
    // Multiples of pi/4, which double's atan2 tells apart.
    const double eighths = std::atan2(narrow(y), narrow(x)) / 0.7853981633974483;
    return pi * Quad(std::nearbyint(eighths)) / 4;
  }
  return mp::atan2(y, x);
}
Quad fmod(const Quad& x, const Quad& y) {
  if (is_nan(x) || is_nan(y) || is_inf(x) || y == 0) return kNaN;
  if (is_inf(y) || x == 0) return x;
  // Exact: the quotient is taken off a piece at a time, largest first.
  const Quad size = mp::fabs(y);
  Quad rest = mp::fabs(x);
  while (rest >= size) {
    int high = 0, low = 0;
    mp::frexp(rest, &high);
    mp::frexp(size, &low);
    Quad piece = mp::ldexp(size, high - low);
    if (piece > rest) piece = mp::ldexp(piece, -1);
    rest -= piece;
  }
  return x < 0 ? Quad(-rest) : rest;
}

}  // namespace ulpfuzz::base
