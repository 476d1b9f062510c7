#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "generators/family.h"
#include "generators/generate.h"
#include "ops/table.h"
#include "systems/scheduler.h"

// eager@cpp and eager@py are the same kernels reached on two roads: the results of generated cases,
// gradients and layouts included, must be equal to the bit. ULPFUZZ_PARITY_CASES says how many
// cases (default 200), ULPFUZZ_PARITY_SEED which; each is run with one thread and with two.
namespace ulpfuzz {
namespace {

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// What is different, or "". A NaN's payload is not the operator's result.
std::string difference(const TensorResult& a, const TensorResult& b) {
  if (a.name != b.name || a.role != b.role) return "another result: " + a.name + ", " + b.name;
  if (a.present != b.present) return a.name + ": present in one only";
  if (!(a.layout == b.layout)) {
    return a.name + ": " + to_string(a.layout) + " and " + to_string(b.layout);
  }
  if (a.alias_of != b.alias_of) {
    return a.name + ": alias of '" + a.alias_of + "' and '" + b.alias_of + "'";
  }
  if (a.bytes == b.bytes) return "";
  if (is_integral(a.layout.dtype)) return a.name + ": other integers";
  const std::vector<double> x = a.reals(), y = b.reals();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool both_nan = std::isnan(x[i]) && std::isnan(y[i]);
    if (!both_nan && (x[i] != y[i] || std::signbit(x[i]) != std::signbit(y[i]))) {
      return a.name + "[" + std::to_string(i) + "]: " + std::to_string(x[i]) + " and " +
             std::to_string(y[i]);
    }
  }
  return "";
}

std::string difference(const ulpfuzz::Run& a, const ulpfuzz::Run& b) {
  if (a.status != b.status) {
    return std::string(name(a.status)) + " (" + a.exception_message + ") and " +
           std::string(name(b.status)) + " (" + b.exception_message + ")";
  }
  if (a.exception_type != b.exception_type) {
    return a.exception_type + " (" + a.exception_message + ") and " + b.exception_type + " (" +
           b.exception_message + ")";
  }
  if (a.executions.size() != b.executions.size()) return "another number of executions";
  for (std::size_t e = 0; e < a.executions.size(); ++e) {
    const auto &x = a.executions[e].tensors, &y = b.executions[e].tensors;
    if (x.size() != y.size()) return "another number of tensors";
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::string found = difference(x[i], y[i]); !found.empty()) return found;
    }
  }
  return "";
}

struct Counts {
  int cases = 0, completed = 0, with_gradient = 0, large = 0;
};

void compare(Scheduler& scheduler, const std::vector<Case>& cases, std::uint64_t first,
             Counts& counts) {
  std::vector<RunRequest> requests;
  for (const char* system : {"eager@py", "eager@cpp"}) {
    for (const Case& c : cases) {
      RunRequest wish;
      wish.test = c;
      wish.system = parse_system(system);
      requests.push_back(std::move(wish));
    }
  }
  const std::vector<Run> runs = scheduler.run(requests);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ulpfuzz::Run& py = runs[i];
    const ulpfuzz::Run& cpp = runs[cases.size() + i];
    EXPECT_EQ(difference(py, cpp), "")
        << "case " << first + i / 2 << ", " << cases[i].environment.threads << " threads\n"
        << to_pretty_json(cases[i]);
    ++counts.cases;
    if (!py.completed()) continue;
    ++counts.completed;
    bool gradient = false, large = false;
    for (const TensorResult& tensor : py.executions.at(0).tensors) {
      gradient = gradient || (tensor.role == TensorResult::Role::kGradient && tensor.present);
      large = large || element_count(tensor.layout.shape) > 32768;
    }
    counts.with_gradient += gradient;
    counts.large += large;
  }
}

TEST(EagerParity, CppEqualsPythonToTheBit) {
  const std::uint64_t count = number("ULPFUZZ_PARITY_CASES", 200);
  const std::uint64_t seed = number("ULPFUZZ_PARITY_SEED", 1);
  constexpr std::uint64_t kBatch = 100;
  Profile profile;
  profile.large_share = 0.1;
  Scheduler scheduler(op_table(), {.cache = false});
  Counts counts;
  for (std::uint64_t first = 0; first < count; first += kBatch) {
    std::vector<Case> cases;
    for (std::uint64_t i = first; i < std::min(count, first + kBatch); ++i) {
      Case c = lower(generate_case(seed, i, op_table(), profile));
      for (const int threads : {1, 2}) {
        c.environment.threads = threads;
        cases.push_back(c);
      }
    }
    compare(scheduler, cases, first, counts);
  }
  std::printf("%d runs, %d completed, %d with gradients, %d with more than 32768 elements\n",
              counts.cases, counts.completed, counts.with_gradient, counts.large);
  EXPECT_GE(counts.completed, counts.cases * 9 / 10);
  EXPECT_GT(counts.with_gradient, counts.cases / 10);
  if (count >= 200) {
    EXPECT_GT(counts.large, 0);
  }
}

}  // namespace
}  // namespace ulpfuzz
