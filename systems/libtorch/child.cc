#include "systems/libtorch/child.h"

#include <ATen/ATen.h>
#include <sys/resource.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "systems/libtorch/execute.h"
#include "systems/libtorch/faults.h"
#include "systems/libtorch/kernels.h"
#include "systems/libtorch/package.h"
#include "systems/libtorch/results.h"
#include "systems/libtorch/switches.h"

namespace ulpfuzz::libtorch {
namespace {

constexpr std::size_t kLongestMessage = 16384;

// What does not fit under the memory limit: not an answer of the operator's.
struct OutOfMemory {};

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void limit(__rlimit_resource_t resource, rlim_t soft, rlim_t above) {
  rlimit now{};
  ::getrlimit(resource, &now);
  const rlim_t hard = std::min(now.rlim_max, soft + above);
  const rlimit wanted{std::min(soft, hard), hard};
  if (::setrlimit(resource, &wanted) != 0) throw Error("cannot set a limit");
}

void set_limits(const Json& limits) {
  limit(RLIMIT_CORE, 0, 0);
  const double seconds = limits.at("cpu_seconds").get<double>();
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::max(1.0, std::ceil(seconds))), 5);
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t mapped = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  limit(RLIMIT_AS, mapped + limits.at("memory_bytes").get<rlim_t>(), 0);
}

// The class that Python's own call would raise.
std::string python_class(const c10::Error& error) {
  if (dynamic_cast<const c10::IndexError*>(&error) != nullptr) return "IndexError";
  if (dynamic_cast<const c10::ValueError*>(&error) != nullptr) return "ValueError";
  if (dynamic_cast<const c10::TypeError*>(&error) != nullptr) return "TypeError";
  if (dynamic_cast<const c10::LinAlgError*>(&error) != nullptr) return "LinAlgError";
  if (dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr) {
    return "NotImplementedError";
  }
  return "RuntimeError";
}

bool is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const std::string_view what = error.what_without_backtrace();
  return what.find("can't allocate memory") != std::string_view::npos ||
         what.find("not enough memory") != std::string_view::npos;
}

class ServedRun {
 public:
  ServedRun(Channel& channel, const Json& message, int package)
      : channel_(channel),
        id_(message.at("id").get<std::int64_t>()),
        message_(message),
        package_fd_(package) {
    if ((message.at("system") == "aoti") != (package >= 0)) throw Error("a package goes with aoti");
    if (const auto it = message.find("options"); it != message.end()) {
      for (const auto& [name, value] : it->items()) {
        if (name != "fault") throw Error("options", "there is no option '" + name + "'");
        fault_ = value.get<std::string>();
      }
    }
  }

  void serve() {
    try {
      enter(Stage::kBuild);
      set_limits(message_.at("limits"));
      Environment environment = environment_from({message_.at("environment"), "environment"});
      fault_in_environment(fault_, environment);
      apply(environment);
      Json runs = Json::array();
      for (const Json& item : message_.at("items")) runs.push_back(run_item(item));
      if (fault_instead_of_result(fault_, channel_)) return;
      const int fds[] = {elements_.fd()};
      send({{"type", "result"}, {"runs", std::move(runs)}, {"fds", 1}}, fds);
    } catch (const OutOfMemory&) {
      send({{"type", "memory"}});
    } catch (const std::bad_alloc&) {
      send({{"type", "memory"}});
    }
  }

 private:
  Json run_item(const Json& item) {
    seconds_.clear();
    const auto start = std::chrono::steady_clock::now();
    enter(Stage::kBuild);
    // A message that cannot be read is not the system's answer: it ends the child.
    const Case c = case_from({item.at("case"), "case"});
    Json run = {{"status", "completed"}, {"counters", Json::object()}, {"kernels", Json::array()}};
    try {
      fill(run, c, item);
    } catch (const c10::Error& error) {
      if (is_out_of_memory(error)) throw OutOfMemory();
      raised(run, python_class(error), error.what_without_backtrace());
    } catch (const std::bad_alloc&) {
      throw OutOfMemory();
    } catch (const std::exception& error) {
      raised(run, "RuntimeError", error.what());
    }
    if (run["status"] == "completed") enter(Stage::kEnd);
    run["stage"] = name(stage_);
    count_seconds();
    run["cpu_seconds"] = seconds_;
    run["versions"] = versions();
    run["wall_seconds"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return run;
  }

  void fill(Json& run, const Case& c, const Json& item) {
    std::optional<Package> package;
    if (package_fd_ >= 0) {
      package.emplace(package_fd_, at::Device(c.environment.device));
      forward_ = [&package](const std::vector<at::Tensor>& inputs) { return package->run(inputs); };
    }
    std::vector<std::string> written;
    for (const Json& input : item.at("inputs")) {
      if (input.at("written").get<bool>()) written.push_back(input.at("name").get<std::string>());
    }
    Json executions = Json::array();
    const Json& sets = item.at("input_sets");
    for (const Json& set : sets) {
      const std::string digits = set.get<std::string>();
      Outcome outcome = execute(
          c, std::stoull(digits),
          [this](Stage stage) {
            enter(stage);
            if (stage == Stage::kForward) fault_before_forward(fault_);
          },
          forward_);
      fault_in_results(fault_, outcome);
      executions.push_back(
          {{"input_set", digits}, {"tensors", describe(c, written, outcome, elements_)}});
    }
    run["executions"] = std::move(executions);
    if (message_.value("profile", false) && !sets.empty()) {
      run["kernels"] = watch_kernels(c, std::stoull(sets.front().get<std::string>()));
    }
  }

  Json watch_kernels(const Case& c, std::uint64_t input_set) {
    enter(Stage::kProfile);
    KernelWatch watch;
    execute(
        c, input_set, [&](Stage stage) { watch.phase(std::string(name(stage))); }, forward_);
    Json kernels = Json::array();
    for (const KernelRecord& record : watch.found()) kernels.push_back(json_of(record));
    return kernels;
  }

  static void raised(Json& run, std::string type, std::string message) {
    run["status"] = "raised";
    run.erase("executions");
    run["exception"] = {{"type", std::move(type)}, {"message", message.substr(0, kLongestMessage)}};
  }

  void enter(Stage stage) {
    count_seconds();
    stage_ = stage;
    if (stage != Stage::kEnd) send({{"type", "stage"}, {"stage", name(stage)}});
  }

  void count_seconds() {
    const double now = cpu_seconds();
    seconds_[std::string(name(stage_))] += now - since_;
    since_ = now;
  }

  void send(Json message, std::span<const int> fds = {}) {
    message["id"] = id_;
    const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!channel_.send(text, fds)) throw Error("the supervisor is gone");
  }

  Channel& channel_;
  const std::int64_t id_;
  const Json& message_;
  const int package_fd_;
  Forward forward_;  // of a package
  std::string fault_;
  ElementFile elements_;
  Stage stage_ = Stage::kStart;
  std::map<std::string, double> seconds_;
  double since_ = cpu_seconds();
};

}  // namespace

std::map<std::string, std::string> versions() {
  return {{"torch", TORCH_VERSION}, {"cpu_capability", at::get_cpu_capability()}};
}

void serve_run(Channel& channel, const Json& message, int package) {
  ServedRun(channel, message, package).serve();
}

}  // namespace ulpfuzz::libtorch
