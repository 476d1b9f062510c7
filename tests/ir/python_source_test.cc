#include "ir/python_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ir/small_table.h"

namespace ulpfuzz {
namespace {

TEST(PythonSourceTest, PrintsWhatAPersonWouldWrite) {
  Program p;
  p.inputs = {{"x", DType::kFloat32, {2, 3}}, {"i", DType::kInt64, {2}}};
  const Ref x{"x"};
  p.nodes = {
      node("a", "aten.add.Tensor",
           {{"alpha", Scalar{std::int64_t{2}}}, {"other", Scalar{0.1}}, {"self", x}}),
      node("m", "aten.max.dim", {{"self", Ref{"a"}}, {"dim", Dim(1)}}),
      node("m2", "aten.max.dim", {{"self", Ref{"a"}}, {"dim", Dim(1)}, {"keepdim", true}}),
      node("unused", "aten.max.dim", {{"self", Ref{"a"}}, {"dim", Dim(0)}}),
      node("w", "aten.sin_.default", {{"self", Ref{"a"}}}),
      node("s", "aten.sum.dim_IntList",
           {{"self", Ref{"w"}}, {"dim", std::vector<Dim>{0, 1}}, {"dtype", DType::kFloat64}}),
      node("t", "aten.mul.Tensor", {{"self", Ref{"s"}}, {"other", Scalar{-2.0}}}),
      node("c", "aten.cat.default", {{"tensors", std::vector<Ref>{x, x}}, {"dim", Dim(1)}}),
      node("k", "aten.index.Tensor", {{"self", x}, {"indices", std::vector<Ref>{{}, {"i"}}}}),
      node("u", "aten.unbind.int", {{"self", x}}),
      node("v", "aten.sin.default", {{"self", Ref{"u", 1}}}),
      node("q", "aten.scaled_dot_product_attention.default",
           {{"query", x},
            {"key", x},
            {"value", x},
            {"attn_mask", std::monostate()},
            {"is_causal", true},
            {"scale", 0.25}}),
  };
  p.outputs = {{"m"}, {"m2", 1}, {"t"}, {"k"}};
  EXPECT_EQ(python_function(p, small_table(), "f"),
            R"(def f(x, i):
    a = torch.add(x, 0.1, alpha=2)
    m_values, _ = torch.max(a, 1)
    _, m2_indices = torch.max(a, 1, True)
    unused = torch.max(a, 0)
    w = a.sin_()
    s = torch.sum(w, [0, 1], dtype=torch.float64)
    t = s * (-2.0)
    c = torch.cat([x, x], 1)
    k = x[:, i]
    u = torch.unbind(x)
    v = torch.sin(u[1])
    q = torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.25)
    return m_values, m2_indices, t, k
)");
}

TEST(PythonSourceTest, AlwaysReturnsATuple) {
  Program p;
  p.inputs = {{"x", DType::kFloat32, {}}};
  EXPECT_EQ(python_function(p, small_table()), "def program(x):\n    return ()\n");
  p.outputs = {{"x"}};
  EXPECT_EQ(python_function(p, small_table()), "def program(x):\n    return (x,)\n");
}

TEST(PythonSourceTest, NumbersReadBackToTheBit) {
  Program p;
  p.inputs = {{"x", DType::kFloat32, {}}};
  const auto printed = [&](Scalar number) {
    p.nodes = {node("a", "aten.add.Tensor", {{"self", Ref{"x"}}, {"other", number}})};
    const std::string text = python_function(p, small_table());
    const std::size_t start = text.find("(x, ") + 4;
    return text.substr(start, text.find(")\n", start) - start);
  };
  EXPECT_EQ(printed({1.0}), "1.0");
  EXPECT_EQ(printed({0.1}), "0.1");
  EXPECT_EQ(printed({1e22}), "1e+22");
  EXPECT_EQ(printed({-0.0}), "-0.0");
  EXPECT_EQ(printed({5e-324}), "5e-324");
  EXPECT_EQ(printed({std::numeric_limits<double>::infinity()}), "float('inf')");
  EXPECT_EQ(printed({-std::numeric_limits<double>::infinity()}), "float('-inf')");
  EXPECT_EQ(printed({std::nan("")}), "float('nan')");
  EXPECT_EQ(printed({std::int64_t{-3}}), "-3");
  EXPECT_EQ(printed({false}), "False");
}

// Names made for outputs never meet a name of the program.
TEST(PythonSourceTest, NamesOfOutputsAreFresh) {
  Program p;
  p.inputs = {{"m_values", DType::kFloat32, {2}}};
  p.nodes = {node("m", "aten.max.dim", {{"self", Ref{"m_values"}}, {"dim", Dim(0)}}),
             node("a", "aten.sin.default", {{"self", Ref{"m_values"}}})};
  p.outputs = {{"m"}, {"a"}};
  EXPECT_EQ(python_function(p, small_table()),
            "def program(m_values):\n    m_values_, _ = torch.max(m_values, 0)\n"
            "    a = torch.sin(m_values)\n    return m_values_, a\n");
}

}  // namespace
}  // namespace ulpfuzz
