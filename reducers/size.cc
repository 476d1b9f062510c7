#include <algorithm>
#include <cstdlib>

#include "ir/case.h"
#include "reducers/elements.h"
#include "reducers/origin.h"
#include "reducers/plain.h"
#include "reducers/reducer.h"

namespace ulpfuzz {
namespace {

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

std::int64_t ranks(const Program& program) {
  std::int64_t n = 0;
  for (const ProgramInput& input : program.inputs) n += count(input.shape.size());
  return n;
}

// Inputs and cotangents that do not simply lie one element after the other.
std::int64_t layouts(const Case& c) {
  std::int64_t n = 0;
  for (const InputData& input : c.inputs) {
    n += (input.strides.empty() ? 0 : 1) + (input.offset != 0 ? 1 : 0) + (input.alias >= 0 ? 1 : 0);
  }
  for (const auto& cotangent : c.cotangents) n += cotangent && !cotangent->strides.empty() ? 1 : 0;
  return n;
}

// How far they lie from the start of their storage, and over how much more of it than they need.
std::int64_t extents(const Case& c) {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    n += c.inputs[i].offset;
    const auto& shape = c.program.inputs[i].shape;
    for (std::size_t d = 0; d < c.inputs[i].strides.size() && d < shape.size(); ++d) {
      const std::int64_t size = shape[d].value(c.program.symbols);
      n += c.inputs[i].strides[d] * std::max<std::int64_t>(1, size - 1);
    }
  }
  return n;
}

// Operators and dtypes that are not the plain ones of their kind.
std::int64_t kinds(const Program& program) {
  std::int64_t n = 0;
  for (const ProgramInput& input : program.inputs) n += dtype_weight(input.dtype);
  for (const Node& node : program.nodes) {
    n += operator_weight(node.op);
    for (const NamedArgument& arg : node.args) {
      if (const DType* dtype = std::get_if<DType>(&arg.value)) n += dtype_weight(*dtype);
    }
  }
  return n;
}

// What is not as it is by default.
std::int64_t departures(const Environment& e) {
  const Environment plain;
  const auto kernels = [](const std::optional<SdpaChoice>& choice) {
    return choice ? 1 + count(choice->kernels.size()) + (choice->set_priority ? 1 : 0) : 0;
  };
  std::int64_t n = kernels(e.sdpa) + kernels(e.primed_by);
  for (const bool departs :
       {e.device != plain.device, e.threads != plain.threads, e.isa != plain.isa, e.dynamic,
        !e.grad, !e.autocast.empty(), e.allow_tf32,
        e.reduced_precision_reduction != plain.reduced_precision_reduction, e.flush_denormal,
        e.deterministic, e.rng_seed != 0, e.warm_caches}) {
    n += departs ? 1 : 0;
  }
  return n;
}

std::int64_t arguments(const Program& program) {
  std::int64_t n = 0;
  for (const Node& node : program.nodes) n += count(node.args.size());
  return n;
}

std::int64_t fills(const Case& c) {
  std::int64_t n = 0;
  for (const InputData& input : c.inputs) n += fill_weight(input.fill);
  for (const auto& cotangent : c.cotangents) n += cotangent ? fill_weight(cotangent->fill) : 0;
  for (const Node& node : c.program.nodes) {
    for (const NamedArgument& arg : node.args) {
      if (const auto* number = std::get_if<Scalar>(&arg.value)) {
        n += number_weight(number->as_double());
      } else if (const auto* real = std::get_if<double>(&arg.value)) {
        n += number_weight(*real);
      }
    }
  }
  return n;
}

}  // namespace

std::int64_t elements_of(const Program& program) {
  std::int64_t n = 0;
  for (const ProgramInput& input : program.inputs) {
    std::int64_t size = 1;
    for (const Dim& dim : input.shape) size *= dim.value(program.symbols);
    n += size;
  }
  return n;
}

CaseSize size_of(const Case& c) {
  const Program& p = c.program;
  return {{has_origin(c) ? 1 : 0, count(p.nodes.size()), count(p.outputs.size() + c.wrt.size()),
           count(p.inputs.size()), elements_of(p), ranks(p), origin_weight(c), layouts(c),
           extents(c), kinds(p), arguments(p), departures(c.environment), fills(c),
           count(to_json(c).size())}};
}

}  // namespace ulpfuzz
