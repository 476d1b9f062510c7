#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ir/python_source.h"
#include "report/module_text.h"
#include "report/python_text.h"
#include "report/report.h"
#include "report/reportable.h"
#include "report/repro_text.h"
#include "report/stride_claims.h"
#include "report/witness.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kLongestMessage = 4000;  // characters of an exception

// Text in a table's cell.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string code_block(std::string text, const std::string& language = "") {
  if (language.empty() && text.size() > kLongestMessage)
    text = text.substr(0, kLongestMessage) + "\n...";
  if (text.empty() || text.back() != '\n') text += '\n';
  // A fence longer than any in the text.
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + language + "\n" + text + fence + "\n";
}

// Distance of two neighbours of `dtype` at `value`.
double ulp(double value, DType dtype) {
  const FloatFormat& format = float_format(dtype);
  const int exponent =
      value == 0 || !std::isfinite(value) ? format.min_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.precision + 1);
}

std::string headline(const Finding& finding) {
  switch (finding.signature.kind) {
    case VerdictKind::kCrash:
      return "the process dies";
    case VerdictKind::kHang:
      return "does not end";
    case VerdictKind::kStrideAssert:
      return "compiled code fails its own stride assertion";
    case VerdictKind::kCompileError:
      return "compilation raises where eager runs";
    case VerdictKind::kAcceptReject:
      return "one of eager and compiled raises, the other runs";
    case VerdictKind::kKernelMismatch:
      return "runs another attention kernel than was asked for";
    case VerdictKind::kNanMismatch:
      return "not finite where the exact value is, or the reverse";
    case VerdictKind::kWrong:
      return "wrong result, beyond what rounding explains";
    case VerdictKind::kMetadata:
      return "dtype, shape, strides or aliasing differ from eager";
    case VerdictKind::kNondeterministic:
      return "two runs of the same thing differ";
    case VerdictKind::kCaptureMismatch:
      return "a module's captured program is not the module";
    case VerdictKind::kLessAccurate:
      return "less accurate than its freedom explains";
    default:
      return std::string(name(finding.signature.kind));
  }
}

std::string value_row(const char* who, double value, const Witness& w) {
  if (w.integral()) return fmt::format("| {} | {} | | |\n", who, value);
  const DType dtype = real_part(w.exact.type.dtype);
  const double exact = w.exact_value();
  if (!std::isfinite(value) || !std::isfinite(exact)) {
    return fmt::format("| {} | {} | | |\n", who, value);
  }
  const double error = std::abs(value - exact);
  return fmt::format("| {} | {} | {:.3g} | {:.3g} |\n", who, python_number(value, dtype), error,
                     error / ulp(exact, dtype));
}

std::string numbers_section(const Finding& finding, const Witness& w) {
  const bool eager_itself = finding.signature.system.starts_with("eager");
  std::string text = fmt::format("Element [{}] of {} ({}):\n\n", fmt::join(w.subscripts(), ", "),
                                 w.tensor, to_string(w.exact.type));
  text += "| | value | error | in ulps |\n| --- | --- | --- | --- |\n";
  text += w.integral() ? fmt::format("| exact | {} | | |\n", w.exact.integers[w.index])
                       : fmt::format("| exact | {} | | |\n", python_number(w.exact_value()));
  if (w.eager && !eager_itself) text += value_row("eager", *w.eager, w);
  text += value_row(finding.signature.system.c_str(), w.value, w);
  if (w.from_bound && std::isfinite(w.allowed)) {
    text += fmt::format("\nRounding explains an error of at most {:.3g} here.\n", w.allowed / 2);
  }
  return text;
}

std::string measures_section(const Finding& finding) {
  if (finding.verdict.measures.empty()) return "";
  std::string text =
      "| tensor | rung | largest error | RMS error | eager's RMS error | RMS to legal | largest to "
      "bound |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const TensorMeasure& m : finding.verdict.measures) {
    text += fmt::format("| {} | {} | {:.3g} | {:.3g} | {:.3g} | {:.3g} | {:.3g} |\n",
                        cell(m.tensor), m.rung, m.max_error, m.rms_error, m.eager_rms_error,
                        m.rms_ratio, m.bound_ratio);
  }
  return text + "\n";
}

std::string layouts_section(const Finding& finding) {
  std::string text = "| result | eager | " + finding.signature.system + " |\n| --- | --- | --- |\n";
  if (finding.eager_run.executions.empty() || finding.system_run.executions.empty()) return "";
  const auto say = [](const TensorResult* r) {
    if (r == nullptr || !r->present) return std::string("None");
    return to_string(r->layout) + (r->alias_of.empty() ? "" : ", shares with " + r->alias_of);
  };
  for (const TensorResult& eager : finding.eager_run.executions.front().tensors) {
    const TensorResult* got = finding.system_run.executions.front().find(eager.name);
    text += fmt::format("| {} | {} | {} |\n", cell(eager.name), cell(say(&eager)), cell(say(got)));
  }
  return text;
}

// What compiled code was told of a tensor's layout, and what came.
std::string strides_section(const Run& run) {
  const std::vector<StrideClaim> claims = stride_claims(run.exception_message);
  if (claims.empty()) return "";
  std::string text =
      "| dimension | size expected | found | stride expected | found |\n| --- | --- | --- | --- | "
      "--- "
      "|\n";
  for (const StrideClaim& claim : claims) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", claim.dim, claim.size_expected,
                        claim.size_found, claim.stride_expected, claim.stride_found);
  }
  return text + "\nDimensions that are not listed are as expected.\n";
}

std::string outcome_section(const Finding& finding, const std::optional<Witness>& w) {
  if (w) return numbers_section(finding, *w);
  std::string text;
  if (finding.signature.kind == VerdictKind::kMetadata) text = layouts_section(finding);
  const auto raised = [&](const Run& run, const std::string& who) {
    if (run.status != Run::Status::kRaised) return;
    text += fmt::format("{} raises {} in {}:\n\n", who, run.exception_type, name(run.stage)) +
            code_block(run.exception_message);
  };
  raised(finding.eager_run, "eager");
  raised(finding.system_run, finding.signature.system);
  if (finding.signature.kind == VerdictKind::kStrideAssert) {
    text += "\n" + strides_section(finding.system_run);
  }
  if (finding.system_run.status == Run::Status::kCrashed &&
      !finding.system_run.worker_text.empty()) {
    text += "What it wrote last:\n\n" + code_block(finding.system_run.worker_text);
  }
  return text;
}

std::string kernel_list(const Run& run) {
  std::vector<std::string> names;
  for (const KernelRecord& k : run.kernels) {
    names.push_back(fmt::format("`{}` ({}{})", k.name, k.phase,
                                k.count > 1 ? fmt::format(", {} times", k.count) : ""));
  }
  return names.empty() ? "not recorded" : fmt::format("{}", fmt::join(names, ", "));
}

// Layouts of the attention kernels' tensors, where there are any.
std::string kernel_layouts(const Finding& finding) {
  if (finding.verdict.kernels.empty()) return "";
  std::string text =
      fmt::format("| kernel | phase | tensor | eager | {} | |\n", finding.signature.system);
  text += "| --- | --- | --- | --- | --- | --- |\n";
  const auto say = [](const std::string& layout) {
    return layout.empty() ? "did not run" : layout;
  };
  for (const KernelTensorRow& row : finding.verdict.kernels) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.kernel, row.phase, row.tensor,
                        say(row.eager), say(row.system), row.differs() ? "differs" : "");
  }
  return text + "\n";
}

std::string kernels_section(const Finding& finding) {
  const Environment& e = finding.minimal.environment;
  if (finding.system_run.kernels.empty() && finding.eager_run.kernels.empty() && !e.sdpa) return "";
  std::string text = "### Kernels\n";
  const ReproSetting setting = repro_setting(e);
  if (e.sdpa) {
    text += fmt::format("- asked for: `{}`{}\n", setting.kernels,
                        e.sdpa->set_priority ? " in this order" : "");
  }
  if (e.primed_by) text += fmt::format("- compiled before under: `{}`\n", setting.primed_kernels);
  text += "- eager ran: " + kernel_list(finding.eager_run) + "\n";
  text += "- " + finding.signature.system + " ran: " + kernel_list(finding.system_run) + "\n\n";
  return text + kernel_layouts(finding);
}

// That nothing smaller shows it, as it was seen.
std::string steps_section(const Finding& finding) {
  int all = 0, still = 0;
  std::string by_pass;
  for (const PassCount& count : finding.single_steps) {
    if (count.candidates == 0) continue;
    all += count.candidates;
    still += count.still_fail;
    by_pass += fmt::format("{}{} {}", by_pass.empty() ? "" : ", ", count.pass, count.candidates);
  }
  if (finding.single_steps.empty()) return "";
  return fmt::format(
      "### How small it is\nAll {} cases that a single step of a reduction pass makes smaller were "
      "run{}: {} in the same way.\n\n",
      all, by_pass.empty() ? "" : " (" + by_pass + ")",
      still == 0 ? "none fails" : fmt::format("{} still fail", still));
}

std::string variations_section(const Finding& finding) {
  if (finding.variations.empty()) return "";
  std::string text = "### What may vary\n";
  if (!finding.conditions.empty()) text += "It " + finding.conditions + ".\n\n";
  text +=
      "One change at a time to the case as it was before reduction:\n\n"
      "| what | change | |\n| --- | --- | --- |\n";
  for (const Variation& v : finding.variations) {
    text += fmt::format("| {} | {} | {} |\n", cell(v.what), cell(v.change),
                        v.fails ? "fails in the same way" : "does not: " + v.verdict);
  }
  return text + "\n";
}

std::string judged_section(const Finding& finding) {
  std::string text = "### How it was judged\n";
  for (const Fact& fact : finding.verdict.facts) {
    text += fmt::format("- **{}**{}{}, {}: {}\n", name(fact.kind),
                        fact.tensor.empty() ? "" : " of " + fact.tensor,
                        fact.rung.empty() ? "" : " on the " + fact.rung + " rung", fact.strength,
                        cell(fact.detail));
  }
  text += fmt::format("- eager's own verdict: **{}**\n\n", name(finding.eager.primary));
  return text + measures_section(finding);
}

std::string versions_section(const Finding& finding) {
  std::string text;
  const auto& versions = finding.system_run.versions.empty() ? finding.eager_run.versions
                                                             : finding.system_run.versions;
  for (const auto& [what, version] : versions) text += fmt::format("- {}: {}\n", what, version);
  const Environment& e = finding.minimal.environment;
  const ReproSetting setting = repro_setting(e);
  text += fmt::format("- device: {}\n", e.device);
  for (const std::string& line : setting.before_torch) text += "- `" + line + "`\n";
  for (const std::string& line : setting.switches) text += "- `" + line + "`\n";
  for (const std::string& line : setting.contexts) text += "- `with " + line + "`\n";
  text += fmt::format("- compiled as `{}`\n",
                      compiled_text(parse_system(finding.signature.system), e).expression);
  return text + "\n";
}

// Headings of the project's own form: PyTorch's pt2-bug-report, Thunder's bug_report.
struct Form {
  const char* describe;
  const char* reproduce;
  const char* outcome;
  const char* versions;
};
Form form_of(const SystemSpec& system) {
  if (system.name == "thunder") {
    return {"## 🐛 Bug", "### To Reproduce\n\n#### Code sample", "### Expected behavior",
            "### Environment"};
  }
  return {"### 🐛 Describe the bug", "### Minimal reproducer", "### Error logs", "### Versions"};
}

std::string checks_section(const Finding& finding, const OpTable& table) {
  const Reportable gate = reportable(finding, table);
  std::string text = fmt::format("### Checks\n{}\n\n| | |\n| --- | --- |\n",
                                 gate.yes ? "Fit to be reported." : "Not fit to be reported yet.");
  for (const Check& check : gate.checks) {
    text +=
        fmt::format("| {}{} | {}{}{} |\n", cell(check.what), check.required ? "" : " (preferred)",
                    name(check.outcome), check.detail.empty() ? "" : ": ", cell(check.detail));
  }
  return text + "\n";
}

}  // namespace

std::string report_md(const Finding& finding, const OpTable& table) {
  const std::optional<Witness> w = witness(finding, table);
  const Case shown = w ? w->shown : bind_symbols(finding.minimal);
  const SystemSpec system = parse_system(finding.signature.system);
  const CompiledText compiled = compiled_text(system, finding.minimal.environment);
  const Form form = form_of(system);
  std::string text =
      fmt::format("# {}: {}\n\n{}\n", finding.signature.system, headline(finding), form.describe);
  const std::string detail = leading_fact(finding).detail;
  if (!detail.empty()) text += detail.substr(0, detail.find('\n')) + "\n\n";
  text += code_block(
      shown.module ? module_text(*shown.module).definitions : python_function(shown.program, table),
      "python");
  text += fmt::format(
      "\n{}\nThe script needs {}. It exits 1 while this fails, 0 when it is fixed, 2 when it "
      "cannot "
      "tell.\n\n{}\n",
      form.reproduce,
      shown.module ? compiled.needs + " and " + module_text(*shown.module).needs : compiled.needs,
      code_block(repro_py(finding, table), "python"));
  text += fmt::format("{}\n{}\n", form.outcome, outcome_section(finding, w));
  text += kernels_section(finding) + variations_section(finding) + steps_section(finding) +
          judged_section(finding) + checks_section(finding, table);
  text += fmt::format("{}\n{}", form.versions, versions_section(finding));
  text += fmt::format("Finding {} ({}){}.\n", finding.id, to_string(finding.signature),
                      finding.reduced ? "" : "; not fully reduced: a smaller case may show it");
  return text;
}

}  // namespace ulpfuzz
