#pragma once

#include <vector>

#include "oracle/loops.h"
#include "oracle/plan.h"

namespace ulpfuzz {

// Which indices an arg-reduction may return: those whose value may be as good as the best one. Of
// equal values that every execution has (their error is 0) the first alone, as torch documents of
// all rows that have an arg_result (max, min, argmax, argmin). NaN is the best of all; of several
// any, as nothing is promised of them. Integers beyond 2^53 are compared as B holds them. An
// element with more than 64 of them, or with something undefined among its values, has an empty
// list.
template <class B>
std::vector<std::vector<std::int64_t>> acceptable_indices(const Plan::Step& step,
                                                          const Tensor<Running<B>>& self) {
  constexpr std::size_t kMost = 64;
  const bool smallest = step.op->row->numerics.arg_of == Numerics::Extremum::kSmallest;
  std::vector<std::int64_t> dims;
  if (step.call.given("dim")) {
    dims.push_back(wrap_dim(step.call.integer("dim"), self.shape().size()));
  }
  std::vector<std::vector<std::int64_t>> all;
  const auto as_number = [&](std::int64_t at) {
    if (!self.integral()) return smallest ? -self.real(at) : self.real(at);
    const MarkedInt& i = self.integer(at);
    const bool open = i.marks & (kNearTie | kUndefined);
    return Running<B>{smallest ? B(-B(i.v)) : B(i.v), open ? internal::kInfinity : 0, i.marks};
  };
  reduce(self, self.rank() == 0 ? std::vector<std::int64_t>() : dims,
         [&](std::int64_t, std::int64_t base, const std::vector<std::int64_t>& positions) {
           // The least that the best value can be.
           bool nan = false, undefined = false, any = false;
           Running<B> floor;
           for (const std::int64_t p : positions) {
             const Running<B> x = as_number(base + p);
             undefined = undefined || (x.marks & kUndefined);
             if (base::is_nan(x.v)) {
               nan = nan || x.e == 0;
             } else if (internal::finite(x.e)) {
               const B least = x.v - B(x.e);
               if (!any || least > floor.v) floor.v = least;
               any = true;
             }
           }
           std::vector<std::int64_t> indices;
           bool decided = false;  // there was one already that is as good in every execution
           for (std::size_t j = 0; j < positions.size() && indices.size() <= kMost; ++j) {
             const Running<B> x = as_number(base + positions[j]);
             const bool open = !internal::finite(x.e);
             const bool good =
                 base::is_nan(x.v) || open || (!nan && (!any || x.v + B(x.e) >= floor.v));
             const bool as_held = !self.integral() || base::abs(x.v) <= B(0x1p53);
             const bool known = good && !nan && !base::is_nan(x.v) && x.e == 0 && as_held;
             if (good && !(known && decided)) indices.push_back(static_cast<std::int64_t>(j));
             decided = decided || known;
           }
           if (undefined || indices.size() > kMost) indices.clear();
           all.push_back(std::move(indices));
         });
  return all;
}

}  // namespace ulpfuzz
