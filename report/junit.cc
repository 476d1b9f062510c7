#include <fmt/format.h>

#include <algorithm>

#include "report/report.h"

namespace ulpfuzz {
namespace {

// Text of an attribute or element. XML 1.0 has no way to write most control characters: they
// become "?".
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
    }
  }
  return result;
}

}  // namespace

std::string junit_xml(const std::vector<ReplayResult>& results) {
  const auto failures = std::count_if(results.begin(), results.end(),
                                      [](const ReplayResult& r) { return !r.as_expected; });
  double seconds = 0;
  for (const ReplayResult& r : results) seconds += r.cpu_seconds;
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format(
      "<testsuite name=\"ulpfuzz replay\" tests=\"{}\" failures=\"{}\" time=\"{:.3f}\">\n",
      results.size(), failures, seconds);
  for (const ReplayResult& r : results) {
    xml += fmt::format("  <testcase classname=\"ulpfuzz\" name=\"{}\" time=\"{:.3f}\"",
                       escaped(r.name), r.cpu_seconds);
    if (r.as_expected) {
      xml += "/>\n";
      continue;
    }
    xml += fmt::format(
        ">\n    <failure message=\"expected {}, found {}\">{}</failure>\n  </testcase>\n",
        escaped(r.expected), escaped(r.found), escaped(r.detail));
  }
  return xml + "</testsuite>\n";
}

}  // namespace ulpfuzz
