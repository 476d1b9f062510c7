#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generators/generate.h"
#include "ir/case.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/verify.h"
#include "ops/table.h"

// From a case to its text and back, in the parts that it has: per case of a campaign's mixture.
namespace {

using namespace ulpfuzz;

constexpr std::uint64_t kCases = 100;

struct Sample {
  Case c;
  Json json;
  std::string text;
};

const std::vector<Sample>& sample() {
  static const std::vector<Sample> cases = [] {
    std::vector<Sample> made;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      Case c = generate_case(1, i, op_table());
      Json json = json_of(c);
      std::string text = canonical(json);
      made.push_back({std::move(c), std::move(json), std::move(text)});
    }
    return made;
  }();
  return cases;
}

template <class Work>
void for_each_case(benchmark::State& state, const Work& work) {
  std::size_t i = 0;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const Sample& one = sample()[i++ % kCases];
    benchmark::DoNotOptimize(work(one));
    bytes += one.text.size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void parse(benchmark::State& state) {
  for_each_case(state, [](const Sample& s) { return parse_json(s.text, "case"); });
}
BENCHMARK(parse);

void read(benchmark::State& state) {
  for_each_case(state, [](const Sample& s) { return case_from({s.json, "case#"}); });
}
BENCHMARK(read);

void verify_case(benchmark::State& state) {
  for_each_case(state, [](const Sample& s) { return verify(s.c, op_table()); });
}
BENCHMARK(verify_case);

void make_json(benchmark::State& state) {
  for_each_case(state, [](const Sample& s) { return json_of(s.c); });
}
BENCHMARK(make_json);

void write(benchmark::State& state) {
  for_each_case(state, [](const Sample& s) { return canonical(s.json); });
}
BENCHMARK(write);

void text_and_back(benchmark::State& state) {
  for_each_case(state, [](const Sample& s) { return case_from_json(to_json(s.c), "case"); });
}
BENCHMARK(text_and_back);

}  // namespace
