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

}  // namespace

std::optional<Run> RunCache::find(const std::string& hash, bool alone) {
  const auto it = by_hash_.find(hash);
  if (it == by_hash_.end() || (alone && it->second->run.packed_with > 1)) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->run;
}

void RunCache::add(const std::string& hash, const Run& run) {
  if (const auto it = by_hash_.find(hash); it != by_hash_.end()) {
    if (run.packed_with > 1 && it->second->run.packed_with == 1) return;
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
