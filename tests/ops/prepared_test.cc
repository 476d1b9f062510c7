// A program evaluated again and again is what the interpreter makes of it.
#include "oracle/prepared.h"

#include <gtest/gtest.h>

#include "generators/generate.h"
#include "oracle/inputs.h"
#include "oracle/interpreter.h"
#include "oracle/odometer.h"
#include "oracle/task.h"
#include "ops/table.h"

namespace ulpfuzz {
namespace {

std::vector<double> numbers(const Tensor<double>& tensor) {
  std::vector<double> all;
  for (const std::int64_t at : positions(tensor.shape(), tensor.strides(), tensor.offset())) {
    if (tensor.integral()) {
      all.push_back(static_cast<double>(tensor.integer(at)));
    } else if (is_complex(tensor.dtype())) {
      all.insert(all.end(), {tensor.real(2 * at), tensor.real(2 * at + 1)});
    } else {
      all.push_back(tensor.real(at));
    }
  }
  return all;
}

TEST(Prepared, GivesWhatTheInterpreterGives) {
  Profile profile;
  profile.model_share = 0;
  profile.max_elements = 256;
  profile.large_share = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Case c = generate_case(11, i, op_table(), profile);
    const Task task(c, op_table(), Task::Form::kAsWritten);
    const auto inputs = make_inputs<double>(task.bound(), task.input_types(), 0);
    Prepared prepared(task.plan(), inputs);
    // Three input sets in turn; the first again in the end.
    for (const std::uint64_t salt : {0, 1, 2, 0}) {
      const auto fresh = make_inputs<double>(task.bound(), task.input_types(), salt);
      for (std::size_t n = 0; n < inputs.size(); ++n) {
        if (inputs[n].integral()) {
          std::copy_n(fresh[n].integers(), fresh[n].storage_size(), inputs[n].integers());
        } else {
          const std::int64_t width = is_complex(inputs[n].dtype()) ? 2 : 1;
          std::copy_n(fresh[n].reals(), width * fresh[n].storage_size(), inputs[n].reals());
        }
      }
      prepared.run();
      Policy<double> plain;
      const auto wanted = interpret(task.plan(), fresh, plain);
      for (const WantedResult& result : task.results()) {
        if (result.slot == Plan::kNone) continue;
        const auto slot = static_cast<std::size_t>(result.slot);
        const std::vector<double> a = numbers(prepared.values()[slot]), b = numbers(wanted[slot]);
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t e = 0; e < a.size(); ++e) {
          ASSERT_TRUE(same_bits(a[e], b[e]))
              << "case " << i << ", set " << salt << ", " << result.name << "[" << e << "]: " << a[e]
              << " for " << b[e];
        }
      }
    }
  }
}

}  // namespace
}  // namespace ulpfuzz
