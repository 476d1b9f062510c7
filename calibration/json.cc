#include <nlohmann/json.hpp>

#include "calibration/calibrate.h"
#include "ir/json.h"

namespace ulpfuzz {
namespace {

Json json_of(const Proportion& p) {
  return {{"count", p.count}, {"of", p.of}, {"rate", p.rate}, {"low", p.low}, {"high", p.high}};
}

Json json_of(const std::vector<Alarms>& judges) {
  Json json = Json::object();
  for (const Alarms& a : judges) json[a.judge] = json_of(a.alarms);
  return json;
}

Json json_of(const LegalResult& r) {
  Json verdicts = Json::object();
  for (const auto& [kind, rate] : r.verdicts) verdicts[std::string(name(kind))] = json_of(rate);
  Json alarms = Json::array();
  for (const LegalResult::Alarm& a : r.alarms) {
    alarms.push_back({{"signature", a.signature},
                      {"case", a.case_hash},
                      {"place", a.place},
                      {"detail", a.detail},
                      {"operators", a.operators},
                      {"adjudged", a.adjudication}});
  }
  return {{"population", r.population},  {"where", r.where},
          {"synthetic", r.synthetic},    {"runs", r.runs},
          {"cases", json_of(r.cases)},   {"verdicts", verdicts},
          {"judges", json_of(r.judges)}, {"alarms", alarms}};
}

Json json_of(const FaultResult& r) {
  Json verdicts = Json::object();
  for (const auto& [kind, count] : r.verdicts) verdicts[std::string(name(kind))] = count;
  Json misses = Json::array();
  for (const FaultResult::Miss& m : r.misses) {
    misses.push_back({{"case", m.case_hash},
                      {"effect", report_number(m.effect)},
                      {"large", m.large},
                      {"found_later", m.ever}});
  }
  return {{"fault", r.fault},
          {"effect", r.effect},
          {"system", r.system},
          {"where", r.where},
          {"cases", r.cases},
          {"without_effect", r.without_effect},
          {"large", json_of(r.large)},
          {"single", json_of(r.single)},
          {"within", json_of(r.within)},
          {"judges", json_of(r.judges)},
          {"verdicts", verdicts},
          {"misses", misses}};
}

Json json_of(const FitResult& f) {
  return {{"rung", f.rung},
          {"statistic", f.statistic},
          {"tensors", f.tensors},
          {"mean", f.mean},
          {"median", f.median},
          {"high", f.high},
          {"largest", f.largest},
          {"margin", report_number(f.margin)},
          {"misfit", report_number(f.misfit)},
          {"allowed_margin", f.allowed_margin},
          {"allowed_misfit", f.allowed_misfit},
          {"beyond", json_of(f.beyond)}};
}

Json json_of(const Cost& c) {
  return {{"part", c.part},
          {"cases", c.cases},
          {"verdicts", c.verdicts},
          {"judge_cpu_seconds", c.judge_cpu_seconds},
          {"system_cpu_seconds", c.system_cpu_seconds}};
}

template <class T>
Json list(const std::vector<T>& items) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(json_of(item));
  return json;
}

}  // namespace

std::string to_json(const Calibration& c) {
  Json holds = Json::array();
  for (const Requirement& r : requirements(c)) {
    holds.push_back({{"what", r.what}, {"holds", r.holds}, {"seen", r.seen}});
  }
  return Json{{"judge_model", c.judge_model}, {"legal", list(c.legal)}, {"fit", list(c.fit)},
              {"faults", list(c.faults)},     {"costs", list(c.costs)}, {"requirements", holds},
              {"stopped", c.stopped}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ulpfuzz
