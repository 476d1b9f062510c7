#include "tests/ir/small_table.h"

#include <array>

#include "ir/call.h"
#include "ir/differentiate.h"
#include "ir/json.h"

namespace ulpfuzz {
namespace {

using TypeList = std::vector<TensorType>;

TypeList same(const Call& call) { return {call.tensor("self")}; }

TypeList binary(const Call& call) {
  Promotion promotion;
  Shape shape;
  for (const char* arg : {"self", "other"}) {
    if (call.is_tensor(arg)) {
      promotion.add(call.tensor(arg));
      shape = broadcast(shape, call.tensor(arg).shape);
    } else {
      promotion.add(call.scalar(arg));
    }
  }
  return {{promotion.result(), shape}};
}

TypeList max_dim(const Call& call) {
  TensorType values = call.tensor("self");
  const auto dim = wrap_dim(call.integer("dim"), values.shape.size());
  values.shape.erase(values.shape.begin() + dim);
  return {values, {DType::kInt64, values.shape}};
}

TypeList shaped(const Call& call) {
  Shape shape = call.integers(call.op().schema.find("shape") != nullptr ? "shape" : "size");
  return {{call.tensor("self").dtype, shape}};
}

TypeList transposed(const Call& call) {
  TensorType type = call.tensor("self");
  const auto at = [&](const char* arg) {
    return static_cast<std::size_t>(wrap_dim(call.integer(arg), type.shape.size()));
  };
  std::swap(type.shape[at("dim0")], type.shape[at("dim1")]);
  return {type};
}

TypeList selected(const Call& call) {
  TensorType type = call.tensor("self");
  const auto dim = wrap_dim(call.integer("dim"), type.shape.size());
  const std::int64_t index = call.integer("index");
  if (index < 0 || index >= type.shape[static_cast<std::size_t>(dim)]) call.fail("out of range");
  type.shape.erase(type.shape.begin() + dim);
  return {type};
}

TypeList summed(const Call& call) {
  TensorType type = call.tensor("self");
  for (const std::int64_t dim : call.integers("dim")) {
    type.shape[static_cast<std::size_t>(wrap_dim(dim, type.shape.size()))] = 1;
  }
  return {type};
}

TypeList copied(const Call& call) {
  return {{call.given("dtype") ? call.dtype("dtype") : call.tensor("self").dtype,
           call.tensor("self").shape}};
}

TypeList first_of_list(const Call& call) { return {call.type(call.refs("tensors").at(0))}; }

TypeList halves(const Call& call) { return {call.tensor("self"), call.tensor("self")}; }

TypeList indexed(const Call& call) { return {call.tensor("self")}; }

TypeList attention(const Call& call) { return {call.tensor("query")}; }

void sin_derivative(Backward& b) {
  const Ref cosine = b.emit("aten.cos.default", {{"self", b.input("self")}});
  b.contribute("self", b.emit("aten.mul.Tensor", {{"self", b.gradient()}, {"other", cosine}}));
}

void add_derivative(Backward& b) {
  b.contribute("self", b.gradient());
  b.contribute("other", b.gradient());
}

void mul_derivative(Backward& b) {
  if (b.needs("self")) {
    b.contribute("self",
                 b.emit("aten.mul.Tensor", {{"self", b.gradient()}, {"other", b.input("other")}}));
  }
  if (b.needs("other")) {
    b.contribute("other",
                 b.emit("aten.mul.Tensor", {{"self", b.gradient()}, {"other", b.input("self")}}));
  }
}

void max_derivative(Backward& b) {
  // Not max's real derivative: it only shows that values and indices are told apart.
  b.contribute("self",
               b.emit("aten.add.Tensor", {{"self", b.gradient(0)}, {"other", b.input("self")}}));
}

void halves_derivative(Backward& b) {
  b.contribute("self",
               b.emit("aten.add.Tensor", {{"self", b.gradient(0)}, {"other", b.gradient(1)}}));
}

constexpr Numerics kView{.is_view = true};

constexpr auto kRows = std::to_array<OpRow>({
    {.schema = "aten::sin(Tensor self) -> Tensor",
     .python = "torch.sin",
     .infer = same,
     .derivative = sin_derivative},
    {.schema = "aten::sin_(Tensor(a!) self) -> Tensor(a!)", .python = ".sin_", .infer = same},
    {.schema = "aten::cos(Tensor self) -> Tensor", .python = "torch.cos", .infer = same},
    {.schema = "aten::exp_(Tensor(a!) self) -> Tensor(a!)", .python = ".exp_", .infer = same},
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     .python = "torch.add",
     .infer = binary,
     .derivative = add_derivative},
    {.schema = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
     .python = ".add_",
     .infer = same},
    {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
     .python = "{self} * {other}",
     .infer = binary,
     .derivative = mul_derivative},
    {.schema = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
               "indices)",
     .python = "torch.max",
     .infer = max_dim,
     .derivative = max_derivative},
    {.schema = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
     .python = "torch.reshape",
     .infer = shaped},
    {.schema = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     .python = ".expand",
     .infer = shaped,
     .numerics = kView},
    {.schema = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     .python = "torch.transpose",
     .infer = transposed,
     .numerics = kView},
    {.schema = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     .python = "torch.select",
     .infer = selected,
     .numerics = kView},
    {.schema = "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
     .python = "torch.select_scatter",
     .infer = same},
    {.schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .python = "torch.sum",
     .infer = summed},
    {.schema = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .python = ".to",
     .infer = copied},
    {.schema = "aten::zeros_like(Tensor self) -> Tensor",
     .python = "torch.zeros_like",
     .infer = same},
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
     .python = "torch.cat",
     .infer = first_of_list},
    {.schema = "aten::halves(Tensor self) -> (Tensor, Tensor)",
     .python = "torch.halves",
     .infer = halves,
     .derivative = halves_derivative},
    {.schema = "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
     .python = "torch.unbind",
     .infer = halves,
     .numerics = kView},
    {.schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .python = "{self}[{indices}]",
     .infer = indexed},
    {.schema = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
               "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, "
               "bool enable_gqa=False) -> Tensor",
     .python = "torch.nn.functional.scaled_dot_product_attention",
     .infer = attention},
});

// An argument in text().
struct Print {
  std::string operator()(const Ref& ref) const { return to_string(ref); }
  std::string operator()(const Dim& dim) const { return to_string(dim); }
  std::string operator()(const std::vector<Dim>& dims) const {
    std::string list;
    for (const Dim& dim : dims) list += (list.empty() ? "" : ", ") + to_string(dim);
    return "[" + list + "]";
  }
  std::string operator()(bool flag) const { return flag ? "True" : "False"; }
  std::string operator()(DType dtype) const { return std::string(name(dtype)); }
  std::string operator()(const Scalar& scalar) const { return std::to_string(scalar.as_double()); }
  std::string operator()(const auto&) const { return "?"; }
};

}  // namespace

const OpTable& small_table() {
  static const std::span<const OpRow> kFamilies[] = {kRows};
  static const OpTable table(kFamilies);
  return table;
}

Node node(std::string name, std::string op, std::vector<NamedArgument> args) {
  return {std::move(name), std::move(op), std::move(args)};
}

std::string text(const Program& program) {
  std::string lines;
  for (const Node& n : program.nodes) {
    std::string args;
    for (const NamedArgument& arg : n.args) {
      args += (args.empty() ? "" : ", ") + arg.name + "=" + std::visit(Print(), arg.value);
    }
    lines += n.name + " = " + n.op + "(" + args + ")\n";
  }
  lines += "->";
  for (const Ref& ref : program.outputs) lines += " " + to_string(ref);
  return lines;
}

}  // namespace ulpfuzz
