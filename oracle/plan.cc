#include "oracle/plan.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace ulpfuzz {

namespace {

bool has_reals(DType dtype) { return !is_integral(dtype); }

// The dtype a step computes in: the least precise of its floating results; for a step without one
// (a comparison) what its operands promote to.
DType compute_dtype(const std::vector<TensorType>& results, const std::vector<TensorType>& operands,
                    const std::vector<Scalar>& numbers) {
  DType compute = DType::kFloat64;
  bool found = false;
  for (const TensorType& result : results) {
    if (!has_reals(result.dtype)) continue;
    const DType real = real_part(result.dtype);
    if (!found || float_format(real).precision < float_format(compute).precision) compute = real;
    found = true;
  }
  if (found) return compute;
  Promotion promotion;
  for (const TensorType& operand : operands) promotion.add(operand);
  for (const Scalar& number : numbers) promotion.add(number);
  if (operands.empty() && numbers.empty()) return DType::kFloat32;
  const DType promoted = promotion.result();
  return has_reals(promoted) ? real_part(promoted) : DType::kFloat32;
}

ErrorModel model_of(const Op& op, DType compute) {
  const DType opmath_type = opmath(compute);
  const FloatFormat& format = float_format(opmath_type);
  ErrorModel model;
  model.unit = op.row->numerics.narrow_accumulator ? float_format(compute).unit_roundoff
                                                   : format.unit_roundoff;
  model.function_ulps = op.row->numerics.function_ulps;
  model.scalar_unit = float_format(compute).unit_roundoff;
  model.max_finite = format.max_finite;
  model.min_normal = std::ldexp(1.0, format.min_exponent);
  model.min_subnormal = format.min_subnormal;
  return model;
}

bool is_conversion(std::string_view op) {
  return op.starts_with("aten.to.") || op.starts_with("aten._to_copy.") ||
         op.starts_with("aten.type_as.") || op.starts_with("aten.copy");
}

bool is_tensor_kind(SchemaArgument::Kind kind) {
  return kind == SchemaArgument::Kind::kTensor || kind == SchemaArgument::Kind::kTensorList;
}

}  // namespace

Plan::Plan(const Program& program, const OpTable& table, Halves halves) : program_(program) {
  const auto typed = [halves](TensorType type) {
    if (halves == Halves::kOpmath && has_reals(type.dtype)) type.dtype = opmath(type.dtype);
    return type;
  };
  const auto define = [this](const std::string& name, const std::vector<TensorType>& types) {
    first_slots_[name] = slots();
    types_of_slots_.insert(types_of_slots_.end(), types.begin(), types.end());
    types_.set(name, types);
  };
  for (const ProgramInput& input : program.inputs) {
    TensorType type{input.dtype, {}};
    for (const Dim& dim : input.shape) type.shape.push_back(dim.value(program.symbols));
    define(input.name, {typed(std::move(type))});
  }
  steps_.reserve(program.nodes.size());
  for (const Node& node : program.nodes) {
    const Op& op = table.at(node.op);
    Call call(op, node, program.symbols, types_);
    if (op.row->kernels == nullptr) call.fail("the operator has no oracle kernel");
    std::vector<TensorType> results = op.row->infer(call);
    std::ranges::transform(results, results.begin(), typed);
    std::vector<BoundArgument> args;
    std::vector<TensorType> operands;
    std::vector<Scalar> numbers;
    for (const SchemaArgument& declared : op.schema.args) {
      const Argument* value = node.find(declared.name);
      if (value == nullptr || !is_tensor_kind(declared.kind)) continue;
      BoundArgument bound{declared.name, declared.writes, {}};
      if (const auto* ref = std::get_if<Ref>(value)) bound.operands.push_back({slot(*ref), {}});
      if (const auto* number = std::get_if<Scalar>(value)) {
        bound.operands.push_back({kNumber, *number});
        numbers.push_back(*number);
      }
      if (const auto* refs = std::get_if<std::vector<Ref>>(value)) {
        for (const Ref& ref : *refs) {
          bound.operands.push_back({ref.name.empty() ? kNone : slot(ref), {}});
        }
      }
      for (const Operand& operand : bound.operands) {
        if (operand.slot >= 0) operands.push_back(type(operand.slot));
      }
      if (!bound.operands.empty() || std::holds_alternative<std::vector<Ref>>(*value)) {
        args.push_back(std::move(bound));
      }
    }
    const DType compute = compute_dtype(results, operands, numbers);
    const int first = slots();
    define(node.name, results);
    steps_.push_back({&op, call, std::move(results), std::move(args), first, compute,
                      model_of(op, compute), is_conversion(op.name())});
  }
}

int Plan::slot(const Ref& ref) const {
  const auto found = first_slots_.find(ref.name);
  if (found == first_slots_.end() || !types_.has(ref)) {
    throw Error("unknown value '" + ref.name + "'");
  }
  return found->second + ref.output;
}

bool Plan::has_float64() const {
  return std::any_of(types_of_slots_.begin(), types_of_slots_.end(), [](const TensorType& type) {
    return has_reals(type.dtype) && real_part(type.dtype) == DType::kFloat64;
  });
}

}  // namespace ulpfuzz
