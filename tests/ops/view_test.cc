#include <gmock/gmock.h>

#include "ir/error.h"
#include "ir/python_source.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "tests/ops/one_call.h"

// Views and copies: where elements come from, and which calls are refused. Expected numbers were
// taken from torch 2.11.
namespace ulpfuzz::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Ref kX{"x", 0};

std::vector<double> counting(std::int64_t n) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
  return values;
}

// x is 0, 1, 2, ... of the shape, stored with the strides.
ExactTensor moved(const std::string& op, const Shape& shape, std::vector<NamedArgument> args,
                  const Shape& strides = {}) {
  args.insert(args.begin(), {"self", kX});
  const Case c =
      one_call(op, {{"x", DType::kFloat32, shape, counting(element_count(shape)), strides}}, args);
  verify(c, op_table());
  return Oracle(op_table()).exact(c).tensors.at(0);
}

void refused(const std::string& op, const Shape& shape, std::vector<NamedArgument> args) {
  EXPECT_THROW(moved(op, shape, std::move(args)), Error) << op;
}

TEST(View, TransposeAndPermuteMoveElements) {
  const ExactTensor t = moved("aten.transpose.int", {2, 3}, {{"dim0", Dim(0)}, {"dim1", Dim(-1)}});
  EXPECT_THAT(t.type.shape, ElementsAre(3, 2));
  EXPECT_THAT(t.values, ElementsAre(0, 3, 1, 4, 2, 5));
  const ExactTensor p = moved("aten.permute.default", {2, 1, 3}, {{"dims", dims({2, 0, -2})}});
  EXPECT_THAT(p.type.shape, ElementsAre(3, 2, 1));
  EXPECT_THAT(p.values, ElementsAre(0, 3, 1, 4, 2, 5));
}

// A view of an operand that is itself stored transposed reads the logical elements.
TEST(View, LayoutsOfOperandsDoNotShow) {
  const ExactTensor t = moved("aten.t.default", {2, 3}, {}, {1, 2});
  EXPECT_THAT(t.values, ElementsAre(0, 3, 1, 4, 2, 5));
  const ExactTensor r = moved("aten.reshape.default", {2, 3}, {{"shape", dims({-1})}}, {1, 2});
  EXPECT_THAT(r.values, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(View, SlicesClampAsPythonDoes) {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    return moved("aten.slice.Tensor", {5},
                 {{"dim", Dim(0)}, {"start", Dim(start)}, {"end", Dim(end)}, {"step", Dim(step)}})
        .values;
  };
  EXPECT_THAT(slice(1, 4, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(slice(-100, 100, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(slice(3, 1, 1), ElementsAre());
  EXPECT_THAT(slice(-2, 5, 1), ElementsAre(3, 4));
  refused("aten.slice.Tensor", {5}, {{"step", Dim(0)}});
  refused("aten.slice.Tensor", {}, {});
}

TEST(View, SelectNarrowDiagonal) {
  EXPECT_THAT(moved("aten.select.int", {2, 3}, {{"dim", Dim(1)}, {"index", Dim(-1)}}).values,
              ElementsAre(2, 5));
  EXPECT_THAT(
      moved("aten.narrow.default", {4}, {{"dim", Dim(0)}, {"start", Dim(-3)}, {"length", Dim(2)}})
          .values,
      ElementsAre(1, 2));
  EXPECT_THAT(moved("aten.diagonal.default", {3, 4}, {{"offset", Dim(1)}}).values,
              ElementsAre(1, 6, 11));
  EXPECT_THAT(moved("aten.diagonal.default", {3, 4}, {{"offset", Dim(-2)}}).values, ElementsAre(8));
  refused("aten.select.int", {2, 3}, {{"dim", Dim(1)}, {"index", Dim(3)}});
  refused("aten.narrow.default", {4}, {{"dim", Dim(0)}, {"start", Dim(3)}, {"length", Dim(2)}});
  refused("aten.diagonal.default", {3, 4}, {{"dim1", Dim(1)}, {"dim2", Dim(-1)}});
}

TEST(View, ExpandRepeatsAndRefuses) {
  EXPECT_THAT(moved("aten.expand.default", {2, 1}, {{"size", dims({2, -1, 2})}}).type.shape,
              ElementsAre(2, 2, 2));
  EXPECT_THAT(moved("aten.expand.default", {2, 1}, {{"size", dims({-1, 2})}}).values,
              ElementsAre(0, 0, 1, 1));
  refused("aten.expand.default", {2}, {{"size", dims({-1, 2})}});
  refused("aten.expand.default", {2}, {{"size", dims({3})}});
}

TEST(Rearrange, FlipRollRepeat) {
  EXPECT_THAT(moved("aten.flip.default", {2, 2}, {{"dims", dims({-1})}}).values,
              ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(
      moved("aten.roll.default", {2, 3}, {{"shifts", dims({1})}, {"dims", dims({1})}}).values,
      ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(moved("aten.roll.default", {2, 2}, {{"shifts", dims({-1})}}).values,
              ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(moved("aten.repeat.default", {2}, {{"repeats", dims({2, 2})}}).values,
              ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  refused("aten.flip.default", {2, 2}, {{"dims", dims({0, -2})}});
  refused("aten.repeat.default", {2, 3}, {{"repeats", dims({2})}});
}

TEST(Split, PartsAreViewsInOrder) {
  const auto split = [](const std::vector<Dim>& sizes, std::int64_t dim, int part) {
    Case c = one_call("aten.split_with_sizes.default",
                      {{"x", DType::kFloat32, {2, 3}, counting(6), {1, 2}}},
                      {{"self", kX}, {"split_sizes", sizes}, {"dim", Dim(dim)}});
    c.program.outputs = {{"y", part}};
    verify(c, op_table());
    return Oracle(op_table()).exact(c).tensors.at(0);
  };
  EXPECT_THAT(split(dims({1, 2}), -1, 0).values, ElementsAre(0, 3));
  EXPECT_THAT(split(dims({1, 2}), -1, 1).values, ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(split(dims({3, 0}), 1, 1).type.shape, ElementsAre(2, 0));
  EXPECT_THAT(split(dims({1, 1}), 0, 1).values, ElementsAre(3, 4, 5));
  EXPECT_THROW(split(dims({1, 1}), 1, 0), Error);   // not all of it
  EXPECT_THROW(split(dims({4, -1}), 1, 0), Error);  // -1 is no size here
  EXPECT_THROW(split(dims({1, 2}), 1, 2), Error);   // there is no third part
}

TEST(Split, AMissingGradientIsZeros) {
  Case c = one_call("aten.split_with_sizes.default", {{"x", DType::kFloat32, {3}, {1, 2, 3}}},
                    {{"self", kX}, {"split_sizes", dims({1, 2})}});
  c.program.outputs = {{"y", 1}};
  c.wrt = {"x"};
  c.cotangents[0] = Cotangent{{}, {.kind = Fill::Kind::kLiteral, .values = {5, 7}}};
  verify(c, op_table());
  EXPECT_THAT(Oracle(op_table()).exact(c).tensors.at(1).values, ElementsAre(0, 5, 7));
}

TEST(Repeat, EachElementInARow) {
  const auto repeated = [](std::vector<NamedArgument> args) {
    return moved("aten.repeat_interleave.self_int", {2, 2}, std::move(args), {1, 2}).values;
  };
  EXPECT_THAT(repeated({{"repeats", Dim(2)}, {"dim", Dim(0)}}),
              ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(repeated({{"repeats", Dim(2)}, {"dim", Dim(-1)}}),
              ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(repeated({{"repeats", Dim(2)}}), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(repeated({{"repeats", Dim(0)}, {"dim", Dim(0)}}), ElementsAre());
  refused("aten.repeat_interleave.self_int", {2}, {{"repeats", Dim(-1)}, {"dim", Dim(0)}});
}

TEST(Rearrange, Triangles) {
  EXPECT_THAT(moved("aten.tril.default", {2, 3}, {}).values, ElementsAre(0, 0, 0, 3, 4, 0));
  EXPECT_THAT(moved("aten.triu.default", {2, 3}, {{"diagonal", Dim(1)}}).values,
              ElementsAre(0, 1, 2, 0, 0, 5));
  refused("aten.tril.default", {3}, {});
}

TEST(Rearrange, ReshapeRefusesWhatDoesNotFit) {
  refused("aten.reshape.default", {2, 3}, {{"shape", dims({4, -1})}});
  refused("aten.reshape.default", {2, 3}, {{"shape", dims({-1, -1})}});
  refused("aten.reshape.default", {0}, {{"shape", dims({-1, 0})}});
}

TEST(Rearrange, PadsAndCuts) {
  EXPECT_THAT(
      moved("aten.constant_pad_nd.default", {3}, {{"pad", dims({1, -1})}, {"value", Scalar{7.0}}})
          .values,
      ElementsAre(7, 0, 1));
  refused("aten.constant_pad_nd.default", {3}, {{"pad", dims({-4, 1})}});
}

// A slice prints as a person writes it, whatever the sign of the dimension.
TEST(View, SlicesPrintAsSubscripts) {
  const auto printed = [](std::int64_t dim) {
    const Case c = one_call(
        "aten.slice.Tensor", {{"x", DType::kFloat32, {2, 3, 4}, {0}}},
        {{"self", kX}, {"dim", Dim(dim)}, {"start", Dim(1)}, {"end", Dim(3)}, {"step", Dim(2)}});
    return python_function(c.program, op_table());
  };
  EXPECT_THAT(printed(1), HasSubstr("y = x[:, 1:3:2]"));
  EXPECT_THAT(printed(-2), HasSubstr("y = x[..., 1:3:2, :]"));
}

}  // namespace
}  // namespace ulpfuzz::test
