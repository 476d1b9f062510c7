#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ulpfuzz {

// What NAME.expect.json says of NAME.json:
//
//   {"expect": [{"system": "inductor", "verdict": "stride-assert", "torch": "2.8.0..2.11.0"}]}
//
// `verdict` is a verdict's name, or "clean" for any that is no finding. `torch` is the range of
// releases, both ends included, for which it holds; absent: all. Outside the range the case is
// expected to be clean.
struct Expectation {
  std::string system;
  std::string verdict;
  std::string first, last;  // releases; empty: open
};

// Throws Error with the place. Nothing is expected of a case without such a file: an error too.
std::vector<Expectation> read_expectations(const std::filesystem::path& case_file);

// Does a release lie in the expectation's range? Local parts ("+cu130") do not count.
bool applies(const Expectation& expectation, const std::string& torch_version);

}  // namespace ulpfuzz
