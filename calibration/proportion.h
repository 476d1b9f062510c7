#pragma once

#include <cstdint>

namespace ulpfuzz {

// A rate that was seen, `count` of `of`, with an interval that covers the true rate with
// probability `confidence` at least (Clopper and Pearson, The use of confidence or fiducial limits
// illustrated in the case of the binomial, Biometrika 26, 1934). Of nothing: 0 to 1.
struct Proportion {
  std::int64_t count = 0, of = 0;
  double rate = 0, low = 0, high = 1;
};
Proportion proportion(std::int64_t count, std::int64_t of, double confidence = 0.95);

}  // namespace ulpfuzz
