#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ulpfuzz {

// What may be said of a system on a case. The order is the precedence: of several facts, the one
// that comes first here names the verdict.
enum class VerdictKind : std::uint8_t {
  kCrash,             // the process died
  kHang,              // did not end within the limit, confirmed
  kStrideAssert,      // the compiled code's own layout assertion failed
  kCompileError,      // compilation raised where eager runs
  kAcceptReject,      // one of eager and compiled raises, the other runs
  kKernelMismatch,    // asked for one attention kernel, another ran
  kNanMismatch,       // non-finite where the exact value is decidedly finite, or the reverse
  kWrong,             // outside what any legal execution can give
  kMetadata,          // dtype, shape, stride or alias differs from eager's
  kNondeterministic,  // two runs of the same thing differ
  kCaptureMismatch,
  kLessAccurate,     // outside its freedom set, not provably wrong
  kDiscontinuity,    // a near-tie fell the other way
  kUndecided,        // cannot tell
  kExcessPrecision,  // errs less than eager, as wider intermediates let it
  kReordered,        // differs from eager no more than legal executions do
  kAgree,
};
std::string_view name(VerdictKind kind);  // "stride-assert"
std::optional<VerdictKind> parse_verdict_kind(std::string_view name);
bool is_finding(VerdictKind kind);  // worth a place in the store: kLessAccurate and all before it

// One thing that was established.
struct Fact {
  VerdictKind kind = VerdictKind::kAgree;
  std::string tensor = {};  // "output 0", "gradient of w"; empty: of the whole run
  std::string rung = {};    // dtype of the ladder's rung it was seen on: "bfloat16", "float32"
  // "observed" (an event), "bound" (beyond a rigorous bound), "statistical", "relation" (broken)
  std::string strength = {};
  double statistic = 0;  // its meaning is in `detail`; for numeric facts error over allowance
  // Of a claim from a sequential test the evidence against its hypothesis: a claim with e-value E
  // is false with a probability of at most 1/E (docs/judge.md). 0: no such test.
  double e_value = 0;
  // One sentence for a person, with the numbers. Of an event (not a numeric fact) what stands
  // before the first ": ", after the name of the tensor if it begins with one, says of which sort
  // it is, as in "RuntimeError in compile: expected size 32": that, without numbers, goes into the
  // signature.
  std::string detail = {};
  std::string evidence = {};  // hash of the request whose run showed it
};

// One statistic of a tensor on one input set, and its standard deviation among legal executions.
struct Deviation {
  double value = 0;
  double null_sd = 0;
};

// Per-tensor measurements that stand beside the facts, for reports.
struct TensorMeasure {
  std::string tensor;
  std::string rung;
  std::uint64_t input_set = 0;
  bool has_error = false;  // of a floating or complex tensor: the three errors below mean something
  double max_error = 0;    // largest |y - exact|
  double rms_error = 0;
  double eager_rms_error = 0;  // eager's own, same inputs
  double rounding = 0;         // RMS error of the exact values rounded to the tensor's dtype
  double rms_ratio = 0;        // to the legal executions' mean RMS error
  double bound_ratio = 0;      // largest |y - exact| / bound
  // Against legal executions (judge/statistics.h): one element off, drift, scale; empty where the
  // tensor is not held against them. That of drift is log(rms_ratio).
  std::vector<Deviation> deviations = {};
  std::int64_t worst_index = 0;
  double worst_value = 0, worst_exact = 0, worst_eager = 0;
  std::int64_t masked = 0;  // elements left out: undefined, tainted
};

// One tensor of an attention kernel, in eager and in the system: a note, no finding. Another layout
// than eager's is a compiler's right as long as nobody outside sees it.
struct KernelTensorRow {
  std::string kernel;  // "aten::_scaled_dot_product_flash_attention_for_cpu"
  std::string phase;   // "forward", "backward"
  std::string tensor;  // "output", "logsumexp"; of what went into a backward kernel "saved query"
  std::string eager;   // its layout; "": eager did not run this kernel
  std::string system;  // likewise
  bool differs() const { return eager != system; }
};

struct Verdict {
  std::string system;
  VerdictKind primary = VerdictKind::kUndecided;
  std::vector<Fact> facts;
  std::vector<TensorMeasure> measures;
  std::vector<KernelTensorRow> kernels = {};  // of attention, where it was attested
  std::string judge_model;                    // hash of the judge's constants and version
  // Sequential tests that were begun, each of which makes a false claim with a probability of at
  // most judge_model::kClaimError.
  int tests = 0;
};

// The primary of a list of facts, by precedence; kAgree for none.
VerdictKind primary(const std::vector<Fact>& facts);

// What must stay the same while a finding is reduced, and what tells findings apart.
struct Signature {
  VerdictKind kind = VerdictKind::kAgree;
  std::string system;
  std::string detail;  // relation, exception class with numbers removed, kernel; "" for numerics
  auto operator<=>(const Signature&) const = default;
};
Signature signature(const Verdict& verdict);
std::string to_string(const Signature& signature);

std::string to_json(const Verdict& verdict);

}  // namespace ulpfuzz
