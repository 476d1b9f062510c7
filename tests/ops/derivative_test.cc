#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "generators/backward.h"
#include "generators/op_graph.h"
#include "ir/python_source.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "oracle/oracle.h"

// Derivative rules against central differences of the kernels themselves: for random calls of each
// operator in float64, the change of <cotangents, outputs> along a random direction of the inputs
// equals <gradients, direction>.
namespace ulpfuzz::test {
namespace {

// Discontinuous ones, whose differences say nothing near a step, are drawn away from their steps
// often enough; what is not linear needs a small h.
constexpr double kStep = 0x1p-18;

DType widened(DType dtype) {
  if (is_floating(dtype)) return DType::kFloat64;
  return dtype == DType::kComplex64 ? DType::kComplex128 : dtype;
}

void in_float64(Case& c) {
  for (ProgramInput& input : c.program.inputs) input.dtype = widened(input.dtype);
  for (Node& node : c.program.nodes) {
    for (NamedArgument& arg : node.args) {
      if (auto* dtype = std::get_if<DType>(&arg.value)) *dtype = widened(*dtype);
    }
  }
}

// The inputs of `wrt` replaced by their values plus h times a direction in [-1, 1].
Case moved(const Case& c, double h, std::vector<std::vector<double>>& directions) {
  Case result = c;
  directions.clear();
  for (const std::string& name : c.wrt) {
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      if (c.program.inputs[i].name != name) continue;
      Shape shape;
      for (const Dim& dim : c.program.inputs[i].shape) shape.push_back(dim.value({}));
      Fill& fill = result.inputs[i].fill;
      Elements elements = generate(fill, DType::kFloat64, shape);
      Random random(i + 1);
      directions.emplace_back();
      for (double& value : elements.reals) {
        directions.back().push_back(2 * random.unit() - 1);
        value += h * directions.back().back();
      }
      fill = Fill{};
      fill.kind = Fill::Kind::kLiteral;
      fill.values = elements.reals;
      result.inputs[i].strides.clear();  // an expanded input would move as one element
      result.inputs[i].offset = 0;
    }
  }
  return result;
}

// The outputs paired with their cotangents. Adds the magnitudes that were summed to `size`.
double paired(const Case& c, const Types& types, const Exact& exact, double& size) {
  double sum = 0;
  for (std::size_t i = 0; i < c.program.outputs.size(); ++i) {
    if (!c.cotangents[i]) continue;
    const TensorType& type = types.of(c.program.outputs[i]);
    const Elements g = generate(c.cotangents[i]->fill, type.dtype, type.shape);
    for (std::size_t j = 0; j < g.reals.size(); ++j) {
      const double term = g.reals[j] * exact.tensors[i].values[j];
      sum += term;
      size += std::fabs(term);
    }
  }
  return sum;
}

// The difference of both sides over their size, or less than 0 when the case says nothing.
double mismatch(const Op& op, std::uint64_t seed, std::string& source) {
  Profile profile;
  profile.max_elements = 60;
  profile.special_share = 0;
  profile.large_share = 0;
  const Random random(seed);
  GraphDraw draw(random.fork(1), op_table(), profile);
  if (!draw.add(op)) return -1;
  Case c = bind_symbols(draw.take());
  in_float64(c);
  Types types;
  try {
    types = verify(c, op_table());
  } catch (const Error&) {
    return -1;  // a dtype that the operator wants as it was
  }
  Random of_backward = random.fork(2);
  if (!draw_backward(of_backward, op_table(), types, c)) return -1;
  source = python_function(c.program, op_table());
  for (auto& cotangent : c.cotangents) {
    if (cotangent) cotangent->strides.clear();  // an expanded one has one element for many
  }
  std::vector<std::vector<double>> directions;
  c = moved(c, 0, directions);
  // Beyond this a step would be lost in the rounding of the number that takes it.
  for (const InputData& input : c.inputs) {
    for (const double value : input.fill.values) {
      if (std::fabs(value) > 0x1p12) return -1;
    }
  }
  const Oracle oracle(op_table());
  const Exact at = oracle.exact(c);
  double change = 0, size = 1e-6;
  std::size_t next = c.program.outputs.size();
  while (next < at.tensors.size() && at.tensors[next].role != TensorResult::Role::kGradient) ++next;
  for (const std::vector<double>& direction : directions) {
    const ExactTensor& gradient = at.tensors[next++];
    for (std::size_t i = 0; gradient.present && i < direction.size(); ++i) {
      change += gradient.values[i] * direction[i];
      size += std::fabs(gradient.values[i] * direction[i]);
    }
  }
  double summed = 0;
  const double high = paired(c, types, oracle.exact(moved(c, kStep, directions)), summed);
  const double low = paired(c, types, oracle.exact(moved(c, -kStep, directions)), summed);
  const double difference = (high - low) / (2 * kStep);
  if (!std::isfinite(change) || !std::isfinite(difference)) return -1;
  // What the rounding of the two sums alone may do to their difference.
  const double noise = 1e-15 * summed / kStep;
  return std::max(0.0, std::fabs(difference - change) - noise) / (size + std::fabs(difference));
}

class Derivative : public ::testing::TestWithParam<const char*> {};

TEST_P(Derivative, IsTheSlopeOfTheKernel) {
  const Op& op = op_table().at(GetParam());
  int compared = 0, steep = 0;
  for (std::uint64_t seed = 1; seed <= 40 && compared < 12; ++seed) {
    std::string source;
    const double error = mismatch(op, seed, source);
    if (error < 0) continue;
    ++compared;
    if (error > 1e-4) {
      ++steep;
      RecordProperty("steep", source);
      EXPECT_LE(error, 1e-4) << "seed " << seed << "\n" << source;
    }
  }
  EXPECT_GE(compared, 3) << "too few differentiable calls were drawn";
  EXPECT_EQ(steep, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Derivative,
    ::testing::Values(
        "aten.transpose.int", "aten.t.default", "aten.permute.default", "aten.movedim.int",
        "aten.unsqueeze.default", "aten.squeeze.dim", "aten.select.int", "aten.slice.Tensor",
        "aten.expand.default", "aten.narrow.default", "aten.diagonal.default", "aten.unflatten.int",
        "aten.reshape.default", "aten.flatten.using_ints", "aten.contiguous.default",
        "aten.clone.default", "aten.flip.default", "aten.roll.default", "aten.repeat.default",
        "aten.tril.default", "aten.triu.default", "aten.select_scatter.default",
        "aten.slice_scatter.default", "aten.diagonal_scatter.default", "aten.gather.default",
        "aten.scatter.value", "aten.scatter_add.default", "aten.index_select.default",
        "aten.index_add.default", "aten.index.Tensor", "aten.index_put.default",
        "aten.embedding.default", "aten.cat.default", "aten.stack.default",
        "aten.constant_pad_nd.default", "aten.mm.default", "aten.bmm.default",
        "aten.matmul.default", "aten.dot.default", "aten.mv.default", "aten.linear.default",
        "aten.addmm.default", "aten.baddbmm.default", "aten.scaled_dot_product_attention.default",
        "aten.softmax.int", "aten.log_softmax.int", "aten.layer_norm.default",
        "aten.rms_norm.default", "aten.group_norm.default", "aten.cross_entropy_loss.default",
        "aten.mse_loss.default", "aten.l1_loss.default",
        "aten.binary_cross_entropy_with_logits.default", "aten.to.dtype"),
    [](const auto& instance) {
      std::string name = instance.param;
      for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace ulpfuzz::test
