#include "judge/e_process.h"

#include <algorithm>

namespace ulpfuzz {

namespace model = judge_model;

void EProcess::add(double x) {
  const double clipped = x > -1 ? std::min(x, model::kLargestExcess) : -1.0;  // of NaN: -1
  const double gain = (clipped - kMostMean) / (1 + kMostMean);                // at least -1
  for (std::size_t i = 0; i < wealth_.size(); ++i) wealth_[i] *= 1 + model::kBets[i] * gain;
}

double EProcess::value() const {
  double sum = 0;
  for (const double wealth : wealth_) sum += wealth;
  return sum / static_cast<double>(wealth_.size());
}

}  // namespace ulpfuzz
