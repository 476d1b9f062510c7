#include "calibration/adjudication.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "ir/error.h"
#include "ir/json.h"

namespace ulpfuzz {
namespace {

constexpr std::string_view kPlaces[] = {"output", "gradient", "written input", "run"};

// Reads the members of one entry.
class Reader {
 public:
  Reader(const Json& entry, std::string place) : entry_(entry), place_(std::move(place)) {
    if (!entry.is_object()) throw Error(place_, "an adjudication is an object");
    constexpr std::string_view kMembers[] = {"system", "verdict",   "sort",     "place",
                                             "case",   "operators", "adjudged", "why"};
    for (const auto& [name, value] : entry.items()) {
      if (std::ranges::find(kMembers, name) == std::end(kMembers)) {
        throw Error(place_ + "/" + name, "no member of this name belongs here");
      }
    }
  }

  Adjudication read() const {
    Adjudication a;
    a.key.signature.system = words("system");
    a.key.signature.kind = finding();
    a.key.signature.detail = text("sort");
    a.key.place = text("place");
    if (std::ranges::find(kPlaces, a.key.place) == std::end(kPlaces)) {
      throw Error(place_ + "/place", "is 'output', 'gradient', 'written input' or 'run'");
    }
    if (entry_.contains("case") == entry_.contains("operators")) {
      throw Error(place_, "has either 'case' or 'operators'");
    }
    if (entry_.contains("case")) a.key.case_hash = hash();
    if (entry_.contains("operators")) a.key.operators = operators();
    const std::string adjudged = text("adjudged");
    if (adjudged != "real" && adjudged != "false") {
      throw Error(place_ + "/adjudged", "is 'real' or 'false'");
    }
    a.real = adjudged == "real";
    a.why = words("why");
    return a;
  }

 private:
  std::string text(const std::string& name) const {
    if (!entry_.contains(name)) throw Error(place_, "lacks '" + name + "'");
    if (!entry_.at(name).is_string()) throw Error(place_ + "/" + name, "must be a string");
    return entry_.at(name).get<std::string>();
  }
  std::string words(const std::string& name) const {
    std::string value = text(name);
    if (value.empty()) throw Error(place_ + "/" + name, "is empty");
    return value;
  }
  VerdictKind finding() const {
    const std::optional<VerdictKind> kind = parse_verdict_kind(text("verdict"));
    if (!kind || !is_finding(*kind)) {
      throw Error(place_ + "/verdict",
                  "'" + text("verdict") + "' is not a verdict that is a finding");
    }
    return *kind;
  }
  std::string hash() const {
    std::string value = text("case");
    const bool hex = value.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (value.size() != 64 || !hex) throw Error(place_ + "/case", "is not a SHA-256 in hex");
    return value;
  }
  std::set<std::string> operators() const {
    const Json& list = entry_.at("operators");
    const std::string at = place_ + "/operators";
    if (!list.is_array() || list.empty()) throw Error(at, "must be an array of operators' names");
    std::set<std::string> names;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_string()) throw Error(at + "/" + std::to_string(i), "must be a string");
      if (!names.insert(list[i].get<std::string>()).second) {
        throw Error(at + "/" + std::to_string(i), "stands there twice");
      }
    }
    return names;
  }

  const Json& entry_;
  const std::string place_;
};

bool same_sort(const AlarmKey& a, const AlarmKey& b) {
  return a.signature == b.signature && a.place == b.place;
}

}  // namespace

std::string place_of(const Verdict& verdict) {
  for (const Fact& fact : verdict.facts) {
    if (fact.kind == verdict.primary) return place_of_tensor(fact.tensor);
  }
  return "run";
}

std::string place_of_tensor(const std::string& tensor) {
  if (tensor.starts_with("output ")) return "output";
  if (tensor.starts_with("gradient of ")) return "gradient";
  if (tensor.ends_with(" after")) return "written input";
  return "run";
}

std::set<std::string> operators_of(const Program& program) {
  std::set<std::string> names;
  for (const Node& node : program.nodes) names.insert(node.op);
  return names;
}

Adjudications Adjudications::parse(std::string_view text, const std::string& place) {
  const Json json = parse_json(text, place);
  const std::string root = pointer_root(place);
  if (!json.is_array()) throw Error(root, "must be an array of adjudications");
  Adjudications all;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string at = root + "/" + std::to_string(i);
    Adjudication one = Reader(json[i], at).read();
    for (std::size_t j = 0; j < all.entries_.size(); ++j) {
      const AlarmKey& other = all.entries_[j].key;
      if (same_sort(other, one.key) && other.case_hash == one.key.case_hash &&
          other.operators == one.key.operators) {
        throw Error(at, "says the same as entry " + std::to_string(j) + ", or contradicts it");
      }
    }
    all.entries_.push_back(std::move(one));
  }
  return all;
}

Adjudications Adjudications::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(path, "cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return parse(text.str(), path);
}

const Adjudication* Adjudications::find(const AlarmKey& alarm) const {
  for (const Adjudication& entry : entries_) {
    if (!same_sort(entry.key, alarm)) continue;
    if (!entry.key.case_hash.empty() && entry.key.case_hash == alarm.case_hash) return &entry;
    if (!entry.key.operators.empty() && entry.key.operators == alarm.operators) return &entry;
  }
  return nullptr;
}

}  // namespace ulpfuzz
