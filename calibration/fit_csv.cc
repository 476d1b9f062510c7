#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "calibration/fit.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

std::string heading() {
  std::string line = "system,freedom,rung,place,source,sets";
  for (const Statistic s : kStatistics) {
    line += fmt::format(",{0} mean,{0} sd,{0} null", name(s));
  }
  return line;
}

}  // namespace

std::string fit_csv(const std::vector<FitSample>& samples) {
  std::string text = heading() + "\n";
  for (const FitSample& f : samples) {
    std::string system = f.system;
    std::ranges::replace(system, ',', ';');
    text += fmt::format("{},{},{},{},{},{}", system, f.freedom, f.rung, f.place, f.source, f.sets);
    for (const FitSample::Series& s : f.series) {
      text += fmt::format(",{:.2g},{:.2g},{:.2g}", s.mean, s.sd, s.null_sd);
    }
    text += "\n";
  }
  return text;
}

std::vector<FitSample> read_fit_csv(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != heading()) {
    throw Error(path, "begins with: " + heading());
  }
  std::vector<FitSample> samples;
  for (int number = 2; std::getline(file, line); ++number) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    const std::string where = fmt::format("{}:{}", path, number);
    if (cells.size() != 6 + 3 * kStatistics.size()) throw Error(where, "another number of cells");
    try {
      FitSample f{cells[0], cells[1], cells[2], cells[3], cells[4], std::stoi(cells[5])};
      for (std::size_t s = 0; s < kStatistics.size(); ++s) {
        const auto at = [&](std::size_t i) { return std::stod(cells[6 + 3 * s + i]); };
        f.series.at(s) = {at(0), at(1), at(2)};
      }
      samples.push_back(std::move(f));
    } catch (const std::logic_error&) {
      throw Error(where, "a cell that should be a number is none");
    }
  }
  return samples;
}

}  // namespace ulpfuzz
