#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
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

// fake = real: what a system of layouts alone (FakeTensorMode) says of each result against what
// eager's kernels gave: dtype, shape, strides of dimensions of more than one element, offset,
// storage; gradients too.
void fake_facts(const Run& fake, const Run& eager, const std::string& rung,
                std::vector<Fact>& facts);

// Two executions of the same input set in one process.
void determinism_facts(const Run& run, const std::string& rung, std::vector<Fact>& facts);

// The attention kernels that a run attests in a pass ("forward", "backward"): the fused ones that
// were seen, else the math path, which a compiler takes apart into products and a softmax of its
// own.
std::vector<SdpaKernel> attention_kernels(const Run& run, std::string_view phase = "forward");
// What was asked for against what ran, under a choice of kernels. `accepting`: kernels of the list
// of which an eager run, with nothing else in the list, shows that they take the whole program.
// Eager is held against the list: a kernel outside, or, where the order has priority, one behind an
// accepting one. Another system is held against eager and then against the list.
void kernel_facts(const Run& run, const Run& eager, bool is_eager, const Case& c,
                  const std::vector<SdpaKernel>& accepting, const std::string& rung,
                  std::vector<Fact>& facts);
// Kernels of the list, in order of priority, of which kernel_facts needs to know whether they
// accept: those before one that ran.
std::vector<SdpaKernel> passed_over(const Run& run, const Case& c);

// Layouts of the attention kernels' tensors: results, and what a backward kernel was given.
std::vector<KernelTensorRow> kernel_rows(const Run& run, const Run& eager);

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
// `must_be_finite`: of an element of which the bound says nothing, is it a number in every legal
// execution? Asked where the exact value is one and the result is none; without it such an element
// is left alone.
ElementCheck check_elements(const TensorResult& result, const TensorResult* eager,
                            const ExactTensor& exact, const std::string& rung,
                            std::vector<Fact>& facts,
                            const std::function<bool(std::size_t)>& must_be_finite = nullptr);

}  // namespace ulpfuzz
