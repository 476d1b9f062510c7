#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "oracle/exact.h"
#include "oracle/plan.h"

// What a Replay knows of its program before it evaluates anything, and the pass that finds
// near-ties.
namespace ulpfuzz::execution {

// A node that a program has once more.
struct Copy {
  std::string of;              // the node that it repeats
  bool for_gradients = false;  // it is there for the backward pass
};
using Copies = std::map<std::string, Copy>;  // by name

// The program with nodes computed once more for some of their uses, as compilers compute again
// rather than store; so roundings on the way there are decisions of their own. First all that the
// backward pass uses of the forward pass, but for results of extern kernels, and integers; then
// steps that do not reduce, for each step that sees them, until the program has twice its nodes.
// A program without half types stays as it is.
Program with_copies(const Program& program, const OpTable& table, Copies& copies);

class Structure {
 public:
  static constexpr int kNumbers = -1;  // in place of a slot: the Python numbers of a step

  Structure(const Plan& plan, const Copies& copies);

  struct Use {
    std::size_t step = 0;
    int slot = 0;    // kNumbers: numbers
    int maker = -1;  // step that made the value, views looked through
    bool extern_result = false;
  };
  const std::vector<Use>& uses() const { return uses_; }
  // Index of the choice, or -1 where there is none.
  int choice(std::size_t step, int slot) const;

  int maker(int slot) const { return makers_[static_cast<std::size_t>(slot)]; }  // -1: an input
  bool backward(std::size_t step) const { return backward_[step]; }
  std::vector<bool> fused() const;
  // Marks also the steps that depend on a marked one.
  void add_what_follows(std::vector<bool>& steps) const;
  std::int64_t work() const { return work_; }

 private:
  void find_uses();
  std::vector<int> operand_slots(const Plan::Step& step) const;

  const Plan& plan_;
  std::vector<int> makers_;     // by slot
  std::vector<bool> backward_;  // by step: depends on a cotangent
  std::vector<Use> uses_;
  std::map<std::pair<std::size_t, int>, int> choices_;
  std::int64_t work_ = 0;
};

// The exact pass, with every decision that an error may turn recorded where it is made and taken
// as exact arithmetic has it afterwards.
class TieFinder : public BoundPolicy<double> {
 public:
  explicit TieFinder(std::size_t most) : most_(most) {}

  struct Found {
    int slot = 0;
    std::int64_t element = 0;
    double value = 0;
    std::vector<double> others;
  };
  void finish(const Plan::Step& step, int slot, Tensor<Running<double>>& result) override;
  std::vector<Found> take() { return std::move(found_); }

 private:
  void integers(const Plan::Step& step, int slot, Tensor<Running<double>>& result);
  void reals(const Plan::Step& step, int slot, Tensor<Running<double>>& result);
  void record(Found found);
  std::size_t most_;
  std::vector<Found> found_;
};

}  // namespace ulpfuzz::execution
