#include "calibration/proportion.h"

#include <boost/math/distributions/beta.hpp>
#include <string>

#include "ir/error.h"

namespace ulpfuzz {

Proportion proportion(std::int64_t count, std::int64_t of, double confidence) {
  if (count < 0 || count > of) {
    throw Error("proportion", std::to_string(count) + " of " + std::to_string(of) + " is no share");
  }
  if (!(confidence > 0 && confidence < 1)) throw Error("proportion", "confidence is in (0, 1)");
  Proportion result{count, of};
  if (of == 0) return result;
  const auto hits = static_cast<double>(count), misses = static_cast<double>(of - count);
  const double tail = (1 - confidence) / 2;
  result.rate = hits / static_cast<double>(of);
  using Beta = boost::math::beta_distribution<double>;
  if (count > 0) result.low = quantile(Beta(hits, misses + 1), tail);
  if (count < of) result.high = quantile(complement(Beta(hits + 1, misses), tail));
  return result;
}

}  // namespace ulpfuzz
