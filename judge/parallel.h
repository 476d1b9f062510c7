#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ulpfuzz {

// Calls `work` with every item, on as many threads as there are cores, and waits for all. The first
// exception is thrown here, once no thread is at work; items that had not begun are then left out.
template <class Item, class Work>
void for_each_on_all_cores(std::vector<Item>& items, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto serve = [&] {
    for (std::size_t i = next++; i < items.size(); i = next++) {
      try {
        work(items[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = items.size();
      }
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(cores, items.size()); ++i) threads.emplace_back(serve);
    serve();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ulpfuzz
