#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/case.h"
#include "judge/causes.h"

namespace ulpfuzz {

// Looks for the first intermediate of the forward part that lies outside its bound, or outside
// the spread of its legal executions. First all intermediates are made further outputs of the
// program; a compiler then stores what it would have kept, and may fuse otherwise, so where this
// makes the difference go away the program is cut off after one node instead, at nodes found by
// sectioning (which takes it that what comes after a diverging node diverges too). A half-typed
// case in which nothing is outside is looked at in float32 with the same numbers, too.
class DivergingSearch {
 public:
  DivergingSearch(const Case& c, const SystemSpec& system, std::uint64_t input_set,
                  const OpTable& table);

  struct Step {
    std::vector<RunRequest> requests;  // empty: done
    std::optional<Diverging> first;    // nothing: none was seen
  };
  // `run`: the system's run of the case as it is.
  Step next(const std::vector<Evidence>& evidence, const Execution& run);

  // The system's values of a node's result in the run that showed the first one; null when there
  // is none.
  const TensorResult* shown(const std::vector<Evidence>& evidence, const std::string& node) const;

 private:
  struct Rung;
  struct Outside {
    std::string strength, detail;
  };
  std::optional<Outside> outside(const Case& shown, const Run& run, const Run& eager,
                                 std::size_t output, const std::string& rung);
  const Run* ask(const Case& shown, const SystemSpec& system, const std::vector<Evidence>& evidence,
                 std::vector<RunRequest>& requests) const;
  Step with_all(const Case& c, const std::vector<Evidence>& evidence, const Execution* run);
  Step with_prefixes(const Case& c, const std::vector<Evidence>& evidence);

  Case case_;
  SystemSpec system_;
  std::uint64_t input_set_;
  const OpTable& table_;
  std::map<std::string, std::optional<Outside>> known_;  // by case, and output
};

// The forward part alone, with the results of all nodes that are no views as further outputs;
// `nodes` gets the node of each output, or "" for an input.
Case with_intermediates(const Case& c, const OpTable& table, std::vector<std::string>& nodes);

// The forward part up to a node, whose floating or integral results are the outputs.
Case up_to(const Case& c, const std::string& node, const OpTable& table);

}  // namespace ulpfuzz
