#pragma once

#include <string>
#include <string_view>

namespace ulpfuzz {

// SHA-256 of the bytes, 64 hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace ulpfuzz
