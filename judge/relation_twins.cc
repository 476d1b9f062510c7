// Twins by circumstance or layout: the same program.
#include <algorithm>
#include <array>
#include <string_view>

#include "generators/layout.h"
#include "ir/alias.h"
#include "ir/verify.h"
#include "judge/rung.h"
#include "judge/twins.h"
#include "systems/kinds.h"

namespace ulpfuzz {
namespace {

// "aten.add.Tensor" as "add"; an in-place one without its underscore.
std::string_view base_name(std::string_view op) {
  op.remove_prefix(std::min(op.size(), op.find('.') + 1));
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_')) op.remove_suffix(1);
  return op;
}

template <class Names>
bool among(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Each element is moved, or is one correctly rounded function of those beside it. Not division and
// square roots, which compilers may take by reciprocals.
constexpr auto kExact = std::to_array<std::string_view>(
    {"add",         "sub",         "mul",          "neg",         "abs",
     "relu",        "maximum",     "minimum",      "where",       "clamp",
     "clamp_min",   "clamp_max",   "eq",           "ne",          "lt",
     "le",          "gt",          "ge",           "logical_and", "logical_or",
     "logical_xor", "logical_not", "bitwise_and",  "bitwise_or",  "bitwise_xor",
     "bitwise_not", "masked_fill", "clone",        "contiguous",  "flip",
     "roll",        "cat",         "stack",        "repeat",      "repeat_interleave",
     "tril",        "triu",        "to",           "full",        "zeros_like",
     "ones_like",   "full_like",   "index_select", "gather",      "reshape",
     "floor",       "ceil",        "trunc",        "sign",        "isnan",
     "copysign"});

// Results jump where a floating operand crosses a value.
constexpr auto kJumps = std::to_array<std::string_view>(
    {"floor",       "ceil",         "round",      "trunc",       "frac",     "sign",     "sgn",
     "heaviside",   "floor_divide", "remainder",  "fmod",        "argmax",   "argmin",   "argsort",
     "sort",        "topk",         "max",        "min",         "eq",       "ne",       "lt",
     "le",          "gt",           "ge",         "isnan",       "isinf",    "isfinite", "signbit",
     "logical_not", "logical_and",  "logical_or", "logical_xor", "kthvalue", "median",   "mode",
     "nonzero",     "searchsorted", "bucketize"});

bool has_floating_operand(const Node& node, const Types& types) {
  return std::ranges::any_of(operands(node), [&](const Ref& ref) {
    return is_floating(types.of(ref).dtype) || is_complex(types.of(ref).dtype);
  });
}

// A Python number that is not 1: add's alpha multiplies.
bool scales(const Node& node) {
  const Argument* alpha = node.find("alpha");
  const auto* number = alpha == nullptr ? nullptr : std::get_if<Scalar>(alpha);
  return number != nullptr && number->as_double() != 1;
}

Twins same_program(const Related& r, Case other, std::string form) {
  Twins t{r.test, std::move(other), r.system, r.system};
  const bool bits = is_exact_pointwise(r.test, r.is_eager, r.table);
  t.correspond = bits ? Correspondence::kBits : Correspondence::kSpread;
  t.gradients = !bits;  // theirs may be sums
  t.form = std::move(form);
  return t;
}

}  // namespace

bool is_exact_pointwise(const Case& c, bool is_eager, const OpTable& table) {
  const Types types = verify(c.program, table);
  bool multiplies = false, adds = false;
  for (const Node& node : c.program.nodes) {
    const std::string_view op = base_name(node.op);
    if (!among(kExact, op) && !table.at(node.op).row->numerics.is_view) return false;
    for (int i = 0; i < types.outputs(node.name); ++i) {
      if (is_complex(types.of({node.name, i}).dtype)) return false;
    }
    const bool sum = op == "add" || op == "sub";
    multiplies = multiplies || op == "mul" || (sum && scales(node));
    adds = adds || sum;
  }
  if (is_eager) return true;
  const DType narrowest = narrowest_floating(c);
  const bool half = narrowest != DType::kFloat32 && narrowest != DType::kFloat64;
  return !half && !(multiplies && adds) && c.environment.device == "cpu" &&
         c.environment.autocast.empty();
}

bool is_discontinuous(const Case& c, const OpTable& table) {
  const Types types = verify(c.program, table);
  return std::ranges::any_of(c.program.nodes, [&](const Node& node) {
    if (!has_floating_operand(node, types)) return false;
    // A cast to an integer rounds.
    return among(kJumps, base_name(node.op)) || is_integral(types.of({node.name, 0}).dtype);
  });
}

std::vector<Twins> warm_caches(const Related& r) {
  // A cache that is primed by another choice of kernels may keep it: kernel-mismatch says so.
  if (r.system.name != "inductor" || r.test.environment.primed_by) return {};
  Case other = r.test;
  other.environment.warm_caches = !other.environment.warm_caches;
  Twins t{r.test, std::move(other), r.system, r.system, Correspondence::kBits};
  t.form = t.other.environment.warm_caches ? "code from the graph cache" : "code made anew";
  return {std::move(t)};
}

std::vector<Twins> other_dynamic(const Related& r) {
  static constexpr auto kTakes = std::to_array<std::string_view>({"inductor", "aot_eager", "aoti"});
  if (!among(kTakes, r.system.name)) return {};
  Case other = r.test;
  other.environment.dynamic = !other.environment.dynamic;
  const char* form = other.environment.dynamic ? "dynamic shapes" : "static shapes";
  return {same_program(r, std::move(other), form)};
}

std::vector<Twins> other_kernels(const Related& r) {
  const bool attends = std::ranges::any_of(r.test.program.nodes, [](const Node& node) {
    return node.op == "aten.scaled_dot_product_attention.default";
  });
  if (!attends || r.test.environment.primed_by) return {};
  std::vector<SdpaKernel> kernels{SdpaKernel::kMath, SdpaKernel::kFlash};
  if (r.test.environment.device == "cuda") {
    kernels.insert(kernels.end(), {SdpaKernel::kEfficient, SdpaKernel::kCudnn});
  }
  std::vector<Twins> all;
  for (const SdpaKernel kernel : kernels) {
    Case other = r.test;
    other.environment.sdpa = SdpaChoice{{kernel}, false};
    if (other == r.test) continue;
    all.push_back(same_program(r, std::move(other), "kernel " + std::string(name(kernel))));
  }
  return all;
}

std::vector<Twins> other_layout(const Related& r) {
  if (r.test.module) return {};
  Case other = r.test;
  bool strided = false, any = false;
  for (std::size_t i = 0; i < other.inputs.size(); ++i) {
    InputData& data = other.inputs[i];
    Shape shape;
    for (const Dim& dim : other.program.inputs[i].shape) {
      shape.push_back(dim.value(other.program.symbols));
    }
    if (data.alias >= 0) return {};
    const Shape plain = contiguous_strides(shape);
    // Elements that share a place in memory are other numbers elsewhere.
    if (!data.strides.empty() && !is_non_overlapping(shape, data.strides)) return {};
    strided = strided || data.offset != 0 || (!data.strides.empty() && data.strides != plain);
    data.offset = 0;
    data.strides.clear();
    any = any || (shape.size() >= 2 && element_count(shape) > 1);
  }
  if (strided) return {same_program(r, std::move(other), "contiguous inputs")};
  if (!any) return {};
  // The other way round: storage transposed.
  for (std::size_t i = 0; i < other.inputs.size(); ++i) {
    Shape shape;
    for (const Dim& dim : other.program.inputs[i].shape) {
      shape.push_back(dim.value(other.program.symbols));
    }
    if (shape.size() < 2) continue;
    Shape turned(shape.rbegin(), shape.rend());
    Shape strides = contiguous_strides(turned);
    other.inputs[i].strides.assign(strides.rbegin(), strides.rend());
  }
  return {same_program(r, std::move(other), "inputs that lie transposed")};
}

}  // namespace ulpfuzz
