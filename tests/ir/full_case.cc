#include "tests/ir/full_case.h"

#include <limits>

#include "tests/ir/small_table.h"

namespace ulpfuzz {

Case full_case() {
  Case c;
  c.model = ModelConfig{"qwen2",
                        {{"layers", std::int64_t{2}},
                         {"eps", 1e-6},
                         {"tie", true},
                         {"dtype", std::string("bfloat16")}}};
  Program& p = c.program;
  p.symbols = {{"s0", 4}};
  p.inputs = {{"x", DType::kFloat32, {4, 2 * Dim::symbol("s0") + 1}},
              {"i", DType::kInt64, {Dim::symbol("s0")}}};
  p.nodes = {node("n0", "aten.max.dim", {{"self", Ref{"x"}}, {"dim", Dim(-1)}, {"keepdim", true}}),
             node("n1", "aten.made_up.default",
                  {{"z", Ref{"n0", 1}},
                   {"refs", std::vector<Ref>{{"x"}, {}, {"n0", 1}}},
                   {"size", std::vector<Dim>{Dim::symbol("s0"), -1}},
                   {"eps", 1e-5},
                   {"dtype", DType::kBFloat16},
                   {"mode", std::string("floor \"q\" \u00e9")},
                   {"nothing", std::monostate()},
                   {"alpha", Scalar{std::int64_t{1} << 60}},
                   {"beta", Scalar{-0.0}},
                   {"flag", Scalar{true}}})};
  p.outputs = {{"n1"}, {"n0", 1}};
  c.inputs.resize(2);
  c.inputs[0].strides = {1, 4};
  c.inputs[0].offset = 3;
  c.inputs[0].alias = 0;
  c.inputs[0].fill = {.kind = Fill::Kind::kNormal,
                      .seed = std::numeric_limits<std::uint64_t>::max(),
                      .special_rate = 10,
                      .values = {std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), -0.0},
                      .grid = DType::kBFloat16};
  c.inputs[1].fill = {.kind = Fill::Kind::kLiteral,
                      .integers = {std::numeric_limits<std::int64_t>::min(), 0, 1, 2}};
  c.wrt = {"x"};
  c.cotangents = {Cotangent{{0}, {.kind = Fill::Kind::kArange}}, std::nullopt};
  c.environment.rng_seed = std::numeric_limits<std::uint64_t>::max();
  c.environment.sdpa = SdpaChoice{{SdpaKernel::kCudnn, SdpaKernel::kMath}, true};
  return c;
}

}  // namespace ulpfuzz
