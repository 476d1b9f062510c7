#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bisect/probe.h"

namespace ulpfuzz {

// The releases that "2.6.0..2.15.0" or "2.9.1,2.11.0" means, oldest first, without pre-releases and
// post-releases. `available`: all that an index has, asked only for a range. Throws Error at
// "--versions" for another form, and where fewer than two are left.
std::vector<std::string> parse_versions(const std::string& text,
                                        const std::function<std::vector<std::string>()>& available);

// What the package index that pip is configured for has of torch for this interpreter. Throws
// Error, with pip's reason.
std::vector<std::string> available_releases(const std::string& python);

struct VersionAnswer {
  std::string version;
  Probed probed;
};

struct VersionsFound {
  std::vector<std::string> versions;
  std::vector<VersionAnswer> answers;  // in the order in which they were asked
  Search search;                       // places in `versions`
};

struct VersionOptions {
  std::string python;                                   // makes the environments
  std::uint64_t limit_bytes = std::uint64_t{24} << 30;  // of all environments together
  bool keep = false;                                    // environments that were made for this stay
  std::function<bool()> stopped = [] { return false; };
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  SchedulerOptions scheduler = {};
};

// The release with which a finding begins, or ends. Each is run in the environment torch-VERSION;
// one that is not there is installed for the question and removed after it. A release that cannot
// be installed is untestable. The project's own torch is asked first: what it shows is what is
// looked for, and its answer serves the release of the same number. Throws Error when it was
// stopped.
VersionsFound bisect_versions(const SystemSpec& system, const std::vector<std::string>& versions,
                              Probe& probe, const OpTable& table, const VersionOptions& options);

}  // namespace ulpfuzz
