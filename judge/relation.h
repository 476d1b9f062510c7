#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/case.h"
#include "ir/op_row.h"
#include "ir/run.h"
#include "ir/verdict.h"

// Relations: what must hold between two runs whatever the exact value is. They need no oracle, so
// they also speak where a case is too large for exact arithmetic (docs/relations.md).
namespace ulpfuzz {

// How the results of two runs that a relation ties together correspond, name by name and element by
// element.
enum class Correspondence : std::uint8_t {
  kBits,    // equal numbers; NaN is itself, and the sign of zero is free
  kSpread,  // two roundings of one exact value: apart by no more than what both spread
};

// What a relation is asked about: a system that is given a case.
struct Related {
  const Case& test;
  const SystemSpec& system;
  bool is_eager;
  const OpTable& table;
};

// The same computation in two forms. Where `one` is the case and system that were asked about, its
// run is there already.
struct Twins {
  Case one, other;
  SystemSpec one_system, other_system;
  Correspondence correspond = Correspondence::kSpread;
  bool gradients = true;  // are compared too
  std::string form = {};  // what the other is: "dynamic shapes", "kernel MATH"
};

// A system's run beside eager's of the same request.
struct BesideEager {
  const Run& run;
  const Run& eager;
  bool is_eager;
  const std::vector<std::uint64_t>& input_sets;
  const std::string& rung;
  std::vector<Fact>& facts;
};

// Exactly one of `look` and `twins` is there.
struct Relation {
  std::string_view name;     // in front of a fact's detail, and so in its signature
  std::string_view meaning;  // one line, for help and documentation
  bool cheap = true;         // one of "cheap": affordable in a campaign
  // What unequal bits mean. Numbers that are further apart than they may spread are kWrong.
  VerdictKind broken = VerdictKind::kWrong;
  // Needs no run of its own; always held.
  void (*look)(const BesideEager&) = nullptr;
  // The forms to run and compare, verified; none where the relation does not apply.
  std::vector<Twins> (*twins)(const Related&) = nullptr;
};

// Every relation. Adding one is one entry in relations.cc.
std::span<const Relation> relations();
const Relation* find_relation(std::string_view name);  // null when unknown

// The relation that a fact says is broken; null for a fact of another kind.
const Relation* relation_of(const Fact& fact);

// Names of a list "gqa-repeated,warm-cold", of "all", of "cheap" or of "none". Throws Error. Those
// that need no run of their own are always held, and in no list.
std::vector<std::string> chosen_relations(const std::string& list);

// The facts of all relations that need no run of their own.
void free_relation_facts(const BesideEager& beside);

// The run of a request, or null after noting that it is wanted.
using Ask = std::function<const Run*(RunRequest)>;

// Facts of the chosen relations that do not hold of `base`, a request whose run there is, or none
// while runs are missing. With `bits_only` those that compare numbers by their spread are left out:
// where exact values are known they say nothing new.
std::vector<Fact> relation_facts(const RunRequest& base, bool is_eager,
                                 const std::vector<std::string>& chosen, bool bits_only,
                                 const std::string& rung, const OpTable& table, const Ask& ask);

// The forms of a relation for a case and system; empty where it does not apply, or where the system
// cannot be asked for one of them.
std::vector<Twins> twins_of(const Relation& relation, const Related& related);

}  // namespace ulpfuzz
