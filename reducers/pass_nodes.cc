#include <algorithm>

#include "reducers/parts.h"
#include "reducers/passes.h"

namespace ulpfuzz {

// Single nodes, then sixteenths, eighths, quarters and halves of the program, alone and left out.
std::vector<Case> node_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c)) return {};
  Parts parts(c, table);
  const std::size_t n = parts.size();
  const auto next = [n](std::size_t width) {
    return std::max(2 * width, width == 1 ? n / 16 : width);
  };
  for (const bool own : {true, false}) {
    for (std::size_t width = 1; width < n; width = next(width)) {
      const std::size_t step = std::max<std::size_t>(1, width / 2);
      for (std::size_t first = 0; first + width <= n; first += step) {
        parts.keep(first, first + width, own);
      }
      for (std::size_t first = 0; first < n; first += width) {
        parts.drop(first, std::min(n, first + width), own);
      }
    }
  }
  for (const Node& node : parts.nodes()) parts.ancestors(node);
  for (const Node& node : parts.nodes()) parts.bypass(node);
  std::vector<Case> candidates = parts.take();
  std::ranges::stable_sort(candidates, {}, [](const Case& x) { return x.program.nodes.size(); });
  return candidates;
}

}  // namespace ulpfuzz
