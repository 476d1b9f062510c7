#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/run.h"
#include "systems/environments.h"
#include "systems/fault.h"

namespace {

using namespace ulpfuzz;

void unless_refused(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error&) {
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

// What a command line names: systems (each written and read again as the same), the packages of an
// environment, faults.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  unless_refused([&] {
    for (const SystemSpec& system : parse_systems(text)) {
      const std::string written = to_string(system);
      if (to_string(parse_system(written)) != written) std::abort();
    }
  });
  unless_refused([&] { parse_environment(words_of(text)); });
  unless_refused([&] { fault_kind(text); });
  return 0;
}
