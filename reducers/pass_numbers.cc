#include <algorithm>
#include <cmath>
#include <map>

#include "ir/verify.h"
#include "reducers/edit.h"
#include "reducers/passes.h"
#include "reducers/plain.h"

namespace ulpfuzz {
namespace {

constexpr std::size_t kFewNumbers = 8;  // each is tried on its own

// Plainer numbers in place of one, plainest first.
std::vector<double> plainer(double value) {
  std::vector<double> all;
  if (value == 0 || !std::isfinite(value)) return all;
  const int exponent = std::ilogb(value);
  all = {std::copysign(1.0, value), std::copysign(2.0, value), std::abs(value), std::round(value)};
  for (const int power : {exponent / 4, exponent / 2, exponent - 1, exponent, exponent + 1}) {
    all.push_back(std::copysign(std::ldexp(1.0, power), value));
  }
  for (const int bits : {2, 3, 4, 6, 8, 12, 16, 20, significant_bits(value) - 1}) {
    if (bits >= 1) all.push_back(shortened(value, bits));
  }
  std::erase_if(all, [&](double v) { return number_weight(v) >= number_weight(value); });
  std::ranges::stable_sort(all, {}, number_weight);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<std::int64_t> plainer(std::int64_t value) {
  std::vector<std::int64_t> all;
  for (const std::int64_t v :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{-1}, value / 16, value / 2, value - 1}) {
    if (value > 1 ? v >= 0 && v < value : v < 0 && v > value) all.push_back(v);
  }
  return all;
}

// All numbers of a list changed by one rule, then the numbers of short lists one by one, then each
// number equal to the one before it.
template <class T>
void edits(const Fill& fill, std::vector<T> Fill::*field, std::vector<Fill>& out) {
  const std::vector<T>& list = fill.*field;
  if (list.empty()) return;
  const auto changed = [&](auto edit) {
    Fill result = fill;
    edit(result.*field);
    if (result.*field != list) out.push_back(std::move(result));
  };
  for (const int bits : {1, 2, 4, 8, 16}) {
    changed([&](std::vector<T>& values) {
      for (T& v : values) v = static_cast<T>(shortened(static_cast<double>(v), bits));
    });
  }
  changed([](std::vector<T>& values) {
    for (T& v : values) v = static_cast<T>(std::round(static_cast<double>(v)));
  });
  for (std::size_t i = 0; i < list.size() && list.size() <= kFewNumbers; ++i) {
    for (const T plain : plainer(list[i])) {
      changed([&](std::vector<T>& values) { values[i] = plain; });
    }
    if (i > 0) changed([&](std::vector<T>& values) { values[i] = values[i - 1]; });
  }
}

void shorten(Fill& fill, int bits) {
  if (fill.kind != Fill::Kind::kLiteral) return;
  for (double& v : fill.values) v = shortened(v, bits);
  for (std::int64_t& v : fill.integers) {
    v = static_cast<std::int64_t>(shortened(static_cast<double>(v), bits));
  }
}

// All literals of a case at once.
void shorten_all(const Case& c, const OpTable& table, std::vector<Case>& out) {
  for (const int bits : {1, 2, 4, 8}) {
    Case candidate = c;
    for (InputData& input : candidate.inputs) shorten(input.fill, bits);
    for (auto& cotangent : candidate.cotangents) {
      if (cotangent) shorten(cotangent->fill, bits);
    }
    if (candidate == c) continue;
    if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
      out.push_back(std::move(*tidied));
    }
  }
}

// Numbers that nodes are given.
void argument_numbers(const Case& c, const OpTable& table, std::vector<Case>& out) {
  for (std::size_t n = 0; n < c.program.nodes.size(); ++n) {
    const std::vector<NamedArgument>& args = c.program.nodes[n].args;
    for (std::size_t a = 0; a < args.size(); ++a) {
      const auto* number = std::get_if<Scalar>(&args[a].value);
      const auto* real = std::get_if<double>(&args[a].value);
      if (number == nullptr && real == nullptr) continue;
      for (const double plain : plainer(number != nullptr ? number->as_double() : *real)) {
        Case candidate = c;
        Argument& changed = candidate.program.nodes[n].args[a].value;
        if (real != nullptr) {
          changed = plain;
        } else if (std::holds_alternative<double>(number->value)) {
          changed = Scalar{plain};
        } else if (plain == std::trunc(plain) && std::abs(plain) < 0x1p53) {
          changed = Scalar{static_cast<std::int64_t>(plain)};
        }
        if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
          out.push_back(std::move(*tidied));
        }
      }
    }
  }
}

}  // namespace

// Literals: small integers, few significant bits, moderate magnitudes, few distinct ones.
std::vector<Case> number_candidates(const Case& c, const OpTable& table) {
  std::vector<Case> candidates;
  if (has_origin(c)) return candidates;
  shorten_all(c, table, candidates);
  const auto propose = [&](const Fill& fill, auto place) {
    if (fill.kind != Fill::Kind::kLiteral) return;
    std::vector<Fill> fills;
    edits(fill, &Fill::values, fills);
    edits(fill, &Fill::integers, fills);
    for (Fill& plain : fills) {
      Case candidate = c;
      place(candidate) = std::move(plain);
      if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
        candidates.push_back(std::move(*tidied));
      }
    }
  };
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    propose(c.inputs[i].fill, [i](Case& x) -> Fill& { return x.inputs[i].fill; });
  }
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    if (!c.cotangents[i]) continue;
    propose(c.cotangents[i]->fill, [i](Case& x) -> Fill& { return x.cotangents[i]->fill; });
  }
  argument_numbers(c, table, candidates);
  return candidates;
}

}  // namespace ulpfuzz
