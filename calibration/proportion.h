#pragma once

#include <cstdint>

namespace ulpfuzz {

// A rate that was seen, `count` of `of`, with an interval that covers the true rate with
// probability `confidence` at least (Clopper and Pearson, The use of confidence or fiducial limits
// illustrated in the case of the binomial, Biometrika 26, 1934), where the trials are independent.
// Of nothing: 0 to 1.
struct Proportion {
  std::int64_t count = 0, of = 0;
  double rate = 0, low = 0, high = 1;
};
// Throws Error unless 0 <= count <= of and 0 < confidence < 1.
Proportion proportion(std::int64_t count, std::int64_t of, double confidence = 0.95);

// What is counted on the way to a Proportion.
struct Tally {
  std::int64_t count = 0, of = 0;
  void add(bool hit) {
    count += hit;
    ++of;
  }
  Proportion rate() const { return proportion(count, of); }
};

}  // namespace ulpfuzz
