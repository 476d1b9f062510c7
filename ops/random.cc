#include "ops/random.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/infer.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

namespace ulpfuzz {
namespace {

std::vector<TensorType> infer_like(const Call& call) {
  const TensorType& self = call.tensor("self");
  const DType dtype = call.given("dtype") ? call.dtype("dtype") : self.dtype;
  if (!is_floating(dtype)) call.fail("random numbers are floating");
  return {{dtype, self.shape}};
}

double probability(const Call& call) {
  const double p = call.floating("p");
  if (!(p >= 0 && p <= 1)) call.fail("a probability lies between 0 and 1");
  return p;
}

std::vector<TensorType> infer_bernoulli(const Call& call) {
  require_floating(call, "self");
  probability(call);
  return {call.tensor("self")};
}

std::vector<TensorType> infer_dropout(const Call& call) {
  require_floating(call, "input");
  if (!(probability(call) < 1)) call.fail("dropout of everything is nothing to judge");
  if (!call.boolean("train")) call.fail("dropout that is off draws nothing");
  return {call.tensor("input")};
}

struct DrawnKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    map(k.out(), [] { return undefined<T>(); });
  }
};

// No draw rule: op graphs are judged by their values. `derivative` of dropout would need what was
// drawn; gradients are left out.
constexpr OpRow kRows[] = {
    {.schema = "aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
               "Tensor",
     .python = "torch.rand_like",
     .infer = infer_like,
     .kernels = &kKernels<DrawnKernel>,
     .weight = 0},
    {.schema = "aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
               "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
               "Tensor",
     .python = "torch.randn_like",
     .infer = infer_like,
     .kernels = &kKernels<DrawnKernel>,
     .weight = 0},
    {.schema = "aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
     .python = "torch.bernoulli({self}, {p})",
     .infer = infer_bernoulli,
     .kernels = &kKernels<DrawnKernel>,
     .weight = 0},
    {.schema = "aten::dropout(Tensor input, float p, bool train) -> Tensor",
     .python = "torch.nn.functional.dropout",
     .infer = infer_dropout,
     .kernels = &kKernels<DrawnKernel>,
     .weight = 0},
};

}  // namespace

bool draws_random(std::string_view op) {
  return std::ranges::any_of(kRows, [&](const OpRow& row) {
    // "aten::bernoulli.p(...": the name up to the bracket, without an overload ".default".
    std::string_view name = row.schema.substr(6, row.schema.find('(') - 6);
    const bool overloaded = name.find('.') != std::string_view::npos;
    if (op.substr(0, 5) != "aten.") return false;
    const std::string_view rest = op.substr(5);
    return overloaded ? rest == name
                      : rest.starts_with(name) && rest.substr(name.size()) == ".default";
  });
}

bool draws_random(const Program& program) {
  return std::ranges::any_of(program.nodes, [](const Node& node) { return draws_random(node.op); });
}

bool is_function_of_draw(std::string_view op) {
  return draws_random(op) && op != "aten.dropout.default";
}

std::span<const OpRow> random_rows() { return kRows; }

}  // namespace ulpfuzz
