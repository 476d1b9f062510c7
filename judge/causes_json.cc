#include <nlohmann/json.hpp>

#include "judge/causes.h"

namespace ulpfuzz {
namespace {

nlohmann::json json_of(const KeptWide& w) {
  return {{"value", w.value},
          {"value_op", w.value_op},
          {"into", w.into},
          {"into_op", w.into_op},
          {"backward", w.backward},
          {"again", w.again},
          {"extern_result", w.extern_result},
          {"share", w.share},
          {"without", w.without}};
}

nlohmann::json json_of(const TakenBranch& b) {
  return {{"node", b.node},   {"op", b.op},       {"element", b.element},
          {"exact", b.exact}, {"taken", b.taken}, {"forced", b.forced}};
}

nlohmann::json json_of(const TensorCause& t) {
  return {{"tensor", t.tensor},     {"difference", t.difference},
          {"nominal", t.nominal},   {"residual", t.residual},
          {"noise", t.noise},       {"reproduced", t.reproduced},
          {"dominant", t.dominant}, {"share", t.share}};
}

nlohmann::json json_of(const Diverging& d) {
  nlohmann::json object{{"node", d.node},          {"op", d.op},
                        {"rung", d.rung},          {"strength", d.strength},
                        {"detail", d.detail},      {"outputs_added", d.outputs_added},
                        {"same_bits", d.same_bits}};
  if (d.alone) object["alone"] = *d.alone;
  return object;
}

template <class T>
nlohmann::json list_of(const std::vector<T>& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const T& one : all) list.push_back(json_of(one));
  return list;
}

}  // namespace

std::string to_json(const Causes& c) {
  nlohmann::json object{{"system", c.system},
                        {"input_set", c.input_set},
                        {"cause", name(c.kind)},
                        {"wide", list_of(c.wide)},
                        {"branches", list_of(c.branches)},
                        {"tensors", list_of(c.tensors)},
                        {"notes", c.notes},
                        {"choices", c.choices},
                        {"evaluations", c.evaluations},
                        {"cpu_seconds", c.cpu_seconds}};
  if (c.held_out) object["held_out"] = *c.held_out;
  if (c.first) object["first_diverging"] = json_of(*c.first);
  return object.dump();
}

}  // namespace ulpfuzz
