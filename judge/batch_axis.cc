#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "ir/error.h"
#include "ir/verify.h"
#include "judge/twins.h"

namespace ulpfuzz {
namespace {

using Rule = bool (*)(const Call&, const class Batch&);

// Which values carry the batch in dimension 0.
class Batch {
 public:
  explicit Batch(std::int64_t size) : size_(size) {}
  std::int64_t size() const { return size_; }
  bool has(const Ref& ref) const {
    const auto found = batched_.find(ref.name);
    return found != batched_.end() && found->second;
  }
  void set(const std::string& name, bool batched) { batched_[name] = batched; }

 private:
  std::int64_t size_;
  std::map<std::string, bool> batched_;
};

// An operand of something that broadcasts to `rank` dimensions: with the batch, or the same for all
// of its entries.
bool broadcasts(const Call& call, const Ref& ref, std::size_t rank, const Batch& batch) {
  const Shape& shape = call.type(ref).shape;
  if (batch.has(ref)) return shape.size() == rank;
  return shape.size() < rank || shape.front() == 1;
}

std::size_t widest(const Call& call) {
  std::size_t rank = 0;
  for (const Ref& ref : operands(call.node())) rank = std::max(rank, call.type(ref).shape.size());
  return rank;
}

bool elementwise(const Call& call, const Batch& batch) {
  return std::ranges::all_of(operands(call.node()), [&](const Ref& ref) {
    return ref.name.empty() || broadcasts(call, ref, widest(call), batch);
  });
}

bool only_first(const Call& call, std::string_view first, const Batch& batch) {
  return std::ranges::all_of(operands(call.node()), [&](const Ref& ref) {
    return batch.has(ref) == (ref == call.ref(first));
  });
}

std::size_t rank_of(const Call& call, std::string_view arg) {
  return call.tensor(arg).shape.size();
}

bool linear(const Call& call, const Batch& batch) {
  return rank_of(call, "input") >= 2 && only_first(call, "input", batch);
}
bool addmm(const Call& call, const Batch& batch) {
  return rank_of(call, "self") <= 1 && only_first(call, "mat1", batch);
}
bool bmm(const Call& call, const Batch& batch) {
  return batch.has(call.ref("self")) && batch.has(call.ref("mat2"));
}
bool matmul(const Call& call, const Batch& batch) {
  const std::size_t a = rank_of(call, "self"), b = rank_of(call, "other");
  const bool first = batch.has(call.ref("self")), second = batch.has(call.ref("other"));
  if (first && !second) return a >= 2 && (b <= 2 || broadcasts(call, call.ref("other"), a, batch));
  if (first && second) return a == b && a >= 3;
  return b >= 3 && (a < b && a >= 1);
}
bool embedding(const Call& call, const Batch& batch) { return only_first(call, "indices", batch); }

bool attention(const Call& call, const Batch& batch) {
  const std::size_t rank = rank_of(call, "query");
  for (const char* arg : {"query", "key", "value"}) {
    if (!batch.has(call.ref(arg)) || rank_of(call, arg) != rank) return false;
  }
  return rank >= 3 &&
         (!call.given("attn_mask") || broadcasts(call, call.ref("attn_mask"), rank, batch));
}

// Works along `dim`, which is not the batch's; `extra`: the result has one dimension more.
bool along(const Call& call, std::string_view arg, std::size_t extra = 0) {
  return call.given("dim") && wrap_dim(call.integer("dim"), rank_of(call, arg) + extra) > 0;
}
bool along_dim(const Call& call, const Batch&) { return along(call, "self"); }
bool unsqueeze(const Call& call, const Batch&) { return along(call, "self", 1); }
bool reduce(const Call& call, const Batch&) {
  if (!call.given("dim")) return false;
  const std::vector<std::int64_t> dims = call.integers("dim");
  return !dims.empty() && std::ranges::none_of(dims, [&](std::int64_t dim) {
    return wrap_dim(dim, rank_of(call, "self")) == 0;
  });
}
bool normalize(const Call& call, const Batch& batch) {
  return call.integers("normalized_shape").size() < rank_of(call, "input") &&
         only_first(call, "input", batch);
}
bool transpose(const Call& call, const Batch&) {
  return wrap_dim(call.integer("dim0"), rank_of(call, "self")) > 0 &&
         wrap_dim(call.integer("dim1"), rank_of(call, "self")) > 0;
}
bool permute(const Call& call, const Batch&) {
  return wrap_dim(call.integers("dims").front(), rank_of(call, "self")) == 0;
}
bool reshape(const Call& call, const Batch& batch) {
  const std::string_view arg = call.op().schema.find("shape") != nullptr ? "shape" : "size";
  const std::vector<std::int64_t> sizes = call.integers(arg);
  return !sizes.empty() && sizes.front() == batch.size();
}
bool expand(const Call& call, const Batch&) {
  return call.integers("size").size() == rank_of(call, "self");
}
bool cat(const Call& call, const Batch& batch) {
  const std::vector<Ref>& tensors = call.refs("tensors");
  return std::ranges::all_of(tensors, [&](const Ref& ref) { return batch.has(ref); }) &&
         wrap_dim(call.integer("dim"), call.type(tensors.front()).shape.size()) > 0;
}

// Whether an operator of which some operand carries the batch gives results that carry it, entry
// for entry. One that is not here is not known to.
struct Known {
  std::string_view op;  // without overload
  Rule rule;
};
constexpr auto kKnown = std::to_array<Known>({
    {"scaled_dot_product_attention", attention},
    {"linear", linear},
    {"addmm", addmm},
    {"bmm", bmm},
    {"matmul", matmul},
    {"embedding", embedding},
    {"softmax", along_dim},
    {"log_softmax", along_dim},
    {"_safe_softmax", along_dim},
    {"cumsum", along_dim},
    {"select", along_dim},
    {"slice", along_dim},
    {"narrow", along_dim},
    {"split", along_dim},
    {"chunk", along_dim},
    {"repeat_interleave", along_dim},
    {"unsqueeze", unsqueeze},
    {"sum", reduce},
    {"mean", reduce},
    {"amax", reduce},
    {"amin", reduce},
    {"var", reduce},
    {"layer_norm", normalize},
    {"rms_norm", normalize},
    {"transpose", transpose},
    {"permute", permute},
    {"reshape", reshape},
    {"view", reshape},
    {"expand", expand},
    {"cat", cat},
    {"add", elementwise},
    {"sub", elementwise},
    {"mul", elementwise},
    {"div", elementwise},
    {"neg", elementwise},
    {"abs", elementwise},
    {"relu", elementwise},
    {"silu", elementwise},
    {"gelu", elementwise},
    {"sigmoid", elementwise},
    {"tanh", elementwise},
    {"exp", elementwise},
    {"log", elementwise},
    {"sin", elementwise},
    {"cos", elementwise},
    {"sqrt", elementwise},
    {"rsqrt", elementwise},
    {"pow", elementwise},
    {"maximum", elementwise},
    {"minimum", elementwise},
    {"clamp", elementwise},
    {"where", elementwise},
    {"masked_fill", elementwise},
    {"to", elementwise},
    {"clone", elementwise},
    {"contiguous", elementwise},
    {"softplus", elementwise},
    {"erf", elementwise},
});

Rule rule_of(std::string_view op) {
  op.remove_prefix(std::min(op.size(), op.find('.') + 1));
  op = op.substr(0, op.find('.'));
  const auto found = std::ranges::find(kKnown, op, &Known::op);
  return found == kKnown.end() ? nullptr : found->rule;
}

// The batch followed through the program; false where an operator may mix its entries.
bool follow(const Program& program, const OpTable& table, const Types& types, Batch& batch) {
  for (const Node& node : program.nodes) {
    const std::vector<Ref> read = operands(node);
    const bool any = std::ranges::any_of(read, [&](const Ref& ref) { return batch.has(ref); });
    batch.set(node.name, any);
    if (!any) continue;
    const Op& op = table.at(node.op);
    const Rule rule = rule_of(node.op);
    const Call call(op, node, program.symbols, types);
    if (rule == nullptr || op.schema.mutates() || !rule(call, batch)) return false;
    for (int i = 0; i < types.outputs(node.name); ++i) {
      const Shape& shape = types.of({node.name, i}).shape;
      if (shape.empty() || shape.front() != batch.size()) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<BatchAxis> batch_axis(const Case& bound, const OpTable& table) {
  const Program& program = bound.program;
  const Types types = verify(program, table);
  std::int64_t size = 0;
  for (const Ref& output : program.outputs) {
    const Shape& shape = types.of(output).shape;
    if (size == 0 && !shape.empty()) size = shape.front();
  }
  if (size < 2) return std::nullopt;
  Batch batch(size);
  BatchAxis axis;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Shape& shape = types.of({program.inputs[i].name}).shape;
    const bool carries = shape.size() >= 2 && shape.front() == size;
    // A twin turns it before it is written, or the reverse: leave such programs alone.
    if (bound.inputs[i].alias >= 0) return std::nullopt;
    batch.set(program.inputs[i].name, carries);
    axis.inputs.push_back(carries);
  }
  for (const Node& node : program.nodes) {
    if (table.at(node.op).schema.mutates()) return std::nullopt;
  }
  if (!follow(program, table, types, batch)) return std::nullopt;
  bool any = false;
  for (const Ref& output : program.outputs) {
    axis.outputs.push_back(batch.has(output));
    any = any || axis.outputs.back();
  }
  if (!any) return std::nullopt;
  return axis;
}

}  // namespace ulpfuzz
