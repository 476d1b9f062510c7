#include "oracle/oracle.h"

#include <benchmark/benchmark.h>

#include "generators/family.h"
#include "ops/table.h"

namespace {

using namespace ulpfuzz;

// One layer of Qwen2 with a loss and all its gradients; the other fields are as the family draws
// them for seed 1.
Case qwen2() {
  Random random(1);
  ModelConfig config = family("qwen2").draw(random);
  config.fields["num_hidden_layers"] = std::int64_t{1};
  return family("qwen2").build(config);
}

Case two_inputs(const std::string& op, const std::string& second, std::int64_t n, DType dtype) {
  Case c;
  for (const char* name : {"a", "b"}) {
    c.program.inputs.push_back({name, dtype, {Dim(n), Dim(n)}});
    c.inputs.emplace_back();
    c.inputs.back().fill.seed = c.inputs.size();
  }
  c.program.nodes.push_back({"y", op, {{"self", Ref{"a", 0}}, {second, Ref{"b", 0}}}});
  c.program.outputs = {{"y", 0}};
  c.cotangents.resize(1);
  return c;
}

void exact(benchmark::State& state, const Case& c) {
  const Oracle oracle(op_table());
  for (auto _ : state) benchmark::DoNotOptimize(oracle.exact(c));
}

void legal(benchmark::State& state, const Case& c) {
  const Oracle oracle(op_table());
  for (auto _ : state) benchmark::DoNotOptimize(oracle.legal(c, 0, fusing_freedom(), 16, 1));
}

BENCHMARK_CAPTURE(exact, qwen2_step, qwen2())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(legal, qwen2_step_16_runs, qwen2())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exact, add_float32_64x64,
                  two_inputs("aten.add.Tensor", "other", 64, DType::kFloat32))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(exact, mm_float32_64, two_inputs("aten.mm.default", "mat2", 64, DType::kFloat32))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(exact, mm_float64_64, two_inputs("aten.mm.default", "mat2", 64, DType::kFloat64))
    ->Unit(benchmark::kMicrosecond);

}  // namespace
