#pragma once

#include <cstdint>

#include "oracle/running.h"

namespace ulpfuzz {

// out (m, n) = a (m, k) b (k, n), all contiguous and row-major; out shares no memory with the
// others.
//
// Every element is summed in the order of k, whatever the vector unit of the machine, so results
// are the same to the bit everywhere. Errors are those of Sum<Running<B>>::add_product.
void matrix_product(double* out, const double* a, const double* b, std::int64_t m, std::int64_t n,
                    std::int64_t k);
template <class B>
void matrix_product(Running<B>* out, const Running<B>* a, const Running<B>* b, std::int64_t m,
                    std::int64_t n, std::int64_t k);

}  // namespace ulpfuzz
