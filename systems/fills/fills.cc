#include <algorithm>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "ir/fill.h"
#include "ir/json.h"
#include "ir/json_reader.h"

// libulpfuzz-fills.so: the elements of ir/fill.h for a process that is not ours. The Python host
// loads it, where it would take thirty times longer itself.
namespace {

thread_local std::string error;

}  // namespace

// Writes the elements of a tensor to `elements`, in row-major order: doubles (two for an element of
// a complex type), or for integral types int64. `fill` is JSON (ir/json.h), `dtype` a name
// ("float32"), `shape` has `rank` sizes. Returns null, or what is wrong; the text stays until the
// next call.
extern "C" const char* ulpfuzz_fill(const char* fill, const char* dtype, const std::int64_t* shape,
                                    std::int64_t rank, std::uint64_t salt, void* elements) {
  using namespace ulpfuzz;
  try {
    const std::optional<DType> type = parse_dtype(dtype);
    if (!type) throw std::invalid_argument(std::string("unknown dtype: ") + dtype);
    const Fill parsed = fill_from({parse_json(fill, "fill"), "fill"});
    const Elements made = generate(parsed, *type, Shape(shape, shape + rank), salt);
    if (is_integral(*type)) {
      std::ranges::copy(made.integers, static_cast<std::int64_t*>(elements));
    } else {
      std::ranges::copy(made.reals, static_cast<double*>(elements));
    }
    return nullptr;
  } catch (const std::exception& wrong) {
    error = wrong.what();
    return error.c_str();
  }
}
