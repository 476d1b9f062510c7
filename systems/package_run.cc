#include "systems/package_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

using End = WorkerAnswer::End;

// "2.11.0" of "2.11.0+cu130".
std::string release(const std::string& version) { return version.substr(0, version.find('+')); }

void require_same_torch(Slot& slot, const PackageJob& job, const Run& made) {
  const auto torch_of = [](const std::map<std::string, std::string>& versions) {
    const auto it = versions.find("torch");
    return it == versions.end() ? std::string("an unknown one") : release(it->second);
  };
  const std::string of_maker = torch_of(made.versions);
  const std::string of_runner = torch_of(slot.hello(job.runner).versions);
  if (of_maker == of_runner) return;
  throw NotAvailable(to_string(job.request->system),
                     fmt::format("its package is made by torch {}, but {} links torch {}", of_maker,
                                 job.runner.argv.front(), of_runner));
}

// What the runner is told: how the package was made is no affair of its.
RunRequest for_runner(const RunRequest& request) {
  RunRequest told = request;
  std::erase_if(told.system.options, [](const auto& option) { return option.first != "fault"; });
  return told;
}

template <class T>
void add(std::map<std::string, T>& to, const std::map<std::string, T>& more) {
  for (const auto& [key, value] : more) to[key] += value;
}

// The runner's run with what the maker spent and counted.
Run joined(const Run& made, Run ran) {
  add(ran.cpu_seconds, made.cpu_seconds);
  add(ran.counters, made.counters);
  ran.versions.insert(made.versions.begin(), made.versions.end());
  ran.wall_seconds += made.wall_seconds;
  ran.worker_text = made.worker_text + ran.worker_text;
  return ran;
}

// What came of one conversation: a run that `read` makes of a result.
template <class Read>
Run run_of(Slot& slot, const WorkerCommand& command, WorkerAnswer answer, const Read& read) {
  Run run;
  if (answer.end == End::kResult) {
    try {
      run = read(answer.result);
    } catch (const Error& error) {
      slot.drop(command);
      answer.end = End::kCrashed;
      answer.message = error.what();
    }
  }
  if (answer.end != End::kResult) run = failed_run(answer);
  run.worker_text = answer.text;
  return run;
}

}  // namespace

std::optional<Run> run_by_package(Slot& slot, const PackageJob& job, const OpTable& table) {
  WorkerAnswer answer = slot.run(job.maker, job.id, job.limits, job.message);
  if (answer.end == End::kStopped) return std::nullopt;
  UniqueFd package;
  const Run made = run_of(slot, job.maker, std::move(answer),
                          [&](Frame& result) { return read_package(result, package); });
  if (!package) return made;

  require_same_torch(slot, job, made);
  const RunRequest told = for_runner(*job.request);
  const RunRequest* const to_run = &told;
  Limits left = job.limits;
  left.cpu_seconds = std::max(1.0, left.cpu_seconds - made.total_cpu_seconds());
  const int fds[] = {package.get()};
  answer = slot.run(job.runner, job.id, left,
                    run_message(job.id, {&to_run, 1}, left, job.stock, "libtorch", table), fds);
  if (answer.end == End::kStopped) return std::nullopt;
  const auto read = [&](const Frame& result) { return read_result(result, {*job.expected})[0]; };
  return joined(made, run_of(slot, job.runner, std::move(answer), read));
}

}  // namespace ulpfuzz
