#include "oracle/replay.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "ir/error.h"
#include "oracle/execution.h"
#include "oracle/inputs.h"
#include "oracle/replay_parts.h"
#include "oracle/task.h"

namespace ulpfuzz {

using namespace execution;

class Replay::State {
 public:
  Decisions decisions;
  std::vector<Tensor<double>> values;   // by slot
  std::vector<Tensor<double>> rounded;  // by slot, where somebody asked
};

struct Replay::Prepared {
  Prepared(const Case& lowered, const OpTable& table, std::uint64_t salt_)
      : task(lowered, table, Task::Form::kFunctional),
        salt(salt_),
        program(with_copies(task.plan().program(), table, copies)),
        plan(program, table),
        local(plan.slots()),
        inputs(make_inputs<double>(task.bound(), task.input_types(), salt)),
        structure(plan, copies) {
    find_local_errors(table);
    for (const Plan::Step& step : plan.steps()) {
      const auto index = static_cast<std::size_t>(&step - plan.steps().data());
      const std::string& name = step.call.node().name;
      const auto copy_of = copies.find(name);
      const bool copied = copy_of != copies.end();
      // What only the gradients use is not there twice.
      const bool repeated = copied && program.find_node(copy_of->second.of) != nullptr;
      steps.push_back({copied ? copy_of->second.of : name, step.op->name(),
                       structure.backward(index), repeated});
      for (std::size_t r = 0; repeated && r < step.results.size(); ++r) {
        originals[step.first_slot + static_cast<int>(r)] =
            plan.slot({copy_of->second.of, static_cast<int>(r)});
      }
    }
    for (const Structure::Use& use : structure.uses()) {
      choices.push_back({static_cast<int>(use.step), use.maker, use.slot, use.extern_result});
    }
    for (const WantedResult& result : task.results()) {
      results.push_back(result.slot == Plan::kNone ? Plan::kNone : plan.slot(ref(result.slot)));
    }
  }

  // Of opmath's arithmetic alone: half types inside of a kernel are no accumulation error.
  void find_local_errors(const OpTable& table) {
    const Plan wide(program, table, Plan::Halves::kOpmath);
    std::vector<Tensor<Running<double>>> same_numbers;
    for (const auto& input : make_inputs<Running<double>>(task.bound(), task.input_types(), salt)) {
      const auto slot = static_cast<int>(same_numbers.size());
      same_numbers.emplace_back(wide.type(slot)).assign(input);
    }
    interpret(wide, std::move(same_numbers), local, ErrorMode::kRms);
  }

  // What a slot of the task's own plan is called.
  Ref ref(int slot) const {
    const Program& whole = task.plan().program();
    const int inputs_there = static_cast<int>(whole.inputs.size());
    if (slot < inputs_there) return {whole.inputs[static_cast<std::size_t>(slot)].name, 0};
    for (const Plan::Step& step : task.plan().steps()) {
      const int output = slot - step.first_slot;
      if (output >= 0 && output < static_cast<int>(step.results.size())) {
        return {step.call.node().name, output};
      }
    }
    throw Error("no such slot");
  }

  // The slot of the forward pass that this one repeats, or itself.
  int original(int slot) const {
    const auto found = originals.find(slot);
    return found == originals.end() ? slot : found->second;
  }

  Task task;
  std::uint64_t salt;
  Copies copies;
  Program program;
  Plan plan;
  LocalErrors local;
  std::vector<Tensor<double>> inputs;  // never written
  Structure structure;
  std::vector<Step> steps;
  std::vector<Choice> choices;
  std::vector<int> results;  // slots of the task's results
  std::map<int, int> originals;
};

namespace {

// The numbers of a tensor in row-major order, integers too.
std::vector<double> numbers(const Tensor<double>& value) {
  if (!value.integral()) return elements(value);
  std::vector<double> all;
  const std::int64_t n = value.size();
  for (std::int64_t i = 0; i < n; ++i) {
    all.push_back(static_cast<double>(value.integer(value.position(i))));
  }
  return all;
}

void set(const Tensor<double>& value, std::int64_t element, double number) {
  const std::int64_t at = value.position(element);
  if (value.integral()) {
    value.integer(at) = static_cast<std::int64_t>(number);
  } else {
    value.real(at) = number;
  }
}

}  // namespace

// Does as the decisions say.
class Replay::Execution : public Policy<double> {
 public:
  Execution(const Prepared& prepared, const Decisions& decisions,
            std::vector<Tensor<double>>& rounded)
      : p_(prepared), decisions_(decisions), rounded_(rounded) {}

  void begin(const Plan::Step& step, Kernel<double>& kernel) override {
    const int choice = p_.structure.choice(index_of(step), Structure::kNumbers);
    kernel.round_numbers_to(choice >= 0 && !wide(choice) ? step.compute : opmath(step.compute));
  }

  Tensor<double> use(const Plan::Step& step, int slot, const Tensor<double>& value) override {
    if (!is_half(value.dtype()) || value.integral()) return value;
    const int choice = p_.structure.choice(index_of(step), slot);
    const bool rounds = choice < 0 ? step.op->row->numerics.extern_kernel : !wide(choice);
    if (!rounds) return value;
    Tensor<double>& copy = rounded_[static_cast<std::size_t>(slot)];
    if (!copy.defined()) copy = rounded_half(value);
    return copy;
  }

  void finish(const Plan::Step& step, int slot, Tensor<double>& result) override {
    if (!result.integral()) round(step, slot, result);
    for (const auto& [given, values] : decisions_.given) {
      if (given != p_.original(slot)) continue;
      const auto n = static_cast<std::int64_t>(values.size());
      for (std::int64_t i = 0; i < std::min(n, result.size()); ++i) {
        set(result, i, values[static_cast<std::size_t>(i)]);
      }
    }
    for (const Branch& branch : decisions_.branches) {
      if (branch.slot == p_.original(slot)) set(result, branch.element, branch.value);
    }
  }

 private:
  std::size_t index_of(const Plan::Step& step) const {
    return static_cast<std::size_t>(&step - p_.plan.steps().data());
  }
  bool wide(int choice) const { return decisions_.wide[static_cast<std::size_t>(choice)]; }

  void round(const Plan::Step& step, int slot, Tensor<double>& result) const {
    const DType nominal = real_part(result.dtype());
    const auto n = static_cast<std::size_t>(result.size() * (is_complex(result.dtype()) ? 2 : 1));
    const int only = decisions_.noisy_step;
    const bool noisy =
        decisions_.noise > 0 && (only < 0 || static_cast<std::size_t>(only) == index_of(step));
    double* values = result.reals();
    const std::vector<double>& errors = p_.local.of(slot);
    const std::uint64_t key = draw(mix(decisions_.seed), static_cast<std::uint64_t>(slot));
    if (noisy && errors.size() == n) {
      for (std::size_t i = 0; i < n; ++i) values[i] += decisions_.noise * errors[i] * bell(key, i);
    }
    if (nominal == DType::kFloat64) return;
    if (!noisy || !is_product(step) || (key & 1) != 0) {
      for (std::size_t i = 0; i < n; ++i)
        values[i] = static_cast<double>(static_cast<float>(values[i]));
    }
  }

  const Prepared& p_;
  const Decisions& decisions_;
  std::vector<Tensor<double>>& rounded_;
};

Replay::Replay(const Case& lowered, const OpTable& table, std::uint64_t salt)
    : prepared_(std::make_unique<const Prepared>(lowered, table, salt)) {}
Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

const std::vector<Replay::Step>& Replay::steps() const { return prepared_->steps; }
const std::vector<Replay::Choice>& Replay::choices() const { return prepared_->choices; }
std::vector<bool> Replay::fused() const { return prepared_->structure.fused(); }
std::int64_t Replay::work() const { return prepared_->structure.work(); }
const Replay::Decisions& Replay::decisions(const State& state) { return state.decisions; }

Replay::StatePtr Replay::run(const Decisions& decisions) const {
  auto state = std::make_shared<State>();
  state->decisions = decisions;
  state->rounded.resize(static_cast<std::size_t>(prepared_->plan.slots()));
  Execution execution(*prepared_, state->decisions, state->rounded);
  state->values = interpret(prepared_->plan, prepared_->inputs, execution);
  return state;
}

Replay::StatePtr Replay::change(const StatePtr& from, const Decisions& decisions) const {
  const Plan& plan = prepared_->plan;
  std::vector<bool> again(plan.steps().size());
  const auto touch_slot = [&](int slot) {
    for (int s = 0; s < plan.slots(); ++s) {
      const int maker = prepared_->structure.maker(s);
      if (maker >= 0 && prepared_->original(s) == slot)
        again[static_cast<std::size_t>(maker)] = true;
    }
  };
  const Decisions& before = from->decisions;
  for (std::size_t c = 0; c < decisions.wide.size(); ++c) {
    if (decisions.wide[c] != before.wide[c]) {
      again[static_cast<std::size_t>(prepared_->choices[c].step)] = true;
    }
  }
  std::vector<Branch> differ;
  const std::set<Branch> a(before.branches.begin(), before.branches.end());
  const std::set<Branch> b(decisions.branches.begin(), decisions.branches.end());
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(differ));
  for (const Branch& branch : differ) touch_slot(branch.slot);
  for (const auto* list : {&before.given, &decisions.given}) {
    for (const auto& [slot, values] : *list) touch_slot(slot);
  }
  if (decisions.noisy_step >= 0) again[static_cast<std::size_t>(decisions.noisy_step)] = true;
  if (before.noisy_step >= 0) again[static_cast<std::size_t>(before.noisy_step)] = true;
  prepared_->structure.add_what_follows(again);

  auto state = std::make_shared<State>(*from);
  state->decisions = decisions;
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (!again[i]) continue;
    const Plan::Step& step = plan.steps()[i];
    for (std::size_t r = 0; r < step.results.size(); ++r) {
      state->rounded[static_cast<std::size_t>(step.first_slot) + r] = {};
    }
  }
  Execution execution(*prepared_, state->decisions, state->rounded);
  interpret_again(plan, state->values, again, execution);
  return state;
}

std::size_t Replay::results() const { return prepared_->results.size(); }

std::vector<double> Replay::result(const State& state, std::size_t index) const {
  const int slot = prepared_->results[index];
  if (slot == Plan::kNone) return {};
  const Tensor<double>& value = state.values[static_cast<std::size_t>(slot)];
  return numbers(value);
}

bool Replay::same_result(const State& a, const State& b, std::size_t index) const {
  const int slot = prepared_->results[index];
  if (slot == Plan::kNone) return true;
  const auto at = static_cast<std::size_t>(slot);
  return a.values[at].shares_storage(b.values[at]);
}

const TensorType& Replay::result_type(std::size_t index) const {
  return prepared_->task.results()[index].type;
}

bool Replay::matters(const State& state, std::size_t choice) const {
  const Choice& c = prepared_->choices[choice];
  if (c.slot < 0) return true;
  const Tensor<double>& value = state.values[static_cast<std::size_t>(c.slot)];
  const HalfRounding round(value.dtype());
  const std::vector<double> all = numbers(value);
  return std::ranges::any_of(all, [&](double x) { return round(x) != x && x == x; });
}

double Replay::value(const State& state, int slot, std::int64_t element) const {
  const Tensor<double>& value = state.values[static_cast<std::size_t>(slot)];
  const std::int64_t at = value.position(element);
  return value.integral() ? static_cast<double>(value.integer(at)) : value.real(at);
}

int Replay::slot_of(const Ref& value) const {
  try {
    return prepared_->plan.slot(value);
  } catch (const Error&) {
    return -1;
  }
}

std::vector<Replay::Tie> Replay::ties(std::size_t most) const {
  const Task& task = prepared_->task;
  TieFinder finder(most);
  interpret(prepared_->plan,
            make_inputs<Running<double>>(task.bound(), task.input_types(), prepared_->salt),
            finder);
  std::vector<Tie> all;
  for (TieFinder::Found& found : finder.take()) {
    if (prepared_->original(found.slot) != found.slot) continue;  // goes with the first one
    const int maker = prepared_->structure.maker(found.slot);
    all.push_back({maker, found.slot, found.element, found.value, std::move(found.others)});
  }
  return all;
}

}  // namespace ulpfuzz
