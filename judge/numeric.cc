#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/elements.h"
#include "judge/facts.h"
#include "judge/model.h"
#include "judge/statistics.h"

namespace ulpfuzz {
namespace {

namespace model = judge_model;

// What an element says of a system.
enum class Element : std::uint8_t {
  kWithin,
  kUnbounded,
  kUnboundedNonFinite,  // as the last, and only legal executions say whether it may be
  kMasked,
  kWrong,
  kNonFinite
};

double allowance(const ExactTensor& exact, std::size_t i) {
  return model::kBoundFactor * bound_of(exact, i);
}

Element judge_real(double y, const ExactTensor& exact, std::size_t i) {
  const double e = exact.values[i];
  const Standing stands = standing(exact, i);
  if (stands == Standing::kMasked) return Element::kMasked;
  if (stands == Standing::kUnbounded) {
    return std::isfinite(e) && !std::isfinite(y) ? Element::kUnboundedNonFinite
                                                 : Element::kUnbounded;
  }
  const double allowed = allowance(exact, i);
  if (std::isnan(e)) return std::isnan(y) ? Element::kWithin : Element::kNonFinite;
  if (std::isinf(e)) return y == e ? Element::kWithin : Element::kNonFinite;
  if (std::isnan(y)) return Element::kNonFinite;
  if (std::isinf(y)) {
    // The nearest number may be infinity, or a legal error may lead there.
    const bool may_overflow =
        std::abs(e) + allowed >= float_format(exact.type.dtype).max_finite && (y > 0) == (e > 0);
    return may_overflow ? Element::kWithin : Element::kNonFinite;
  }
  return error_of(y, exact, i) <= allowed ? Element::kWithin : Element::kWrong;
}

// Decides what the bound leaves open of an element that is not finite.
Element decided(Element element, std::size_t i,
                const std::function<bool(std::size_t)>& must_be_finite) {
  if (element != Element::kUnboundedNonFinite) return element;
  return must_be_finite && must_be_finite(i) ? Element::kNonFinite : Element::kUnbounded;
}

Element judge_integer(std::int64_t y, const ExactTensor& exact, std::size_t i) {
  if (i < exact.acceptable.size() && !exact.acceptable[i].empty()) {
    const auto& set = exact.acceptable[i];
    return std::find(set.begin(), set.end(), y) != set.end() ? Element::kWithin : Element::kWrong;
  }
  if (marks_of(exact, i) != 0) return Element::kMasked;
  return y == exact.integers[i] ? Element::kWithin : Element::kWrong;
}

// The elements of a result as numbers, whatever their type.
struct Numbers {
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  explicit Numbers(const TensorResult& result) {
    if (is_integral(result.layout.dtype)) {
      integers = result.integers();
    } else {
      reals = result.reals();
    }
  }
  std::size_t size() const { return reals.size() + integers.size(); }
  double at(std::size_t i) const {
    return integers.empty() ? reals[i] : static_cast<double>(integers[i]);
  }
  bool differs(const Numbers& other, std::size_t i) const {
    if (!integers.empty()) return integers[i] != other.integers[i];
    const double a = reals[i];
    const double b = other.reals[i];
    return a != b && !(std::isnan(a) && std::isnan(b));
  }
};

double exact_at(const ExactTensor& exact, std::size_t i) {
  return exact.values.empty() ? static_cast<double>(exact.integers[i]) : exact.values[i];
}

Fact element_fact(Element element, const ExactTensor& exact, const Numbers& got,
                  const Numbers* eager, std::size_t i, std::int64_t count,
                  const std::string& rung) {
  const bool integral = exact.values.empty();
  const double error = integral ? 0 : error_of(got.at(i), exact, i);
  const double bound = integral ? 0 : bound_of(exact, i);
  Fact fact;
  fact.kind = element == Element::kNonFinite ? VerdictKind::kNanMismatch : VerdictKind::kWrong;
  fact.tensor = exact.name;
  fact.rung = rung;
  fact.strength = "bound";
  fact.statistic = bound > 0 ? error / bound : std::numeric_limits<double>::infinity();
  fact.detail = fmt::format("{}[{}] = {}, exact {}", exact.name, i, got.at(i), exact_at(exact, i));
  if (eager != nullptr) fact.detail += fmt::format(", eager {}", eager->at(i));
  if (element == Element::kWrong && !integral) {
    fact.detail += fmt::format("; error {:.3g}, largest legal {:.3g}", error, bound);
  }
  if (count > 1) fact.detail += fmt::format("; {} elements so", count);
  return fact;
}

}  // namespace

ElementCheck check_elements(const TensorResult& result, const TensorResult* eager,
                            const ExactTensor& exact, const std::string& rung,
                            std::vector<Fact>& facts,
                            const std::function<bool(std::size_t)>& must_be_finite) {
  ElementCheck check;
  TensorMeasure& m = check.measure;
  m.tensor = exact.name;
  m.rung = rung;
  check.same_as_eager = eager != nullptr && result.bytes == eager->bytes;
  const Numbers got(result);
  const bool integral = is_integral(exact.type.dtype);
  const std::size_t n = integral ? exact.integers.size() : exact.values.size();
  if (got.size() != n || is_integral(result.layout.dtype) != integral) return check;
  const bool with_eager = eager != nullptr && eager->layout.dtype == result.layout.dtype &&
                          eager->layout.shape == result.layout.shape;
  const std::optional<Numbers> other = with_eager ? std::optional<Numbers>(*eager) : std::nullopt;

  struct Worst {
    std::size_t index = 0;
    std::int64_t count = 0;
    double severity = -1;
  };
  Worst wrong, non_finite;
  std::int64_t eager_outside = 0;
  double worst_share = -1;
  for (std::size_t i = 0; i < n; ++i) {
    const Element element = integral
                                ? judge_integer(got.integers[i], exact, i)
                                : decided(judge_real(got.reals[i], exact, i), i, must_be_finite);
    if (element == Element::kMasked) {
      ++m.masked;
      if (other && got.differs(*other, i)) {
        check.masked_difference = true;
        check.masked_marks |= marks_of(exact, i);
      }
      continue;
    }
    check.comparable = true;
    if (element == Element::kUnbounded) {
      const double error = error_of(got.reals[i], exact, i);
      if (std::isfinite(error)) m.max_error = std::max(m.max_error, error);
      continue;
    }
    if (!integral && std::isfinite(got.reals[i]) && std::isfinite(exact.values[i])) {
      const double error = error_of(got.reals[i], exact, i);
      const double share =
          bound_of(exact, i) > 0 ? error / bound_of(exact, i) : (error > 0 ? 1e300 : 0);
      m.max_error = std::max(m.max_error, error);
      m.bound_ratio = std::max(m.bound_ratio, share);
      if (share > worst_share) {
        worst_share = share;
        m.worst_index = static_cast<std::int64_t>(i);
      }
    }
    if (element == Element::kWithin) continue;
    // Where eager is outside too, the reference and eager disagree: that is eager's verdict.
    if (other) {
      const Element of_eager =
          integral ? judge_integer(other->integers[i], exact, i)
                   : decided(judge_real(other->reals[i], exact, i), i, must_be_finite);
      if (of_eager == Element::kWrong || of_eager == Element::kNonFinite) {
        if (got.differs(*other, i)) ++eager_outside;
        continue;
      }
    }
    Worst& worst = element == Element::kWrong ? wrong : non_finite;
    ++worst.count;
    const double severity = integral || bound_of(exact, i) <= 0
                                ? 0.0
                                : error_of(got.reals[i], exact, i) / bound_of(exact, i);
    if (severity > worst.severity || worst.count == 1) {
      worst.severity = severity;
      worst.index = i;
    }
  }
  if (!integral) {
    m.has_error = true;
    m.rms_error = rms_error(got.reals, exact);
    m.rounding = rounding_error(exact);
    if (other) m.eager_rms_error = rms_error(other->reals, exact);
  }
  const Numbers* beside = other ? &*other : nullptr;
  if (wrong.count > 0) {
    facts.push_back(
        element_fact(Element::kWrong, exact, got, beside, wrong.index, wrong.count, rung));
    m.worst_index = static_cast<std::int64_t>(wrong.index);
  }
  if (non_finite.count > 0) {
    facts.push_back(element_fact(Element::kNonFinite, exact, got, beside, non_finite.index,
                                 non_finite.count, rung));
    m.worst_index = static_cast<std::int64_t>(non_finite.index);
  }
  if (eager_outside > 0) {
    Fact fact;
    fact.kind = VerdictKind::kUndecided;
    fact.tensor = exact.name;
    fact.rung = rung;
    fact.strength = "observed";
    fact.detail = fmt::format("{}: differs from eager in {} elements where eager is outside too",
                              exact.name, eager_outside);
    facts.push_back(std::move(fact));
  }
  if (n > 0) {
    const auto w = static_cast<std::size_t>(m.worst_index);
    m.worst_value = got.at(w);
    m.worst_exact = exact_at(exact, w);
    if (other) m.worst_eager = other->at(w);
  }
  return check;
}

}  // namespace ulpfuzz
