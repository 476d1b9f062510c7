#include <algorithm>
#include <set>
#include <tuple>

#include "ir/error.h"
#include "ir/verify.h"
#include "reducers/edit.h"
#include "reducers/elements.h"
#include "reducers/passes.h"

namespace ulpfuzz {
namespace {

// Small numbers, powers of two, and what is a power of two less: the smallest size that fails is
// found in logarithmically many steps, also where it has a residue to keep.
std::vector<std::int64_t> smaller_sizes(std::int64_t size) {
  std::set<std::int64_t> sizes{1, 2, 3, 4, size / 2, size - 1};
  for (std::int64_t step = 2; step < size; step *= 2) {
    sizes.insert(size - step);
    if (step >= 8) sizes.insert(step);
  }
  std::vector<std::int64_t> result;
  for (const std::int64_t s : sizes) {
    if (s >= 1 && s < size) result.push_back(s);
  }
  return result;
}

Shape shape_of(const ProgramInput& input, const Symbols& symbols) {
  Shape shape;
  for (const Dim& dim : input.shape) shape.push_back(dim.value(symbols));
  return shape;
}

// Layouts, literals and cotangents after the program's sizes were changed.
void follow(const Case& before, Case& after, const OpTable& table) {
  for (std::size_t i = 0; i < after.inputs.size(); ++i) {
    const Shape was = shape_of(before.program.inputs[i], before.program.symbols);
    const Shape now = shape_of(after.program.inputs[i], after.program.symbols);
    if (was == now) continue;
    InputData& data = after.inputs[i];
    data.strides = strides_like(data.strides, was, now);
    data.fill = fill_like(data.fill, was, now);
  }
  const Types was = verify(before.program, table);
  const Types now = verify(after.program, table);
  for (std::size_t i = 0; i < after.cotangents.size(); ++i) {
    if (!after.cotangents[i]) continue;
    const Shape& old_shape = was.of(before.program.outputs[i]).shape;
    const Shape& shape = now.of(after.program.outputs[i]).shape;
    Cotangent& cotangent = *after.cotangents[i];
    cotangent.strides = strides_like(cotangent.strides, old_shape, shape);
    cotangent.fill = fill_like(cotangent.fill, old_shape, shape);
  }
}

// Adds the candidate when sizes, layouts and types go together.
void propose(const Case& before, Case after, const OpTable& table, std::vector<Case>& out) {
  try {
    follow(before, after, table);
  } catch (const Error&) {
    return;
  }
  if (std::optional<Case> tidied = tidy(std::move(after), table)) out.push_back(std::move(*tidied));
}

// Every plain dimension and integer argument of one size becomes another size: sizes that are equal
// are mostly equal for a reason.
Case with_size(const Case& c, std::int64_t size, std::int64_t other) {
  Case result = c;
  const auto change = [&](Dim& dim) {
    if (dim.is_constant() && dim.constant == size) dim.constant = other;
  };
  for (ProgramInput& input : result.program.inputs) {
    for (Dim& dim : input.shape) change(dim);
  }
  for (Node& node : result.program.nodes) {
    for (NamedArgument& arg : node.args) {
      if (auto* dims = std::get_if<std::vector<Dim>>(&arg.value)) {
        for (Dim& dim : *dims) change(dim);
      }
    }
  }
  return result;
}

// A range of a dimension that stays, with the very elements that are in it.
struct Range {
  std::int64_t first;
  std::int64_t length;
};

// Eighths, which a batch holds all of; then halves, and all but one.
std::vector<Range> parts_of(std::int64_t size) {
  if (size < 2) return {};
  std::vector<Range> parts;
  const std::int64_t eighth = (size + 7) / 8;
  for (std::int64_t first = 0; first < size; first += eighth) {
    parts.push_back({first, std::min(eighth, size - first)});
  }
  const std::int64_t half = size / 2;
  if (half > eighth) parts.insert(parts.end(), {{0, half}, {half, size - half}});
  if (size - 1 > half) parts.insert(parts.end(), {{0, size - 1}, {1, size - 1}});
  return parts;
}

// `after` is `before` with dimensions made smaller: the inputs that changed keep their elements in
// the range, as literals.
void propose_part(const Case& before, Case after, Range range, const OpTable& table,
                  std::vector<Case>& out) {
  try {
    follow(before, after, table);
  } catch (const Error&) {
    return;
  }
  for (std::size_t i = 0; i < after.inputs.size(); ++i) {
    const Shape was = shape_of(before.program.inputs[i], before.program.symbols);
    const Shape now = shape_of(after.program.inputs[i], after.program.symbols);
    if (was == now) continue;
    Box box{Shape(now.size(), 0), now};
    for (std::size_t d = 0; d < now.size(); ++d) {
      if (now[d] != was[d]) box.first[d] = range.first;
    }
    const auto part = literal_part(before.inputs[i].fill, before.program.inputs[i].dtype, was, box);
    if (!part) return;
    after.inputs[i].fill = *part;
  }
  if (std::optional<Case> tidied = tidy(std::move(after), table)) out.push_back(std::move(*tidied));
}

// Every dimension and size argument at most `limit`.
Case with_limit(const Case& c, std::int64_t limit) {
  Case result = c;
  std::set<std::int64_t> sizes;
  for (const ProgramInput& input : c.program.inputs) {
    for (const Dim& dim : input.shape) sizes.insert(dim.constant);
  }
  for (const std::int64_t size : sizes) {
    if (size > limit) result = with_size(result, size, limit);
  }
  return result;
}

// An input without its first `count` dimensions, or those of them that are of size 1.
void drop_leading(Case& c, std::size_t input, std::size_t count) {
  std::vector<Dim>& shape = c.program.inputs[input].shape;
  Shape& strides = c.inputs[input].strides;
  for (; count > 0 && !shape.empty() && shape.front() == Dim(1); --count) {
    shape.erase(shape.begin());
    if (!strides.empty()) strides.erase(strides.begin());
  }
}

// Leading dimensions of size 1 less: all of them in all inputs, one in all inputs, then in each.
void drop_dimensions(const Case& c, const OpTable& table, std::vector<Case>& out) {
  const auto add = [&](Case candidate) {
    for (std::optional<Cotangent>& cotangent : candidate.cotangents) {
      if (cotangent) cotangent->strides.clear();
    }
    if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
      out.push_back(std::move(*tidied));
    }
  };
  constexpr std::size_t kAll = 64;
  for (const std::size_t count : {kAll, std::size_t{1}}) {
    Case everywhere = c;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) drop_leading(everywhere, i, count);
    add(std::move(everywhere));
  }
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    for (const std::size_t count : {kAll, std::size_t{1}}) {
      Case alone = c;
      drop_leading(alone, i, count);
      add(std::move(alone));
    }
  }
}

// A dimension of all inputs of one rank, where these have one size there: batches, heads and
// lengths of attention change together, whatever other dimensions happen to be as large.
void shrink_together(const Case& c, const OpTable& table, std::vector<Case>& out) {
  std::set<std::tuple<std::size_t, std::size_t, std::int64_t>> places;  // rank, dimension, size
  for (const ProgramInput& input : c.program.inputs) {
    for (std::size_t d = 0; d < input.shape.size(); ++d) {
      places.insert({input.shape.size(), d, input.shape[d].constant});
    }
  }
  for (const std::int64_t other : {1, 2, 3, 4}) {
    for (const auto& [rank, d, size] : places) {
      if (size <= other) continue;
      Case candidate = c;
      for (ProgramInput& input : candidate.program.inputs) {
        if (input.shape.size() == rank && input.shape[d] == Dim(size)) input.shape[d] = Dim(other);
      }
      propose(c, std::move(candidate), table, out);
    }
  }
}

}  // namespace

std::vector<Case> shape_candidates(const Case& c, const OpTable& table) {
  if (has_origin(c)) return {};
  std::vector<Case> candidates;
  for (const auto& [symbol, size] : c.program.symbols) {
    for (const std::int64_t other : smaller_sizes(size)) {
      Case candidate = c;
      candidate.program.symbols[symbol] = other;
      propose(c, std::move(candidate), table, candidates);
    }
  }
  // From here on numbers: a symbol's dimensions may also shrink one by one.
  const Case bound = bind_symbols(c);
  std::set<std::int64_t, std::greater<>> sizes;
  for (const ProgramInput& input : bound.program.inputs) {
    for (const Dim& dim : input.shape) sizes.insert(dim.constant);
  }
  for (const std::int64_t limit : {1, 2, 3, 4, 8, 16, 32}) {
    propose(bound, with_limit(bound, limit), table, candidates);
  }
  shrink_together(bound, table, candidates);
  for (const std::int64_t size : sizes) {
    for (const Range range : parts_of(size)) {
      propose_part(bound, with_size(bound, size, range.length), range, table, candidates);
    }
    for (const std::int64_t other : smaller_sizes(size)) {
      propose(bound, with_size(bound, size, other), table, candidates);
    }
  }
  for (std::size_t i = 0; i < bound.program.inputs.size(); ++i) {
    for (std::size_t d = 0; d < bound.program.inputs[i].shape.size(); ++d) {
      const std::int64_t size = bound.program.inputs[i].shape[d].constant;
      for (const std::int64_t other : smaller_sizes(size)) {
        Case candidate = bound;
        candidate.program.inputs[i].shape[d] = Dim(other);
        propose(bound, std::move(candidate), table, candidates);
      }
      for (const Range range : parts_of(size)) {
        Case candidate = bound;
        candidate.program.inputs[i].shape[d] = Dim(range.length);
        propose_part(bound, std::move(candidate), range, table, candidates);
      }
    }
  }
  drop_dimensions(bound, table, candidates);
  return candidates;
}

}  // namespace ulpfuzz
