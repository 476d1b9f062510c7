#include "systems/fault.h"

#include <algorithm>
#include <charconv>

#include "ir/error.h"
#include "ir/verify.h"
#include "systems/fault_families.h"
#include "systems/fault_planter.h"

namespace ulpfuzz {
namespace {

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> list;
#define ULPFUZZ_APPEND(name) \
  for (const Fault& fault : name##_faults()) list.push_back(fault);
    ULPFUZZ_FAULT_FAMILIES(ULPFUZZ_APPEND)
#undef ULPFUZZ_APPEND
    return list;
  }();
  return all;
}

struct Parsed {
  const Fault* fault;
  double value = 0;
};

Parsed parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const auto found =
      std::ranges::find_if(faults(), [&](const Fault& f) { return f.kind.name == name; });
  if (found == faults().end()) {
    std::string known;
    for (const Fault& f : faults()) {
      known += (known.empty() ? "" : ", ") + std::string(f.kind.name) +
               (f.kind.takes_value() ? "=X" : "");
    }
    throw Error("fault", "there is no fault '" + name + "'; there are " + known);
  }
  Parsed parsed{&*found};
  const bool takes_value = found->kind.takes_value();
  if (takes_value != (equals != std::string_view::npos)) {
    throw Error(
        "fault",
        "'" + name + (takes_value ? "' needs a number: " + name + "=1.1" : "' takes no value"));
  }
  if (!takes_value) return parsed;
  const std::string_view digits = text.substr(equals + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Error("fault", "'" + std::string(digits) + "' is not a number");
  }
  return parsed;
}

}  // namespace

std::string_view name(FaultEffect effect) {
  switch (effect) {
    case FaultEffect::kSemantic:
      return "semantic";
    case FaultEffect::kSmall:
      return "small";
    case FaultEffect::kMetadata:
      return "metadata";
    case FaultEffect::kEvent:
      return "event";
  }
  return "";
}

std::span<const FaultKind> fault_kinds() {
  static const std::vector<FaultKind> kinds = [] {
    std::vector<FaultKind> list;
    for (const Fault& fault : faults()) list.push_back(fault.kind);
    return list;
  }();
  return kinds;
}

const FaultKind& fault_kind(std::string_view fault) { return parse(fault).fault->kind; }

Case plant(const Case& lowered, std::string_view fault, const OpTable& table, bool& planted) {
  const Parsed parsed = parse(fault);
  planted = false;
  if (parsed.fault->plant == nullptr) return lowered;
  try {
    Planter planter(bind_symbols(lowered), table);
    if (!parsed.fault->plant(planter, parsed.value)) return lowered;
    Case result = std::move(planter).take();
    result.module.reset();  // Python systems would run the library's code
    verify(result, table);
    planted = true;
    return result;
  } catch (const Error&) {  // of a program with writes, what was changed may not be read so
    return lowered;
  }
}

}  // namespace ulpfuzz
