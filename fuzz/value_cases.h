#pragma once

#include <cstdint>
#include <string>

#include "ir/case.h"
#include "ir/op_row.h"

namespace ulpfuzz {

// What campaigns over values draw (fuzz/libfuzzer_campaign.h): on a CPU, with one thread, of few
// and small tensors. Case `index` of the stream; `only` as Profile::only. Throw Error as
// generate_case() does.

// For generated kernels: forward; every other one has one operator alone, every fourth one is
// compiled for sizes of any kind.
Case kernel_case(std::uint64_t seed, std::uint64_t index, const OpTable& table,
                 const std::string& only);

// One operator, each row of the table in its turn, half of them with their gradients, contiguous
// and where it can be of so many elements that a loop in vector registers has a body and a tail.
Case operator_case(std::uint64_t seed, std::uint64_t index, const OpTable& table,
                   const std::string& only);

}  // namespace ulpfuzz
