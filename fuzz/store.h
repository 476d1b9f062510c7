#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/case.h"
#include "ir/run.h"
#include "ir/verdict.h"

namespace ulpfuzz {

// What a campaign has found, on disk: `store.sqlite` (WAL) and `findings/ID/` with case.json,
// minimal.json, repro.py, report.md. Keys are content hashes, so merging two stores is an
// insert-or-ignore. A case and its verdicts are written in one transaction: a kill at any moment
// loses the case in flight at most. One writer; many readers.
//
//   meta(key, value)                                   schema version
//   environments(hash, json)                           versions of torch, python, CPU, ...
//   cases(hash, json)                                  cases that showed something
//   campaigns(id, seed, systems, started, next_index, cases, valid, cpu_seconds, wall_seconds,
//             system_wall_seconds, only_names, tests)   tests: Verdict::tests
//   claims(campaign, case_index, system, e_value)      statistical ones, judge/error_rate.h
//   verdicts(campaign, kind, system, count)
//   findings(id, kind, system, detail, minimal_hash, state, first_seen)  state: new, reduced, fixed
//   occurrences(finding, case_hash, campaign, case_index, environment, seen)
class Store {
 public:
  // Opens or creates. Throws Error for a store of a newer schema version.
  explicit Store(const std::filesystem::path& folder);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  struct Campaign {
    std::int64_t id = 0;
    std::uint64_t seed = 0;
    std::string systems;
    std::string only;              // Profile::only
    std::uint64_t next_index = 0;  // the first case that has not been judged
    std::int64_t cases = 0, valid = 0;
    double cpu_seconds = 0, wall_seconds = 0, system_wall_seconds = 0;
    std::map<std::pair<std::string, std::string>, std::int64_t>
        verdicts;                  // (kind, system) -> count
    std::int64_t tests = 0;        // begun by the judge
    std::vector<double> e_values;  // of those that claim something
  };
  std::int64_t begin_campaign(std::uint64_t seed, const std::string& systems,
                              const std::string& only = "");
  std::optional<Campaign> last_campaign() const;
  Campaign campaign(std::int64_t id) const;

  struct StoredFinding {
    std::string id;
    Signature signature;
    std::string minimal_hash;
    bool reduced = false;
    std::int64_t occurrences = 0;
    std::filesystem::path folder;
  };
  // One judged batch, atomically: counts, the next index, occurrences.
  struct Progress {
    std::int64_t campaign = 0;
    std::uint64_t next_index = 0;
    std::int64_t cases = 0, valid = 0;                                     // to add
    double cpu_seconds = 0, wall_seconds = 0, system_wall_seconds = 0;     // to add
    std::map<std::pair<std::string, std::string>, std::int64_t> verdicts;  // to add
    struct Claim {
      std::uint64_t case_index = 0;
      std::string system;
      double e_value = 0;
    };
    std::int64_t tests = 0;     // to add
    std::vector<Claim> claims;  // likewise
  };
  void record(const Progress& progress);

  // A finding with its files (name -> text), written to a temporary folder and renamed into place
  // before the row is inserted. Seen again: only the occurrence is added.
  void add_finding(const StoredFinding& finding, const Case& shown_by, std::int64_t campaign,
                   std::uint64_t case_index, const std::map<std::string, std::string>& versions,
                   const std::map<std::string, std::string>& files);
  std::filesystem::path folder_of(const std::string& id) const;  // of a finding's files
  std::vector<StoredFinding> findings() const;
  std::optional<StoredFinding> finding(const std::string& id) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ulpfuzz
