#pragma once

#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "ir/verdict.h"
#include "oracle/oracle.h"
#include "reducers/reducer.h"

namespace ulpfuzz {

// One thing changed in the case as it came, and what became of the finding.
struct Variation {
  std::string what;     // "set_priority"
  std::string change;   // "on -> off"
  bool fails = false;   // in the same way: equal signature
  std::string verdict;  // of the system, with the change
};

// The minimal case tried once more in other circumstances.
struct SecondLook {
  enum class Of : std::uint8_t { kIsa, kRelease } of = Of::kIsa;
  std::string where;    // "avx2", "torch 2.15.0"
  bool holds = false;   // equal signature
  std::string verdict;  // of the system there
};

// A finding as reports see it: the reduced case, what was said of it, and the runs that show it.
struct Finding {
  std::string id;  // hash of the signature and the minimal program, 12 hex digits
  Signature signature;
  Case original;
  Case minimal;
  Verdict verdict;  // of the system, on the minimal case
  Verdict eager;    // eager's own, on the minimal case
  Run system_run;   // alone, on the minimal case
  Run eager_run;
  Exact exact;               // of the minimal case; empty when the program raises
  bool reduced = false;      // the reduction reached a fixpoint
  int steps = 0, tried = 0;  // of the reduction: accepted, run
  // Every single step from the minimal case, as run (reducers/reducer.h); empty: not looked at.
  std::vector<PassCount> single_steps = {};
  std::string conditions = {};             // "fails for any seed, only if heads > 1"; likewise
  std::vector<Variation> variations = {};  // empty: not looked at
  std::vector<SecondLook> looks = {};      // likewise
};

// A script that needs torch alone: builds the inputs, runs eager and compiled, prints both beside
// the exact values, exits 1 while the fault is there and 0 when it is not, 2 when it cannot tell.
std::string repro_py(const Finding& finding, const OpTable& table);

// The same as a file for pytest: one test, which fails while the fault is there, and is skipped
// when it cannot tell.
std::string repro_pytest(const Finding& finding, const OpTable& table);

// A C++ program on LibTorch alone, the numbers as literals: the program in eager mode. It prints
// all results; of a finding about numbers it exits 1 when eager mode is beyond what repro.py allows
// too. Throws Error for what is not written so: modules, complex and 8-bit floating tensors, inputs
// of more than 16,384 elements or of shared storage.
std::string repro_cc(const Finding& finding, const OpTable& table);
std::string repro_cc(const Case& c, const OpTable& table);  // without a finding: prints alone

// The report a maintainer reads: what is wrong in one sentence, the program, a table of exact,
// eager and compiled values, versions, which kernels ran, how it was judged.
std::string report_md(const Finding& finding, const OpTable& table);

// JUnit XML of a replay.
struct ReplayResult {
  std::string name;  // the case's file
  bool as_expected = false;
  std::string expected;  // "inductor: stride-assert"
  std::string found;
  double cpu_seconds = 0;
  std::string detail;
};
std::string junit_xml(const std::vector<ReplayResult>& results);

}  // namespace ulpfuzz
