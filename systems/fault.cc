#include "systems/fault.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "ir/error.h"
#include "ir/rewrite.h"
#include "ir/verify.h"

namespace ulpfuzz {
namespace {

// One place where a fault goes into a program; says whether it found any.
class Planter {
 public:
  Planter(Program program, const OpTable& table)
      : program_(std::move(program)), table_(table), types_(verify(program_, table)) {}

  bool attention_scale(double factor);
  bool interleave_kv();
  bool skip_k_rope();
  bool drop_rms_eps();
  bool drop_rms_upcast();
  bool relu_plus_one();
  bool gelu_for_silu();

  Program take() && { return without_dead_code(program_, table_); }

 private:
  // Sets an argument, in the place that the schema gives it.
  void set(Node& node, const std::string& arg, Argument value) const {
    std::vector<NamedArgument> args;
    for (const SchemaArgument& formal : table_.at(node.op).schema.args) {
      if (formal.name == arg) {
        args.push_back({arg, std::move(value)});
      } else if (const Argument* given = node.find(formal.name)) {
        args.push_back({formal.name, *given});
      }
    }
    node.args = std::move(args);
  }

  // Everyone who used `from`, beyond node `beyond`, uses `to`.
  void redirect(const Ref& from, const Ref& to, std::size_t beyond) {
    const auto rename = [&](const Ref& ref) { return ref == from ? to : ref; };
    for (std::size_t i = beyond; i < program_.nodes.size(); ++i) {
      rename_operands(program_.nodes[i], rename);
    }
    for (Ref& output : program_.outputs) output = rename(output);
  }

  // Puts a node in front of node `at`; returns its value.
  Ref insert(std::size_t at, const std::string& stem, const std::string& op,
             std::vector<NamedArgument> args) {
    const std::string name = fresh_name(program_, stem);
    program_.nodes.insert(program_.nodes.begin() + static_cast<std::ptrdiff_t>(at),
                          Node{name, op, std::move(args)});
    return {name, 0};
  }

  bool feeds(const Node& node, std::string_view op) const {
    return std::ranges::any_of(program_.nodes, [&](const Node& user) {
      if (user.op != op) return false;
      const std::vector<Ref> used = operands(user);
      return std::ranges::find(used, Ref{node.name, 0}) != used.end();
    });
  }

  Program program_;
  const OpTable& table_;
  const Types types_;
};

constexpr std::string_view kAttention = "aten.scaled_dot_product_attention.default";

bool Planter::attention_scale(double factor) {
  bool any = false;
  for (Node& node : program_.nodes) {
    if (node.op != kAttention) continue;
    const Ref& query = std::get<Ref>(*node.find("query"));
    double scale = 1 / std::sqrt(static_cast<double>(types_.of(query).shape.back()));
    if (const Argument* given = node.find("scale")) {
      if (const auto* value = std::get_if<double>(given)) scale = *value;
    }
    set(node, "scale", scale * factor);
    any = true;
  }
  return any;
}

// Query head h belongs to key head h / group; here it gets h mod (number of key heads).
bool Planter::interleave_kv() {
  bool any = false;
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    if (program_.nodes[i].op != kAttention) continue;
    const auto heads = [&](std::string_view arg) {
      const Shape& shape = types_.of(std::get<Ref>(*program_.nodes[i].find(arg))).shape;
      return shape.size() < 3 ? 1 : shape[shape.size() - 3];
    };
    const std::int64_t kv_heads = heads("key");
    const std::int64_t group = heads("query") / std::max<std::int64_t>(kv_heads, 1);
    if (kv_heads < 2 || group < 2) continue;
    for (const std::string arg : {"key", "value"}) {
      const Ref before = std::get<Ref>(*program_.nodes[i].find(arg));
      std::vector<Dim> repeats(types_.of(before).shape.size(), Dim(1));
      repeats[repeats.size() - 3] = Dim(group);
      const Ref tiled = insert(i, program_.nodes[i].name + "_" + arg, "aten.repeat.default",
                               {{"self", before}, {"repeats", std::move(repeats)}});
      set(program_.nodes[++i], arg, tiled);
    }
    any = true;
  }
  return any;
}

// `..._k_rope` is the key after the rotary embedding of `..._k_heads` (generators/).
bool Planter::skip_k_rope() {
  constexpr std::string_view kAfter = "_k_rope";
  bool any = false;
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    const std::string& name = program_.nodes[i].name;
    if (!name.ends_with(kAfter)) continue;
    const std::string before = name.substr(0, name.size() - kAfter.size()) + "_k_heads";
    if (program_.find_node(before) == nullptr) continue;
    redirect({name, 0}, {before, 0}, i + 1);
    any = true;
  }
  return any;
}

bool Planter::drop_rms_eps() {
  bool any = false;
  for (Node& node : program_.nodes) {
    const bool shifts = node.op == "aten.add.Tensor" && node.find("other") != nullptr &&
                        std::holds_alternative<Scalar>(*node.find("other")) &&
                        feeds(node, "aten.rsqrt.default");
    if (shifts) set(node, "other", Scalar{0.0});
    if (node.op == "aten.rms_norm.default") set(node, "eps", 0.0);
    any = any || shifts || node.op == "aten.rms_norm.default";
  }
  return any;
}

// The cast to float32 whose square's mean goes to rsqrt.
bool Planter::drop_rms_upcast() {
  bool any = false;
  for (Node& node : program_.nodes) {
    if (node.op != "aten.to.dtype" || !feeds(node, "aten.pow.Tensor_Scalar")) continue;
    const DType own = types_.of(std::get<Ref>(*node.find("self"))).dtype;
    if (types_.of({node.name, 0}).dtype != DType::kFloat32 || own == DType::kFloat32) continue;
    set(node, "dtype", own);
    any = true;
  }
  return any;
}

bool Planter::relu_plus_one() {
  bool any = false;
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    if (program_.nodes[i].op != "aten.relu.default") continue;
    const Ref relu{program_.nodes[i].name, 0};
    const Ref more = insert(i + 1, relu.name + "_plus_one", "aten.add.Tensor",
                            {{"self", relu}, {"other", Scalar{std::int64_t{1}}}});
    redirect(relu, more, i + 2);
    any = true;
  }
  return any;
}

bool Planter::gelu_for_silu() {
  bool any = false;
  for (Node& node : program_.nodes) {
    if (node.op != "aten.silu.default") continue;
    node.op = "aten.gelu.default";
    any = true;
  }
  return any;
}

bool plant_scale(Planter& p, double factor) { return p.attention_scale(factor); }
bool plant_interleave(Planter& p, double /*unused*/) { return p.interleave_kv(); }
bool plant_no_rope(Planter& p, double /*unused*/) { return p.skip_k_rope(); }
bool plant_no_eps(Planter& p, double /*unused*/) { return p.drop_rms_eps(); }
bool plant_no_upcast(Planter& p, double /*unused*/) { return p.drop_rms_upcast(); }
bool plant_relu(Planter& p, double /*unused*/) { return p.relu_plus_one(); }
bool plant_gelu(Planter& p, double /*unused*/) { return p.gelu_for_silu(); }

struct Entry {
  FaultKind kind;
  bool takes_value;
  bool (*plant)(Planter&, double);
};

// Adding a fault of the program is one entry; a fault of the worker is one here and one in each
// worker that has it.
constexpr std::array kEntries{
    Entry{
        {"attn-scale", true, "multiplies every attention scale by the value"}, true, &plant_scale},
    Entry{{"rope-k-skipped", true, "attention sees keys without their rotary embedding"},
          false,
          &plant_no_rope},
    Entry{
        {"rms-no-eps", true, "RMS norms add nothing before the square root"}, false, &plant_no_eps},
    Entry{{"rms-no-upcast", true, "RMS norms compute in the dtype of their input"},
          false,
          &plant_no_upcast},
    Entry{{"kv-interleave", true, "query heads take key heads in turns, not in groups"},
          false,
          &plant_interleave},
    Entry{{"relu-plus-one", true, "relu(x) + 1 in place of relu(x)"}, false, &plant_relu},
    Entry{{"gelu-for-silu", true, "GELU in place of SiLU"}, false, &plant_gelu},
    Entry{{"crash", false, "the process aborts"}, false, nullptr},
    Entry{{"hang", false, "the process computes for ever"}, false, nullptr},
    Entry{{"memory", false, "the process allocates without end"}, false, nullptr},
    Entry{{"raise", false, "the program raises (eager@cpp)"}, false, nullptr},
    Entry{{"garbage", false, "noise on standard output; the result is right"}, false, nullptr},
    Entry{{"bad-frame", false, "noise where the result belongs (eager@cpp)"}, false, nullptr},
    Entry{{"capture-scales-attention", false, "a captured program scales its attention by 1.5"},
          false,
          nullptr},
    Entry{{"one-nan", false, "a NaN in the first floating output"}, false, nullptr},
    Entry{{"wrong-out-stride", false, "the first output of two dimensions lies transposed"},
          false,
          nullptr},
    Entry{
        {"sdpa-fake-stride", false, "compilers expect contiguous gradients of attention (Python)"},
        false,
        nullptr},
    Entry{
        {"ignores-sdpa-choice", false, "the environment's choice of attention kernels is not made"},
        false,
        nullptr},
    Entry{{"nondeterministic", false, "an ulp more on some elements, others each time (Python)"},
          false,
          nullptr},
};

constexpr auto kKinds = [] {
  std::array<FaultKind, kEntries.size()> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kEntries[i].kind;
  return kinds;
}();

struct Parsed {
  const Entry* entry;
  double value = 0;
};

Parsed parse(std::string_view fault) {
  const std::size_t equals = fault.find('=');
  const std::string name(fault.substr(0, equals));
  const auto entry =
      std::ranges::find_if(kEntries, [&](const Entry& e) { return e.kind.name == name; });
  if (entry == kEntries.end()) {
    std::string known;
    for (const Entry& e : kEntries) {
      known += (known.empty() ? "" : ", ") + std::string(e.kind.name) + (e.takes_value ? "=X" : "");
    }
    throw Error("fault", "there is no fault '" + name + "'; there are " + known);
  }
  Parsed parsed{&*entry};
  if (entry->takes_value != (equals != std::string_view::npos)) {
    throw Error("fault", "'" + name +
                             (entry->takes_value ? "' needs a number: " + name + "=1.1"
                                                 : "' takes no value"));
  }
  if (!entry->takes_value) return parsed;
  const std::string_view digits = fault.substr(equals + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Error("fault", "'" + std::string(digits) + "' is not a number");
  }
  return parsed;
}

}  // namespace

std::span<const FaultKind> fault_kinds() { return kKinds; }

const FaultKind& fault_kind(std::string_view fault) { return parse(fault).entry->kind; }

Case plant(const Case& lowered, std::string_view fault, const OpTable& table, bool& planted) {
  const Parsed parsed = parse(fault);
  planted = false;
  if (!parsed.entry->kind.in_program) return lowered;
  Case result = bind_symbols(lowered);
  Planter planter(result.program, table);
  planted = parsed.entry->plant(planter, parsed.value);
  if (!planted) return lowered;
  result.program = std::move(planter).take();
  return result;
}

}  // namespace ulpfuzz
