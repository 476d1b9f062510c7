#include "systems/run_cache.h"

namespace ulpfuzz {
namespace {

std::size_t size_of(const Run& run) {
  std::size_t bytes = sizeof(Run) + run.exception_message.size() + run.worker_text.size();
  for (const Execution& execution : run.executions) {
    for (const TensorResult& tensor : execution.tensors) {
      bytes += sizeof(TensorResult) + tensor.bytes.size();
    }
  }
  return bytes;
}

Company company_of(const Run& run) {
  if (run.stock) return Company::kStock;
  return run.packed_with == 1 ? Company::kSingle : Company::kPacked;
}

}  // namespace

std::optional<Run> RunCache::find(const std::string& hash, Company company) {
  const auto it = by_hash_.find(hash);
  if (it == by_hash_.end() || company_of(it->second->run) < company) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->run;
}

void RunCache::add(const std::string& hash, const Run& run) {
  if (const auto it = by_hash_.find(hash); it != by_hash_.end()) {
    if (company_of(run) < company_of(it->second->run)) return;
    remove(it->second);
  }
  const std::size_t bytes = size_of(run);
  if (bytes > max_bytes_ / 8) return;  // one giant does not push out everything else
  entries_.push_front({hash, run, bytes});
  by_hash_[hash] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > max_bytes_) remove(std::prev(entries_.end()));
}

void RunCache::remove(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes;
  by_hash_.erase(entry->hash);
  entries_.erase(entry);
}

}  // namespace ulpfuzz
