#include "kernels/artifact.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include "ir/error.h"
#include "kernels/elements.h"
#include "kernels/variants.h"

namespace ulpfuzz {

namespace fs = std::filesystem;

bool is_artifact(const fs::path& file) {
  if (!fs::is_regular_file(file) || file.extension() == ".json") return false;
  return has_variants(file.parent_path());
}

Case case_of_artifact(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(file.string(), "cannot be read");
  const std::vector<char> read{std::istreambuf_iterator<char>(stream), {}};
  std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(read.data()),  // NOLINT
                                      read.size());
  const std::vector<Case> variants = read_variants(file.parent_path());
  const Case& test = variants[picked_variant(bytes, variants.size())];
  const InputElements elements(test);
  std::vector<std::byte> whole(elements.bytes());
  elements.expand(bytes, whole);
  return with_literals(test, elements, whole);
}

}  // namespace ulpfuzz
