#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/case.h"
#include "ir/verdict.h"

namespace ulpfuzz {

// An alarm of the judge against a system, as far as it tells alarms apart.
struct AlarmKey {
  Signature signature;
  std::string place;                // what it is about, see place_of
  std::string case_hash;            // of the case that raised it
  std::set<std::string> operators;  // of the case reduced to a fixpoint; empty: it was not reduced
};

// "output", "gradient", "written input", or "run" where no tensor is named: of the first fact that
// names the verdict.
std::string place_of(const Verdict& verdict);
std::string place_of_tensor(const std::string& tensor);
std::set<std::string> operators_of(const Program& program);

// What a person found when looking into an alarm.
struct Adjudication {
  AlarmKey key;  // with either a case or operators
  bool real = false;
  std::string why;
};

// The committed file: an array of objects
//
//   {"system": "inductor", "verdict": "wrong", "sort": "", "place": "output",
//    "operators": ["aten.argmin.default"], "adjudged": "real", "why": "..."}
//
// with, in place of "operators", "case" and a case's SHA-256 (schema:
// calibration/adjudicated.schema.json).
//
// An entry must not hide an alarm that nobody has seen. System, verdict, sort (Signature::detail)
// and place must be equal, all of them; and then the case, or the whole set of operators of the
// alarm's *reduced* program: what is left there is what the failure needs, while a generated
// program that merely contains the operators may fail for another reason.
class Adjudications {
 public:
  Adjudications() = default;
  // Throws Error with the place in the file: not an array, an unknown, missing or mistyped member,
  // a verdict that is no finding, both or neither of "case" and "operators", an entry twice.
  static Adjudications parse(std::string_view text, const std::string& place);
  static Adjudications read(const std::string& path);

  // The entry that says what this alarm is; null: nobody has looked.
  const Adjudication* find(const AlarmKey& alarm) const;
  const std::vector<Adjudication>& entries() const { return entries_; }

 private:
  std::vector<Adjudication> entries_;
};

}  // namespace ulpfuzz
