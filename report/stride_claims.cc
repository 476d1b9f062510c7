#include "report/stride_claims.h"

#include <regex>
#include <string>

namespace ulpfuzz {

std::vector<StrideClaim> stride_claims(std::string_view message) {
  static const std::regex kClaim(R"(size (\d+)==(\d+), stride (\d+)==(\d+) at dim=(\d+))");
  const std::string text(message);
  std::vector<StrideClaim> claims;
  for (std::sregex_iterator it(text.begin(), text.end(), kClaim), end; it != end; ++it) {
    const auto number = [&](std::size_t group) { return std::stoll((*it)[group].str()); };
    claims.push_back({static_cast<int>(number(5)), number(1), number(2), number(3), number(4)});
  }
  return claims;
}

}  // namespace ulpfuzz
