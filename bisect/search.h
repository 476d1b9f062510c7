#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>

namespace ulpfuzz {

// What a place of an ordered list (releases, stages) says of the finding.
enum class Answer {
  kPasses,
  kFails,
  kUntestable,  // it cannot be run there, or fails otherwise: no answer to this question
};

// Where the answer changes between neighbours, as far as places between them can be tested.
struct Change {
  std::size_t before = 0, after = 0;  // before < after; between them all are untestable
  bool begins = true;                 // passes before and fails after; false: it ends there
};

struct Search {
  std::map<std::size_t, Answer> answers;  // of every place that was asked
  std::optional<Change> change;           // nothing: all that was asked gives one answer
  std::optional<Answer> throughout;       // that answer, if there was one
};

// Asks the ends of a list of `n` places, then halves the interval between two that differ until its
// ends are neighbours but for untestable places. A place that is untestable is replaced by the
// nearest one that is not. With more than one change in the list, one of them is found. The last
// place is asked first. At most about log2 n + 2 questions where all can be tested.
Search find_change(std::size_t n, const std::function<Answer(std::size_t)>& ask);

// Of a list whose places were all asked: the first place that fails and the last testable one
// before it. Nothing where no place fails, or none before the first that does passes.
std::optional<Change> first_failing(const std::map<std::size_t, Answer>& answers);

}  // namespace ulpfuzz
