#include "reducers/state.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ir/error.h"

namespace ulpfuzz {

void write_state(const std::filesystem::path& file, const ReductionState& state,
                 const std::string& key) {
  const nlohmann::json object{{"key", key},
                              {"smallest", nlohmann::json::parse(to_json(state.smallest))},
                              {"steps", state.steps},
                              {"tried", state.tried},
                              {"refused", state.refused}};
  std::filesystem::path temporary = file;
  temporary += ".new";
  {
    std::ofstream out(temporary, std::ios::binary);
    out << object.dump() << '\n';
    if (!out.flush()) throw Error(temporary.string(), "cannot be written");
  }
  std::filesystem::rename(temporary, file);
}

std::optional<ReductionState> read_state(const std::filesystem::path& file,
                                         const std::string& key) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  try {
    const nlohmann::json object = nlohmann::json::parse(text.str());
    if (object.at("key") != key) return std::nullopt;
    ReductionState state;
    state.smallest = case_from_json(object.at("smallest").dump(), file.string() + "/smallest");
    state.steps = object.at("steps");
    state.tried = object.at("tried");
    state.refused = object.at("refused").get<std::set<std::string>>();
    return state;
  } catch (const nlohmann::json::exception& error) {
    throw Error(file.string(), std::string("no state of a reduction: ") + error.what());
  }
}

}  // namespace ulpfuzz
