#include "fuzz/campaign.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "fuzz/investigate.h"
#include "ir/error.h"
#include "report/report.h"
#include "systems/capture.h"
#include "systems/process.h"

namespace ulpfuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLong = 600;  // seconds

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::multiset<std::string> operators(const Program& program) {
  std::multiset<std::string> ops;
  for (const Node& node : program.nodes) ops.insert(node.op);
  return ops;
}

// A finding that this campaign knows, as a pattern: another case with the same signature that
// contains its operators is taken for the same thing and only counted.
struct Known {
  Signature signature;
  std::multiset<std::string> operators;
  Store::StoredFinding stored;
};

std::map<std::string, std::string> files_of(const Finding& finding, const OpTable& table) {
  return {{"case.json", to_pretty_json(finding.original)},
          {"minimal.json", to_pretty_json(finding.minimal)},
          {"repro.py", repro_py(finding, table)},
          {"report.md", report_md(finding, table)}};
}

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
    for (const Store::StoredFinding& finding : store_.findings()) {
      const auto minimal = finding.folder / "minimal.json";
      if (std::filesystem::exists(minimal)) {
        known_.push_back(
            {finding.signature, operators(read_case(minimal.string()).program), finding});
      }
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
    summary.findings = found_;
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
    const Signature wanted = signature(verdict);
    const std::multiset<std::string> ops = operators(c.program);
    for (Known& known : known_) {
      const bool contained =
          std::includes(ops.begin(), ops.end(), known.operators.begin(), known.operators.end());
      if (known.signature != wanted || !contained) continue;
      store_.add_finding(known.stored, c, campaign_, index, {}, {});
      ++status_.occurrences;
      return;
    }
    tick("reducing " + to_string(wanted));
    InvestigateOptions how;
    const double share = 0.5 * std::max(seconds_left(), 0.0) * static_cast<double>(jobs());
    how.cpu_budget_seconds = std::min(share, options_.reduction_cpu_seconds);
    how.look_if_reportable = true;
    how.stopped = [this] { return stop_ || seconds_left() <= 0; };
    how.progress = [&](const ReductionProgress& p) {
      tick("reducing " + to_string(wanted) + ": " + std::string(p.pass) + ", " +
           std::to_string(p.steps) + " steps");
    };
    const std::optional<Finding> finding = investigate(c, verdict, judge_, table_, scheduler_, how);
    if (!finding || stop_) return;
    Store::StoredFinding stored;
    stored.id = finding->id;
    stored.signature = finding->signature;
    stored.minimal_hash = hashes(finding->minimal).whole;
    stored.reduced = finding->reduced;
    stored.folder = options_.store / "findings" / finding->id;
    store_.add_finding(stored, c, campaign_, index, finding->system_run.versions,
                       files_of(*finding, table_));
    known_.push_back({wanted, operators(finding->minimal.program), stored});
    found_.push_back({stored, reportable(*finding, table_)});
    ++status_.findings;
    ++status_.occurrences;
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
  std::int64_t campaign_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t next_ = 0;
  double seconds_a_case_ = 0;  // of the last batch; 0: not known, as the first one warms up
  std::vector<Known> known_;
  std::vector<CampaignFinding> found_;
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
