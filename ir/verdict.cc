#include "ir/verdict.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "ir/json.h"

namespace ulpfuzz {
namespace {

// In the order of VerdictKind.
constexpr std::array<std::string_view, 17> kNames{"crash",
                                                  "hang",
                                                  "stride-assert",
                                                  "compile-error",
                                                  "accept-reject",
                                                  "kernel-mismatch",
                                                  "nan-mismatch",
                                                  "wrong",
                                                  "metadata",
                                                  "nondeterministic",
                                                  "capture-mismatch",
                                                  "less-accurate",
                                                  "discontinuity",
                                                  "undecided",
                                                  "excess-precision",
                                                  "reordered",
                                                  "agree"};

// Kinds whose facts are numbers of a tensor: nothing of their detail tells findings apart.
bool is_numeric(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kNanMismatch:
    case VerdictKind::kWrong:
    case VerdictKind::kLessAccurate:
    case VerdictKind::kDiscontinuity:
    case VerdictKind::kUndecided:
    case VerdictKind::kExcessPrecision:
    case VerdictKind::kReordered:
    case VerdictKind::kAgree:
      return true;
    default:
      return false;
  }
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The sort of an event: its detail, without the name of the tensor in front, up to the first ": ",
// with numbers and brackets taken out. Names such as float32 stay.
std::string sort_of(const Fact& fact) {
  std::string_view detail = fact.detail;
  if (detail.substr(0, fact.tensor.size()) == fact.tensor) {
    detail.remove_prefix(fact.tensor.size());
    detail.remove_prefix(std::min(detail.find_first_not_of(": "), detail.size()));
  }
  detail = detail.substr(0, detail.find(": "));
  std::string text;
  for (std::size_t i = 0; i < detail.size();) {
    std::size_t end = i;
    while (end < detail.size() && is_word(detail[end])) ++end;
    const std::string_view word = detail.substr(i, end - i);
    if (word.empty()) {
      if (std::string_view("[](),.").find(detail[i]) == std::string_view::npos) text += detail[i];
      ++i;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(word[0]))) text += word;
    i = end;
  }
  const auto spaces = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), spaces), text.end());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

Json fact_json(const Fact& fact) {
  return {{"kind", std::string(name(fact.kind))},
          {"tensor", fact.tensor},
          {"rung", fact.rung},
          {"strength", fact.strength},
          {"statistic", report_number(fact.statistic)},
          {"e_value", report_number(fact.e_value)},
          {"detail", fact.detail},
          {"evidence", fact.evidence}};
}

Json measure_json(const TensorMeasure& m) {
  Json deviations = Json::array();
  for (const Deviation& d : m.deviations) {
    deviations.push_back(
        {{"value", report_number(d.value)}, {"null_sd", report_number(d.null_sd)}});
  }
  return {{"tensor", m.tensor},
          {"rung", m.rung},
          {"input_set", std::to_string(m.input_set)},
          {"max_error", report_number(m.max_error)},
          {"rms_error", report_number(m.rms_error)},
          {"eager_rms_error", report_number(m.eager_rms_error)},
          {"rounding", report_number(m.rounding)},
          {"rms_ratio", report_number(m.rms_ratio)},
          {"bound_ratio", report_number(m.bound_ratio)},
          {"deviations", std::move(deviations)},
          {"worst_index", m.worst_index},
          {"worst_value", report_number(m.worst_value)},
          {"worst_exact", report_number(m.worst_exact)},
          {"worst_eager", report_number(m.worst_eager)},
          {"masked", m.masked}};
}

Json kernel_json(const KernelTensorRow& row) {
  return {{"kernel", row.kernel}, {"phase", row.phase},   {"tensor", row.tensor},
          {"eager", row.eager},   {"system", row.system}, {"differs", row.differs()}};
}

}  // namespace

std::string_view name(VerdictKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<VerdictKind> parse_verdict_kind(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<VerdictKind>(i);
  }
  return std::nullopt;
}

bool is_finding(VerdictKind kind) { return kind <= VerdictKind::kLessAccurate; }

VerdictKind primary(const std::vector<Fact>& facts) {
  VerdictKind first = VerdictKind::kAgree;
  for (const Fact& fact : facts) first = std::min(first, fact.kind);
  return first;
}

Signature signature(const Verdict& verdict) {
  Signature signature{verdict.primary, verdict.system, ""};
  for (const Fact& fact : verdict.facts) {
    if (fact.kind != verdict.primary) continue;
    // Numbers tell nothing apart, but for the relation that they break.
    if (!is_numeric(verdict.primary) || fact.strength == "relation") {
      signature.detail = sort_of(fact);
    }
    break;
  }
  return signature;
}

std::string to_string(const Signature& signature) {
  std::string text = signature.system + ": " + std::string(name(signature.kind));
  if (!signature.detail.empty()) text += " (" + signature.detail + ")";
  return text;
}

std::string to_json(const Verdict& verdict) {
  Json facts = Json::array();
  for (const Fact& fact : verdict.facts) facts.push_back(fact_json(fact));
  Json measures = Json::array();
  for (const TensorMeasure& measure : verdict.measures) measures.push_back(measure_json(measure));
  Json kernels = Json::array();
  for (const KernelTensorRow& row : verdict.kernels) kernels.push_back(kernel_json(row));
  return canonical({{"system", verdict.system},
                    {"primary", std::string(name(verdict.primary))},
                    {"facts", facts},
                    {"measures", measures},
                    {"kernels", kernels},
                    {"judge_model", verdict.judge_model},
                    {"tests", verdict.tests}});
}

}  // namespace ulpfuzz
