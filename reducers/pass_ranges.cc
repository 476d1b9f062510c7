#include <algorithm>

#include "reducers/parts.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kManyNodes = 24;  // up to here single nodes are as cheap as halves

}  // namespace

// Halves, quarters and eighths of a large program: what leads to a node, a range alone, the program
// without it. Wide ranges first, as each that fails takes most of the rest away.
std::vector<Case> range_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c) || c.program.nodes.size() <= kManyNodes) return {};
  Parts parts(c, table);
  const std::size_t n = parts.size();
  for (std::size_t pieces = 2; pieces <= 8; pieces *= 2) {
    const std::size_t width = (n + pieces - 1) / pieces;
    if (pieces == 2) parts.ancestors(parts.nodes()[n / 2]);
    for (std::size_t first = 0; first + width / 2 < n;
         first += std::max<std::size_t>(1, width / 2)) {
      parts.keep(first, std::min(n, first + width), true);
    }
    for (std::size_t first = 0; pieces > 2 && first < n; first += width) {
      parts.drop(first, std::min(n, first + width), true);
    }
  }
  return parts.take();
}

}  // namespace ulpfuzz
