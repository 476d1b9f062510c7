#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "systems/scheduler.h"

namespace ulpfuzz {

// Tells the scheduler to stop as soon as the user does, so that nobody waits for a pack to end.
class StopWatch {
 public:
  StopWatch(const std::atomic<bool>& stop, Scheduler& scheduler)
      : thread_([&stop, &scheduler](const std::stop_token& over) {
          while (!over.stop_requested() && !stop) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          }
          if (stop) scheduler.stop();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace ulpfuzz
