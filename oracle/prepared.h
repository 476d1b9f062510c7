#pragma once

#include <optional>
#include <vector>

#include "oracle/kernel.h"
#include "oracle/plan.h"
#include "oracle/tensor.h"

namespace ulpfuzz {

// A plan that is evaluated again and again in double, without roundings or errors, in tensors that
// were allocated once: a few hundred nanoseconds a step where interpret() takes microseconds.
//
// Refers to the plan, which must outlive it.
class Prepared {
 public:
  // `inputs` in the order of the program's. Their storage is kept and shared: what is written into
  // them before run() is what it evaluates. In-place operators write into them.
  Prepared(const Plan& plan, std::vector<Tensor<double>> inputs);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  // Values of all slots, good until the next run().
  const std::vector<Tensor<double>>& run();
  const std::vector<Tensor<double>>& values() const { return values_; }

 private:
  struct Step {
    const Plan::Step* step;
    std::optional<Kernel<double>> kernel;
    std::vector<Tensor<double>> results;  // allocated; a view is assigned over them
  };
  void bind(Step& step);

  std::vector<Tensor<double>> values_;
  std::vector<Step> steps_;
  bool bound_ = false;
};

}  // namespace ulpfuzz
