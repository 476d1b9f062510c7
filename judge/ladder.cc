#include "judge/ladder.h"

#include <utility>

#include "judge/rung.h"
#include "systems/kinds.h"

namespace ulpfuzz {

Rung::Rung(Case c, const OpTable& table, int legal_runs)
    : test(std::move(c)),
      label(name(narrowest_floating(test))),
      reference(test, table, legal_runs) {}

Rungs::Rungs(const Case& c, const OpTable& table, int legal_runs)
    : table_(table), legal_runs_(legal_runs), base_(c, table, legal_runs) {}

Rung& Rungs::float32() {
  if (!float32_) {
    float32_ =
        std::make_unique<Rung>(at_rung(base_.test, DType::kFloat32, table_), table_, legal_runs_);
  }
  return *float32_;
}

Judge::Ladder::Ladder(const Case& c, const OpTable& table, int legal_runs)
    : table_(table), legal_runs_(legal_runs), whole_(c, table, legal_runs) {}

Rungs& Judge::Ladder::of(const SystemSpec& system) {
  const Case& whole = whole_.base().test;
  const Case part = asked_of(system, whole);
  if (part == whole) return whole_;
  if (!forward_) forward_ = std::make_unique<Rungs>(part, table_, legal_runs_);
  return *forward_;
}

}  // namespace ulpfuzz
