#include "ir/dim.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Error("a size is beyond 64 bits");
  return sum;
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Error("a size is beyond 64 bits");
  return product;
}

// a + factor * b, term by term.
Dim combine(const Dim& a, std::int64_t factor, const Dim& b) {
  Dim result(add(a.constant, multiply(factor, b.constant)));
  std::map<std::string, std::int64_t> terms(a.terms.begin(), a.terms.end());
  for (const auto& [symbol, coefficient] : b.terms) {
    terms[symbol] = add(terms[symbol], multiply(factor, coefficient));
  }
  for (const auto& term : terms) {
    if (term.second != 0) result.terms.emplace_back(term);
  }
  return result;
}

// Reads `text` from the front.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Dim parse() {
    Dim sum = term();
    while (at_ < text_.size()) {
      if (text_[at_] != '+' && text_[at_] != '-') fail();
      sum = sum + term();
    }
    return sum;
  }

 private:
  // [+-] (NUMBER | SYMBOL | NUMBER*SYMBOL)
  Dim term() {
    bool negative = false;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) {
      negative = text_[at_] == '-';
      ++at_;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      const std::int64_t number = digits(negative);
      if (at_ < text_.size() && text_[at_] == '*') {
        ++at_;
        return number * Dim::symbol(symbol());
      }
      return Dim(number);
    }
    return (negative ? -1 : 1) * Dim::symbol(symbol());
  }

  std::int64_t digits(bool negative) {
    std::uint64_t magnitude = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), magnitude);
    const std::uint64_t limit = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
    if (error != std::errc() || magnitude > limit) throw Error("a size is beyond 64 bits");
    at_ = static_cast<std::size_t>(end - text_.data());
    return static_cast<std::int64_t>(negative ? std::uint64_t{0} - magnitude : magnitude);
  }

  std::string symbol() {
    const std::size_t start = at_;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (!(std::isalpha(c) || c == '_' || (at_ > start && std::isdigit(c)))) break;
      ++at_;
    }
    if (at_ == start) fail();
    return std::string(text_.substr(start, at_ - start));
  }

  [[noreturn]] void fail() const {
    throw Error("'" + std::string(text_.substr(0, 60)) + "' is not a size such as 4 or 2*s0+s1-1");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Dim Dim::symbol(std::string name) {
  Dim dim;
  dim.terms.emplace_back(std::move(name), 1);
  return dim;
}

std::int64_t Dim::value(const Symbols& symbols) const {
  std::int64_t sum = constant;
  for (const auto& [symbol, coefficient] : terms) {
    const auto found = symbols.find(symbol);
    if (found == symbols.end()) throw Error("the size symbol " + symbol + " has no value");
    sum = add(sum, multiply(coefficient, found->second));
  }
  return sum;
}

Dim operator+(const Dim& a, const Dim& b) { return combine(a, 1, b); }
Dim operator-(const Dim& a, const Dim& b) { return combine(a, -1, b); }
Dim operator*(std::int64_t factor, const Dim& dim) { return combine(Dim(), factor, dim); }

std::string to_string(const Dim& dim) {
  std::string text;
  for (const auto& [symbol, coefficient] : dim.terms) {
    if (coefficient > 0 && !text.empty()) text += '+';
    if (coefficient == -1) text += '-';
    if (coefficient != 1 && coefficient != -1) text += std::to_string(coefficient) + '*';
    text += symbol;
  }
  if (text.empty()) return std::to_string(dim.constant);
  if (dim.constant > 0) text += '+';
  if (dim.constant != 0) text += std::to_string(dim.constant);
  return text;
}

Dim parse_dim(std::string_view text) { return DimParser(text).parse(); }

std::int64_t element_count(const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count = multiply(count, size);
  return count;
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = multiply(stride, std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

}  // namespace ulpfuzz
