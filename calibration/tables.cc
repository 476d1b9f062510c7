#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibration/calibrate.h"
#include "calibration/peers.h"

namespace ulpfuzz {
namespace {

// "0.12 % (0.05 to 0.25)"; "-" of nothing.
std::string percent(const Proportion& p) {
  if (p.of == 0) return "-";
  return fmt::format("{:.3g} % ({:.3g} to {:.3g})", 100 * p.rate, 100 * p.low, 100 * p.high);
}

std::string share(const Proportion& p) {
  return p.of == 0 ? "-" : fmt::format("{}/{}", p.count, p.of);
}

Proportion plus(const Proportion& a, const Proportion& b) {
  return proportion(a.count + b.count, a.of + b.of);
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + "\n";
}

std::string heading(const std::vector<std::string>& cells) {
  std::string text = row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) text += " --- |";
  return text + "\n";
}

Proportion rate_of(const LegalResult& r, VerdictKind kind) {
  const auto it = r.verdicts.find(kind);
  return it == r.verdicts.end() ? proportion(0, r.runs) : it->second;
}

// Crashes, layouts, bits that differ: findings without a column of their own.
Proportion other_findings(const LegalResult& r) {
  std::int64_t count = 0;
  for (const auto& [kind, rate] : r.verdicts) {
    const bool named = kind == VerdictKind::kWrong || kind == VerdictKind::kNanMismatch ||
                       kind == VerdictKind::kLessAccurate;
    if (is_finding(kind) && !named) count += rate.count;
  }
  return proportion(count, r.runs);
}

std::string legal_table(const Calibration& c) {
  if (c.legal.empty()) return "";
  std::string text = "## Legal systems\n\n" +
                     heading({"system", "programs", "runs", "cases with a finding", "wrong",
                              "nan-mismatch", "less-accurate", "other findings", "undecided"});
  for (const LegalResult& r : c.legal) {
    text += row({r.population, r.where, std::to_string(r.runs), percent(r.cases),
                 percent(rate_of(r, VerdictKind::kWrong)),
                 percent(rate_of(r, VerdictKind::kNanMismatch)),
                 percent(rate_of(r, VerdictKind::kLessAccurate)), percent(other_findings(r)),
                 percent(rate_of(r, VerdictKind::kUndecided))});
  }
  return text + "\n";
}

std::string alarms_table(const Calibration& c) {
  std::string text;
  for (const LegalResult& r : c.legal) {
    for (const LegalResult::Alarm& a : r.alarms) {
      std::string operators;
      for (const std::string& op : a.operators) operators += (operators.empty() ? "" : ", ") + op;
      std::string detail = a.detail;
      std::ranges::replace(detail, '|', '/');
      std::ranges::replace(detail, '\n', ' ');
      const std::string adjudged = r.synthetic ? "false" : a.adjudication;
      text += row({r.synthetic ? r.population : "", a.signature, a.place, operators,
                   adjudged.empty() ? "?" : adjudged, a.case_hash.substr(0, 12), detail});
    }
  }
  if (text.empty()) return "";
  return "## Alarms\n\n" +
         heading({"", "alarm", "about", "operators left", "adjudged", "case", "detail"}) + text +
         "\n";
}

std::string faults_table(const Calibration& c) {
  if (c.faults.empty()) return "";
  std::vector<std::string> cells{"fault",   "effect",       "system", "programs",    "cases",
                                 "without", "large, found", "found",  "found within"};
  for (const PeerJudge& peer : peer_judges()) cells.emplace_back(peer.name);
  std::string text = "## Planted faults\n\n" + heading(cells);
  for (const FaultResult& r : c.faults) {
    std::vector<std::string> line{r.fault,
                                  r.effect,
                                  r.system,
                                  r.where,
                                  std::to_string(r.cases),
                                  std::to_string(r.without_effect),
                                  share(r.large),
                                  share(r.single),
                                  share(r.within)};
    for (std::size_t i = 1; i < r.judges.size(); ++i) line.push_back(share(r.judges[i].alarms));
    line.resize(cells.size(), "-");
    text += row(line);
  }
  return text + "\n";
}

std::string fit_table(const Calibration& c) {
  if (c.fit.empty()) return "";
  std::string text = "## Fit: correct systems against legal executions\n\n" +
                     heading({"rung", "statistic", "tensors", "mean", "median", "99 %", "largest",
                              "margin: limit", "model", "beyond it", "misfit: limit", "model"});
  for (const FitResult& f : c.fit) {
    const auto number = [](double x) { return fmt::format("{:.2f}", x); };
    text += row({f.rung, f.statistic, std::to_string(f.tensors), number(f.mean), number(f.median),
                 number(f.high), number(f.largest), number(f.margin), number(f.allowed_margin),
                 percent(f.beyond), number(f.misfit), number(f.allowed_misfit)});
  }
  return text + "\n";
}

// Each judge's false alarms beside what it finds.
std::string judges_table(const Calibration& c) {
  struct Line {
    Proportion synthetic, real, faults;
  };
  std::vector<std::string> names{"ulpfuzz"};
  for (const PeerJudge& peer : peer_judges()) names.emplace_back(peer.name);
  std::map<std::string, Line> lines;
  for (const LegalResult& r : c.legal) {
    if (r.population == "eager@py") continue;  // peers compare with it
    for (const Alarms& a : r.judges) {
      Proportion& sum = r.synthetic ? lines[a.judge].synthetic : lines[a.judge].real;
      sum = plus(sum, a.alarms);
    }
  }
  for (const FaultResult& r : c.faults) {
    for (const Alarms& a : r.judges) lines[a.judge].faults = plus(lines[a.judge].faults, a.alarms);
  }
  std::string text = "## Judges side by side\n\n" +
                     heading({"judge", "alarms: synthetic legal runs", "alarms: real systems",
                              "found: planted faults with an effect"});
  for (const std::string& name : names) {
    const Line& line = lines[name];
    text += row({name, percent(line.synthetic), percent(line.real), percent(line.faults)});
  }
  return text + "\n";
}

std::string costs_table(const Calibration& c) {
  std::string text =
      "## Cost\n\n" + heading({"part", "cases", "verdicts", "CPU s a case, judge alone",
                               "CPU s a verdict, judge alone", "CPU s a case, systems"});
  const auto each = [](double seconds, std::int64_t of) {
    return of == 0 ? std::string("-") : fmt::format("{:.3g}", seconds / static_cast<double>(of));
  };
  for (const Cost& cost : c.costs) {
    text +=
        row({cost.part, std::to_string(cost.cases), std::to_string(cost.verdicts),
             each(cost.judge_cpu_seconds, cost.cases), each(cost.judge_cpu_seconds, cost.verdicts),
             each(cost.system_cpu_seconds, cost.cases)});
  }
  return text + "\n";
}

std::string requirements_table(const Calibration& c) {
  std::string text = "## What must hold\n\n" + heading({"", "what", "seen"});
  for (const Requirement& r : requirements(c))
    text += row({r.holds ? "yes" : "**no**", r.what, r.seen});
  return text;
}

}  // namespace

std::string tables(const Calibration& c) {
  std::string text = fmt::format(
      "Judge model {}. Rates with 95 % intervals (Clopper and Pearson).\n\n", c.judge_model);
  if (c.stopped) text += "Stopped before the end.\n\n";
  return text + legal_table(c) + alarms_table(c) + fit_table(c) + faults_table(c) +
         judges_table(c) + costs_table(c) + requirements_table(c);
}

}  // namespace ulpfuzz
