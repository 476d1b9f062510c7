#include "report/nearness_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ulpfuzz {
namespace {

struct Tally {
  int nearer = 0, farther = 0, open = 0;
  int inside = 0, outside = 0, unsure = 0;
};

Tally tally_of(const std::vector<const Nearness*>& tensors, std::size_t system) {
  Tally tally;
  for (const Nearness* n : tensors) {
    const Nearness::System& s = n->systems[system];
    int& side = s.to_eager.high < 1  ? tally.nearer
                : s.to_eager.low > 1 ? tally.farther
                                     : tally.open;
    ++side;
    tally.inside += s.freedom == Membership::kInside;
    tally.outside += s.freedom == Membership::kOutside;
    tally.unsure += s.freedom == Membership::kUnsure;
  }
  return tally;
}

std::string sentence(const std::string& system, const Tally& t, std::size_t tensors, bool eager) {
  std::string text = "  " + system + ": ";
  if (!eager) {
    text += fmt::format(
        "nearer to exact than eager on {} of {} tensors, farther on {}, undecided on {}", t.nearer,
        tensors, t.farther, t.open);
  }
  if (t.inside + t.outside + t.unsure > 0) {
    text += fmt::format("{}inside its freedom set on {}, outside on {}, unsure on {}",
                        eager ? "" : "; ", t.inside, t.outside, t.unsure);
  }
  return text + "\n";
}

std::string table(const std::vector<const Nearness*>& tensors, const Case& c) {
  std::string text =
      fmt::format("  {:<44} {:<12} {:>9} {:>8} {:<17} {:>8} {:<8} {}\n", "tensor", "system",
                  "error", "x eager", "interval", "x legal", "freedom", "");
  for (const Nearness* n : tensors) {
    std::string label = named_tensor(n->tensor, c);
    for (const Nearness::System& s : n->systems) {
      const bool eager = &s == &n->systems.front();
      const std::string interval =
          eager ? "" : fmt::format("[{:.2f}, {:.2f}]", s.to_eager.low, s.to_eager.high);
      text += fmt::format("  {:<44} {:<12} {:>9.3g} {:>8.2f} {:<17} {:>8} {:<8} {}\n", label,
                          s.name, s.error, s.to_eager.value, interval,
                          s.to_legal > 0 ? fmt::format("{:.2f}", s.to_legal) : "-", name(s.freedom),
                          s.name == n->nearest ? "nearest" : "");
      label.clear();
    }
  }
  return text;
}

}  // namespace

std::string named_tensor(const std::string& tensor, const Case& c) {
  constexpr std::string_view kOutput = "output ";
  if (!tensor.starts_with(kOutput)) return tensor;
  std::size_t index = 0;
  const char* end = tensor.data() + tensor.size();
  if (std::from_chars(tensor.data() + kOutput.size(), end, index).ec != std::errc()) return tensor;
  if (index >= c.program.outputs.size()) return tensor;
  return tensor + " (" + c.program.outputs[index].name + ")";
}

std::string nearness_text(const std::vector<Nearness>& all, const Case& c) {
  std::string text;
  std::vector<std::string> rungs;
  for (const Nearness& n : all) {
    if (std::ranges::find(rungs, n.rung) == rungs.end()) rungs.push_back(n.rung);
  }
  for (const std::string& rung : rungs) {
    std::vector<const Nearness*> tensors;
    for (const Nearness& n : all) {
      if (n.rung == rung) tensors.push_back(&n);
    }
    const std::vector<Nearness::System>& systems = tensors.front()->systems;
    text += fmt::format(
        "{}, {} input sets; error: geometric mean of the RMS error against exact;\n"
        "intervals hold at once with 95 % confidence:\n",
        rung, tensors.front()->sets);
    for (std::size_t i = 0; i < systems.size(); ++i) {
      text += sentence(systems[i].name, tally_of(tensors, i), tensors.size(), i == 0);
    }
    text += table(tensors, c);
  }
  return text;
}

}  // namespace ulpfuzz
