#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "oracle/plan.h"

namespace ulpfuzz {

// One result that a system returns, and where the oracle finds it.
struct WantedResult {
  TensorResult::Role role;
  std::string name;
  TensorType type;
  int slot = Plan::kNone;  // kNone: a gradient that is not there
};

// A case made ready for evaluation: sizes bound, differentiated when gradients are wanted.
class Task {
 public:
  enum class Form {
    kAsWritten,   // in-place operators write; only for cases without `wrt`
    kFunctional,  // no mutation
  };
  // Throws Error when the case does not verify. Without `wrt` the form is as asked for.
  Task(const Case& lowered, const OpTable& table, Form form);

  const Case& bound() const { return case_; }
  const Plan& plan() const { return *plan_; }
  const std::vector<WantedResult>& results() const { return results_; }  // in a Run's order
  const std::vector<TensorType>& input_types() const { return input_types_; }

 private:
  void add_forward(const std::vector<Ref>& refs, std::size_t outputs,
                   const std::vector<std::string>& written);
  Case case_;
  Program program_;  // what is evaluated
  std::unique_ptr<Plan> plan_;
  std::vector<WantedResult> results_;
  std::vector<TensorType> input_types_;  // inputs, then cotangents
};

}  // namespace ulpfuzz
