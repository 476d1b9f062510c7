#include "report/causes_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/nearness_text.h"

namespace ulpfuzz {
namespace {

std::string headline(const Causes& c) {
  const std::string again =
      !c.held_out   ? ""
      : *c.held_out ? "; so it does on another input set, which the search did not see"
                    : "; but not those of another input set, which the search did not see";
  switch (c.kind) {
    case CauseKind::kSame:
      return "eager's results bit for bit";
    case CauseKind::kReordered:
      return "a replay with eager's roundings gives its results to within accumulation error" +
             again;
    case CauseKind::kExcessPrecision:
      return std::string(c.held_out == std::optional(true) ? "proved: " : "") +
             "a replay that keeps these intermediates wide gives its results to within "
             "accumulation error" +
             again;
    case CauseKind::kDiscontinuity:
      return "a replay in which these near-ties fall the other way gives its results to within "
             "accumulation error";
    case CauseKind::kUnexplained:
      break;
  }
  return "not reproduced by any legal execution that was tried" +
         (c.held_out == std::optional(false) ? ": what fits these inputs fails on others"
                                             : std::string());
}

std::string line_of(const KeptWide& w) {
  if (w.value.empty()) {
    return fmt::format("  Python numbers of `{}` ({}) in opmath", w.into, w.into_op);
  }
  return fmt::format("  keeps `{}` ({}) wide into `{}` ({})", w.value, w.value_op, w.into,
                     w.into_op);
}

std::string text_of(const KeptWide& w) {
  return fmt::format(
      "{}{}:\n    alone takes away {:.0f} % of the squared difference; rounded again it leaves "
      "{:.3g} times accumulation error\n",
      line_of(w), w.again ? ", where that is computed once more" : "", 100 * w.share, w.without);
}

std::string text_of(const TakenBranch& b) {
  return fmt::format("  near-tie: `{}` ({}) element {} is {}, in exact arithmetic {}; {}\n", b.node,
                     b.op, b.element, b.taken, b.exact,
                     b.forced ? "set so for the replay" : "it follows from the roundings");
}

std::string text_of(const Diverging& d) {
  std::string text = fmt::format("  first diverging intermediate: `{}` ({}), {}, {}: {}\n", d.node,
                                 d.op, d.rung, d.strength, d.detail);
  if (!d.outputs_added) {
    text += "    seen with the program cut off after it\n";
  } else if (d.same_bits) {
    text += "    seen with all intermediates as further outputs; the outputs kept their bits\n";
  } else {
    text +=
        "    seen with all intermediates as further outputs, of the forward part alone, which may "
        "be fused otherwise\n";
  }
  if (d.alone) {
    text += *d.alone ? "    with the system's own value of it all else is reproduced\n"
                     : "    the system's own value of it does not explain the rest\n";
  }
  return text;
}

}  // namespace

std::string causes_text(const Causes& causes, const Case& c) {
  std::string text = fmt::format("{}, input set {}: {}: {}\n", causes.system, causes.input_set,
                                 name(causes.kind), headline(causes));
  for (const KeptWide& w : causes.wide) text += text_of(w);
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < std::min(kMost, causes.branches.size()); ++i) {
    text += text_of(causes.branches[i]);
  }
  if (causes.branches.size() > kMost) {
    text += fmt::format("  and {} more near-ties\n", causes.branches.size() - kMost);
  }
  if (causes.first) text += text_of(*causes.first);
  for (const std::string& note : causes.notes) text += "  note: " + note + "\n";
  if (causes.tensors.empty()) return text;
  text += fmt::format("  {:<44} {:>10} {:>10} {:>10} {:>12} {:<4} {}\n", "tensor", "to eager",
                      "nominal", "left", "accumulation", "", "mostly from");
  for (const TensorCause& t : causes.tensors) {
    const std::string from =
        t.dominant.empty() ? "" : fmt::format("{} ({:.0f} %)", t.dominant, 100 * t.share);
    text += fmt::format("  {:<44} {:>10.3g} {:>10.3g} {:>10.3g} {:>12.3g} {:<4} {}\n",
                        named_tensor(t.tensor, c), t.difference, t.nominal, t.residual, t.noise,
                        t.reproduced ? "" : "no", from);
  }
  text += fmt::format("  {} places to round or not; {} replays, {:.2f} CPU s\n", causes.choices,
                      causes.evaluations, causes.cpu_seconds);
  return text;
}

}  // namespace ulpfuzz
