#include <cstdlib>

#include "ir/case.h"
#include "reducers/elements.h"
#include "reducers/origin.h"
#include "reducers/reducer.h"

namespace ulpfuzz {
namespace {

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

std::int64_t elements(const Program& program) {
  std::int64_t n = 0;
  for (const ProgramInput& input : program.inputs) {
    std::int64_t size = 1;
    for (const Dim& dim : input.shape) size *= dim.value(program.symbols);
    n += size;
  }
  return n;
}

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
  return n;
}

}  // namespace

CaseSize size_of(const Case& c) {
  const Program& p = c.program;
  return {{has_origin(c) ? 1 : 0, count(p.nodes.size()), count(p.outputs.size() + c.wrt.size()),
           count(p.inputs.size()), elements(p), ranks(p), origin_weight(c), layouts(c),
           arguments(p), departures(c.environment), fills(c), count(to_json(c).size())}};
}

}  // namespace ulpfuzz
