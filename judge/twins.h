#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/relation.h"

// The parts of relations: rules that rewrite a case into its twin, and comparisons of two runs.
namespace ulpfuzz {

// ---- twins: another circumstance or layout (relation_twins.cc) --------------------------------
std::vector<Twins> warm_caches(const Related& related);
std::vector<Twins> other_dynamic(const Related& related);
std::vector<Twins> other_kernels(const Related& related);
std::vector<Twins> other_layout(const Related& related);

// ---- twins: another program (relation_programs.cc) --------------------------------------------
std::vector<Twins> repeated_kv(const Related& related);
std::vector<Twins> masked_attention(const Related& related);
std::vector<Twins> permuted_batch(const Related& related);
std::vector<Twins> equal_random(const Related& related);

// Every node gives the same bits wherever its operands lie and however work is split: it moves
// elements, or each result is one correctly rounded function of its operands. Of a compiler only
// where nothing may be kept wider or contracted, on a CPU.
bool is_exact_pointwise(const Case& c, bool is_eager, const OpTable& table);

// Near a tie its result jumps: rounding may legally fall either way.
bool is_discontinuous(const Case& c, const OpTable& table);

// For each input, whether its dimension 0 is a batch through which nothing flows from one entry to
// another, and likewise for each output; nullopt when the program is not known to be so.
struct BatchAxis {
  std::vector<bool> inputs, outputs;
};
std::optional<BatchAxis> batch_axis(const Case& bound, const OpTable& table);

// ---- comparisons (compare_twins.cc) -----------------------------------------------------------
// A result that differs in two runs.
struct Unequal {
  std::string tensor;
  std::string what;  // "differs in 3 of 64 elements: 1.5 and 1.25 at [7], on input set 0"
  int others = 0;    // results beside this one
};
std::optional<Unequal> unequal_bits(const Run& one, const Run& other, bool gradients);

// The runs that tell how far two forms may be apart: eager's, on the rung that is judged and in
// float64 on the same numbers. The other form's may be missing.
struct SpreadRuns {
  const Run* one = nullptr;
  const Run* other = nullptr;
  const Run* eager_one = nullptr;
  const Run* eager_other = nullptr;
  const Run* wide_one = nullptr;
  const Run* wide_other = nullptr;
};
// How far apart two forms are, in units of what both spread: of each, eager's distance to float64
// and an ulp. The upper quartile over the elements, so that a few that fell the other way do not
// count; the least over the input sets.
struct Apart {
  std::string tensor;
  double ratio = 0;        // of the system
  double eager_ratio = 0;  // of eager's own two forms
  double wide_ratio = 0;   // of its two forms in float64: not small: the forms are not one value
  double one_off = 0, other_off = 0;  // from float64
  int sets = 0;
};
std::vector<Apart> apart(const SpreadRuns& runs);

}  // namespace ulpfuzz
