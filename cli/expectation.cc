#include "cli/expectation.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "ir/verdict.h"

namespace ulpfuzz {
namespace {

// "2.11.0+cu130" as (2, 11, 0); zeros for what is missing.
std::array<int, 3> release(const std::string& version) {
  std::array<int, 3> parts{};
  std::sscanf(version.c_str(), "%d.%d.%d", &parts[0], &parts[1], &parts[2]);
  return parts;
}

bool is_release(const std::string& text) {
  std::array<int, 3> parts{};
  int used = 0;
  const int n = std::sscanf(text.c_str(), "%d.%d.%d%n", &parts[0], &parts[1], &parts[2], &used);
  return n == 3 && static_cast<std::size_t>(used) == text.size();
}

Expectation parse(const nlohmann::json& entry, const std::string& place) {
  Expectation e;
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) throw Error(place + "/" + key, "a string is expected");
    const auto text = value.get<std::string>();
    if (key == "system") {
      e.system = text;
    } else if (key == "verdict") {
      e.verdict = text;
    } else if (key == "torch") {
      const std::size_t dots = text.find("..");
      if (dots == std::string::npos)
        throw Error(place + "/torch", "a range FIRST..LAST is expected");
      e.first = text.substr(0, dots);
      e.last = text.substr(dots + 2);
      for (const std::string& end : {e.first, e.last}) {
        if (!end.empty() && !is_release(end)) {
          throw Error(place + "/torch", "'" + end + "' is no release such as 2.11.0");
        }
      }
    } else {
      throw Error(place, "unknown key '" + key + "'; known are system, verdict, torch");
    }
  }
  if (e.system.empty()) throw Error(place, "names no system");
  if (e.verdict != "clean" && !parse_verdict_kind(e.verdict)) {
    throw Error(place + "/verdict", "'" + e.verdict + "' is no verdict");
  }
  return e;
}

}  // namespace

std::vector<Expectation> read_expectations(const std::filesystem::path& case_file) {
  std::filesystem::path path = case_file;
  path.replace_extension(".expect.json");
  std::ifstream in(path);
  if (!in) throw Error(path.string(), "cannot be read; it says what is expected of the case");
  const nlohmann::json text = nlohmann::json::parse(in, nullptr, false);
  if (!text.is_object() || !text.contains("expect") || !text["expect"].is_array()) {
    throw Error(path.string(), "an object with an array \"expect\" is expected");
  }
  if (text["expect"].empty()) throw Error(path.string() + "#/expect", "expects nothing");
  std::vector<Expectation> result;
  for (std::size_t i = 0; i < text["expect"].size(); ++i) {
    const std::string place = path.string() + "#/expect/" + std::to_string(i);
    if (!text["expect"][i].is_object()) throw Error(place, "an object is expected");
    result.push_back(parse(text["expect"][i], place));
  }
  return result;
}

bool applies(const Expectation& expectation, const std::string& torch_version) {
  const std::array<int, 3> version = release(torch_version);
  return (expectation.first.empty() || release(expectation.first) <= version) &&
         (expectation.last.empty() || version <= release(expectation.last));
}

}  // namespace ulpfuzz
