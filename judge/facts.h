#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "ir/verdict.h"
#include "oracle/oracle.h"

// The parts of an assessment. Each function looks at one aspect of a system's run beside eager's
// run of the same request and appends what it establishes. `rung` is the label of the ladder's
// rung.
namespace ulpfuzz {

// Crashes, hangs, exceptions. True when the run has results worth looking at further.
bool event_facts(const Run& run, const Run& eager, const std::string& rung,
                 std::vector<Fact>& facts);
// Eager alone: only its own crash or hang is a fact; an exception means the case is not valid.
bool eager_event_facts(const Run& eager, const std::string& rung, std::vector<Fact>& facts);

// dtype, shape, strides, alias and presence of each result, against eager's.
void metadata_facts(const Execution& execution, const Execution& eager, const std::string& rung,
                    std::vector<Fact>& facts);

// Two executions of the same input set in one process.
void determinism_facts(const Run& run, const std::string& rung, std::vector<Fact>& facts);

// Which attention kernel a run attests: the fused kernel that the profiler saw, else "math".
std::string attention_kernel(const Run& run, std::string_view phase);
// The kernel that was asked for against the one that ran. Silent for programs without attention.
void kernel_facts(const Run& run, const Run& eager, const Case& c, const std::string& rung,
                  std::vector<Fact>& facts);

// The module's eager run against that of its captured program, to the bit.
void capture_facts(const Run& module, const Run& program, const std::string& rung,
                   std::vector<Fact>& facts);

// One result against the exact value. Eager's own result stands beside it: where eager is outside
// the bound too, the system is not blamed.
struct ElementCheck {
  TensorMeasure measure;
  bool same_as_eager = false;      // bit for bit
  bool comparable = false;         // at least one element could be held against exact
  bool masked_difference = false;  // differs from eager where only masked elements do
  std::uint8_t masked_marks = 0;   // why they are masked
};
ElementCheck check_elements(const TensorResult& result, const TensorResult* eager,
                            const ExactTensor& exact, const std::string& rung,
                            std::vector<Fact>& facts);

// RMS error over the elements that can be compared (and, unless it is empty, that `only` names); 0
// when there is none.
double rms_error(const std::vector<double>& values, const ExactTensor& exact,
                 const std::vector<bool>& only = {});

// RMS error of rounding the exact values to their dtype, over the same elements, as if the errors
// were uniform within half an ulp.
double rounding_error(const ExactTensor& exact, const std::vector<bool>& only = {});

// A tensor's RMS error against those of legal executions, but for elements that are exactly 0 in
// all of them, of which the model knows nothing: x - mean(x) of one element is 0 for an execution
// that subtracts, while x * rstd - mean * rstd, as legal, leaves a residue.
struct Spread {
  std::vector<bool> errs;  // by element: counts
  double mean_log = 0;     // mean of log RMS error of the legal runs
  double sd_log = 0;       // its standard deviation
  double floor = 0;        // RMS of the final rounding: errors below are not told apart
  bool valid = false;      // there is such an element
};
Spread spread(const std::vector<std::vector<double>>& legal, const ExactTensor& exact);
// log(RMS of `values` / legal RMS), both over the elements that count, with the floor added to
// both.
double log_ratio(const std::vector<double>& values, const ExactTensor& exact, const Spread& legal);

}  // namespace ulpfuzz
