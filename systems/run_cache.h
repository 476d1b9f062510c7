#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "ir/run.h"
#include "systems/scheduler.h"

namespace ulpfuzz {

// Runs by the hash of their request, the least recently used forgotten first. Not thread-safe.
class RunCache {
 public:
  explicit RunCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Only a run made in such company, or in a stricter one.
  std::optional<Run> find(const std::string& hash, Company company);
  // A run made in a stricter company is not replaced.
  void add(const std::string& hash, const Run& run);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string hash;
    Run run;
    std::size_t bytes;
  };
  void remove(std::list<Entry>::iterator entry);

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string, std::list<Entry>::iterator, std::less<>> by_hash_;
};

}  // namespace ulpfuzz
