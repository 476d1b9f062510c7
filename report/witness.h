#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace ulpfuzz {

// The fact that names the finding's verdict.
const Fact& leading_fact(const Finding& finding);

// One element of one result that shows a numeric finding.
struct Witness {
  Case shown;          // the minimal case, or its rung on which the fact was seen
  std::string tensor;  // "gradient of x"
  ExactTensor exact;
  std::size_t index =
      0;             // into exact.values (complex: of its real and imaginary parts) or integers
  double value = 0;  // of the system
  std::optional<double> eager;
  // |value - exact| above this is a failure. From the error bound where the fact is beyond it; else
  // half of the error that was seen.
  double allowed = 0;
  bool from_bound = false;

  double exact_value() const;
  bool integral() const { return exact.values.empty(); }
  // Subscripts of the element; of a complex tensor with 0 (real) or 1 (imaginary) at the end.
  std::vector<std::int64_t> subscripts() const;
};

// nullopt for a finding that is not about numbers, or whose numbers are not there.
std::optional<Witness> witness(const Finding& finding, const OpTable& table);

}  // namespace ulpfuzz
