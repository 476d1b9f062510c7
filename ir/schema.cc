#include "ir/schema.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using Kind = SchemaArgument::Kind;

struct TypeName {
  std::string_view name;
  Kind kind;
  Kind list;
};
constexpr std::array<TypeName, 14> kTypes{{
    {"Tensor", Kind::kTensor, Kind::kTensorList},
    {"int", Kind::kInt, Kind::kIntList},
    {"SymInt", Kind::kInt, Kind::kIntList},
    {"float", Kind::kFloat, Kind::kFloatList},
    {"bool", Kind::kBool, Kind::kOther},
    {"Scalar", Kind::kScalar, Kind::kOther},
    {"number", Kind::kScalar, Kind::kOther},
    {"ScalarType", Kind::kDType, Kind::kOther},
    {"str", Kind::kString, Kind::kOther},
    {"Layout", Kind::kOther, Kind::kOther},
    {"Device", Kind::kOther, Kind::kOther},
    {"MemoryFormat", Kind::kOther, Kind::kOther},
    {"Generator", Kind::kOther, Kind::kOther},
    {"DeviceIndex", Kind::kOther, Kind::kOther},
}};

// Named integers that stand as defaults (at::Reduction).
struct NamedInteger {
  std::string_view name;
  std::int64_t value;
};
constexpr std::array<NamedInteger, 2> kNamedIntegers{{{"Mean", 1}, {"Sum", 2}}};

// Names of types in C++ that stand as ScalarType defaults.
std::optional<DType> default_dtype(std::string_view word) {
  if (word == "long") return DType::kInt64;
  if (word == "int") return DType::kInt32;
  if (word == "float") return DType::kFloat32;
  if (word == "double") return DType::kFloat64;
  return parse_dtype(word);
}

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.name = name();
    expect("(");
    bool keyword_only = false;
    if (!accept(")")) {
      do {
        if (accept("*")) {
          keyword_only = true;
          continue;
        }
        schema.args.push_back(argument(keyword_only));
      } while (accept(","));
      expect(")");
    }
    expect("->");
    if (accept("(")) {
      if (!accept(")")) {
        do {
          schema.returns.push_back(result());
        } while (accept(","));
        expect(")");
      }
    } else {
      schema.returns.push_back(result());
    }
    skip_spaces();
    if (at_ != text_.size()) fail("the schema's end");
    return schema;
  }

 private:
  // aten::add.Tensor -> aten.add.Tensor; without an overload: .default
  std::string name() {
    std::string space = "aten";
    std::string base = identifier("an operator's name");
    if (accept("::")) {
      space = base;
      base = identifier("an operator's name");
    }
    std::string overload = "default";
    if (accept(".")) overload = identifier("an overload's name");
    return space + "." + base + "." + overload;
  }

  SchemaArgument argument(bool keyword_only) {
    SchemaArgument arg;
    const std::size_t list_size = type(arg);
    arg.keyword_only = keyword_only;
    arg.name = identifier("an argument's name");
    if (accept("=")) arg.default_value = default_value(arg, list_size);
    return arg;
  }

  SchemaArgument result() {
    SchemaArgument arg;
    type(arg);
    skip_spaces();
    if (at_ < text_.size() && (std::isalpha(peek()) || peek() == '_')) {
      arg.name = identifier("a result's name");
    }
    return arg;
  }

  // Tensor(a!)?, Tensor?[], int[2]?, ...; returns the 2 of int[2].
  std::size_t type(SchemaArgument& arg) {
    const std::size_t start = at_;
    const std::string word = identifier("a type");
    const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                     [&](const TypeName& type) { return type.name == word; });
    if (found == kTypes.end()) {
      at_ = start;
      fail("a type that is known");
    }
    arg.kind = found->kind;
    if (text_.substr(at_, 1) == "(") alias(arg);
    std::size_t list_size = 0;
    while (true) {
      if (accept("?")) {
        arg.optional = true;
      } else if (accept("[")) {
        arg.kind = found->list;
        arg.optional_elements = std::exchange(arg.optional, false);
        skip_spaces();
        if (std::isdigit(peek())) list_size = static_cast<std::size_t>(number<std::int64_t>());
        expect("]");
      } else {
        return list_size;
      }
    }
  }

  // (a), (a!), (a -> *), (a|b)
  void alias(SchemaArgument& arg) {
    expect("(");
    arg.alias = identifier("an alias set");
    while (accept("|")) arg.alias += "|" + identifier("an alias set");
    arg.writes = accept("!");
    if (accept("->")) {
      if (!accept("*")) identifier("an alias set");
    }
    expect(")");
  }

  Argument default_value(const SchemaArgument& arg, std::size_t list_size) {
    if (accept("None")) return std::monostate();
    if (accept("True")) return boolean(arg, true);
    if (accept("False")) return boolean(arg, false);
    switch (arg.kind) {
      case Kind::kInt:
        return Dim(integer());
      case Kind::kIntList:
        return integers(list_size);
      case Kind::kFloat:
        return number<double>();
      case Kind::kScalar:
        return scalar();
      case Kind::kString:
        return quoted();
      case Kind::kDType: {
        const std::optional<DType> dtype = default_dtype(identifier("a dtype"));
        if (!dtype) fail("a dtype");
        return *dtype;
      }
      case Kind::kOther:
        return identifier("a default");
      default:
        fail("None");
    }
  }

  static Argument boolean(const SchemaArgument& arg, bool value) {
    if (arg.kind == Kind::kScalar) return Scalar{value};
    return value;
  }

  std::int64_t integer() {
    skip_spaces();
    if (!std::isalpha(peek())) return number<std::int64_t>();
    const std::string word = identifier("an integer");
    for (const NamedInteger& named : kNamedIntegers) {
      if (named.name == word) return named.value;
    }
    fail("an integer");
  }

  // [0, 1], or 1 for int[2]: all elements
  std::vector<Dim> integers(std::size_t list_size) {
    if (!accept("[")) return std::vector<Dim>(std::clamp<std::size_t>(list_size, 1, 8), integer());
    std::vector<Dim> values;
    if (accept("]")) return values;
    do {
      values.emplace_back(integer());
    } while (accept(","));
    expect("]");
    return values;
  }

  Scalar scalar() {
    skip_spaces();
    const std::string_view word =
        text_.substr(at_, text_.find_first_not_of("+-.0123456789e", at_) - at_);
    if (word.find_first_of(".e") != word.npos) return Scalar{number<double>()};
    return Scalar{number<std::int64_t>()};
  }

  std::string quoted() {
    skip_spaces();
    const char quote = peek();
    if (quote != '"' && quote != '\'') fail("a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail("a string's end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  template <class T>
  T number() {
    skip_spaces();
    T value{};
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  std::string identifier(const char* what) {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(peek()) || peek() == '_')) ++at_;
    if (at_ == start) fail(what);
    return std::string(text_.substr(start, at_ - start));
  }

  bool accept(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail("'" + std::string(token) + "'");
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  [[noreturn]] void fail(const std::string& wanted) const {
    throw Error("schema '" + std::string(text_.substr(0, 80)) + "', column " +
                std::to_string(at_ + 1) + ": " + wanted + " is missing");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const SchemaArgument* Schema::find(std::string_view arg) const {
  for (const SchemaArgument& argument : args) {
    if (argument.name == arg) return &argument;
  }
  return nullptr;
}

bool Schema::mutates() const {
  return std::any_of(args.begin(), args.end(),
                     [](const SchemaArgument& arg) { return arg.writes; });
}

Schema parse_schema(std::string_view text) { return SchemaParser(text).parse(); }

}  // namespace ulpfuzz
