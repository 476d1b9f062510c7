#include "report/python_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

constexpr std::int64_t kWrittenOut = 16;  // elements of a tensor at most that are literals

std::string dtype_argument(DType dtype) {
  const bool is_default =
      dtype == DType::kFloat32 || dtype == DType::kInt64 || dtype == DType::kBool;
  return is_default ? "" : fmt::format(", dtype=torch.{}", name(dtype));
}

// The same where torch's default is float32 whatever the elements are.
std::string any_dtype_argument(DType dtype) {
  return dtype == DType::kFloat32 ? "" : fmt::format(", dtype=torch.{}", name(dtype));
}

// A Python tuple: "(3,)".
std::string tuple(const Shape& sizes) {
  return fmt::format("({}{})", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

std::string element(const Elements& elements, DType dtype, std::size_t i) {
  if (dtype == DType::kBool) return elements.integers[i] != 0 ? "True" : "False";
  if (is_integral(dtype)) return std::to_string(elements.integers[i]);
  if (!is_complex(dtype)) return python_number(elements.reals[i], dtype);
  return fmt::format("complex({}, {})", python_number(elements.reals[2 * i], real_part(dtype)),
                     python_number(elements.reals[2 * i + 1], real_part(dtype)));
}

// Elements from `at` on as nested lists of `shape`'s dimensions from `dim` on.
std::string nested(const std::vector<std::string>& items, const Shape& shape, std::size_t dim,
                   std::size_t& at) {
  if (dim == shape.size()) return items[at++];
  std::string text = "[";
  for (std::int64_t i = 0; i < shape[dim]; ++i) {
    text += (i > 0 ? ", " : "") + nested(items, shape, dim + 1, at);
  }
  return text + "]";
}

bool overlaps(const Shape& shape, const Shape& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) dims.emplace_back(strides[d], shape[d]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

std::int64_t extent_of(const Shape& shape, const Shape& strides, std::int64_t offset) {
  std::int64_t last = offset;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return offset;
    last += (shape[d] - 1) * strides[d];
  }
  return last + 1;
}

// For a contiguous tensor that is expanded along its dimensions of stride 0: the subscripts that
// take their last elements, ":, -1:". Empty for other layouts.
std::string expanded_slice(const Shape& shape, const Shape& strides) {
  Shape single = shape;
  std::string text;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool expanded = strides[d] == 0 && shape[d] > 1;
    if (expanded) single[d] = 1;
    text += (d > 0 ? ", " : "") + std::string(expanded ? "-1:" : ":");
  }
  const Shape plain = contiguous_strides(single);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (single[d] > 1 && strides[d] != plain[d]) return "";
  }
  return text;
}

std::uint64_t mix(std::uint64_t z) {  // ir/fill.h
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// 64 bits as the int64 that torch holds them in.
std::string signed_seed(std::uint64_t seed) {
  return std::to_string(static_cast<std::int64_t>(seed));
}

// The fill's values as a Python list; integers for an integral tensor.
std::string value_list(const Fill& fill, DType dtype) {
  std::string text;
  if (is_integral(dtype)) {
    Fill literal;
    literal.kind = Fill::Kind::kLiteral;
    literal.values = fill.values;
    const auto count = static_cast<std::int64_t>(fill.values.size());
    text = fmt::format("{}", fmt::join(generate(literal, dtype, {count}).integers, ", "));
  } else {
    for (const double value : fill.values)
      text += (text.empty() ? "" : ", ") + python_number(value);
  }
  return "[" + text + "]";
}

const std::map<std::string, std::string>& function_texts() {
  static const std::map<std::string, std::string> texts{
      {"bits",
       R"(def mix(z):  # SplitMix64; shifts of int64 are arithmetic, so the sign is masked away
    z = (z ^ (z >> 30 & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    z = (z ^ (z >> 27 & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return z ^ (z >> 31 & 0x1FFFFFFFF)

def bits(n, seed):
    return mix(seed + torch.arange(1, n + 1) * -0x61C8864680B583EB)
)"},
      {"exponents", R"(def exponents(h, low, high):
    e = low + (h >> 32 & 0xFFFFFFFF) % (high - low + 1)
    power = torch.tensor([2.0 ** k for k in range(low, high + 1)], dtype=torch.float64)
    return (1 - 2.0 * (h & 1)) * (1 + (h >> 12 & 0xFFFFF).double() * 2**-20) * power[e - low]
)"},
      {"normal", R"(def normal(h, scale, shift):
    s = sum(h >> k & 0xFFFF for k in (0, 16, 32, 48)) - 131070
    return s.double() * scale * 2**-15 * 0.8660254037844386 + shift
)"},
      {"specials", R"(def specials(x, h, seed, rate, values):
    h = mix(h ^ seed)
    values = torch.tensor(values, dtype=x.dtype)
    return torch.where((h & 0xFFFF) < rate, values[(h >> 16 & 0xFFFFFFFFFFFF) % len(values)], x)
)"}};
  return texts;
}

}  // namespace

std::string python_number(double value, DType dtype) {
  if (std::isnan(value)) return "float('nan')";
  if (std::isinf(value)) return value > 0 ? "float('inf')" : "float('-inf')";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    if (round_to(dtype, std::strtod(text.c_str(), nullptr)) == value) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string TensorText::functions() const {
  std::string text;
  for (const std::string& name : functions_) text += function_texts().at(name) + "\n";
  return text;
}

// An expression for a contiguous tensor.
std::string TensorText::values(const Fill& fill, DType dtype, const Shape& shape) {
  const std::int64_t count = element_count(shape);
  const bool literal = fill.kind == Fill::Kind::kLiteral;
  const std::size_t given = fill.values.size() + fill.integers.size();
  if (literal && given == 1 && count > 1 && !is_complex(dtype)) {
    const Elements elements = generate(fill, dtype, {1}, salt_);
    return fmt::format("torch.full({}, {}{})", tuple(shape), element(elements, dtype, 0),
                       dtype_argument(dtype));
  }
  if (count == 0) return fmt::format("torch.empty({}{})", tuple(shape), any_dtype_argument(dtype));
  if (count > kWrittenOut && !literal) return drawn(fill, dtype, shape);
  const Elements elements = generate(fill, dtype, shape, salt_);
  std::vector<std::string> items;
  for (std::int64_t i = 0; i < count; ++i) {
    items.push_back(element(elements, dtype, static_cast<std::size_t>(i)));
  }
  std::size_t at = 0;
  return fmt::format("torch.tensor({}{})", nested(items, shape, 0, at), dtype_argument(dtype));
}

// An expression by the fill's rule, elements converted as ir/fill.h says.
std::string TensorText::drawn(const Fill& fill, DType dtype, const Shape& shape) {
  using Kind = Fill::Kind;
  const std::int64_t count = element_count(shape) * (is_complex(dtype) ? 2 : 1);
  const std::uint64_t seed = salt_ == 0 ? fill.seed : mix(fill.seed ^ salt_);
  const std::string h = fmt::format("bits({}, {})", count, signed_seed(seed));
  const std::string scale = python_number(fill.scale), shift = python_number(fill.shift);
  // 0 stands for 2^64.
  const std::uint64_t span =
      static_cast<std::uint64_t>(fill.high) - static_cast<std::uint64_t>(fill.low) + 1;
  if (fill.kind != Kind::kArange) functions_.insert("bits");
  std::string text;
  switch (fill.kind) {
    case Kind::kNormal:
      functions_.insert("normal");
      text = fmt::format("normal({}, {}, {})", h, scale, shift);
      break;
    case Kind::kUniform:
      text = fmt::format("(({} >> 11 & 2**53 - 1).double() * 2**-53 * {} + {})", h, scale, shift);
      break;
    case Kind::kExponent:
      functions_.insert("exponents");
      text = fmt::format("exponents({}, {}, {})", h, fill.low, fill.high);
      break;
    case Kind::kInteger:
      text = fmt::format("({} + ({} >> 1 & 2**63 - 1){}){}", fill.low, h,
                         span == 0 || span >> 63 != 0 ? "" : fmt::format(" % {}", span),
                         is_integral(dtype) ? "" : ".double()");
      break;
    case Kind::kChoice:
      text = fmt::format("torch.tensor({}, dtype=torch.{})[({} >> 1 & 2**63 - 1) % {}]",
                         value_list(fill, dtype), is_integral(dtype) ? "int64" : "float64", h,
                         fill.values.size());
      break;
    case Kind::kArange:
      text = fmt::format("(torch.arange({}).double() * {} + {})", count, scale, shift);
      break;
    case Kind::kLiteral:
      throw Error("a literal fill is not drawn");
  }
  const bool special =
      fill.special_rate > 0 && fill.kind != Kind::kChoice && fill.kind != Kind::kArange;
  if (special) {
    functions_.insert("specials");
    text = fmt::format("specials({}, {}, {}, {}, {})", text, h, signed_seed(seed),
                       fill.special_rate, value_list(fill, dtype));
  }
  if (is_integral(dtype)) {
    text += dtype == DType::kInt64 && fill.kind == Kind::kInteger
                ? ""
                : fmt::format(".to(torch.{})", name(dtype));
    return fmt::format("{}.reshape{}", text, tuple(shape));
  }
  const bool wide = real_part(dtype) == DType::kFloat64 && fill.grid == DType::kFloat64;
  if (!wide) text += ".float()";
  const bool half_grid = fill.grid == DType::kBFloat16 || fill.grid == DType::kFloat16;
  if (half_grid) text += fmt::format(".to(torch.{})", name(fill.grid));
  const DType now = wide ? DType::kFloat64 : half_grid ? fill.grid : DType::kFloat32;
  if (real_part(dtype) != now) text += fmt::format(".to(torch.{})", name(real_part(dtype)));
  if (is_complex(dtype)) text = fmt::format("torch.view_as_complex({}.reshape(-1, 2))", text);
  return fmt::format("{}.reshape{}", text, tuple(shape));
}

// Statements that come first go to `lines`; returns an expression for the tensor.
std::string TensorText::laid_out(const Fill& fill, DType dtype, const Shape& shape,
                                 const Layout& layout, const std::string& name,
                                 std::vector<std::string>& lines) {
  const Shape plain = contiguous_strides(shape);
  const Shape& strides = layout.strides.empty() ? plain : layout.strides;
  const std::int64_t reach = extent_of(shape, strides, layout.offset);
  const std::int64_t extent = std::max(reach, layout.extent);
  const std::string numbers = values(fill, dtype, shape);
  const bool whole_reach = layout.offset == 0 && extent == reach;
  const bool whole = layout.offset == 0 && extent == element_count(shape);
  if (strides == plain && whole) return numbers;
  const std::string as_strided =
      fmt::format("as_strided({}, {}{})", tuple(shape), tuple(strides),
                  layout.offset == 0 ? "" : fmt::format(", {}", layout.offset));
  const std::string zeros = fmt::format("torch.zeros({}{})", extent, any_dtype_argument(dtype));
  if (!overlaps(shape, strides)) {
    if (whole) {
      return fmt::format("torch.empty_strided({}, {}{}).copy_({})", tuple(shape), tuple(strides),
                         any_dtype_argument(dtype), numbers);
    }
    return fmt::format("{}.{}.copy_({})", zeros, as_strided, numbers);
  }
  // Elements that share a place: the last one in row-major order stays.
  if (const std::string slice = expanded_slice(shape, strides); whole_reach && !slice.empty()) {
    return fmt::format("{}[{}].contiguous().expand{}", numbers, slice, tuple(shape));
  }
  lines.push_back(fmt::format("{} = {}", name, zeros));
  lines.push_back(fmt::format("{}[torch.arange({}).{}] = {}", name, extent, as_strided, numbers));
  return fmt::format("{}.{}", name, as_strided);
}

std::vector<std::string> TensorText::inputs(const Case& c) {
  std::vector<std::string> lines;
  std::map<int, std::string> classes;  // alias class -> its first member
  for (std::size_t i = 0; i < c.program.inputs.size(); ++i) {
    const ProgramInput& input = c.program.inputs[i];
    const InputData& data = c.inputs[i];
    Shape shape;
    for (const Dim& dim : input.shape) shape.push_back(dim.value(c.program.symbols));
    Layout layout{data.strides, data.offset, 0};
    const Shape strides = data.strides.empty() ? contiguous_strides(shape) : data.strides;
    std::string text;
    const auto first = classes.find(data.alias);
    if (data.alias >= 0 && first != classes.end()) {
      text = fmt::format("{}.as_strided({}, {}, {})", first->second, tuple(shape), tuple(strides),
                         data.offset);
    } else {
      for (std::size_t j = i; data.alias >= 0 && j < c.inputs.size(); ++j) {
        if (c.inputs[j].alias != data.alias) continue;
        Shape other;
        for (const Dim& dim : c.program.inputs[j].shape) {
          other.push_back(dim.value(c.program.symbols));
        }
        const Shape& given = c.inputs[j].strides;
        const std::int64_t reach =
            extent_of(other, given.empty() ? contiguous_strides(other) : given, c.inputs[j].offset);
        layout.extent = std::max(layout.extent, reach);
      }
      text = laid_out(data.fill, input.dtype, shape, layout, input.name, lines);
      if (data.alias >= 0) classes[data.alias] = input.name;
    }
    const bool differentiated = std::find(c.wrt.begin(), c.wrt.end(), input.name) != c.wrt.end();
    if (differentiated && c.environment.grad) text += ".requires_grad_()";
    lines.push_back(fmt::format("{} = {}", input.name, text));
  }
  return lines;
}

std::vector<std::string> TensorText::cotangent(const std::string& name, const Cotangent& cotangent,
                                               DType dtype, const Shape& shape) {
  std::vector<std::string> lines;
  const std::string text =
      laid_out(cotangent.fill, dtype, shape, {cotangent.strides, 0, 0}, name, lines);
  lines.push_back(fmt::format("{} = {}", name, text));
  return lines;
}

}  // namespace ulpfuzz
