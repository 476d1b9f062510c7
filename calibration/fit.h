#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/calibrate.h"
#include "ir/verdict.h"

namespace ulpfuzz {

// How far correct systems lie from the legal executions that model them: what judge/model.h's
// kMisfit and kMargin are chosen by. Of every tensor of a clean run that was tested against legal
// executions, log(RMS error / RMS error of a legal execution), by freedom set, rung and what the
// tensor is.
class FitCount {
 public:
  void add(const Verdict& verdict, const std::string& freedom);
  std::vector<FitResult> results() const;

 private:
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> log_ratios_;
};

}  // namespace ulpfuzz
