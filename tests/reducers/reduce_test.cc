// The descent as a whole: exact minima for planted faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "generators/family.h"
#include "generators/generate.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "tests/reducers/planted.h"

namespace ulpfuzz {
namespace {

// Is the value made by `op`, or from something that is?
bool comes_from(const Case& c, const Ref& value, std::string_view op) {
  const Node* node = c.program.find_node(value.name);
  if (node == nullptr) return false;
  if (node->op == op) return true;
  for (const Ref& ref : operands(*node)) {
    if (comes_from(c, ref, op)) return true;
  }
  return false;
}

// Does some addition see both a sin and a tanh?
bool joined(const Case& c) {
  for (const Node& node : c.program.nodes) {
    const Ref value{node.name, 0};
    if (node.op == "aten.add.Tensor" && comes_from(c, value, "aten.sin.default") &&
        comes_from(c, value, "aten.tanh.default")) {
      return true;
    }
  }
  return false;
}

TEST(Reduce, AChainOfThirtyEndsAtTheGuiltyNodeWhereverItStands) {
  for (const int guilty : {0, 1, 7, 15, 28, 29}) {
    const ReducedCase r = reduce_with(
        chain(30, guilty), [](const Case& c) { return contains(c, "aten.sin.default"); });
    ASSERT_EQ(r.smallest.program.nodes.size(), 1u) << to_json(r.smallest);
    EXPECT_EQ(r.smallest.program.nodes[0].op, "aten.sin.default");
    EXPECT_EQ(elements_of(r.smallest, 0), 1);
    EXPECT_TRUE(r.smallest.wrt.empty());
    EXPECT_TRUE(r.complete);
    // One of thirty nodes is found by looking at the nodes, not by taking one away at a time.
    EXPECT_LT(r.tried, 100);
  }
}

TEST(Reduce, TheWayDownIsKept) {
  const Case start = chain(30, 15);
  const ReducedCase r =
      reduce_with(start, [](const Case& c) { return contains(c, "aten.sin.default"); });
  ASSERT_EQ(static_cast<int>(r.accepted.size()), r.steps);
  CaseSize before = size_of(start);
  for (const Case& c : r.accepted) {
    EXPECT_TRUE(contains(c, "aten.sin.default"));
    EXPECT_LT(size_of(c), before);
    before = size_of(c);
  }
  EXPECT_EQ(to_json(r.accepted.back()), to_json(r.smallest));
}

TEST(Reduce, GuiltyNodesOnTwoBranchesStayWithTheNodeThatJoinsThem) {
  const ReducedCase r = reduce_with(two_branches(10), joined);
  EXPECT_EQ(r.smallest.program.nodes.size(), 3u) << to_json(r.smallest);
  EXPECT_EQ(r.smallest.program.outputs.size(), 1u);
}

TEST(Reduce, GuiltyNodesThatNothingJoinsAreTwo) {
  const ReducedCase r = reduce_with(two_branches(10), [](const Case& c) {
    return contains(c, "aten.sin.default") && contains(c, "aten.tanh.default");
  });
  EXPECT_EQ(r.smallest.program.nodes.size(), 2u) << to_json(r.smallest);
}

TEST(Reduce, ADistantPairKeepsTheWayBetween) {
  // sin -> 3 cosines -> tanh: only the cosines between can be bypassed or stay.
  ProgramBuilder b;
  Ref x = b.input("x", DType::kFloat32, {5}, Fill{});
  for (const char* op : {"exp", "sin", "cos", "cos", "cos", "tanh", "exp"}) {
    x = b.call("n" + x.name, op + std::string(".default"), {{"self", x}});
  }
  b.output(x);
  const ReducedCase r = reduce_with(std::move(b).take(), [](const Case& c) {
    for (const Node& node : c.program.nodes) {
      if (node.op != "aten.tanh.default") continue;
      if (comes_from(c, {node.name, 0}, "aten.sin.default")) return true;
    }
    return false;
  });
  EXPECT_EQ(r.smallest.program.nodes.size(), 2u) << to_json(r.smallest);
}

TEST(Reduce, AGradientThatIsNeededStays) {
  const ReducedCase r = reduce_with(chain(12, 5), [](const Case& c) {
    return contains(c, "aten.sin.default") && !c.wrt.empty();
  });
  EXPECT_EQ(r.smallest.program.nodes.size(), 1u) << to_json(r.smallest);
  EXPECT_EQ(r.smallest.wrt.size(), 1u);
  EXPECT_TRUE(r.smallest.cotangents.at(0).has_value());
}

TEST(Reduce, SizesStopWhereTheFaultDoes) {
  ProgramBuilder b;
  const Dim rows = b.symbol("s0", 12);
  const Dim columns = b.symbol("s1", 9);
  const Ref x = b.input("x", DType::kFloat32, {rows, columns}, Fill{});
  const Ref y = b.input("y", DType::kFloat32, {columns, 7}, Fill{});
  b.output(b.call("product", "mm.default", {{"self", x}, {"mat2", y}}));
  const ReducedCase r = reduce_with(std::move(b).take(), [](const Case& c) {
    if (!contains(c, "aten.mm.default")) return false;
    return c.program.inputs[0].shape.at(1).value(c.program.symbols) >= 3;
  });
  const Symbols& symbols = r.smallest.program.symbols;
  EXPECT_EQ(r.smallest.program.inputs[0].shape.at(0).value(symbols), 1);
  EXPECT_EQ(r.smallest.program.inputs[0].shape.at(1).value(symbols), 3);
  EXPECT_EQ(r.smallest.program.inputs[1].shape.at(1).value(symbols), 1);
}

// The elements of an input as the systems will see them.
std::vector<double> numbers(const Case& c, std::size_t input) {
  Shape shape;
  for (const Dim& dim : c.program.inputs.at(input).shape) {
    shape.push_back(dim.value(c.program.symbols));
  }
  return generate(c.inputs.at(input).fill, c.program.inputs.at(input).dtype, shape).reals;
}

TEST(Reduce, AnElementInTheMiddleIsFoundWithItsValue) {
  ProgramBuilder b;
  Fill fill;
  fill.seed = 11;
  fill.scale = 40;
  const Ref x = b.input("x", DType::kFloat32, {8, 16}, fill);
  b.output(b.call("y", "sin.default", {{"self", x}}));
  const Case c = std::move(b).take();
  // One element of the bell curve, neither first nor last, is the only one that fails.
  const double guilty = numbers(c, 0)[77];
  const ReducedCase r = reduce_with(c, [guilty](const Case& other) {
    if (other.program.inputs.empty()) return false;
    const std::vector<double> all = numbers(other, 0);
    return std::find(all.begin(), all.end(), guilty) != all.end();
  });
  EXPECT_EQ(elements_of(r.smallest, 0), 1);
  EXPECT_EQ(numbers(r.smallest, 0).at(0), guilty);
}

TEST(Reduce, OtherElementsBecomeZerosWhereTheSizeMustStay) {
  ProgramBuilder b;
  Fill fill;
  fill.seed = 3;
  const Ref x = b.input("x", DType::kFloat32, {16}, fill);
  b.output(b.call("y", "sin.default", {{"self", x}}));
  const Case c = std::move(b).take();
  const double guilty = numbers(c, 0)[9];
  const ReducedCase r = reduce_with(c, [guilty](const Case& other) {
    const std::vector<double> all = numbers(other, 0);
    return all.size() >= 16 && std::count(all.begin(), all.end(), guilty) == 1;
  });
  ASSERT_EQ(elements_of(r.smallest, 0), 16);
  const std::vector<double> all = numbers(r.smallest, 0);
  EXPECT_EQ(std::count(all.begin(), all.end(), guilty), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), 0.0), 15);
}

TEST(Reduce, LayoutsArgumentsAndSwitchesGoUnlessTheyMatter) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {4, 6}, Fill{});
  const Ref y = b.input("y", DType::kFloat32, {4, 6}, Fill{});
  b.output(b.call("sum", "add.Tensor", {{"self", x}, {"other", y}, {"alpha", Scalar{2.0}}}));
  Case c = std::move(b).take();
  for (InputData& input : c.inputs) {
    input.strides = {1, 4};
    input.offset = 3;
  }
  c.environment.threads = 2;
  c.environment.dynamic = true;
  c.environment.rng_seed = 9;
  const ReducedCase r = reduce_with(c, [](const Case& other) {
    return contains(other, "aten.add.Tensor") && !other.inputs[0].strides.empty() &&
           other.environment.dynamic;
  });
  EXPECT_FALSE(r.smallest.inputs[0].strides.empty());
  EXPECT_EQ(r.smallest.inputs[0].offset, 0);
  for (std::size_t i = 1; i < r.smallest.inputs.size(); ++i) {
    EXPECT_TRUE(r.smallest.inputs[i].strides.empty());
  }
  EXPECT_EQ(r.smallest.program.nodes[0].find("alpha"), nullptr);
  EXPECT_TRUE(r.smallest.environment.dynamic);
  EXPECT_EQ(r.smallest.environment.threads, 1);
  EXPECT_EQ(r.smallest.environment.rng_seed, 0u);
}

TEST(Reduce, KernelListsShrinkToTheKernelsThatMatter) {
  Case c = chain(1, 0);
  c.environment.sdpa = SdpaChoice{
      {SdpaKernel::kCudnn, SdpaKernel::kFlash, SdpaKernel::kEfficient, SdpaKernel::kMath}, true};
  c.environment.primed_by = SdpaChoice{{SdpaKernel::kMath}, false};
  const ReducedCase r = reduce_with(c, [](const Case& other) {
    if (!other.environment.sdpa) return false;
    const auto& kernels = other.environment.sdpa->kernels;
    return std::find(kernels.begin(), kernels.end(), SdpaKernel::kFlash) != kernels.end();
  });
  EXPECT_EQ(r.smallest.environment.sdpa, (SdpaChoice{{SdpaKernel::kFlash}, false}));
  EXPECT_FALSE(r.smallest.environment.primed_by);
}

TEST(Reduce, NamesAreShortInTheEnd) {
  const ReducedCase r =
      reduce_with(chain(5, 2), [](const Case& c) { return contains(c, "aten.sin.default"); });
  EXPECT_EQ(r.smallest.program.inputs[0].name, "x");
  EXPECT_EQ(r.smallest.program.nodes[0].name, "a");
}

TEST(Reduce, EndsEarlyWhenToldAndSaysSo) {
  ReductionOptions options;
  int asked = 0;
  options.go_on = [&](const ReductionProgress&) { return ++asked < 3; };
  const Fails fails = [](const Case& c) { return contains(c, "aten.sin.default"); };
  const ReducedCase r = reduce(chain(30, 15), op_table(), each(fails), options);
  EXPECT_FALSE(r.complete);
  EXPECT_TRUE(fails(r.smallest));
}

// A model whose fault depends on its configuration ends at the smallest legal one: here at least
// two kv heads with at least two query heads each.
TEST(Reduce, AModelsConfigurationReachesItsSmallestLegalValues) {
  Case c;
  c.model = ModelConfig{"qwen2", {}};
  for (const ConfigField& field : family("qwen2").fields) {
    c.model->fields[std::string(field.name)] = field.smallest;
  }
  const std::map<std::string, std::variant<bool, std::int64_t, double, std::string>> given{
      {"vocab_size", std::int64_t{40}},
      {"hidden_size", std::int64_t{24}},
      {"num_hidden_layers", std::int64_t{2}},
      {"num_attention_heads", std::int64_t{12}},
      {"num_key_value_heads", std::int64_t{4}},
      {"head_dim", std::int64_t{8}},
      {"intermediate_size", std::int64_t{20}},
      {"max_position_embeddings", std::int64_t{32}},
      {"batch", std::int64_t{2}},
      {"length", std::int64_t{9}},
      {"dtype", std::string("bfloat16")},
      {"labels", true},
      {"gradients", true}};
  for (const auto& [field, value] : given) c.model->fields.at(field) = value;
  const auto number = [](const Case& other, const char* field) {
    const auto it = other.model->fields.find(field);
    return it == other.model->fields.end() ? std::int64_t{1} : std::get<std::int64_t>(it->second);
  };
  // The descent would go on to the program; what the configuration came to is seen on the way.
  std::optional<Case> last_model;
  const ReducedCase r = reduce_with(lower(c), [&](const Case& other) {
    if (!other.model) return false;
    const std::int64_t kv = number(other, "num_key_value_heads");
    const bool fails = kv >= 2 && number(other, "num_attention_heads") >= 2 * kv;
    if (fails) last_model = other;
    return fails;
  });
  ASSERT_TRUE(r.smallest.model);
  EXPECT_EQ(number(r.smallest, "num_key_value_heads"), 2);
  EXPECT_EQ(number(r.smallest, "num_attention_heads"), 4);
  for (const ConfigField& field : family("qwen2").fields) {
    if (field.name == "num_key_value_heads" || field.name == "num_attention_heads") continue;
    const auto it = r.smallest.model->fields.find(std::string(field.name));
    if (it == r.smallest.model->fields.end()) continue;
    EXPECT_EQ(it->second, field.smallest) << field.name;
  }
}

// What every pass promises of its candidates, on whatever the generators make: they verify and are
// not the case itself; the same case gives the same candidates.
TEST(Passes, CandidatesOfGeneratedCasesVerifyAndRepeat) {
  int smaller = 0;
  int all = 0;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const Case c = generate_case(4711, i, op_table());
    for (const Pass& pass : passes()) {
      const std::vector<Case> candidates = pass.candidates(c, op_table());
      const std::vector<Case> again = pass.candidates(c, op_table());
      ASSERT_EQ(candidates.size(), again.size()) << pass.name;
      for (std::size_t k = 0; k < candidates.size(); ++k) {
        ASSERT_EQ(to_json(candidates[k]), to_json(again[k])) << pass.name;
        ASSERT_NO_THROW(verify(candidates[k], op_table())) << pass.name << to_json(candidates[k]);
        smaller += size_of(candidates[k]) < size_of(c) ? 1 : 0;
        ++all;
      }
    }
  }
  // Most proposals are worth looking at.
  EXPECT_GT(smaller, all / 2);
}

// A fault of one operator, taken from generated cases as they come, ends at that operator alone.
TEST(Reduce, GeneratedCasesEndAtTheOperatorThatFails) {
  int reduced = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Case c = generate_case(99, i, op_table());
    if (c.model || c.program.nodes.size() < 3) continue;
    const std::string guilty = c.program.nodes[c.program.nodes.size() / 2].op;
    const ReducedCase r =
        reduce_with(c, [&](const Case& other) { return contains(other, guilty); });
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.smallest.program.nodes.size(), 1u) << guilty << "\n" << to_json(r.smallest);
    ++reduced;
  }
  EXPECT_GT(reduced, 10);
}

TEST(Reduce, TheFixpointIsOne) {
  const Fails fails = [](const Case& c) { return contains(c, "aten.tanh.default"); };
  const ReducedCase first = reduce_with(two_branches(6), fails);
  const ReducedCase second = reduce_with(first.smallest, fails);
  EXPECT_EQ(second.steps, 0);
  EXPECT_EQ(to_json(second.smallest), to_json(first.smallest));
}

}  // namespace
}  // namespace ulpfuzz
