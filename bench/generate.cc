#include "generators/generate.h"

#include <benchmark/benchmark.h>

#include "ops/table.h"

namespace {

using namespace ulpfuzz;

// Cases of a campaign's mixture.
void campaign_cases(benchmark::State& state) {
  std::uint64_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(generate_case(1, index++, op_table()));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(campaign_cases);

// Their content hash, the key of every cache.
void case_hash(benchmark::State& state) {
  const Case c = generate_case(1, 0, op_table());
  for (auto _ : state) benchmark::DoNotOptimize(hashes(c).whole);
}
BENCHMARK(case_hash);

}  // namespace
