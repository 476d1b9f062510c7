#pragma once

#include <memory>
#include <string>

#include "ir/case.h"
#include "ir/op_row.h"
#include "judge/assess.h"
#include "judge/judge.h"

namespace ulpfuzz {

// One rung of the precision ladder: a case, its label (the narrowest floating dtype), the exact
// values and legal executions.
struct Rung {
  Rung(Case c, const OpTable& table, int legal_runs);
  Case test;
  std::string label;
  Reference reference;
};

// The case as it came, and above.
class Rungs {
 public:
  Rungs(const Case& c, const OpTable& table, int legal_runs);
  const OpTable& table() const { return table_; }
  Rung& base() { return base_; }
  Rung& float32();

 private:
  const OpTable& table_;
  int legal_runs_;
  Rung base_;
  std::unique_ptr<Rung> float32_;
};

// The rungs of a case and, where a system can be asked for no more, of its forward part, with all
// that was ever evaluated on them: it does not depend on evidence.
class Judge::Ladder {
 public:
  Ladder(const Case& c, const OpTable& table, int legal_runs);
  Rungs& of(const SystemSpec& system);

 private:
  const OpTable& table_;
  int legal_runs_;
  Rungs whole_;
  std::unique_ptr<Rungs> forward_;
};

}  // namespace ulpfuzz
