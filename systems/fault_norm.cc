#include <algorithm>
#include <array>

#include "systems/fault_families.h"
#include "systems/fault_planter.h"

// Norms, written out or as one operator.
namespace ulpfuzz {
namespace {

constexpr std::array<std::string_view, 3> kNorms{"aten.rms_norm.default", "aten.layer_norm.default",
                                                 "aten.group_norm.default"};

// What is added before the square root.
bool set_eps(Planter& p, double eps, bool rms_only) {
  bool any = false;
  for (Node& node : p.nodes()) {
    const Argument* other = node.find("other");
    const bool shifts = node.op == "aten.add.Tensor" && other != nullptr &&
                        std::holds_alternative<Scalar>(*other) &&
                        p.feeds(node, "aten.rsqrt.default");
    const bool is_norm =
        rms_only ? node.op == kNorms[0] : std::ranges::find(kNorms, node.op) != kNorms.end();
    if (!shifts && !is_norm) continue;
    const Node before = node;
    p.set(node, shifts ? "other" : "eps", shifts ? Argument(Scalar{eps}) : Argument(eps));
    any = any || node != before;
  }
  return any;
}

bool change_eps(Planter& p, double eps) { return set_eps(p, eps, false); }
bool drop_rms_eps(Planter& p, double /*unused*/) { return set_eps(p, 0, true); }

// Is it squared, as x ** 2 or x * x?
bool is_squared(Planter& p, const Node& node) {
  if (p.feeds(node, "aten.pow.Tensor_Scalar")) return true;
  const Argument value = Ref{node.name, 0};
  return std::ranges::any_of(p.nodes(), [&](const Node& user) {
    return user.op == "aten.mul.Tensor" && *user.find("self") == value &&
           *user.find("other") == value;
  });
}

// The cast to float32 whose square's mean goes to rsqrt.
bool drop_rms_upcast(Planter& p, double /*unused*/) {
  bool any = false;
  for (Node& node : p.nodes()) {
    if (node.op != "aten.to.dtype" || !is_squared(p, node)) continue;
    const DType own = p.type(*p.tensor(node, "self")).dtype;
    if (p.type({node.name, 0}).dtype != DType::kFloat32 || own == DType::kFloat32) continue;
    p.set(node, "dtype", own);
    any = true;
  }
  return any;
}

constexpr std::array kEps{FaultStrength{0.1, FaultEffect::kSemantic},
                          FaultStrength{1e-3, FaultEffect::kSmall},
                          FaultStrength{2e-5, FaultEffect::kSmall}};

constexpr std::array kFaults{
    Fault{{.name = "rms-eps",
           .in_program = true,
           .meaning = "RMS, layer and group norms add the value before the square root",
           .strengths = kEps},
          &change_eps},
    Fault{{.name = "rms-no-eps",
           .in_program = true,
           .meaning = "RMS norms add nothing before the square root",
           .effect = FaultEffect::kSmall},
          &drop_rms_eps},
    Fault{{.name = "rms-no-upcast",
           .in_program = true,
           .meaning = "RMS norms compute in the dtype of their input",
           .effect = FaultEffect::kSmall,
           .rounding_alone = true},
          &drop_rms_upcast},
};

}  // namespace

std::span<const Fault> norm_faults() { return kFaults; }

}  // namespace ulpfuzz
