#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generators/backward.h"
#include "generators/op_graph.h"
#include "ir/call.h"
#include "ir/error.h"
#include "ir/python_source.h"
#include "ir/verify.h"
#include "judge/judge.h"
#include "ops/table.h"
#include "oracle/oracle.h"
#include "systems/scheduler.h"
#include "tests/ops/against_torch.h"

// Each row's kernel, type rule and derivative against torch (eager@cpp): generated programs of one
// or two operators on odd layouts, views and broadcasts, as drawn, in float32 and in float64,
// forward and backward. ULPFUZZ_ROW_CASES is the number of programs an operator (default 6),
// ULPFUZZ_ROW_SEED the seed, ULPFUZZ_ROW a part of the names of the operators that are wanted.
namespace ulpfuzz {
namespace {

std::uint64_t setting(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Tally {
  int cases = 0;
  Comparison sum;
};

Profile one_operator() {
  Profile profile;
  profile.model_share = 0;
  profile.min_nodes = profile.max_nodes = 1;
  profile.max_elements = 600;
  profile.large_share = 0;
  profile.backward_share = 0.8;
  profile.dynamic_share = 0;
  return profile;
}

std::vector<const Op*> drawable(const OpTable& table) {
  std::vector<const Op*> ops;
  for (const Op& op : table.ops()) {
    if (op.row->draw != nullptr && op.row->weight > 0) ops.push_back(&op);
  }
  return ops;
}

// A program of this operator, and of whatever its draw rule needs beside it.
Case draw_case(const Op& op, std::uint64_t seed, std::uint64_t number) {
  static const Profile kProfile = one_operator();
  std::string why = "its draw rule appends nothing";
  for (std::uint64_t attempt = 0; attempt < 40; ++attempt) {
    Random random = Random(seed).fork(number).fork(attempt);
    try {
      GraphDraw graph(random.fork(0), op_table(), kProfile);
      // A write in place needs a value to write into.
      if (op.schema.mutates()) graph.add(op_table().at("aten.mul.Tensor"));
      if (!graph.add(op)) continue;
      Case c = graph.take();
      const bool there = std::any_of(c.program.nodes.begin(), c.program.nodes.end(),
                                     [&](const Node& node) { return node.op == op.name(); });
      if (!there) continue;
      const Types types = verify(c.program, op_table());
      if (random.chance(kProfile.backward_share)) draw_backward(random, op_table(), types, c);
      verify(c, op_table());
      return c;
    } catch (const Error& error) {
      why = error.what();
    }
  }
  throw Error(op.name(), "no case can be drawn: " + why);
}

Scheduler& scheduler() {
  static Scheduler instance(op_table(), {.jobs = 2, .pack = 32});
  return instance;
}

std::vector<Run> torch_runs(const std::vector<Case>& cases) {
  std::vector<RunRequest> requests;
  for (const Case& test : cases) {
    requests.push_back({test, parse_system("eager@cpp"), {0}, false});
    requests.back().test.environment = Environment{};
  }
  return scheduler().run(requests);
}

// Where eager itself is wrong (torch 2.11 on a CPU), so that its results say nothing of our row:
// counted, not failed.
struct EagerFault {
  std::string_view op;
  std::string_view result;  // "output" or "gradient"
  std::string_view dtype;
  std::string_view reason;
};
constexpr EagerFault kEagerFaults[] = {
    {"aten.hardsigmoid.default", "gradient", "float64", "1/6 is a float32 constant"},
    {"aten.erf.default", "output", "bfloat16", "0 for 1e-8: an absolute approximation"},
    {"aten.gelu.default", "output", "float32", "NaN for infinity in vector code"},
    {"aten.sinh.default", "", "float32", "infinite from 89 in vector code of 32 elements and more"},
    {"aten.cosh.default", "", "float32", "the same"},
    {"aten.fmod.Tensor", "output", "float32", "NaN for subnormal divisors in vector code"},
    {"aten.remainder.Tensor", "output", "float32", "the same"},
    {"aten.remainder.Tensor", "gradient", "float32", "the same"},
};

bool is_eager_fault(const Case& test, const std::string& fault) {
  const auto has = [&](std::string_view op) {
    return std::any_of(test.program.nodes.begin(), test.program.nodes.end(),
                       [&](const Node& node) { return node.op == op; });
  };
  return std::any_of(
      std::begin(kEagerFaults), std::end(kEagerFaults), [&](const EagerFault& known) {
        return fault.starts_with(known.result) && has(known.op) &&
               fault.find(" of " + std::string(known.dtype) + "[") != std::string::npos;
      });
}

// What to do with one case on a rung: hold torch against the oracle.
void judge(const Case& test, const ulpfuzz::Run& torch, const std::string& rung,
           const Oracle& oracle, Tally& tally) {
  Comparison found;
  try {
    found = compare(torch, oracle.exact(test));
  } catch (const Error& error) {
    found.faults.push_back(std::string("the oracle refuses: ") + error.what());
  }
  ++tally.cases;
  tally.sum.compared += found.compared;
  tally.sum.masked += found.masked;
  tally.sum.worst = std::max(tally.sum.worst, found.worst);
  for (const std::string& fault : found.faults) {
    tally.sum.faults.push_back(fault);
    if (is_eager_fault(test, fault)) continue;
    std::string source = python_function(bind_symbols(test.program), op_table());
    ADD_FAILURE() << rung << ": " << fault << "\n" << source << to_json(test);
  }
}

TEST(Rows, AgreeWithTorch) {
  const std::vector<const Op*> ops = drawable(op_table());
  const char* wanted = std::getenv("ULPFUZZ_ROW");
  const std::uint64_t seed = setting("ULPFUZZ_ROW_SEED", 1);
  const Oracle oracle(op_table());
  std::map<std::string, Tally> tallies;
  for (std::uint64_t round = 0; round < setting("ULPFUZZ_ROW_CASES", 6); ++round) {
    std::vector<Case> cases;
    std::vector<std::string> names, rungs;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (wanted != nullptr && ops[i]->name().find(wanted) == std::string::npos) continue;
      const Case test = draw_case(*ops[i], seed, round);
      const auto add = [&](const std::string& rung, const Case& c) {
        cases.push_back(c), names.push_back(ops[i]->name()), rungs.push_back(rung);
      };
      add("as drawn", test);
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        add(std::string(name(dtype)), at_rung(test, dtype, op_table()));
      }
    }
    const std::vector<ulpfuzz::Run> runs = torch_runs(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      judge(cases[i], runs[i], rungs[i], oracle, tallies[names[i]]);
    }
  }
  for (const auto& [name, tally] : tallies) {
    EXPECT_GT(tally.sum.compared, 0) << name << ": every element was masked";
    if (std::getenv("ULPFUZZ_ROW_TABLE") != nullptr) {
      std::cout << name << ": " << tally.cases << " cases, " << tally.sum.compared
                << " elements, masked " << tally.sum.masked << ", error/bound " << tally.sum.worst
                << ", faults " << tally.sum.faults.size() << "\n";
    }
  }
}

// The operator table with one row changed.
class ChangedTable {
 public:
  template <class Change>
  ChangedTable(const std::string& name, Change change) {
    for (const Op& op : op_table().ops()) {
      rows_.push_back(*op.row);
      if (op.name() == name) change(rows_.back());
    }
    families_.emplace_back(rows_);
    table_.emplace(families_);
  }
  const OpTable& table() const { return *table_; }

 private:
  std::vector<OpRow> rows_;
  std::vector<std::span<const OpRow>> families_;
  std::optional<OpTable> table_;
};

// How many of some cases of an operator disagree with torch when its row is changed.
template <class Change>
int faults_of(const std::string& name, Change change) {
  const ChangedTable changed(name, change);
  std::vector<Case> cases;
  for (std::uint64_t round = 0; round < 6; ++round) {
    const Case drawn = draw_case(op_table().at(name), 1, round);
    cases.push_back(at_rung(drawn, DType::kFloat32, op_table()));
  }
  const std::vector<ulpfuzz::Run> runs = torch_runs(cases);
  int faults = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    faults += !compare(runs[i], Oracle(changed.table()).exact(cases[i])).faults.empty();
  }
  return faults;
}

// Proves: the comparison has teeth. A wrong kernel, a wrong derivative and a wrong type rule are
// each seen, and the same cases with the right row are not.
TEST(Rows, WrongOnesAreSeen) {
  EXPECT_EQ(faults_of("aten.sin.default", [](OpRow&) {}), 0);
  EXPECT_GE(
      faults_of("aten.sin.default",
                [](OpRow& row) { row.kernels = op_table().at("aten.tanh.default").row->kernels; }),
      3);
  EXPECT_GE(faults_of("aten.sin.default",
                      [](OpRow& row) {
                        row.derivative = op_table().at("aten.exp.default").row->derivative;
                      }),
            1);
  EXPECT_GE(
      faults_of("aten.sin.default",
                [](OpRow& row) {
                  row.infer = [](const Call& call) {
                    return std::vector<TensorType>{{DType::kFloat64, call.tensor("self").shape}};
                  };
                }),
      3);
}

}  // namespace
}  // namespace ulpfuzz
