#pragma once

#include <cmath>

#include "oracle/scalar.h"

// Functions of the two types of real numbers that the oracle computes in. Those of Quad, and the
// special functions of double, are defined in quad_functions.cc, since Boost's templates take long
// to compile. Outside a domain the results are C's (NaN, infinities), never exceptions.
namespace ulpfuzz::base {

inline double abs(double x) { return std::fabs(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double exp(double x) { return std::exp(x); }
inline double exp2(double x) { return std::exp2(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log2(double x) { return std::log2(x); }
inline double log10(double x) { return std::log10(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double tan(double x) { return std::tan(x); }
inline double asin(double x) { return std::asin(x); }
inline double acos(double x) { return std::acos(x); }
inline double atan(double x) { return std::atan(x); }
inline double sinh(double x) { return std::sinh(x); }
inline double cosh(double x) { return std::cosh(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double asinh(double x) { return std::asinh(x); }
inline double acosh(double x) { return std::acosh(x); }
inline double atanh(double x) { return std::atanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double erfc(double x) { return std::erfc(x); }
double lgamma(double x);    // log |Gamma(x)|; +inf at 0, -1, -2, ...
double digamma(double x);   // copysign(inf, -x) at 0, NaN at -1, -2, ... as ATen
double trigamma(double x);  // +inf at 0, -1, -2, ...
inline double floor(double x) { return std::floor(x); }
inline double ceil(double x) { return std::ceil(x); }
inline double trunc(double x) { return std::trunc(x); }
inline double round_even(double x) { return std::nearbyint(x); }
inline double pow(double x, double y) { return std::pow(x, y); }
inline double atan2(double y, double x) { return std::atan2(y, x); }
inline double fmod(double x, double y) { return std::fmod(x, y); }

Quad abs(const Quad& x);
Quad sqrt(const Quad& x);
Quad exp(const Quad& x);
Quad exp2(const Quad& x);
Quad expm1(const Quad& x);
Quad log(const Quad& x);
Quad log2(const Quad& x);
Quad log10(const Quad& x);
Quad log1p(const Quad& x);
Quad sin(const Quad& x);
Quad cos(const Quad& x);
Quad tan(const Quad& x);
Quad asin(const Quad& x);
Quad acos(const Quad& x);
Quad atan(const Quad& x);
Quad sinh(const Quad& x);
Quad cosh(const Quad& x);
Quad tanh(const Quad& x);
Quad asinh(const Quad& x);
Quad acosh(const Quad& x);
Quad atanh(const Quad& x);
Quad erf(const Quad& x);
Quad erfc(const Quad& x);
Quad lgamma(const Quad& x);
Quad digamma(const Quad& x);
Quad trigamma(const Quad& x);
Quad floor(const Quad& x);
Quad ceil(const Quad& x);
Quad trunc(const Quad& x);
Quad round_even(const Quad& x);
Quad pow(const Quad& x, const Quad& y);
Quad atan2(const Quad& y, const Quad& x);
Quad fmod(const Quad& x, const Quad& y);

inline double narrow(double x) { return x; }
double narrow(const Quad& x);  // to nearest; overflow to infinity, subnormals kept
inline bool is_nan(double x) { return std::isnan(x); }
inline bool is_nan(const Quad& x) { return (boost::multiprecision::isnan)(x); }
inline bool is_inf(double x) { return std::isinf(x); }
inline bool is_inf(const Quad& x) { return (boost::multiprecision::isinf)(x); }
inline bool sign_bit(double x) { return std::signbit(x); }
inline bool sign_bit(const Quad& x) { return (boost::multiprecision::signbit)(x) != 0; }

}  // namespace ulpfuzz::base
