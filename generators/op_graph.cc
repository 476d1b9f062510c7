#include "generators/op_graph.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "generators/layout.h"
#include "ir/alias.h"
#include "ir/inverse_view.h"
#include "ir/rewrite.h"

namespace ulpfuzz {
namespace {

bool wants(Want::Types types, DType dtype) {
  switch (types) {
    case Want::Types::kAny:
      return !is_complex(dtype);  // complex values go to rules that name the dtype
    case Want::Types::kFloating:
      return is_floating(dtype);
    case Want::Types::kInteger:
      return is_integral(dtype) && dtype != DType::kBool;
    case Want::Types::kIntegral:
      return is_integral(dtype);
    case Want::Types::kBool:
      return dtype == DType::kBool;
    case Want::Types::kNumeric:
      return !is_complex(dtype) && dtype != DType::kBool;
  }
  return false;
}

// "aten.add.Tensor" -> "add", "aten.relu_.default" -> "relu".
std::string stem(const std::string& op) {
  const std::size_t begin = op.find('.') + 1;
  std::string name = op.substr(begin, op.find('.', begin) - begin);
  while (name.size() > 1 && name.front() == '_') name.erase(0, 1);
  while (name.size() > 1 && name.back() == '_') name.pop_back();
  return name;
}

bool broadcasts_into(const Shape& shape, const Shape& target) {
  if (shape.size() > target.size()) return false;
  const std::size_t skip = target.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && shape[i] != target[skip + i]) return false;
  }
  return true;
}

// `shape`, or what broadcasts to it: leading dimensions dropped, some set to 1.
Shape narrowed(Random& random, Shape shape) {
  const std::size_t kind = random.weighted({60, 15, 20, 5});
  if (kind == 1 && !shape.empty()) {
    const auto drop = random.integer(1, static_cast<std::int64_t>(shape.size()));
    shape.erase(shape.begin(), shape.begin() + drop);
  } else if (kind == 2) {
    for (std::int64_t& size : shape) {
      if (random.chance(0.5)) size = 1;
    }
  } else if (kind == 3) {
    shape.clear();
  }
  return shape;
}

Shape shape_of(const ProgramInput& bound) {
  Shape shape;
  for (const Dim& dim : bound.shape) shape.push_back(dim.constant);
  return shape;
}

void drop_unused_symbols(Program& program) {
  std::set<std::string> used;
  const auto note = [&](const Dim& dim) {
    for (const auto& [symbol, coefficient] : dim.terms) used.insert(symbol);
  };
  for (const ProgramInput& input : program.inputs) {
    std::for_each(input.shape.begin(), input.shape.end(), note);
  }
  for (const Node& node : program.nodes) {
    for (const NamedArgument& arg : node.args) {
      if (const auto* dims = std::get_if<std::vector<Dim>>(&arg.value)) {
        std::for_each(dims->begin(), dims->end(), note);
      }
    }
  }
  std::erase_if(program.symbols, [&](const auto& symbol) { return !used.contains(symbol.first); });
}

}  // namespace

GraphDraw::GraphDraw(Random random, const OpTable& table, const Profile& profile)
    : random_(random), table_(table), profile_(profile) {
  taste_.special_share = profile.special_share;
  taste_.non_finite = random_.chance(0.02);
  const bool large = random_.chance(profile.large_share);
  max_elements_ =
      large ? std::max<std::int64_t>(profile.max_elements, 65536) : profile.max_elements;
  main_dtype_ = random_floating(random_);
  write_views_ = random_.chance(0.4);

  sizes_ = Sizes(random_, max_elements_, large);
  state_.program.symbols = sizes_.symbols();
}

GraphDraw::GraphDraw(Random random, const OpTable& table, const Profile& profile, const Case& begun)
    : GraphDraw(random, table, profile) {
  const Program bound = bind_symbols(begun.program);
  std::vector<std::int64_t> sizes;
  for (const ProgramInput& input : bound.inputs) {
    max_elements_ = std::max(max_elements_, element_count(shape_of(input)));
    for (const Dim& dim : input.shape) {
      if (dim.constant > 1) sizes.push_back(dim.constant);
    }
    if (is_floating(input.dtype)) main_dtype_ = input.dtype;
  }
  sizes_ = Sizes(sizes, max_elements_);
  state_.program.symbols = sizes_.symbols();
  std::map<std::string, Ref> names;
  std::map<int, int> classes;  // storages of inputs that share one
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const ProgramInput& input = bound.inputs[i];
    const InputData& data = begun.inputs[i];
    names[input.name] = new_input(input.dtype, shape_of(input), data.fill);
    state_.inputs.back() = data;
    Value& value = state_.values.back();
    value.writable = data.strides.empty() || is_non_overlapping(shape_of(input), data.strides);
    if (data.alias < 0) continue;
    value.storage = classes.try_emplace(data.alias, value.storage).first->second;
  }
  replay(bound, std::move(names));
}

void GraphDraw::append(const Case& other) {
  const Program bound = bind_symbols(other.program);
  std::map<std::string, Ref> names;
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const ProgramInput& input = bound.inputs[i];
    const InputData& data = other.inputs[i];
    max_elements_ = std::max(max_elements_, element_count(shape_of(input)));
    std::vector<std::size_t> candidates;
    for (std::size_t v = 0; v < state_.values.size(); ++v) {
      const Value& value = state_.values[v];
      if (type(value.ref) == TensorType{input.dtype, shape_of(input)}) candidates.push_back(v);
    }
    if (!candidates.empty() && random_.chance(0.7)) {
      names[input.name] = pick_value(candidates);
      continue;
    }
    names[input.name] = new_input(input.dtype, shape_of(input), data.fill);
    state_.inputs.back() = data;
    state_.inputs.back().alias = -1;
    state_.values.back().writable =
        data.strides.empty() || is_non_overlapping(shape_of(input), data.strides);
  }
  replay(bound, std::move(names));
}

void GraphDraw::replay(const Program& bound, std::map<std::string, Ref> names) {
  const Op* const drawn = op_;
  for (Node node : bound.nodes) {
    op_ = &table_.at(node.op);
    const std::string before = node.name;
    node.name = stem(node.op) + "_" + std::to_string(nodes() + 1);
    rename_operands(node, [&](const Ref& ref) {
      const Ref& now = names.at(ref.name);
      return Ref{now.name, now.output + ref.output};
    });
    symbolise(node);
    const std::vector<TensorType> results =
        op_->row->infer(Call(*op_, node, state_.program.symbols, state_.types));
    if (reads_what_it_writes(node)) throw Error(node.op, "reads what it writes");
    add_results(node, results);
    names[before] = {node.name, 0};
  }
  op_ = drawn;
}

// Sizes that an argument names, by their symbols.
void GraphDraw::symbolise(Node& node) const {
  for (NamedArgument& arg : node.args) {
    auto* dims = std::get_if<std::vector<Dim>>(&arg.value);
    if (dims == nullptr || (arg.name != "size" && arg.name != "shape")) continue;
    for (Dim& dim : *dims) {
      if (dim.is_constant()) dim = sizes_.symbolic(dim.constant);
    }
  }
}

bool GraphDraw::add(const Op& op, bool connect) {
  if (op.row->draw == nullptr) return false;
  const State before = state_;
  op_ = &op;
  bool appended = false;
  try {
    appended = op.row->draw(*this) && nodes() > static_cast<int>(before.program.nodes.size());
  } catch (const Error&) {  // no operand, or a rule that asked for what a type does not have
    appended = false;
  }
  if (appended && connect) {
    const std::vector<Ref> read = operands(state_.program.nodes.back());
    appended = std::any_of(read.begin(), read.end(), [&](const Ref& ref) {
      return before.program.find_node(ref.name) != nullptr;
    });
  }
  if (!appended) state_ = before;
  return appended;
}

GraphDraw::Value* GraphDraw::find(const Ref& ref) {
  for (Value& value : state_.values) {
    if (value.ref == ref) return &value;
  }
  return nullptr;
}

bool GraphDraw::fits(const Value& value, const Want& want) const {
  const TensorType& t = state_.types.of(value.ref);
  const int rank = static_cast<int>(t.shape.size());
  if (want.dtype ? t.dtype != *want.dtype : !wants(want.types, t.dtype)) return false;
  if (rank < want.min_rank || rank > want.max_rank) return false;
  const bool unclear = state_.storages[static_cast<std::size_t>(value.storage)].unclear;
  if (want.fresh && (unclear || !value.writable)) return false;
  return !want.also || want.also(t);
}

// Recent results that nobody has read yet are the likeliest, so that chains form.
Ref GraphDraw::pick_value(const std::vector<std::size_t>& candidates) {
  std::vector<double> weights;
  for (const std::size_t i : candidates) {
    const Value& value = state_.values[i];
    double weight = value.input ? 1 : 3;
    if (!value.input && value.uses == 0) weight *= 4;
    if (value.input && value.uses > 0) weight *= 0.5;
    weights.push_back(weight);
  }
  return state_.values[candidates[random_.weighted(weights)]].ref;
}

DType GraphDraw::floating_dtype() {
  return random_.chance(0.85) ? main_dtype_ : random_floating(random_);
}

DType GraphDraw::any_dtype() {
  const std::size_t kind = random_.weighted({82, 15, 3});
  if (kind == 0) return floating_dtype();
  return kind == 1 ? random_integer(random_) : DType::kBool;
}

DType GraphDraw::wanted_dtype(const Want& want) {
  if (want.dtype) return *want.dtype;
  switch (want.types) {
    case Want::Types::kFloating:
      return floating_dtype();
    case Want::Types::kInteger:
      return random_integer(random_);
    case Want::Types::kIntegral:
      return random_.chance(0.17) ? DType::kBool : random_integer(random_);
    case Want::Types::kBool:
      return DType::kBool;
    case Want::Types::kNumeric:
      return random_.chance(0.85) ? floating_dtype() : random_integer(random_);
    case Want::Types::kAny:
      return any_dtype();
  }
  return DType::kFloat32;
}

// A shape of an existing value, or a new one, of at most max_elements.
Shape GraphDraw::shape(int min_rank, int max_rank) {
  if (!state_.values.empty() && random_.chance(0.5)) {
    const Shape known = state_.types.of(random_.pick(state_.values).ref).shape;
    const int rank = static_cast<int>(known.size());
    if (rank >= min_rank && rank <= max_rank) return known;
  }
  return sizes_.shape(random_, min_rank, max_rank);
}

Ref GraphDraw::operand(const Want& want) {
  std::vector<std::size_t> candidates;
  bool results = false;
  for (std::size_t i = 0; i < state_.values.size(); ++i) {
    if (!fits(state_.values[i], want)) continue;
    candidates.push_back(i);
    results |= !state_.values[i].input;
  }
  if (!candidates.empty() && random_.chance(results ? 0.9 : 0.4)) return pick_value(candidates);

  for (int attempt = 0; attempt < 60; ++attempt) {
    const TensorType t{wanted_dtype(want), shape(want.min_rank, want.max_rank)};
    if (want.also && !want.also(t)) continue;
    return new_tensor(t.dtype, t.shape, !want.fresh);
  }
  if (!candidates.empty()) return pick_value(candidates);
  throw NoOperand(op_->name(), "no operand fits");
}

Ref GraphDraw::operand_of(DType dtype, const Shape& shape) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < state_.values.size(); ++i) {
    if (type(state_.values[i].ref) == TensorType{dtype, shape}) candidates.push_back(i);
  }
  if (!candidates.empty() && random_.chance(0.6)) return pick_value(candidates);
  return new_tensor(dtype, shape, true);
}

Ref GraphDraw::broadcastable(const Ref& other, bool mixed) {
  const TensorType to = type(other);
  DType dtype = to.dtype;
  if (mixed && random_.chance(0.12)) {
    if (is_floating(dtype)) {
      dtype = random_.chance(0.8) ? random_floating(random_) : random_integer(random_);
    } else if (is_integral(dtype)) {
      dtype = random_integer(random_);
    }
  }
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < state_.values.size(); ++i) {
    const TensorType& t = type(state_.values[i].ref);
    if (t.dtype == dtype && broadcasts_into(t.shape, to.shape)) candidates.push_back(i);
  }
  if (!candidates.empty() && random_.chance(0.5)) return pick_value(candidates);
  return new_tensor(dtype, narrowed(random_, to.shape), true);
}

Ref GraphDraw::new_tensor(DType dtype, const Shape& shape, bool may_expand) {
  const Fill fill = draw_fill(random_, dtype, op_->row->edges, taste_);
  const Ref ref = new_input(dtype, shape, fill);
  if (random_.chance(profile_.layout_share)) {
    InputData& data = state_.inputs.back();
    draw_layout(random_, shape, may_expand, data);
    state_.values.back().writable = is_non_overlapping(shape, data.strides);
  }
  return ref;
}

Ref GraphDraw::new_input(DType dtype, const Shape& shape, const Fill& fill) {
  if (element_count(shape) > max_elements_) throw NoOperand(op_->name(), "too large an input");
  ProgramInput input{"x" + std::to_string(state_.program.inputs.size()), dtype, {}};
  for (const std::int64_t size : shape) input.shape.push_back(sizes_.symbolic(size));
  const Ref ref{input.name, 0};
  state_.types.set(input.name, {TensorType{dtype, shape}});
  state_.values.push_back({ref, static_cast<int>(state_.storages.size()), 0, true, true});
  state_.storages.push_back({});
  state_.program.inputs.push_back(std::move(input));
  InputData data;
  data.fill = fill;
  state_.inputs.push_back(std::move(data));
  return ref;
}

int GraphDraw::dim(const Ref& ref) {
  const auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(type(ref).shape.size()));
  const std::int64_t dim = random_.integer(0, rank - 1);
  return static_cast<int>(random_.chance(0.3) ? dim - rank : dim);
}

std::vector<Dim> GraphDraw::some_dims(const Ref& ref) {
  std::vector<std::int64_t> all(type(ref).shape.size());
  if (all.empty()) throw NoOperand(op_->name(), "a scalar has no dimensions");
  std::iota(all.begin(), all.end(), 0);
  std::vector<Dim> result;
  const auto rank = static_cast<std::int64_t>(all.size());
  for (std::int64_t left = random_.integer(1, rank); left > 0; --left) {
    const auto at = random_.integer(0, static_cast<std::int64_t>(all.size()) - 1);
    const std::int64_t dim = all[static_cast<std::size_t>(at)];
    all.erase(all.begin() + at);
    result.push_back(random_.chance(0.25) ? dim - rank : dim);
  }
  return result;
}

bool GraphDraw::call(std::vector<NamedArgument> args) {
  const Schema& schema = op_->schema;
  Node node{stem(schema.name) + "_" + std::to_string(nodes() + 1), schema.name, {}};
  for (const SchemaArgument& slot : schema.args) {
    const auto arg = std::find_if(args.begin(), args.end(),
                                  [&](const NamedArgument& a) { return a.name == slot.name; });
    if (arg != args.end()) node.args.push_back(std::move(*arg));
  }
  symbolise(node);
  std::vector<TensorType> results;
  try {
    results = op_->row->infer(Call(*op_, node, state_.program.symbols, state_.types));
  } catch (const Error&) {
    return false;
  }
  for (const TensorType& t : results) {
    if (element_count(t.shape) > max_elements_) return false;
  }
  if (reads_what_it_writes(node)) return false;
  add_results(node, results);
  return true;
}

Ref GraphDraw::also(const std::string& op, std::vector<NamedArgument> args) {
  const Op* const drawn = op_;
  op_ = &table_.at(op);
  const bool appended = call(std::move(args));
  op_ = drawn;
  if (!appended) throw NoOperand(op, "refused as a part of an idiom");
  return {state_.program.nodes.back().name, 0};
}

// x.add_(x[0]) and the like: what is read depends on the order of elements.
bool GraphDraw::reads_what_it_writes(const Node& node) {
  for (const SchemaArgument& slot : op_->schema.args) {
    const Argument* arg = slot.writes ? node.find(slot.name) : nullptr;
    const auto* written = arg == nullptr ? nullptr : std::get_if<Ref>(arg);
    if (written == nullptr) continue;
    for (const Ref& ref : operands(node)) {
      if (ref != *written && find(ref)->storage == find(*written)->storage) return true;
    }
  }
  return false;
}

// A result of `node` as a value: with a storage of its own, or in that of an operand.
GraphDraw::Value GraphDraw::alias_or_new(const Node& node, const Ref& ref) {
  Value value;
  value.ref = ref;
  const auto source = Aliases(state_.program, table_).source(ref);
  if (!source) {
    value.storage = static_cast<int>(state_.storages.size());
    state_.storages.push_back({});
    return value;
  }
  const Value& base = *find(source->value);
  value.storage = base.storage;
  value.writable = base.writable;
  if (source->how == Aliases::How::kMaybe) {
    state_.storages[static_cast<std::size_t>(value.storage)].unclear = true;
  } else if (source->how == Aliases::How::kView) {
    const bool expanded = element_count(type(ref).shape) > element_count(type(base.ref).shape);
    value.writable &= write_views_ && !expanded && !inverse_view(node.op, table_).empty();
  }
  return value;
}

void GraphDraw::add_results(const Node& node, const std::vector<TensorType>& results) {
  for (const Ref& ref : operands(node)) ++find(ref)->uses;
  state_.types.set(node.name, results);
  state_.program.nodes.push_back(node);
  for (int i = 0; i < static_cast<int>(results.size()); ++i) {
    state_.values.push_back(alias_or_new(node, {node.name, i}));
  }
}

// All results that nobody reads, so that nothing is dead; sometimes an intermediate too.
std::vector<Ref> GraphDraw::choose_outputs() {
  std::vector<Ref> outputs;
  for (const Value& value : state_.values) {
    if (!value.input && (value.uses == 0 || random_.chance(0.1))) outputs.push_back(value.ref);
  }
  return outputs;
}

Case GraphDraw::take() {
  Case c;
  c.program = state_.program;
  c.program.outputs = choose_outputs();
  c.program = without_dead_code(c.program, table_);
  std::vector<std::size_t> kept;
  c.program = without_unused_inputs(c.program, kept);
  for (const std::size_t i : kept) c.inputs.push_back(state_.inputs[i]);
  c.cotangents.resize(c.program.outputs.size());
  drop_unused_symbols(c.program);
  if (c.program.outputs.empty()) throw Error("the program has no output");
  return c;
}

}  // namespace ulpfuzz
