#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ulpfuzz {

using Shape = std::vector<std::int64_t>;

// What each size symbol stands for, by name ("s0" -> 4).
using Symbols = std::map<std::string, std::int64_t>;

// A size, or any integer argument: an affine expression over size symbols, `2*s0+s1-1`. A plain
// number is an expression without terms.
struct Dim {
  std::int64_t constant = 0;
  std::vector<std::pair<std::string, std::int64_t>> terms;  // symbol, coefficient; sorted, no zeros

  Dim() = default;
  Dim(std::int64_t value) : constant(value) {}  // NOLINT(google-explicit-constructor)
  static Dim symbol(std::string name);

  // Throws Error when a symbol is not bound.
  std::int64_t value(const Symbols& symbols) const;
  bool is_constant() const { return terms.empty(); }

  bool operator==(const Dim&) const = default;
};

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(std::int64_t factor, const Dim& dim);

std::string to_string(const Dim& dim);  // "2*s0+s1-1"; canonical
Dim parse_dim(std::string_view text);   // the inverse; throws Error

std::int64_t element_count(const Shape& shape);
Shape contiguous_strides(const Shape& shape);  // row-major, in elements

}  // namespace ulpfuzz
