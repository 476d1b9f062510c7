#include "oracle/replay_parts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "oracle/execution.h"

namespace ulpfuzz::execution {

Structure::Structure(const Plan& plan, const Copies& copies)
    : plan_(plan), makers_(static_cast<std::size_t>(plan.slots()), -1) {
  const std::vector<Plan::Step>& steps = plan.steps();
  backward_.resize(steps.size());
  std::vector<bool> of_cotangent(static_cast<std::size_t>(plan.slots()));
  const std::vector<ProgramInput>& inputs = plan.program().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    of_cotangent[i] = inputs[i].name.starts_with("cotangent_");
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto copy = copies.find(steps[i].call.node().name);
    backward_[i] = copy != copies.end() && copy->second.for_gradients;
    for (const int slot : operand_slots(steps[i])) {
      if (of_cotangent[static_cast<std::size_t>(slot)]) backward_[i] = true;
    }
    for (std::size_t r = 0; r < steps[i].results.size(); ++r) {
      const std::size_t slot = static_cast<std::size_t>(steps[i].first_slot) + r;
      makers_[slot] = static_cast<int>(i);
      of_cotangent[slot] = backward_[i];
      work_ += element_count(steps[i].results[r].shape);
    }
    for (const int slot : operand_slots(steps[i])) work_ += element_count(plan.type(slot).shape);
  }
  find_uses();
}

std::vector<int> Structure::operand_slots(const Plan::Step& step) const {
  std::vector<int> slots;
  for (const Plan::BoundArgument& arg : step.args) {
    for (const Plan::Operand& operand : arg.operands) {
      if (operand.slot >= 0) slots.push_back(operand.slot);
    }
  }
  return slots;
}

void Structure::find_uses() {
  // Step that computed a value which its dtype may not hold; -1: inputs.
  std::vector<int> origin(static_cast<std::size_t>(plan_.slots()), -1);
  const std::vector<Plan::Step>& steps = plan_.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Plan::Step& step = steps[i];
    const Numerics& numerics = step.op->row->numerics;
    int through_view = -1;
    for (const int slot : operand_slots(step)) {
      const int from = origin[static_cast<std::size_t>(slot)];
      if (numerics.is_view) through_view = std::max(through_view, from);
      if (from < 0 || numerics.is_view || numerics.extern_kernel) continue;
      if (!is_half(plan_.type(slot).dtype)) continue;
      const auto [at, is_new] = choices_.try_emplace({i, slot}, static_cast<int>(uses_.size()));
      const Plan::Step& maker = steps[static_cast<std::size_t>(from)];
      if (is_new) uses_.push_back({i, slot, from, maker.op->row->numerics.extern_kernel});
    }
    if (numerics.rounds_numbers && is_half(step.compute)) {
      choices_.emplace(std::pair(i, kNumbers), static_cast<int>(uses_.size()));
      uses_.push_back({i, kNumbers, -1});
    }
    for (std::size_t r = 0; r < step.results.size(); ++r) {
      int& from = origin[static_cast<std::size_t>(step.first_slot) + r];
      from = numerics.is_view ? through_view : static_cast<int>(i);
    }
  }
}

int Structure::choice(std::size_t step, int slot) const {
  const auto found = choices_.find({step, slot});
  return found == choices_.end() ? -1 : found->second;
}

std::vector<bool> Structure::fused() const {
  // Extern kernels on the longest way from the inputs to a step.
  const std::vector<Plan::Step>& steps = plan_.steps();
  std::vector<int> level(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int slot : operand_slots(steps[i])) {
      const int from = maker(slot);
      if (from < 0) continue;
      const bool stored = steps[static_cast<std::size_t>(from)].op->row->numerics.extern_kernel;
      level[i] = std::max(level[i], level[static_cast<std::size_t>(from)] + (stored ? 1 : 0));
    }
  }
  std::vector<bool> wide;
  for (const Use& use : uses_) {
    const auto from = static_cast<std::size_t>(std::max(use.maker, 0));
    wide.push_back(use.slot == kNumbers ||
                   (level[from] == level[use.step] && backward_[from] == backward_[use.step]));
  }
  return wide;
}

void Structure::add_what_follows(std::vector<bool>& steps) const {
  const std::vector<Plan::Step>& all = plan_.steps();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (steps[i]) continue;
    for (const int slot : operand_slots(all[i])) {
      const int from = maker(slot);
      if (from >= 0 && steps[static_cast<std::size_t>(from)]) steps[i] = true;
    }
  }
}

namespace {

// Results are integers in a floating dtype.
bool rounds_to_integers(std::string_view op) {
  constexpr std::array<std::string_view, 8> kRoundings{
      "aten.floor.", "aten.ceil.",         "aten.round.",          "aten.trunc.",
      "aten.sign.",  "aten.floor_divide.", "aten.div.Tensor_mode", "aten.div.Scalar_mode"};
  return std::ranges::any_of(kRoundings,
                             [&](std::string_view known) { return op.starts_with(known); });
}

}  // namespace

void TieFinder::record(Found found) {
  if (found_.size() < most_) found_.push_back(std::move(found));
}

void TieFinder::finish(const Plan::Step& step, int slot, Tensor<Running<double>>& result) {
  BoundPolicy<double>::finish(step, slot, result);
  if (result.integral()) {
    integers(step, slot, result);
  } else {
    reals(step, slot, result);
  }
}

void TieFinder::integers(const Plan::Step& step, int slot, Tensor<Running<double>>& result) {
  const bool index = slot == step.first_slot + step.op->row->numerics.arg_result;
  const bool cast = step.converts || rounds_to_integers(step.op->name());
  const auto best = index ? acceptable(slot) : std::vector<std::vector<std::int64_t>>();
  for (std::int64_t i = 0; i < result.size(); ++i) {
    MarkedInt& x = result.integer(result.position(i));
    if ((x.marks & kNearTie) != 0) {
      Found found{slot, i, static_cast<double>(x.v), {}};
      if (index) {
        const auto at = static_cast<std::size_t>(i);
        for (const std::int64_t other : at < best.size() ? best[at] : std::vector<std::int64_t>()) {
          if (other != x.v) found.others.push_back(static_cast<double>(other));
        }
      } else if (result.dtype() == DType::kBool) {
        found.others = {found.value == 0 ? 1.0 : 0.0};
      } else if (cast) {
        found.others = {found.value - 1, found.value + 1};
      }
      record(std::move(found));
    }
    x.marks &= static_cast<std::uint8_t>(~kNearTie);
  }
}

void TieFinder::reals(const Plan::Step& step, int slot, Tensor<Running<double>>& result) {
  if (is_complex(result.dtype())) return;
  const bool whole = rounds_to_integers(step.op->name());
  for (std::int64_t i = 0; i < result.size(); ++i) {
    Running<double>& x = result.real(result.position(i));
    if ((x.marks & kNearTie) == 0) continue;
    record({slot, i, x.v, whole ? std::vector{x.v - 1, x.v + 1} : std::vector<double>()});
    x.marks &= static_cast<std::uint8_t>(~kNearTie);
    if (whole) x.e = 0;
  }
}

}  // namespace ulpfuzz::execution
