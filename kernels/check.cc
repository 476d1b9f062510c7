#include "kernels/check.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/element.h"
#include "judge/facts.h"
#include "oracle/inputs.h"
#include "oracle/odometer.h"

namespace ulpfuzz {
namespace {

// Further away than this, in units of the roundoff, the bound is asked.
constexpr double kNear = 8;

// floor(log2 x) of x >= 1, at most kOctaves - 1.
int octave(double x) {
  if (!(x < 0x1p60)) return KernelCheck::kOctaves - 1;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52) - 1023;
  return std::min(exponent, KernelCheck::kOctaves - 1);
}

// The distance of y from r in roundoffs of the format at r.
struct Ruler {
  double unit, min_normal, max_finite;
  explicit Ruler(DType dtype) {
    const FloatFormat& format = float_format(dtype);
    unit = format.unit_roundoff;
    min_normal = std::ldexp(1.0, format.min_exponent);
    max_finite = format.max_finite;
  }
  double operator()(double y, double r) const {
    const double size = std::fabs(r);
    const double error = std::fabs(y - r);
    if (error <= size * unit) return 0;  // both infinite: error is NaN
    if (y == r || (std::isnan(y) && std::isnan(r))) return 0;
    if (std::isinf(y) && size >= max_finite && (y > 0) == (r > 0)) return 0;
    if (!(size <= max_finite) || !(error < HUGE_VAL)) return HUGE_VAL;
    return error / (unit * std::max(size, min_normal));
  }
};

}  // namespace

KernelCheck::KernelCheck(const Case& test, const OpTable& table, const InputElements& elements)
    : elements_(elements),
      task_(test, table, Task::Form::kAsWritten),
      inputs_(make_inputs<double>(task_.bound(), task_.input_types(), 0)),
      prepared_(std::make_unique<Prepared>(task_.plan(), inputs_)) {
  prepared_->run();
  for (const auto& cotangent : task_.bound().cotangents) {
    if (!cotangent) continue;
    const TensorType& type = task_.input_types()[elements.inputs().size() + cotangents_.size()];
    cotangents_.push_back(generate(cotangent->fill, type.dtype, type.shape));
  }
  for (const WantedResult& result : task_.results()) {
    if (result.slot == Plan::kNone) {
      positions_.emplace_back();
      continue;
    }
    const Tensor<double>& value = prepared_->values()[static_cast<std::size_t>(result.slot)];
    positions_.push_back(positions(value.shape(), value.strides(), value.offset()));
  }
}

KernelCheck::~KernelCheck() = default;

void KernelCheck::evaluate(std::span<const std::byte> whole) {
  for (std::size_t n = 0; n < elements_.inputs().size(); ++n) {
    const InputElements::Input& input = elements_.inputs()[n];
    const std::byte* at = whole.data() + input.begin;
    if (is_integral(input.dtype)) {
      std::int64_t* const to = inputs_[n].integers();
      for (const std::int64_t position : input.positions) {
        to[position] = load_integer(input.dtype, at);
        at += input.width;
      }
    } else {
      double* const to = inputs_[n].reals();
      for (const std::int64_t position : input.positions) {
        to[position] = load_real(input.dtype, at);
        at += input.width;
      }
    }
  }
  prepared_->run();
}

bool KernelCheck::compare(std::size_t output, std::span<const std::byte> got,
                          std::vector<Distance>& distances) const {
  const WantedResult& result = task_.results()[output];
  if (result.slot == Plan::kNone || got.empty()) return false;
  const Tensor<double>& value = prepared_->values()[static_cast<std::size_t>(result.slot)];
  const DType dtype = real_part(result.type.dtype);
  const auto width = static_cast<std::size_t>(item_size(dtype));
  const int parts = is_complex(result.type.dtype) ? 2 : 1;
  bool far = false;
  std::int64_t element = 0;
  const std::byte* at = got.data();
  if (is_integral(dtype)) {
    const std::int64_t* const exact = value.integers();
    for (const std::int64_t position : positions_[output]) {
      if (load_integer(dtype, at) != exact[position]) {
        distances.push_back({static_cast<int>(output), element, kOctaves - 1});
        far = true;
      }
      at += width;
      ++element;
    }
    return far;
  }
  const Ruler ruler(dtype);
  const double* const exact = value.reals();
  for (const std::int64_t position : positions_[output]) {
    for (int part = 0; part < parts; ++part, at += width) {
      const double distance = ruler(load_real(dtype, at), exact[parts * position + part]);
      if (distance < 1) continue;
      distances.push_back({static_cast<int>(output), element, octave(distance)});
      far = far || distance > kNear;
    }
    ++element;
  }
  return far;
}

std::vector<Fact> KernelCheck::facts(std::span<const std::byte> whole,
                                     const std::vector<std::span<const std::byte>>& outputs,
                                     double& share) const {
  const Exact exact = Oracle::exact(task_, [&](std::size_t n) {
    if (n >= elements_.inputs().size()) return cotangents_[n - elements_.inputs().size()];
    const InputElements::Input& input = elements_.inputs()[n];
    const std::byte* at = whole.data() + input.begin;
    Elements made;
    for (std::int64_t i = 0; i < input.count; ++i, at += input.width) {
      if (is_integral(input.dtype)) {
        made.integers.push_back(load_integer(input.dtype, at));
      } else {
        made.reals.push_back(load_real(input.dtype, at));
      }
    }
    return made;
  });
  std::vector<Fact> facts;
  share = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (task_.results()[i].slot == Plan::kNone || outputs[i].empty()) continue;
    TensorResult result;
    result.name = exact.tensors[i].name;
    result.layout.dtype = exact.tensors[i].type.dtype;
    result.layout.shape = exact.tensors[i].type.shape;
    result.bytes.assign(outputs[i].begin(), outputs[i].end());
    const ElementCheck check =
        check_elements(result, nullptr, exact.tensors[i], "as compiled", facts);
    share = std::max(share, check.measure.bound_ratio);
  }
  return facts;
}

}  // namespace ulpfuzz
