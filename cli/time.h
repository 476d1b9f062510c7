#pragma once

#include <string>

namespace ulpfuzz {

// "90", "120s", "5m", "2h" in seconds. Throws Error naming the option.
double parse_time(const std::string& option, const std::string& text);

// "2m 05s", for people.
std::string duration(double seconds);

}  // namespace ulpfuzz
