#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "oracle/running.h"

namespace ulpfuzz {

// An accumulator: the sum of what was added, with the error of a system that adds n terms in an
// order of its own, at ErrorModel's unit u.
//
//   kBound  sum e_i + (n-1) u sum |x_i|        any order, n u with products (Higham, section 4.2)
//   kRms    sqrt(sum e_i^2 + u^2 n sum x_i^2)  a random walk. The factor c = 0.3 that fits real
//           kernels is not in here: it is FreedomSet::noise, by which legal executions multiply
//           every local error, once.
//
// Terms that are exact multiples of 2^-10 and whose magnitudes sum to less than 2^-10/u have exact
// partial sums in every order, so counts and sums of small integers are exact.
template <class T>
class Sum;

template <>
class Sum<double> {  // Neumaier's compensated sum
 public:
  void add(double x) {
    const double s = sum_ + x;
    rest_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - s) + x : (x - s) + sum_;
    sum_ = s;
  }
  void add_product(double a, double b) { add(a * b); }
  void assume_rounded() {}
  double total() const {
    const double s = sum_ + rest_;
    return std::isnan(s) ? sum_ : s;  // the compensation of an infinity is NaN
  }

 private:
  double sum_ = 0, rest_ = 0;
};

template <class B>
class Sum<Running<B>> {
 public:
  void add(const Running<B>& x) {
    const double size = internal::is_finite(x.v) ? std::fabs(base::narrow(x.v)) : 0;
    sum_ += x.v;
    include(size, x.e, x.marks);
    exact_ = exact_ && x.e == 0 && on_grid(x.v);
  }
  void add_product(const Running<B>& a, const Running<B>& b) {
    const B p = a.v * b.v;
    const double size = internal::is_finite(p) ? std::fabs(base::narrow(p)) : 0;
    sum_ += p;
    double e = 0;
    if (a.e != 0 || b.e != 0) {
      const double x = std::fabs(base::narrow(a.v)) * b.e, y = std::fabs(base::narrow(b.v)) * a.e;
      e = bound_ ? x + y + a.e * b.e : std::hypot(x, y);
      if (!internal::is_finite(p)) e = internal::nonfinite(p, a, b).e;
    }
    include(size, e, static_cast<std::uint8_t>(a.marks | b.marks));
    exact_ = exact_ && e == 0 && on_grid(p);
    products_ = 1;
  }

  // The system does not just add up: Welford's means, for one, have partial results of their own.
  void assume_rounded() { exact_ = false; }

  // The state after `count` finite products, from sums that were made elsewhere
  // (oracle/product.cc): of the products, of what include() adds up for each, and whether all of
  // them are on the grid.
  static Sum of_products(const B& sum, double sizes, double errors, std::int64_t count,
                         std::uint8_t marks, bool exact) {
    Sum all;
    all.sum_ = sum, all.sizes_ = sizes, all.errors_ = errors, all.count_ = count;
    all.products_ = count > 0 ? 1 : 0, all.marks_ = marks, all.exact_ = exact;
    return all;
  }
  static constexpr int kGridBits = 10;

  Running<B> total() const {
    const ErrorModel& model = ErrorModel::current();
    if (!internal::is_finite(sum_)) {
      // Beside an infinity the finite terms may come to the other one, which makes a NaN.
      if (base::is_inf(sum_) && may_overflow(model)) {
        return {sum_, internal::kInfinity, static_cast<std::uint8_t>(marks_ | kRange)};
      }
      return {sum_, internal::finite(errors_) ? 0 : internal::kInfinity, marks_};
    }
    if (!internal::finite(errors_)) return {sum_, internal::kInfinity, marks_};
    // A partial sum may overflow in another order.
    if (may_overflow(model)) {
      return {sum_, internal::kInfinity,
              static_cast<std::uint8_t>(marks_ | internal::range_mark(size(), model.max_finite))};
    }
    if (exact_ && size() * kGrid * model.unit <= 1) return {sum_, 0, marks_};
    const double n = static_cast<double>(count_ - 1 + products_);
    const double tiny = sizes_ > 0 && products_ ? n * model.min_subnormal : 0;
    if (bound_) {
      const double size = std::fabs(base::narrow(sum_));
      const double flushed = size < model.min_normal ? size : 0;
      return {sum_, errors_ + n * model.unit * (sizes_ + errors_) + tiny + flushed, marks_};
    }
    return {sum_, std::sqrt(errors_ + model.unit * model.unit * n * sizes_), marks_};
  }

 private:
  static constexpr double kGrid = 1 << kGridBits;
  static bool on_grid(const B& x) {
    const double near = base::narrow(x), scaled = near * kGrid;
    return std::fabs(scaled) < 0x1p53 && B(near) == x &&
           static_cast<double>(static_cast<std::int64_t>(scaled)) == scaled;
  }
  // What the magnitudes of the finite terms come to at most; kRms: by the mean of their squares.
  double size() const { return bound_ ? sizes_ : std::sqrt(static_cast<double>(count_) * sizes_); }
  bool may_overflow(const ErrorModel& model) const {
    const double error = bound_ ? errors_ : std::sqrt(errors_);
    return internal::finite(errors_) && !(size() + error <= model.max_finite);
  }
  // `size`: of a finite term, and infinite where that lies beyond double.
  void include(double size, double e, std::uint8_t marks) {
    ++count_;
    marks_ |= marks;
    if (bound_) {
      sizes_ += size;
      errors_ += e;
    } else {
      sizes_ += size * size;
      errors_ += e * e;
    }
  }

  B sum_{0};
  double sizes_ = 0, errors_ = 0;  // of magnitudes, errors; kRms: of their squares
  std::int64_t count_ = 0;
  int products_ = 0;
  std::uint8_t marks_ = 0;
  bool exact_ = true;
  bool bound_ = ErrorModel::current().mode == ErrorMode::kBound;
};

}  // namespace ulpfuzz
