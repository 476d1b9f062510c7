#include <algorithm>
#include <array>

#include "systems/fault_families.h"
#include "systems/fault_planter.h"

// One operator in place of another, pointwise or by a factor.
namespace ulpfuzz {
namespace {

constexpr std::array<std::string_view, 5> kProducts{"aten.linear.default", "aten.mm.default",
                                                    "aten.bmm.default", "aten.matmul.default",
                                                    "aten.addmm.default"};

// Node i's first result becomes `change(insertion, result)` for all that use it.
template <class Change>
void wrap_result(Planter& p, std::size_t i, const Change& change) {
  const Ref result{p.nodes()[i].name, 0};
  Insertion after(p, i + 1, result.name);
  const Ref changed = change(after, result);
  p.redirect(result, changed, after.at());
}

// The first product with a floating number, or else the first product of matrices.
bool scale(Planter& p, double factor) {
  for (Node& node : p.nodes()) {
    const Argument* other = node.find("other");
    if (node.op != "aten.mul.Tensor" || other == nullptr) continue;
    const auto* number = std::get_if<Scalar>(other);
    if (number == nullptr || !std::holds_alternative<double>(number->value)) continue;
    if (!is_floating(p.type({node.name, 0}).dtype)) continue;
    p.set(node, "other", Scalar{std::get<double>(number->value) * factor});
    return true;
  }
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (std::ranges::find(kProducts, p.nodes()[i].op) == kProducts.end()) continue;
    if (!is_floating(p.type({p.nodes()[i].name, 0}).dtype)) continue;
    wrap_result(p, i, [&](Insertion& after, const Ref& result) {
      return after.call("mul.Tensor", result, Scalar{factor});
    });
    return true;
  }
  return false;
}

bool relu_plus_one(Planter& p, double /*unused*/) {
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (p.nodes()[i].op != "aten.relu.default") continue;
    wrap_result(p, i, [](Insertion& after, const Ref& result) {
      return after.call("add.Tensor", result, Scalar{std::int64_t{1}});
    });
    any = true;
  }
  return any;
}

bool gelu_for_silu(Planter& p, double /*unused*/) {
  bool any = false;
  for (Node& node : p.nodes()) {
    if (node.op != "aten.silu.default") continue;
    node.op = "aten.gelu.default";
    any = true;
  }
  return any;
}

bool tanh_gelu(Planter& p, double /*unused*/) {
  bool any = false;
  for (Node& node : p.nodes()) {
    if (node.op != "aten.gelu.default") continue;
    const Argument* approximate = node.find("approximate");
    if (approximate != nullptr && *approximate != Argument(std::string("none"))) continue;
    p.set(node, "approximate", std::string("tanh"));
    any = true;
  }
  return any;
}

// Computes in int64, and stops at the ends of the type where eager wraps.
bool saturate(Planter& p, double /*unused*/) {
  constexpr std::array<std::string_view, 3> kWrapping{"aten.add.Tensor", "aten.sub.Tensor",
                                                      "aten.mul.Tensor"};
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (std::ranges::find(kWrapping, p.nodes()[i].op) == kWrapping.end()) continue;
    const DType dtype = p.type({p.nodes()[i].name, 0}).dtype;
    if (!is_integral(dtype) || dtype == DType::kBool || dtype == DType::kInt64) continue;
    Insertion before(p, i, p.nodes()[i].name + "_wide");
    for (const std::string arg : {"self", "other"}) {
      if (const auto operand = p.tensor(p.nodes()[before.at()], arg)) {
        const Ref wide = before.cast(*operand, DType::kInt64);
        p.set(p.nodes()[before.at()], arg, wide);
      }
    }
    i = before.at();
    wrap_result(p, i, [&](Insertion& after, const Ref& result) {
      const Ref clamped = after.call("clamp.default", {{"self", result},
                                                       {"min", Scalar{min_integer(dtype)}},
                                                       {"max", Scalar{max_integer(dtype)}}});
      return after.cast(clamped, dtype);
    });
    any = true;
  }
  return any;
}

// trunc(x) + trunc(2 (x - trunc(x))), each step of which is exact.
bool round_half_away(Planter& p, double /*unused*/) {
  bool any = false;
  for (std::size_t i = 0; i < p.nodes().size(); ++i) {
    if (p.nodes()[i].op != "aten.round.default") continue;
    const Ref x = *p.tensor(p.nodes()[i], "self");
    if (!is_floating(p.type(x).dtype)) continue;
    wrap_result(p, i, [&](Insertion& after, const Ref& /*result*/) {
      const Ref whole = after.call("trunc.default", x);
      const Ref rest = after.call("sub.Tensor", x, whole);  // NaN of an infinity
      const Ref part = after.call("nan_to_num.default", {{"self", rest}, {"nan", 0.0}});
      const Ref twice = after.call("mul.Tensor", part, Scalar{2.0});
      return after.call("add.Tensor", whole, after.call("trunc.default", twice));
    });
    any = true;
  }
  return any;
}

constexpr std::array kScales{
    FaultStrength{1.1, FaultEffect::kSemantic}, FaultStrength{1.03, FaultEffect::kSemantic},
    FaultStrength{1.01, FaultEffect::kSmall}, FaultStrength{1.003, FaultEffect::kSmall}};

constexpr std::array kFaults{
    Fault{{.name = "scale",
           .in_program = true,
           .meaning = "the first product with a floating number, or of matrices, is multiplied by "
                      "the value",
           .strengths = kScales},
          &scale},
    Fault{
        {.name = "relu-plus-one", .in_program = true, .meaning = "relu(x) + 1 in place of relu(x)"},
        &relu_plus_one},
    Fault{{.name = "gelu-for-silu", .in_program = true, .meaning = "GELU in place of SiLU"},
          &gelu_for_silu},
    Fault{{.name = "gelu-tanh",
           .in_program = true,
           .meaning = "GELU by its tanh formula in place of erf",
           .effect = FaultEffect::kSmall},
          &tanh_gelu},
    Fault{{.name = "saturate",
           .in_program = true,
           .meaning = "sums and products of integers below 64 bits stop at the ends of their type"},
          &saturate},
    Fault{{.name = "round-half-away",
           .in_program = true,
           .meaning = "round takes halves away from zero, not to even"},
          &round_half_away},
};

}  // namespace

std::span<const Fault> arithmetic_faults() { return kFaults; }

}  // namespace ulpfuzz
