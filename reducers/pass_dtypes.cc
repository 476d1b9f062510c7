#include <set>

#include "ir/verify.h"
#include "reducers/edit.h"
#include "reducers/passes.h"
#include "reducers/plain.h"

namespace ulpfuzz {
namespace {

DType plain_like(DType dtype) {
  if (is_floating(dtype)) return DType::kFloat32;
  if (is_complex(dtype)) return DType::kComplex64;
  return dtype == DType::kBool ? dtype : DType::kInt64;
}

// Inputs and dtype arguments of one dtype become another.
Case with_dtype(const Case& c, DType from, DType to) {
  Case result = c;
  for (ProgramInput& input : result.program.inputs) {
    if (input.dtype == from) input.dtype = to;
  }
  for (Node& node : result.program.nodes) {
    for (NamedArgument& arg : node.args) {
      if (DType* dtype = std::get_if<DType>(&arg.value); dtype != nullptr && *dtype == from) {
        *dtype = to;
      }
    }
  }
  return result;
}

std::set<DType> dtypes_of(const Case& c) {
  std::set<DType> found;
  for (const ProgramInput& input : c.program.inputs) found.insert(input.dtype);
  for (const Node& node : c.program.nodes) {
    for (const NamedArgument& arg : node.args) {
      if (const DType* dtype = std::get_if<DType>(&arg.value)) found.insert(*dtype);
    }
  }
  return found;
}

}  // namespace

// Towards float32 and int64: a dtype everywhere, then of one input.
std::vector<Case> dtype_candidates(const Case& c, const OpTable& table) {
  std::vector<Case> candidates;
  if (has_origin(c)) return candidates;
  const auto propose = [&](Case candidate) {
    if (std::optional<Case> tidied = tidy(std::move(candidate), table)) {
      candidates.push_back(std::move(*tidied));
    }
  };
  for (const DType dtype : dtypes_of(c)) {
    const DType plain = plain_like(dtype);
    if (plain == dtype) continue;
    propose(with_dtype(c, dtype, plain));
    if (is_complex(dtype)) propose(with_dtype(c, dtype, DType::kFloat32));
  }
  for (std::size_t i = 0; i < c.program.inputs.size(); ++i) {
    const DType plain = plain_like(c.program.inputs[i].dtype);
    if (plain == c.program.inputs[i].dtype) continue;
    Case candidate = c;
    candidate.program.inputs[i].dtype = plain;
    propose(std::move(candidate));
  }
  return candidates;
}

}  // namespace ulpfuzz
