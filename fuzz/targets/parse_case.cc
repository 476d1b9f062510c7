#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "generators/family.h"
#include "ir/case.h"
#include "ir/error.h"
#include "ir/verify.h"
#include "ops/table.h"

// The text of a case file: what is read is written and read again as the same, and its program, if
// it has one, verifies or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpfuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Case c = case_from_json(text, "fuzzed");
    const std::string written = to_json(c);
    // A text that was canonical already has just been read and written again as the same.
    if (written != text && to_json(case_from_json(written, "written")) != written) std::abort();
    const Case lowered = lower(c);
    if (is_lowered(lowered)) verify(lowered, op_table());
  } catch (const Error&) {  // refused
  }
  return 0;
}
