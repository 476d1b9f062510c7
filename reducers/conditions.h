#pragma once

#include <string>
#include <vector>

#include "ir/case.h"
#include "reducers/origin.h"

// What must hold of a case's dimensions (fields of a model, sizes of a program) for it to fail: the
// simplest conditions that the cases which were tried allow. No more than that is claimed.
namespace ulpfuzz {

struct Observation {
  OriginFields values;
  bool fails = false;
};

// The nearest value of one dimension, all others kept, with which the case passes.
struct Neighbour {
  std::string dimension;
  ConfigValue own, passes;
};

struct Conditions {
  std::vector<std::string> any;      // dimensions that failed with every value tried
  std::vector<std::string> only_if;  // "kv_heads < heads", "length % 128 == 64", "rope is true"
  std::vector<Neighbour> neighbours;
  int failing = 0, passing = 0;  // observations
  int unexplained = 0;           // passing ones that break no condition
};

// Values of a dimension worth trying next, given what was seen of it with all others kept. Of an
// integer first its neighbours, its double, half and `least`; where these differ, steps of powers
// of two for a residue, and the middle between a value that passes and one that fails. Empty: no
// more.
std::vector<ConfigValue> next_probes(const std::string& dimension, const OriginFields& own,
                                     const std::vector<Observation>& seen,
                                     const std::optional<ConfigValue>& least);

// Equality, comparison, divisibility and residues of single dimensions, comparison and divisibility
// of pairs: of all that hold for every failing observation, greedily the fewest and simplest that
// every passing one breaks.
Conditions fit_conditions(const OriginFields& own, const std::vector<Observation>& seen);

// "fails for any seed and vocab_size, only if num_key_value_heads < num_attention_heads and length
// % 128 == 64"
std::string sentence(const Conditions& conditions);

std::string to_text(const ConfigValue& value);

}  // namespace ulpfuzz
