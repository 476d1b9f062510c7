#include <algorithm>
#include <array>
#include <cmath>

#include "ir/differentiate.h"
#include "ops/drawing.h"
#include "ops/families.h"
#include "ops/gradients.h"
#include "ops/infer.h"
#include "ops/movement.h"
#include "oracle/kernel.h"
#include "oracle/loops.h"

// Fourier transforms, and the ways between complex and real tensors.
namespace ulpfuzz {
namespace {

DType complex_of(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kComplex128 ? DType::kComplex128
                                                                 : DType::kComplex64;
}

// ---- transforms -----------------------------------------------------------------------------

enum class Transform { kRealForward, kForward, kInverse };

struct Sizes {
  int dim = 0;
  std::int64_t given = 0;   // of the operand along dim; cut or filled up with zeros to
  std::int64_t points = 0;  // n
};

Sizes sizes_of(const Call& call) {
  const Shape& shape = call.tensor("self").shape;
  if (shape.empty()) call.fail("a transform needs a dimension");
  Sizes sizes;
  sizes.dim = wrap_dim(call.integer("dim"), shape.size());
  sizes.given = shape[static_cast<std::size_t>(sizes.dim)];
  sizes.points = call.given("n") ? call.integer("n") : sizes.given;
  if (sizes.points < 1) call.fail("a transform needs at least one point");
  return sizes;
}

double scale_of(const Call& call, Transform transform, std::int64_t n) {
  const std::string norm = call.given("norm") ? call.string("norm") : "backward";
  if (norm != "backward" && norm != "ortho" && norm != "forward") {
    call.fail("norm must be backward, ortho or forward");
  }
  if (norm == "ortho") return 1 / std::sqrt(static_cast<double>(n));
  const bool scaled = (transform == Transform::kInverse) == (norm == "backward");
  return scaled ? 1 / static_cast<double>(n) : 1;
}

template <Transform kTransform>
std::vector<TensorType> infer_fft(const Call& call) {
  TensorType type = call.tensor("self");
  if (type.dtype == DType::kFloat16 || type.dtype == DType::kBFloat16) {
    call.fail("half types are not transformed on a CPU");
  }
  if (kTransform == Transform::kRealForward) require_real(call, "self");
  const Sizes sizes = sizes_of(call);
  scale_of(call, kTransform, sizes.points);
  if (is_complex(type.dtype) && sizes.points < sizes.given) {
    call.fail("cutting off complex signals is not supported");
  }
  const bool real = kTransform == Transform::kRealForward;
  type.shape[static_cast<std::size_t>(sizes.dim)] = real ? sizes.points / 2 + 1 : sizes.points;
  type.dtype = complex_of(type.dtype);
  return {type};
}

template <class T>
auto base_number(double x) {
  if constexpr (kIsRunning<T>) {
    return decltype(T::v)(x);
  } else {
    return x;
  }
}

// cos and sin of 2 pi r / n, r = 0 .. n-1, without error; exact at the quarters.
template <class T>
struct Roots {
  explicit Roots(std::int64_t n) {
    using B = decltype(base_number<T>(0));
    const B turn = B(8) * base::atan(B(1));
    for (std::int64_t r = 0; r < n; ++r) {
      B c, s;
      if (4 * r % n == 0) {
        constexpr std::array kQuarters{1, 0, -1, 0, 1};
        const auto quarter = static_cast<std::size_t>(4 * r / n);
        c = B(kQuarters[quarter]);
        s = B(quarter == 1 ? 1 : quarter == 3 ? -1 : 0);
      } else {
        const B angle = turn * B(static_cast<double>(r)) / B(static_cast<double>(n));
        c = base::cos(angle);
        s = base::sin(angle);
      }
      cosines.push_back(T{c});
      sines.push_back(T{s});
    }
  }
  std::vector<T> cosines, sines;
};

// The sum as its definition has it; a fast transform's error is that of log2(n) stages with
// rounded roots (Higham, section 24.1), of which the bound of a long sum covers the rest.
template <Transform kTransform>
struct FftKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    const Sizes sizes = sizes_of(k.call());
    const bool complex = is_complex(self.dtype());
    const Tensor<T> x = complex ? self : as_real(self).tensor;
    const auto dim = static_cast<std::size_t>(sizes.dim);
    const std::int64_t n = sizes.points, read = std::min(n, sizes.given);
    const std::int64_t results = k.out().shape()[dim];
    const Roots<T> roots(n);
    const T scale = constant<T>(scale_of(k.call(), kTransform, n));
    std::vector<T> re(static_cast<std::size_t>(read)), im(re.size());
    for_each_line(
        sizes.dim,
        [&](const Line<2>& line) {
          double size = 0;
          for (std::int64_t j = 0; j < read; ++j) {
            const std::int64_t at = line.at[0] + j * line.step[0];
            re[static_cast<std::size_t>(j)] = x.real(complex ? 2 * at : at);
            if (complex) im[static_cast<std::size_t>(j)] = x.real(2 * at + 1);
            size += std::hypot(narrow(re[static_cast<std::size_t>(j)]),
                               narrow(im[static_cast<std::size_t>(j)]));
          }
          for (std::int64_t i = 0; i < results; ++i) {
            Sum<T> real, imaginary;
            for (std::int64_t j = 0; j < read; ++j) {
              const auto r = static_cast<std::size_t>(i * j % n);
              const T sine = kTransform == Transform::kInverse ? roots.sines[r] : -roots.sines[r];
              const T &a = re[static_cast<std::size_t>(j)], &b = im[static_cast<std::size_t>(j)];
              real.add_product(a, roots.cosines[r]);
              imaginary.add_product(a, sine);
              if (!complex) continue;
              real.add_product(-b, sine);
              imaginary.add_product(b, roots.cosines[r]);
            }
            const std::int64_t to = 2 * (line.at[1] + i * line.step[1]);
            k.out().real(to) = staged(real.total(), n, size) * scale;
            k.out().real(to + 1) = staged(imaginary.total(), n, size) * scale;
          }
        },
        x, k.out());
  }

 private:
  template <class T>
  static T staged(T x, std::int64_t n, double size) {
    if constexpr (kIsRunning<T>) {
      // What an infinity among the terms does to each result depends on the order of operations.
      // Every result is made of all terms; a real transform by a complex one of half the length
      // holds sums of two before it halves them.
      const std::uint8_t range = internal::range_mark(size, ErrorModel::current().max_finite);
      if (range != 0 || !std::isfinite(size)) {
        x.e = internal::kInfinity;
        if (std::isfinite(size)) x.marks |= range;
      }
      if (n > 2 && internal::is_finite(x.v)) {
        const ErrorModel& model = ErrorModel::current();
        const double stages = std::ceil(std::log2(static_cast<double>(n)));
        const double count = model.mode == ErrorMode::kBound
                                 ? 4 * stages
                                 : std::sqrt(stages / static_cast<double>(n));
        x.e = internal::add_errors(x.e, count * model.unit * size, model);
      }
    }
    return x;
  }
};

// The adjoint: the transform the other way, scaled the same.
template <Transform kTransform>
void derive_fft(Backward& b) {
  const Sizes sizes = sizes_of(b.call());
  const std::string norm = b.call().given("norm") ? b.call().string("norm") : "backward";
  const std::string back = norm == "backward" ? "forward" : norm == "forward" ? "backward" : norm;
  const bool inverse = kTransform == Transform::kInverse;
  Expr g = emit(
      b, inverse ? "aten.fft_fft.default" : "aten.fft_ifft.default",
      {{"self", b.gradient()}, {"n", Dim(sizes.points)}, {"dim", Dim(sizes.dim)}, {"norm", back}});
  if (!is_complex(b.type(b.input("self")).dtype)) {
    g = emit(b, "aten.real.default", {{"self", g.ref}});
  }
  if (sizes.points > sizes.given) {
    g = emit(b, "aten.narrow.default",
             {{"self", g.ref},
              {"dim", Dim(sizes.dim)},
              {"start", Dim(0)},
              {"length", Dim(sizes.given)}});
  } else if (sizes.points < sizes.given) {
    const auto rank = static_cast<int>(b.type(b.input("self")).shape.size());
    std::vector<Dim> pad(static_cast<std::size_t>(2 * (rank - sizes.dim)), Dim(0));
    pad.back() = Dim(sizes.given - sizes.points);
    g = emit(b, "aten.constant_pad_nd.default", {{"self", g.ref}, {"pad", pad}});
  }
  give(b, "self", g);
}

// ---- complex and real -----------------------------------------------------------------------

void require_complex(const Call& call, std::string_view arg) {
  if (!is_complex(call.tensor(arg).dtype)) call.fail(std::string(arg) + " must be complex");
}

std::vector<TensorType> infer_view_as_real(const Call& call) {
  require_complex(call, "self");
  TensorType type = call.tensor("self");
  type.dtype = real_part(type.dtype);
  type.shape.push_back(2);
  return {type};
}

struct ViewAsRealKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> self = k.in("self").contiguous();
    for (std::int64_t i = 0; i < 2 * self.size(); ++i) k.out().real(i) = self.real(i);
  }
};

struct ViewAsComplexKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T> self = k.in("self").contiguous();
    for (std::int64_t i = 0; i < self.size(); ++i) k.out().real(i) = self.real(i);
  }
};

std::vector<TensorType> infer_view_as_complex(const Call& call) {
  TensorType type = call.tensor("self");
  if (type.dtype != DType::kFloat32 && type.dtype != DType::kFloat64) {
    call.fail("self must be float32 or float64");
  }
  if (type.shape.empty() || type.shape.back() != 2) call.fail("self's last size must be 2");
  type.dtype = complex_of(type.dtype);
  type.shape.pop_back();
  return {type};
}

template <bool kImaginary>
std::vector<TensorType> infer_part(const Call& call) {
  TensorType type = call.tensor("self");
  if (kImaginary) require_complex(call, "self");
  type.dtype = real_part(type.dtype);
  return {type};
}

template <bool kImaginary>
struct PartKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Tensor<T>& self = k.in("self");
    if (!is_complex(self.dtype())) {
      k.out() = self;
      return;
    }
    std::int64_t to = 0;
    for (const std::int64_t at : positions(self.shape(), self.strides(), self.offset())) {
      k.out().real(to++) = self.real(2 * at + (kImaginary ? 1 : 0));
    }
  }
};

std::vector<TensorType> infer_complex(const Call& call) {
  const TensorType& real = call.tensor("real");
  if (real.dtype != DType::kFloat32 && real.dtype != DType::kFloat64) {
    call.fail("real must be float32 or float64");
  }
  require_dtype(call, "imag", real.dtype);
  return {{complex_of(real.dtype), broadcast(real.shape, call.tensor("imag").shape)}};
}

struct ComplexKernel {
  template <class T>
  static void run(Kernel<T>& k) {
    const Shape& shape = k.out().shape();
    const Tensor<T> real = k.in("real").expand(shape), imag = k.in("imag").expand(shape);
    std::int64_t to = 0;
    for (const std::int64_t at : positions(shape, real.strides(), real.offset())) {
      k.out().real(2 * to++) = real.real(at);
    }
    to = 0;
    for (const std::int64_t at : positions(shape, imag.strides(), imag.offset())) {
      k.out().real(2 * to++ + 1) = imag.real(at);
    }
  }
};

void derive_view_as_real(Backward& b) {
  b.contribute("self", b.emit("aten.view_as_complex.default", {{"self", b.gradient()}}));
}
void derive_view_as_complex(Backward& b) {
  b.contribute("self", b.emit("aten.view_as_real.default", {{"self", b.gradient()}}));
}
template <bool kImaginary>
void derive_part(Backward& b) {
  if (!is_complex(b.type(b.input("self")).dtype)) return b.contribute("self", b.gradient());
  const Ref zeros = zeros_of(b, b.type(b.gradient()));
  const Ref real = kImaginary ? zeros : b.gradient(), imag = kImaginary ? b.gradient() : zeros;
  b.contribute("self", b.emit("aten.complex.default", {{"real", real}, {"imag", imag}}));
}
void derive_complex(Backward& b) {
  if (b.needs("real")) {
    b.contribute("real", b.emit("aten.real.default", {{"self", b.gradient()}}));
  }
  if (b.needs("imag")) {
    b.contribute("imag", b.emit("aten.imag.default", {{"self", b.gradient()}}));
  }
}

// ---- random calls ---------------------------------------------------------------------------

constexpr std::int64_t kLongest = 130;

// Any dimension, in any layout: what the result's strides are is up to the library.
template <Transform kTransform>
bool draw_fft(Draw& d) {
  const double kind = d.random().unit();
  Want want{.min_rank = 1, .max_rank = 4, .also = [](const TensorType& type) {
              return element_count(type.shape) > 0 &&
                     *std::max_element(type.shape.begin(), type.shape.end()) <= kLongest;
            }};
  if (kind < 0.7) {
    want.dtype = kind < 0.6 ? DType::kFloat32 : DType::kFloat64;
  } else if (kTransform != Transform::kRealForward) {
    want.dtype = kind < 0.95 ? DType::kComplex64 : DType::kComplex128;
  } else {
    want.dtype = kind < 0.95 ? DType::kFloat32 : DType::kInt64;
  }
  const Ref self = d.operand(want);
  const int dim = d.dim(self);
  const Shape& shape = d.type(self).shape;
  const std::int64_t size = shape[static_cast<std::size_t>(wrap_dim(dim, shape.size()))];
  std::vector<NamedArgument> args = {{"self", self}};
  if (d.random().chance(0.15)) args.push_back({"n", Dim(d.random().integer(1, size + 3))});
  if (d.random().chance(0.7)) args.push_back({"dim", Dim(dim)});
  if (d.random().chance(0.3)) {
    static constexpr std::array kNorms{"ortho", "forward", "backward"};
    args.push_back({"norm", std::string(d.random().pick(kNorms))});
  }
  return d.call(std::move(args));
}

bool draw_of_complex(Draw& d) {
  return d.call({{"self", d.operand({.max_rank = 4, .dtype = DType::kComplex64})}});
}

// A contiguous input: eager asks for a layout in which the pairs lie together.
bool draw_view_as_complex(Draw& d) {
  Fill fill;
  fill.seed = d.random().bits();
  Shape shape;
  for (std::int64_t rank = d.random().integer(1, 2); rank > 0; --rank) {
    shape.push_back(d.random().integer(2, 9));
  }
  shape.push_back(2);
  fill.grid = DType::kFloat32;
  return d.call({{"self", d.new_input(DType::kFloat32, shape, fill)}});
}

bool draw_complex(Draw& d) {
  const Ref real = d.operand({.dtype = DType::kFloat32});
  return d.call({{"real", real}, {"imag", d.broadcastable(real, false)}});
}

constexpr Numerics kExtern{.extern_kernel = true};

constexpr OpRow kRows[] = {
    {.schema = "aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     .python = "torch.fft.rfft",
     .infer = infer_fft<Transform::kRealForward>,
     .kernels = &kKernels<FftKernel<Transform::kRealForward>>,
     .derivative = derive_fft<Transform::kRealForward>,
     .draw = draw_fft<Transform::kRealForward>,
     .weight = 0.7,
     .numerics = kExtern},
    {.schema = "aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     .python = "torch.fft.fft",
     .infer = infer_fft<Transform::kForward>,
     .kernels = &kKernels<FftKernel<Transform::kForward>>,
     .derivative = derive_fft<Transform::kForward>,
     .draw = draw_fft<Transform::kForward>,
     .weight = 0.6,
     .numerics = kExtern},
    {.schema = "aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     .python = "torch.fft.ifft",
     .infer = infer_fft<Transform::kInverse>,
     .kernels = &kKernels<FftKernel<Transform::kInverse>>,
     .derivative = derive_fft<Transform::kInverse>,
     .draw = draw_fft<Transform::kInverse>,
     .weight = 0.4,
     .numerics = kExtern},
    {.schema = "aten::view_as_real(Tensor(a) self) -> Tensor(a)",
     .python = "torch.view_as_real",
     .infer = infer_view_as_real,
     .kernels = &kKernels<ViewAsRealKernel>,
     .derivative = derive_view_as_real,
     .draw = draw_of_complex,
     .weight = 0.7},
    {.schema = "aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
     .python = "torch.view_as_complex",
     .infer = infer_view_as_complex,
     .kernels = &kKernels<ViewAsComplexKernel>,
     .derivative = derive_view_as_complex,
     .draw = draw_view_as_complex,
     .weight = 0.3},
    {.schema = "aten::real(Tensor(a) self) -> Tensor(a)",
     .python = "torch.real",
     .infer = infer_part<false>,
     .kernels = &kKernels<PartKernel<false>>,
     .derivative = derive_part<false>,
     .draw = draw_of_complex,
     .weight = 0.5},
    {.schema = "aten::imag(Tensor(a) self) -> Tensor(a)",
     .python = "torch.imag",
     .infer = infer_part<true>,
     .kernels = &kKernels<PartKernel<true>>,
     .derivative = derive_part<true>,
     .draw = draw_of_complex,
     .weight = 0.5},
    {.schema = "aten::complex(Tensor real, Tensor imag) -> Tensor",
     .python = "torch.complex",
     .infer = infer_complex,
     .kernels = &kKernels<ComplexKernel>,
     .derivative = derive_complex,
     .draw = draw_complex,
     .weight = 0.4},
};

}  // namespace

std::span<const OpRow> fft_rows() { return kRows; }

}  // namespace ulpfuzz
