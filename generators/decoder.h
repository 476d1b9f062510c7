#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generators/build.h"
#include "generators/decoder_config.h"

namespace ulpfuzz {

constexpr std::int64_t kIgnoredLabel = -100;  // the loss leaves out labels of this value

// What the recipes of decoders are written with: sizes, calls by short names, and fills. A recipe
// derives from it, with a method for each of its library's classes.
class DecoderRecipe {
 protected:
  explicit DecoderRecipe(const DecoderConfig& config);

  // Parameters and inputs. An input keeps its elements when others come or go.
  Ref weight(const std::string& name, std::vector<Dim> shape);
  Ref norm_weight(const std::string& name);  // around 1
  Ref token_input();                         // input_ids, int64 (batch, length)
  Ref label_input();                         // labels, int64 (batch, length)
  // Part of the module that is no parameter: float32, or of the module's dtype (cast_buffers).
  Ref buffer(const std::string& name, std::vector<Dim> shape, const std::vector<double>& elements);

  Ref linear(const std::string& name, const Ref& x, const Ref& matrix);
  // torch.nn.Linear: parameters PARAMETERS_weight of `shape` (out, in), and PARAMETERS_bias.
  Ref projection(const std::string& name, const std::string& parameters, const Ref& x,
                 const std::vector<Dim>& shape, bool bias);
  Ref silu(const std::string& name, const Ref& x);
  Ref add(const std::string& name, const Ref& x, const Ref& y);
  Ref add(const std::string& name, const Ref& x, double number);
  Ref multiply(const std::string& name, const Ref& x, const Ref& y);
  Ref multiply(const std::string& name, const Ref& x, double number);
  Ref mean_of_rows(const std::string& name, const Ref& x);  // keeps the dimension
  Ref rsqrt(const std::string& name, const Ref& x);
  Ref to(const std::string& name, const Ref& x, DType dtype);
  Ref transpose(const std::string& name, const Ref& x);  // dimensions 1 and 2
  Ref unsqueeze(const std::string& name, const Ref& x, std::int64_t dim);
  Ref reshape(const std::string& name, const Ref& x, std::vector<Dim> shape);
  Ref slice(const std::string& name, const Ref& x, std::int64_t dim, Dim start, Dim end);
  Ref cat(const std::string& name, std::vector<Ref> tensors);  // along the last dimension
  Ref cross_entropy(const std::string& name, const Ref& logits, const Ref& targets);

  // Rotary embedding of a (batch, heads, length, size) tensor: x * cos + (-second half, first
  // half) * sin. The last call is called `name` + `last`.
  Ref rotate(const std::string& name, const std::string& last, const Ref& x, std::int64_t size,
             const Ref& cos, const Ref& sin);

  // The loss (of `loss_dtype`), from which gradients come, then the logits; or the logits alone.
  void outputs(const std::optional<Ref>& loss, const Ref& logits, DType loss_dtype);

  static std::string layer_name(std::int64_t layer);

  const DecoderConfig& common_;
  ProgramBuilder b_;
  DType dtype_;
  Dim batch_, length_, hidden_, intermediate_, vocab_;

 private:
  Fill seeded(const std::string& name) const;
  Fill normal(const std::string& name, double scale) const;
  Fill tokens(const std::string& name) const;
};

// theta^(-2i/size) for i in [0, ceil(size/2)), rounded at the places where torch's float32
// expression 1.0 / (theta ** (arange(0, size, 2).float() / size)) rounds. (torch's vectorised power
// is an ulp off now and then, this is not.)
std::vector<double> rotary_frequencies(double theta, std::int64_t size);

}  // namespace ulpfuzz
