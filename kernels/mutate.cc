#include "kernels/mutate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ir/element.h"

namespace ulpfuzz {
namespace {

constexpr double kOrdinary[] = {0.0, 1.0, 0.5, 2.0, 3.0, 10.0, 0.1, 3.141592653589793, 256.0};

void note_numbers(const Argument& argument, std::vector<double>& numbers) {
  if (const auto* scalar = std::get_if<Scalar>(&argument)) numbers.push_back(scalar->as_double());
  if (const auto* number = std::get_if<double>(&argument)) numbers.push_back(*number);
}

// `value`, `ulps` numbers of the dtype away.
double next_numbers(DType dtype, double value, std::int64_t ulps) {
  const FloatFormat& format = float_format(dtype);
  if (!std::isfinite(value)) return value;
  const int exponent =
      value == 0 ? format.min_exponent : std::max(std::ilogb(value), format.min_exponent);
  return round_to(dtype,
                  value + std::ldexp(static_cast<double>(ulps), exponent - format.precision + 1));
}

double power_of_two(DType dtype, Random& random) {
  const FloatFormat& format = float_format(dtype);
  const int top = std::ilogb(format.max_finite);
  return std::ldexp(
      1.0, static_cast<int>(random.integer(format.min_exponent - format.precision + 1, top)));
}

}  // namespace

ElementMutator::ElementMutator(const Program& program, const OpTable& table,
                               const InputElements& elements)
    : elements_(elements), edges_(std::begin(kOrdinary), std::end(kOrdinary)) {
  for (const Node& node : program.nodes) {
    const Op& op = table.at(node.op);
    edges_.insert(edges_.end(), op.row->edges.begin(), op.row->edges.end());
    for (const NamedArgument& argument : node.args) note_numbers(argument.value, numbers_);
  }
  edges_.insert(edges_.end(), numbers_.begin(), numbers_.end());
  for (std::size_t i = 0; i < elements.inputs().size(); ++i) {
    if (elements.inputs()[i].count > 0) changeable_.push_back(i);
  }
}

double ElementMutator::edge(DType dtype, Random& random) const {
  const FloatFormat& format = float_format(dtype);
  double value = 0;
  switch (random.integer(0, 7)) {
    case 0:
      value = format.max_finite;
      break;
    case 1:
      value = format.min_subnormal * static_cast<double>(random.integer(1, 4));
      break;
    case 2:
      value = std::ldexp(1.0, format.min_exponent);
      break;
    case 3:
      value = random.chance(0.5) ? std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
      break;
    case 4:
      value = power_of_two(dtype, random);
      break;
    default:
      value = random.pick(edges_);
  }
  value = random.chance(0.3) ? -value : value;
  return random.chance(0.3) ? next_numbers(dtype, value, random.integer(-4, 4)) : value;
}

// An element of some other input at the same place, or a number of the program.
double ElementMutator::other_operand(std::int64_t at, std::span<const std::byte> whole,
                                     Random& random) const {
  if (!numbers_.empty() && random.chance(0.5)) return random.pick(numbers_);
  const InputElements::Input& from = elements_.inputs()[random.pick(changeable_)];
  const auto place = static_cast<std::size_t>(at % from.count);
  const std::byte* const bytes = whole.data() + from.begin + place * from.width;
  return is_integral(from.dtype) ? static_cast<double>(load_integer(from.dtype, bytes))
                                 : load_real(from.dtype, bytes);
}

void ElementMutator::mutate_reals(const InputElements::Input& input, std::span<std::byte> whole,
                                  Random& random) const {
  const DType dtype = input.dtype;
  const auto bytes_at = [&](std::int64_t i) {
    return whole.data() + input.begin + static_cast<std::size_t>(i) * input.width;
  };
  const auto get = [&](std::int64_t i) { return load_real(dtype, bytes_at(i)); };
  const auto put = [&](std::int64_t i, double value) { store_real(dtype, value, bytes_at(i)); };
  const std::int64_t at = random.integer(0, input.count - 1);
  // One element mostly; else the rest, each changed in its own way.
  const std::int64_t end = random.chance(0.6) ? at + 1 : input.count;
  const double value = get(at);
  const std::int64_t how = random.integer(0, 8);
  const double factor = random.chance(0.5) ? 2 : 1 + random.unit();
  for (std::int64_t i = at; i < end; ++i) {
    const std::int64_t far = i - at;  // how far along the run
    switch (how) {
      case 0:
        put(i, edge(dtype, random));
        break;
      case 1:  // a walk by ulps
        put(i, next_numbers(dtype, value, far + random.integer(-16, 16)));
        break;
      case 2:  // a walk by factors
        put(i, value * std::pow(factor, static_cast<double>(far + random.integer(-8, 8))));
        break;
      case 3:
        put(i, -get(i));
        break;
      case 4:
        put(i, std::copysign(power_of_two(dtype, random) * (1 + random.unit()), value));
        break;
      case 5: {  // a multiple of another operand, or next to one
        const double other = other_operand(i, whole, random);
        const auto times =
            static_cast<double>(random.integer(1, std::int64_t{1} << random.integer(1, 30)));
        put(i, next_numbers(dtype, round_to(dtype, other * times), random.integer(-2, 2)));
        break;
      }
      case 6:
        put(i, static_cast<double>(random.integer(-64, 64)) * (random.chance(0.5) ? 1 : 0.5));
        break;
      case 7:
        put(i, other_operand(i, whole, random));
        break;
      default:  // the same exponent, another significand
        put(i, std::isfinite(value) && value != 0
                   ? std::copysign(std::ldexp(1 + random.unit(), std::ilogb(value)), value)
                   : random.unit());
    }
  }
}

void ElementMutator::mutate_integers(const InputElements::Input& input, std::span<std::byte> whole,
                                     Random& random) const {
  const std::int64_t at = random.integer(0, input.count - 1);
  const std::int64_t end = random.chance(0.6) ? at + 1 : input.count;
  const std::int64_t how = random.integer(0, 4);
  for (std::int64_t i = at; i < end; ++i) {
    std::byte* const bytes = whole.data() + input.begin + static_cast<std::size_t>(i) * input.width;
    const std::int64_t value = load_integer(input.dtype, bytes);
    switch (how) {
      case 0:
        store_integer(input.dtype, random.chance(0.5) ? input.low : input.high, bytes);
        break;
      case 1:
        store_integer(input.dtype, value + random.integer(-2, 2), bytes);
        break;
      case 2:
        store_integer(input.dtype, random.integer(-16, 16), bytes);
        break;
      case 3:
        store_integer(input.dtype,
                      static_cast<std::int64_t>(random.bits() >> random.integer(0, 63)), bytes);
        break;
      default:
        store_integer(input.dtype, std::int64_t{1} << random.integer(0, 62), bytes);
    }
  }
}

void ElementMutator::mutate(std::span<std::byte> whole, std::uint64_t seed) const {
  if (changeable_.empty()) return;
  Random random(seed);
  for (std::int64_t left = random.integer(1, 3); left > 0; --left) {
    const InputElements::Input& input = elements_.inputs()[random.pick(changeable_)];
    if (is_integral(input.dtype)) {
      mutate_integers(input, whole, random);
    } else {
      mutate_reals(input, whole, random);
    }
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(whole.data());  // NOLINT
  elements_.expand({bytes, whole.size()}, whole);                                 // into range
}

}  // namespace ulpfuzz
