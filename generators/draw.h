#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/call.h"
#include "ir/fill.h"
#include "ir/op_row.h"
#include "ir/program.h"

namespace ulpfuzz {

// A counter-based random stream, the same on every machine and compiler (SplitMix64; no
// std::distribution, whose results differ between libraries).
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed), state_(seed) {}
  std::uint64_t bits();
  std::int64_t integer(std::int64_t low, std::int64_t high);  // inclusive
  double unit();                                              // [0, 1)
  bool chance(double probability) { return unit() < probability; }
  template <class C>
  auto& pick(const C& items) {
    return items[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(items.size()) - 1))];
  }
  std::size_t weighted(const std::vector<double>& weights);  // index, by non-negative weights
  Random fork(std::uint64_t stream) const;  // independent of how much was drawn from this one

 private:
  std::uint64_t seed_;  // fork() starts here
  std::uint64_t state_;
};

// Which tensors an operator's rule can take.
struct Want {
  enum class Types : std::uint8_t {
    kAny,
    kFloating,
    kInteger,
    kIntegral /* and bool */,
    kBool,
    kNumeric
  };
  Types types = Types::kAny;
  int min_rank = 0;
  int max_rank = 5;
  std::optional<DType> dtype = {};  // exactly this
  std::function<bool(const TensorType&)> also = {};
  bool fresh = false;  // safe to write in place: an intermediate that is nobody's possible alias
};

// What a row's draw rule works with: the values so far, new inputs when none fits, and one call to
// append. Rules read like the operator's documentation:
//
//     bool draw_matmul(Draw& d) {
//       const Ref a = d.operand({.types = Want::Types::kFloating, .min_rank = 2});
//       const Ref b = d.operand_like(a, {...shape...});
//       return d.call({{"self", a}, {"other", b}});
//     }
class Draw {
 public:
  virtual ~Draw() = default;
  virtual Random& random() = 0;
  virtual const TensorType& type(const Ref& ref) const = 0;

  // A value that fits, an existing one (recent ones more often) or a new input of random type.
  virtual Ref operand(const Want& want = {}) = 0;
  // An existing value or a new input of exactly this type.
  virtual Ref operand_of(DType dtype, const Shape& shape) = 0;
  // A value that broadcasts with `other`: its shape, or one with dims dropped or set to 1; the same
  // dtype mostly, another one of the category sometimes (`mixed`).
  virtual Ref broadcastable(const Ref& other, bool mixed = true) = 0;
  // A new input whose elements the operator needs to be special (indices, shift counts, ...).
  virtual Ref new_input(DType dtype, const Shape& shape, const Fill& fill) = 0;
  // A Python number of the tensor's category: small integers, halves, now and then an edge.
  virtual Scalar number(DType dtype) = 0;
  virtual int dim(const Ref& ref) = 0;  // an existing dimension, sometimes negative
  virtual std::vector<Dim> some_dims(const Ref& ref) = 0;  // one or more distinct dimensions
  virtual DType floating_dtype() = 0;                      // by the profile's weights
  virtual DType any_dtype() = 0;

  // Appends the call; false (and nothing appended) when the row's type rule refuses it or a result
  // would be too large.
  virtual bool call(std::vector<NamedArgument> args) = 0;
  // Appends a call of another operator, for idioms of several calls (attention written by hand);
  // its first result. Throws Error, which gives the whole draw up, when its type rule refuses.
  virtual Ref also(const std::string& op, std::vector<NamedArgument> args) = 0;
  virtual const Op& op() const = 0;
};

}  // namespace ulpfuzz
