#include "generators/decoder.h"

#include <cmath>
#include <utility>

namespace ulpfuzz {
namespace {

// FNV-1a, so that an input keeps its elements when other inputs come or go.
std::uint64_t hash_name(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

Cotangent ones(DType dtype) {
  Cotangent cotangent;
  cotangent.fill.kind = Fill::Kind::kLiteral;
  cotangent.fill.values = {1};
  cotangent.fill.grid = dtype;
  return cotangent;
}

}  // namespace

DecoderRecipe::DecoderRecipe(const DecoderConfig& config)
    : common_(config),
      dtype_(*parse_dtype(config.dtype)),
      batch_(b_.symbol("batch", config.batch)),
      length_(b_.symbol("length", config.length)),
      hidden_(b_.symbol("hidden", config.hidden_size)),
      intermediate_(b_.symbol("intermediate", config.intermediate_size)),
      vocab_(b_.symbol("vocab", config.vocab_size)) {}

// ---- inputs -----------------------------------------------------------------------------------

Fill DecoderRecipe::seeded(const std::string& name) const {
  Fill fill;
  fill.seed = Random(static_cast<std::uint64_t>(common_.seed)).fork(hash_name(name)).bits();
  return fill;
}

Fill DecoderRecipe::normal(const std::string& name, double scale) const {
  Fill fill = seeded(name);
  fill.scale = scale;
  fill.grid = dtype_;
  return fill;
}

Fill DecoderRecipe::tokens(const std::string& name) const {
  Fill fill = seeded(name);
  fill.kind = Fill::Kind::kInteger;
  fill.high = common_.vocab_size - 1;
  return fill;
}

Ref DecoderRecipe::weight(const std::string& name, std::vector<Dim> shape) {
  return b_.parameter(name, dtype_, std::move(shape), normal(name, common_.initializer_range));
}

Ref DecoderRecipe::norm_weight(const std::string& name) {
  Fill fill = normal(name, 0.1);
  fill.shift = 1;
  return b_.parameter(name, dtype_, {hidden_}, fill);
}

Ref DecoderRecipe::token_input() {
  return b_.input("input_ids", DType::kInt64, {batch_, length_}, tokens("ids"));
}

Ref DecoderRecipe::label_input() {
  Fill fill = tokens("labels");
  if (common_.ignore_some) {
    fill.values = {static_cast<double>(kIgnoredLabel)};
    fill.special_rate = 65536 / 8;
  }
  return b_.input("labels", DType::kInt64, {batch_, length_}, fill);
}

Ref DecoderRecipe::buffer(const std::string& name, std::vector<Dim> shape,
                          const std::vector<double>& elements) {
  const DType kept = common_.cast_buffers ? dtype_ : DType::kFloat32;
  Fill fill;
  fill.kind = Fill::Kind::kLiteral;
  for (const double element : elements) fill.values.push_back(round_to(kept, element));
  fill.grid = kept;
  return b_.input(name, kept, std::move(shape), std::move(fill));
}

// ---- calls ------------------------------------------------------------------------------------

Ref DecoderRecipe::linear(const std::string& name, const Ref& x, const Ref& matrix) {
  return b_.call(name, "linear.default", {{"input", x}, {"weight", matrix}});
}

Ref DecoderRecipe::projection(const std::string& name, const std::string& parameters, const Ref& x,
                              const std::vector<Dim>& shape, bool bias) {
  std::vector<NamedArgument> args = {{"input", x},
                                     {"weight", weight(parameters + "_weight", shape)}};
  if (bias) args.push_back({"bias", weight(parameters + "_bias", {shape.front()})});
  return b_.call(name, "linear.default", std::move(args));
}

Ref DecoderRecipe::silu(const std::string& name, const Ref& x) {
  return b_.call(name, "silu.default", {{"self", x}});
}

Ref DecoderRecipe::add(const std::string& name, const Ref& x, const Ref& y) {
  return b_.call(name, "add.Tensor", {{"self", x}, {"other", y}});
}

Ref DecoderRecipe::add(const std::string& name, const Ref& x, double number) {
  return b_.call(name, "add.Tensor", {{"self", x}, {"other", Scalar{number}}});
}

Ref DecoderRecipe::multiply(const std::string& name, const Ref& x, const Ref& y) {
  return b_.call(name, "mul.Tensor", {{"self", x}, {"other", y}});
}

Ref DecoderRecipe::multiply(const std::string& name, const Ref& x, double number) {
  return b_.call(name, "mul.Tensor", {{"self", x}, {"other", Scalar{number}}});
}

Ref DecoderRecipe::mean_of_rows(const std::string& name, const Ref& x) {
  return b_.call(name, "mean.dim", {{"self", x}, {"dim", std::vector<Dim>{-1}}, {"keepdim", true}});
}

Ref DecoderRecipe::rsqrt(const std::string& name, const Ref& x) {
  return b_.call(name, "rsqrt.default", {{"self", x}});
}

Ref DecoderRecipe::to(const std::string& name, const Ref& x, DType dtype) {
  return b_.call(name, "to.dtype", {{"self", x}, {"dtype", dtype}});
}

Ref DecoderRecipe::transpose(const std::string& name, const Ref& x) {
  return b_.call(name, "transpose.int", {{"self", x}, {"dim0", Dim(1)}, {"dim1", Dim(2)}});
}

Ref DecoderRecipe::unsqueeze(const std::string& name, const Ref& x, std::int64_t dim) {
  return b_.call(name, "unsqueeze.default", {{"self", x}, {"dim", Dim(dim)}});
}

Ref DecoderRecipe::reshape(const std::string& name, const Ref& x, std::vector<Dim> shape) {
  return b_.call(name, "reshape.default", {{"self", x}, {"shape", std::move(shape)}});
}

Ref DecoderRecipe::slice(const std::string& name, const Ref& x, std::int64_t dim, Dim start,
                         Dim end) {
  return b_.call(name, "slice.Tensor",
                 {{"self", x}, {"dim", Dim(dim)}, {"start", start}, {"end", end}});
}

Ref DecoderRecipe::cat(const std::string& name, std::vector<Ref> tensors) {
  return b_.call(name, "cat.default", {{"tensors", std::move(tensors)}, {"dim", Dim(-1)}});
}

Ref DecoderRecipe::cross_entropy(const std::string& name, const Ref& logits, const Ref& targets) {
  return b_.call(name, "cross_entropy_loss.default",
                 {{"self", logits}, {"target", targets}, {"ignore_index", Dim(kIgnoredLabel)}});
}

Ref DecoderRecipe::rotate(const std::string& name, const std::string& last, const Ref& x,
                          std::int64_t size, const Ref& cos, const Ref& sin) {
  const std::int64_t half = size / 2;
  const Ref kept = multiply(name + "_times_cos", x, cos);
  const Ref low = slice(name + "_low", x, 3, 0, half);
  const Ref high = slice(name + "_high", x, 3, half, size);
  const Ref negated = b_.call(name + "_negated", "neg.default", {{"self", high}});
  const Ref turned = multiply(name + "_times_sin", cat(name + "_rotated", {negated, low}), sin);
  return add(name + last, kept, turned);
}

// ---- the program's results --------------------------------------------------------------------

void DecoderRecipe::outputs(const std::optional<Ref>& loss, const Ref& logits, DType loss_dtype) {
  std::optional<Cotangent> cotangent;
  if (common_.gradients)
    cotangent = loss ? ones(loss_dtype) : Cotangent{{}, normal("cotangent", 1)};
  if (loss) b_.output(*loss, std::exchange(cotangent, std::nullopt));
  b_.output(logits, cotangent);
}

std::string DecoderRecipe::layer_name(std::int64_t layer) {
  return "layer" + std::to_string(layer) + "_";
}

std::vector<double> rotary_frequencies(double theta, std::int64_t size) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < size; i += 2) {
    const double exponent =
        round_to(DType::kFloat32, static_cast<double>(i) / static_cast<double>(size));
    const double power = round_to(DType::kFloat32, std::pow(theta, exponent));
    frequencies.push_back(round_to(DType::kFloat32, 1 / power));
  }
  return frequencies;
}

}  // namespace ulpfuzz
