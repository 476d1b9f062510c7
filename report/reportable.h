#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace ulpfuzz {

// One thing that a maintainer would ask first, and what was found.
struct Check {
  enum class Outcome : std::uint8_t {
    kPassed,
    kFailed,
    kNotChecked,   // no run or value there is says it
    kDoesNotApply  // the finding is not of this sort
  };
  std::string what;  // "default tolerances"
  Outcome outcome = Outcome::kNotChecked;
  std::string detail = {};  // the numbers, or why it was not checked
  bool required = true;     // stands in the way of a report unless it passed or does not apply
};
std::string_view name(Check::Outcome outcome);  // "passed"

// Whether a finding is fit to be reported: every required check passed or does not apply. Nothing
// is said that was not checked on the finding's own runs, exact values and second looks.
struct Reportable {
  bool yes = false;
  std::vector<Check> checks;
};
Reportable reportable(const Finding& finding, const OpTable& table);
// Is a second look (Finding::looks) all that it lacks? Then it is worth one.
bool worth_a_second_look(const Finding& finding, const OpTable& table);

}  // namespace ulpfuzz
