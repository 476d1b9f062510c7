#include "fuzz/campaign.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "fuzz/investigate.h"
#include "fuzz/stop_watch.h"
#include "ir/error.h"
#include "systems/capture.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLong = 600;  // seconds

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Loop {
 public:
  Loop(const CampaignOptions& options, const OpTable& table, const std::atomic<bool>& stop,
       const std::function<void(const CampaignStatus&)>& show)
      : options_(options),
        table_(table),
        stop_(stop),
        show_(show),
        profile_(options.profile),
        store_(options.store),
        scheduler_(table, options.scheduler) {
    judge_.relations = options.relations;
    judge_.systems = options.systems.empty() ? parse_systems("inductor") : options.systems;
    std::string names;
    for (const SystemSpec& system : judge_.systems) {
      names += (names.empty() ? "" : ",") + to_string(system);
    }
    seed_ = options.seed;
    if (const auto last = options.resume ? store_.last_campaign() : std::nullopt) {
      campaign_ = last->id;
      seed_ = last->seed;
      next_ = last->next_index;
      judge_.systems = parse_systems(last->systems);
      profile_.only = last->only;
    } else {
      campaign_ = store_.begin_campaign(seed_, names, profile_.only);
    }
  }

  CampaignSummary run() {
    const StopWatch watch(stop_, scheduler_);
    while (!finished()) {
      batch();
      tick("");
    }
    CampaignSummary summary;
    summary.cases = status_.cases;
    summary.valid = status_.valid;
    summary.verdicts = verdicts_;
    summary.findings = follow_up_.found();
    summary.wall_seconds = seconds_since(start_);
    const SchedulerUsage usage = scheduler_.usage();
    summary.cpu_seconds = own_cpu_seconds() - own_cpu_at_start_ + usage.system_cpu_seconds;
    summary.share_in_systems =
        summary.wall_seconds > 0 ? usage.system_wall_seconds / summary.wall_seconds : 0;
    const Store::Campaign all = store_.campaign(campaign_);
    summary.errors = error_rate(all.tests, all.e_values);
    summary.stopped = stop_;
    return summary;
  }

 private:
  double seconds_left() const {
    return options_.seconds ? *options_.seconds - seconds_since(start_) : 1e9;
  }

  bool finished() const {
    return stop_ || seconds_left() <= 0 || (options_.cases && status_.cases >= *options_.cases);
  }

  std::int64_t jobs() const {
    const int asked = options_.scheduler.jobs;
    return std::max<std::int64_t>(1, asked > 0 ? asked : std::thread::hardware_concurrency());
  }

  // The first batch is small, so that something is seen soon, and so are all of a short campaign,
  // whose findings are to be reduced before it ends; the last one is what there is time for.
  std::int64_t batch_size() const {
    const bool small = status_.cases == 0 || options_.seconds.value_or(kLong) < kLong;
    std::int64_t size = (small ? 1 : 2) * jobs() * std::max(1, options_.scheduler.pack / 2);
    if (options_.cases) size = std::min(size, *options_.cases - status_.cases);
    if (options_.seconds && seconds_a_case_ > 0) {
      size = std::min(size, static_cast<std::int64_t>(seconds_left() / seconds_a_case_));
    }
    return std::max<std::int64_t>(size, 1);
  }

  void batch() {
    const SchedulerUsage before = scheduler_.usage();
    const Clock::time_point began = Clock::now();
    const double own_before = own_cpu_seconds();
    const std::int64_t n = batch_size();
    tick("running " + std::to_string(n) + " programs");
    std::vector<Case> cases;
    std::vector<std::uint64_t> numbers;  // of the cases in the stream
    for (std::uint64_t i = next_; i < next_ + static_cast<std::uint64_t>(n) && !stop_; ++i) {
      if (std::optional<Case> c = runnable(generate_case(seed_, i, table_, profile_))) {
        cases.push_back(std::move(*c));
        numbers.push_back(i);
      }
    }
    const std::vector<Judged> judged = judge_cases(cases, judge_, table_, scheduler_);
    if (stop_) return;  // a half-run batch is run again by --resume
    if (status_.cases > 0) seconds_a_case_ = seconds_since(began) / static_cast<double>(n);

    Store::Progress progress;
    progress.campaign = campaign_;
    progress.next_index = next_ + static_cast<std::uint64_t>(n);
    progress.cases = n;
    for (std::size_t i = 0; i < judged.size(); ++i) {
      progress.valid += valid(judged[i]) ? 1 : 0;
      for (const Verdict& verdict : judged[i].verdicts) {
        progress.tests += verdict.tests;
        for (const double e_value : claimed(verdict)) {
          progress.claims.push_back({numbers[i], verdict.system, e_value});
        }
        ++progress.verdicts[{std::string(name(verdict.primary)), verdict.system}];
      }
    }
    status_.cases += n;
    status_.valid += progress.valid;
    for (const auto& [key, count] : progress.verdicts) {
      verdicts_[key] += count;
      status_.verdicts[key.first] += count;
    }
    tick("");
    for (const auto& [verdict, i] : worth_a_look(judged)) {
      if (!stop_) follow_up(cases[i], *verdict, numbers[i]);
    }
    next_ += static_cast<std::uint64_t>(n);
    const SchedulerUsage after = scheduler_.usage();
    progress.cpu_seconds =
        own_cpu_seconds() - own_before + after.system_cpu_seconds - before.system_cpu_seconds;
    progress.wall_seconds = seconds_since(began);
    progress.system_wall_seconds = after.system_wall_seconds - before.system_wall_seconds;
    if (!stop_) store_.record(progress);
  }

  // A module with its program, or nothing where no program can say what it does: such a case
  // counts, and is not valid.
  std::optional<Case> runnable(Case c) {
    if (!c.module) return c;
    try {
      return capture(c, scheduler_);
    } catch (const NotAvailable&) {
      throw;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // The findings of a batch with the indices of their cases, the gravest first: there may not be
  // time for all.
  static std::vector<std::pair<const Verdict*, std::size_t>> worth_a_look(
      const std::vector<Judged>& judged) {
    std::vector<std::pair<const Verdict*, std::size_t>> findings;
    for (std::size_t i = 0; i < judged.size(); ++i) {
      for (const Verdict& verdict : judged[i].verdicts) {
        if (is_finding(verdict.primary)) findings.emplace_back(&verdict, i);
      }
    }
    std::ranges::stable_sort(findings, {}, [](const auto& f) { return f.first->primary; });
    return findings;
  }

  // Eager ran it: the case asks a question at all.
  static bool valid(const Judged& judged) {
    for (const Evidence& e : judged.evidence) {
      if (to_string(e.request.system) == "eager@py") return e.run.completed();
    }
    return false;
  }

  void follow_up(const Case& c, const Verdict& verdict, std::uint64_t index) {
    const double share = 0.5 * std::max(seconds_left(), 0.0) * static_cast<double>(jobs());
    FollowUp::Limits limits;
    limits.cpu_budget_seconds = std::min(share, options_.reduction_cpu_seconds);
    limits.stopped = [this] { return seconds_left() <= 0; };
    limits.given_up = [this] { return stop_.load(); };
    limits.show = [this](const std::string& doing) { tick(doing); };
    const FollowUp::Outcome outcome = follow_up_.follow(c, verdict, campaign_, index, limits);
    if (outcome == FollowUp::Outcome::kLost) return;
    ++status_.occurrences;
    if (outcome == FollowUp::Outcome::kNew) ++status_.findings;
    tick("");
  }

  void tick(const std::string& doing) {
    if (!show_) return;
    status_.wall_seconds = seconds_since(start_);
    if (options_.seconds) status_.seconds_left = std::max(0.0, seconds_left());
    status_.doing = doing;
    show_(status_);
  }

  const CampaignOptions& options_;
  const OpTable& table_;
  const std::atomic<bool>& stop_;
  const std::function<void(const CampaignStatus&)>& show_;
  Profile profile_;
  Store store_;
  Scheduler scheduler_;
  JudgeOptions judge_;
  FollowUp follow_up_{store_, table_, judge_, scheduler_};
  std::int64_t campaign_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t next_ = 0;
  double seconds_a_case_ = 0;  // of the last batch; 0: not known, as the first one warms up
  std::map<std::pair<std::string, std::string>, std::int64_t> verdicts_;
  CampaignStatus status_;
  const Clock::time_point start_ = Clock::now();
  const double own_cpu_at_start_ = own_cpu_seconds();
};

}  // namespace

CampaignSummary run_campaign(const CampaignOptions& options, const OpTable& table,
                             const std::atomic<bool>& stop,
                             const std::function<void(const CampaignStatus&)>& show) {
  return Loop(options, table, stop, show).run();
}

}  // namespace ulpfuzz
