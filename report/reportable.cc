#include "report/reportable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/error.h"
#include "ir/python_source.h"
#include "judge/elements.h"
#include "judge/relation.h"
#include "judge/tolerance.h"
#include "report/witness.h"

namespace ulpfuzz {
namespace {

using Outcome = Check::Outcome;

bool is_numeric(VerdictKind kind) {
  return kind == VerdictKind::kWrong || kind == VerdictKind::kNanMismatch ||
         kind == VerdictKind::kLessAccurate;
}

const TensorResult* result_of(const Run& run, const std::string& tensor) {
  return run.executions.empty() ? nullptr : run.executions.front().find(tensor);
}

// Elements beyond the tolerance around the exact values, and the RMS error of the rest of them.
struct Misses {
  std::size_t count = 0, size = 0;
  double rms = 0;
};
Misses misses(const TensorResult& result, const ExactTensor& exact, const Allowance& allowed) {
  Misses m;
  const std::vector<double> values = result.reals();
  m.size = std::min(values.size(), exact.values.size());
  double sum = 0;
  for (std::size_t i = 0; i < m.size; ++i) {
    if (standing(exact, i) == Standing::kMasked) continue;
    const double y = values[i], e = exact.values[i];
    if (y == e || (std::isnan(y) && std::isnan(e))) continue;
    const double error = std::abs(y - e);
    if (!(error <= allowed.atol + allowed.rtol * std::abs(e))) ++m.count;
    if (std::isfinite(error)) sum += error * error;
  }
  m.rms = m.size == 0 ? 0 : std::sqrt(sum / static_cast<double>(m.size));
  return m;
}

// torch.testing's defaults around the exact value: the system fails, eager passes or is nearer.
Check tolerances(const Finding& f) {
  Check check{.what =
                  "fails torch.testing's default tolerances around the exact values, and eager "
                  "passes or is nearer"};
  const Fact& fact = leading_fact(f);
  if (!is_numeric(f.signature.kind)) {
    check.outcome = Outcome::kDoesNotApply;
    check.detail = "not a finding about numbers";
    return check;
  }
  const ExactTensor* exact = f.exact.find(fact.tensor);
  const TensorResult* got = result_of(f.system_run, fact.tensor);
  if (exact == nullptr || got == nullptr || !got->present) {
    check.detail = "there are no exact values of " + fact.tensor + " here";
    return check;
  }
  if (is_integral(exact->type.dtype)) {
    check.outcome = Outcome::kFailed;
    check.detail = fact.tensor + " is of integers, to which no tolerance applies";
    return check;
  }
  const Allowance allowed = torch_testing_default(exact->type.dtype);
  const Misses system = misses(*got, *exact, allowed);
  check.detail = fmt::format("{}: {} of {} elements fail rtol {:g}, atol {:g}", fact.tensor,
                             system.count, system.size, allowed.rtol, allowed.atol);
  check.outcome = system.count > 0 ? Outcome::kPassed : Outcome::kFailed;
  const TensorResult* beside = result_of(f.eager_run, fact.tensor);
  if (f.signature.system.starts_with("eager@py") || beside == nullptr || !beside->present) {
    return check;
  }
  const Misses eager = misses(*beside, *exact, allowed);
  check.detail += fmt::format(", of eager {}", eager.count);
  if (eager.count > 0 && !(eager.count < system.count || eager.rms < system.rms)) {
    check.outcome = Outcome::kFailed;
  }
  return check;
}

Check public_names(const Finding& f, const OpTable& table) {
  Check check{.what = "calls public API alone", .outcome = Outcome::kPassed};
  const std::string source = python_function(bind_symbols(f.minimal).program, table);
  for (const std::string_view part : {"torch.ops.", "torch._", "._"}) {
    const std::size_t at = source.find(part);
    if (at == std::string::npos) continue;
    check.outcome = Outcome::kFailed;
    check.detail = fmt::format("the program calls {}",
                               source.substr(at, source.find_first_of("(\n", at) - at));
    break;
  }
  return check;
}

Check defined(const Finding& f) {
  Check check{.what = "rests on no value that ATen leaves undefined"};
  if (f.exact.tensors.empty()) {
    check.detail = "there are no exact values";
    check.required = is_numeric(f.signature.kind);
    return check;
  }
  check.outcome = Outcome::kPassed;
  for (const ExactTensor& tensor : f.exact.tensors) {
    const auto undefined = std::ranges::count_if(
        tensor.marks, [](std::uint8_t marks) { return (marks & kUndefined) != 0; });
    if (undefined == 0) continue;
    check.outcome = Outcome::kFailed;
    check.detail = fmt::format("{} elements of {} are undefined", undefined, tensor.name);
  }
  return check;
}

// Preferred, no condition.
Check magnitudes(const Finding& f) {
  constexpr double kSmall = 1e-6, kLarge = 1e6;
  Check check{
      .what = fmt::format("inputs are 0 or of magnitudes between {:g} and {:g}", kSmall, kLarge),
      .outcome = Outcome::kPassed,
      .required = false};
  const Case bound = bind_symbols(f.minimal);
  for (std::size_t i = 0; i < bound.program.inputs.size(); ++i) {
    const ProgramInput& input = bound.program.inputs[i];
    Shape shape;
    for (const Dim& dim : input.shape) shape.push_back(dim.value({}));
    for (const double x : generate(bound.inputs[i].fill, input.dtype, shape).reals) {
      const double size = std::abs(x);
      if (size == 0 || (size >= kSmall && size <= kLarge)) continue;
      check.outcome = Outcome::kFailed;
      check.detail = fmt::format("{} holds {:g}", input.name, x);
      return check;
    }
  }
  return check;
}

Check second_look(const Finding& f, SecondLook::Of of, std::string what) {
  Check check{.what = std::move(what)};
  check.detail = "not tried";
  for (const SecondLook& look : f.looks) {
    if (look.of != of) continue;
    check.outcome = look.holds ? Outcome::kPassed : Outcome::kFailed;
    check.detail = fmt::format("{}: {}", look.where, look.verdict);
    if (!look.holds) break;
  }
  // A newer release need not be there; one that does not show it ends the matter.
  if (of == SecondLook::Of::kRelease) check.required = check.outcome == Outcome::kFailed;
  return check;
}

// A relation is broken by two runs, which the script does not make.
Check shown_by_script(const Finding& f) {
  const Relation* relation = relation_of(leading_fact(f));
  return {.what = "a relation that repro.py can show",
          .outcome = relation == nullptr ? Outcome::kDoesNotApply : Outcome::kFailed,
          .detail = relation == nullptr ? "one run shows it"
                                        : fmt::format("two runs show it: {}", relation->name)};
}

Check minimal(const Finding& f) {
  return {.what = "reduced until nothing more could go",
          .outcome = f.reduced ? Outcome::kPassed : Outcome::kFailed,
          .detail = f.reduced ? "" : "the reduction was cut short",
          .required = false};
}

// What the finding's own runs and exact values say.
std::vector<Check> first_checks(const Finding& f, const OpTable& table) {
  return {tolerances(f), public_names(f, table), defined(f),
          magnitudes(f), shown_by_script(f),     minimal(f)};
}

bool stands_in_the_way(const Check& check) {
  return check.required && check.outcome != Outcome::kPassed &&
         check.outcome != Outcome::kDoesNotApply;
}

}  // namespace

std::string_view name(Check::Outcome outcome) {
  static constexpr std::array<std::string_view, 4> kNames{"passed", "failed", "not checked",
                                                          "does not apply"};
  return kNames[static_cast<std::size_t>(outcome)];
}

Reportable reportable(const Finding& f, const OpTable& table) {
  Reportable result;
  result.checks = first_checks(f, table);
  result.checks.push_back(
      second_look(f, SecondLook::Of::kIsa, "is seen at a second instruction set too"));
  result.checks.push_back(
      second_look(f, SecondLook::Of::kRelease, "is seen in a newer release that is installed"));
  result.yes = std::ranges::none_of(result.checks, stands_in_the_way);
  return result;
}

bool worth_a_second_look(const Finding& f, const OpTable& table) {
  return std::ranges::none_of(first_checks(f, table), stands_in_the_way);
}

}  // namespace ulpfuzz
