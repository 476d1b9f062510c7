#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// sort and topk: values in order, and where they were. Which of equal elements comes first is left
// open, so the places of elements within error of one another are marked.
namespace ulpfuzz {
namespace {

std::vector<TensorType> infer_sort(const Call& call) {
  require_real(call, "self");
  const TensorType& self = call.tensor("self");
  wrap_dim(call.integer("dim"), self.shape.size());
  return {self, {DType::kInt64, self.shape}};
}

std::vector<TensorType> infer_topk(const Call& call) {
  require_real(call, "self");
  require_no_bool(call, "self");
  if (!call.boolean("sorted")) call.fail("results in no order are not supported");
  TensorType type = call.tensor("self");
  const int dim = wrap_dim(call.integer("dim"), type.shape.size());
  const std::int64_t k = call.integer("k");
  const std::int64_t size = type.shape.empty() ? 1 : type.shape[static_cast<std::size_t>(dim)];
  if (k < 0 || k > size) call.fail("k is out of range");
  if (!type.shape.empty()) type.shape[static_cast<std::size_t>(dim)] = k;
  return {type, {DType::kInt64, type.shape}};
}

// One element of a line. NaN counts as larger than all numbers.
template <class E>
struct Item {
  E value;
  std::int64_t index;
  double key, error;
};

double key_of(double x) { return std::isnan(x) ? std::numeric_limits<double>::infinity() : x; }

// Runs of items that a system may have in another order: each overlaps with one before it.
template <class E>
std::vector<bool> in_doubt(const std::vector<Item<E>>& items, bool descending) {
  std::vector<bool> doubt(items.size(), false);
  double reach = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double key = descending ? -items[i].key : items[i].key;
    if (i > 0 && key - items[i].error <= reach) doubt[i] = doubt[i - 1] = true;
    reach = std::max(reach, key + items[i].error);
  }
  return doubt;
}

template <class E>
bool comes_before(const Item<E>& a, const Item<E>& b, bool descending) {
  if constexpr (std::is_same_v<E, std::int64_t> || std::is_same_v<E, MarkedInt>) {
    const std::int64_t x = value_of(a.value), y = value_of(b.value);
    return descending ? x > y : x < y;
  } else {
    const double x = narrow(a.value), y = narrow(b.value);
    if (std::isnan(x) || std::isnan(y)) {
      return descending ? std::isnan(x) && !std::isnan(y) : std::isnan(y) && !std::isnan(x);
    }
    return descending ? x > y : x < y;
  }
}

// The error of an order statistic is at most the largest error of those in doubt with it.
template <class T>
void share_errors(std::vector<Item<T>>& items, const std::vector<bool>& doubt) {
  if constexpr (kIsRunning<T>) {
    double largest = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (doubt[i]) largest = std::max(largest, items[i].error);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (doubt[i]) items[i].value.e = largest;
    }
  }
}

template <class T>
Item<T> item(const T& value, std::int64_t index) {
  return {value, index, key_of(narrow(value)), error_of(value)};
}

struct OrderKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const bool sorts = k.call().op().schema.find("descending") != nullptr;
    const bool descending = k.call().boolean(sorts ? "descending" : "largest");
    const Tensor<T>& self = k.in("self");
    if (self.size() == 0) return;
    const int dim = wrap_dim(k.call().integer("dim"), self.shape().size());
    const auto sizes = [dim](const Tensor<T>& t) {
      return t.rank() == 0 ? 1 : t.shape()[static_cast<std::size_t>(dim)];
    };
    const std::int64_t n = sizes(self), kept = sizes(k.out());
    for_each_line(
        dim,
        [&](const Line<3>& line) {
          if (self.integral()) {
            std::vector<Item<Int<T>>> items;
            for (std::int64_t i = 0; i < n; ++i) {
              const Int<T>& value = self.integer(line.at[0] + i * line.step[0]);
              items.push_back({value, i, static_cast<double>(value_of(value)), 0});
            }
            write(k, line, items, descending, kept);
          } else {
            std::vector<Item<T>> items;
            for (std::int64_t i = 0; i < n; ++i) {
              items.push_back(item(self.real(line.at[0] + i * line.step[0]), i));
            }
            write(k, line, items, descending, kept);
          }
        },
        self, k.out(0), k.out(1));
  }

 private:
  template <class T, class E>
  static void write(Kernel<T>& k, const Line<3>& line, std::vector<Item<E>>& items, bool descending,
                    std::int64_t kept) {
    std::stable_sort(items.begin(), items.end(), [descending](const auto& a, const auto& b) {
      return comes_before(a, b, descending);
    });
    const std::vector<bool> doubt = in_doubt(items, descending);
    if constexpr (std::is_same_v<E, T>) share_errors(items, doubt);
    int marks = 0;
    for (const Item<E>& each : items) marks |= marks_of(each.value);
    for (std::int64_t i = 0; i < kept; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t to = line.at[1] + i * line.step[1];
      if constexpr (std::is_same_v<E, T>) {
        k.out(0).real(to) = items[at].value;
      } else {
        k.out(0).integer(to) = items[at].value;
      }
      k.out(1).integer(line.at[2] + i * line.step[2]) =
          make_int<T>(items[at].index, marks | (doubt[at] ? kNearTie : 0));
    }
  }
};

void derive_order(Backward& b) {
  b.contribute("self",
               b.emit("aten.scatter_add.default", {{"self", zeros_of(b, b.type(b.input("self")))},
                                                   {"dim", Dim(b.call().integer("dim"))},
                                                   {"index", b.output(1)},
                                                   {"src", b.gradient(0)}}));
}

bool draw_sort(Draw& d) {
  const Ref self = d.operand({.types = Want::Types::kNumeric, .min_rank = 1});
  std::vector<NamedArgument> args = {{"self", self}};
  if (d.random().chance(0.6)) args.push_back({"dim", Dim(d.dim(self))});
  if (d.random().chance(0.4)) args.push_back({"descending", true});
  return d.call(std::move(args));
}

bool draw_topk(Draw& d) {
  const Ref self = d.operand({.types = Want::Types::kNumeric, .min_rank = 1});
  const int dim = d.random().chance(0.5) ? -1 : d.dim(self);
  const Shape& shape = d.type(self).shape;
  const std::int64_t size = shape[static_cast<std::size_t>(wrap_dim(dim, shape.size()))];
  if (size == 0) return false;
  std::vector<NamedArgument> args = {
      {"self", self}, {"k", Dim(d.random().integer(1, std::min<std::int64_t>(size, 5)))}};
  if (dim != -1) args.push_back({"dim", Dim(dim)});
  if (d.random().chance(0.3)) args.push_back({"largest", false});
  return d.call(std::move(args));
}

constexpr Numerics kExtern{.extern_kernel = true};

constexpr OpRow kRows[] = {
    {.schema = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> "
               "(Tensor values, Tensor indices)",
     .python = "torch.sort",
     .infer = infer_sort,
     .kernels = &kKernels<OrderKernel>,
     .derivative = derive_order,
     .draw = draw_sort,
     .weight = 0.6,
     .numerics = kExtern},
    {.schema = "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, "
               "bool sorted=True) -> (Tensor values, Tensor indices)",
     .python = "torch.topk",
     .infer = infer_topk,
     .kernels = &kKernels<OrderKernel>,
     .derivative = derive_order,
     .draw = draw_topk,
     .weight = 0.6,
     .numerics = kExtern},
};

}  // namespace

std::span<const OpRow> order_rows() { return kRows; }

}  // namespace ulpfuzz
