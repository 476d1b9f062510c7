#include "reducers/dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "generators/family.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "reducers/edit.h"

namespace ulpfuzz {
namespace {

// A place where a size stands in a program's inputs.
struct Place {
  std::size_t input, dim;
};

// Dimensions of a program by name: the places that hold one size.
std::map<std::string, std::vector<Place>> sizes(const Program& program) {
  std::map<std::string, std::vector<Place>> result;
  std::map<std::int64_t, std::string> name_of;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    for (std::size_t d = 0; d < input.shape.size(); ++d) {
      const std::int64_t size = input.shape[d].value(program.symbols);
      std::string name = fmt::format("{}.shape[{}]", input.name, d);
      if (size > 1) name = name_of.try_emplace(size, name).first->second;
      result[name].push_back({i, d});
    }
  }
  return result;
}

bool has_seed(const Fill& fill) {
  return fill.kind != Fill::Kind::kLiteral && fill.kind != Fill::Kind::kArange;
}

std::optional<DType> floating_dtype(const Program& program) {
  for (const ProgramInput& input : program.inputs) {
    if (is_floating(input.dtype)) return input.dtype;
  }
  return std::nullopt;
}

void set_size(const Case& bound, Case& c, const std::vector<Place>& places, std::int64_t other) {
  const Place first = places.front();
  const std::int64_t size = bound.program.inputs[first.input].shape[first.dim].constant;
  for (const Place place : places) c.program.inputs[place.input].shape[place.dim] = Dim(other);
  if (size > 1) {  // size arguments of views go with it
    for (Node& node : c.program.nodes) {
      for (NamedArgument& arg : node.args) {
        auto* dims = std::get_if<std::vector<Dim>>(&arg.value);
        if (dims == nullptr) continue;
        for (Dim& dim : *dims) {
          if (dim.is_constant() && dim.constant == size) dim = Dim(other);
        }
      }
    }
  }
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Shape was, now;
    for (const Dim& dim : bound.program.inputs[i].shape) was.push_back(dim.constant);
    for (const Dim& dim : c.program.inputs[i].shape) now.push_back(dim.constant);
    if (was == now) continue;
    c.inputs[i].strides = strides_like(c.inputs[i].strides, was, now);
    Fill& fill = c.inputs[i].fill;
    if (fill.kind != Fill::Kind::kLiteral) continue;
    // Literals are repeated over a larger shape.
    const auto spread = [&](auto& list) {
      if (list.size() < 2) return;
      const auto old = list;
      list.resize(static_cast<std::size_t>(element_count(now)));
      for (std::size_t k = 0; k < list.size(); ++k) list[k] = old[k % old.size()];
    };
    spread(fill.values);
    spread(fill.integers);
  }
  for (auto& cotangent : c.cotangents) {
    if (cotangent) cotangent->strides.clear();
  }
}

std::optional<Case> with_program_dimension(const Case& c, const std::string& dimension,
                                           const ConfigValue& value, const OpTable& table) {
  const Case bound = bind_symbols(c);
  Case changed = bound;
  if (dimension == "dtype") {
    const auto dtype = parse_dtype(std::get<std::string>(value));
    if (!dtype) return std::nullopt;
    for (ProgramInput& input : changed.program.inputs) {
      if (is_floating(input.dtype)) input.dtype = *dtype;
    }
  } else if (dimension == "seed") {
    const auto seed = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
    for (InputData& input : changed.inputs) {
      if (has_seed(input.fill)) input.fill.seed += seed * 0x9E3779B97F4A7C15ull;
    }
  } else {
    const auto all = sizes(bound.program);
    const auto it = all.find(dimension);
    if (it == all.end()) return std::nullopt;
    set_size(bound, changed, it->second, std::get<std::int64_t>(value));
  }
  try {
    verify(changed, table);
  } catch (const Error&) {
    return std::nullopt;
  }
  return changed;
}

}  // namespace

OriginFields dimensions(const Case& c) {
  if (has_origin(c)) return origin_values(c);
  OriginFields values;
  const Program program = bind_symbols(c.program);
  for (const auto& [name, places] : sizes(program)) {
    values[name] = program.inputs[places[0].input].shape[places[0].dim].constant;
  }
  if (const auto dtype = floating_dtype(program)) values["dtype"] = std::string(name(*dtype));
  if (std::ranges::any_of(c.inputs, [](const InputData& i) { return has_seed(i.fill); })) {
    values["seed"] = std::int64_t{0};
  }
  return values;
}

std::optional<Case> with_dimension(const Case& c, const std::string& dimension,
                                   const ConfigValue& value, const OpTable& table) {
  if (!has_origin(c)) return with_program_dimension(c, dimension, value, table);
  OriginFields fields = origin_values(c);
  fields[dimension] = value;
  try {
    Case built = lower(with_origin_values(c, fields));
    if (is_lowered(built)) verify(built, table);
    return built;
  } catch (const Error&) {
    return std::nullopt;  // fields that do not go together
  }
}

std::optional<ConfigValue> least_value(const Case& c, const std::string& dimension) {
  for (const OriginField& field : origin_fields(c)) {
    if (field.name == dimension && std::holds_alternative<std::int64_t>(field.smallest)) {
      return field.smallest;
    }
  }
  if (dimension == "seed") return ConfigValue{std::int64_t{0}};
  if (!has_origin(c) && dimension != "dtype") return ConfigValue{std::int64_t{1}};
  return std::nullopt;
}

}  // namespace ulpfuzz
