#include "fuzz/store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fuzz/sqlite.h"
#include "ir/hash.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSchemaVersion = 3;

constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS environments(hash TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cases(hash TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS campaigns(
  id INTEGER PRIMARY KEY, seed TEXT NOT NULL, systems TEXT NOT NULL, started INTEGER NOT NULL,
  next_index INTEGER NOT NULL DEFAULT 0, cases INTEGER NOT NULL DEFAULT 0,
  valid INTEGER NOT NULL DEFAULT 0, cpu_seconds REAL NOT NULL DEFAULT 0,
  wall_seconds REAL NOT NULL DEFAULT 0, system_wall_seconds REAL NOT NULL DEFAULT 0,
  only_names TEXT NOT NULL DEFAULT '', tests INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS claims(
  campaign INTEGER NOT NULL REFERENCES campaigns(id), case_index INTEGER NOT NULL,
  system TEXT NOT NULL, e_value REAL NOT NULL);
CREATE TABLE IF NOT EXISTS verdicts(
  campaign INTEGER NOT NULL REFERENCES campaigns(id), kind TEXT NOT NULL, system TEXT NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY(campaign, kind, system));
CREATE TABLE IF NOT EXISTS findings(
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, system TEXT NOT NULL, detail TEXT NOT NULL,
  minimal_hash TEXT NOT NULL, state TEXT NOT NULL, first_seen INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS occurrences(
  finding TEXT NOT NULL REFERENCES findings(id), case_hash TEXT NOT NULL REFERENCES cases(hash),
  campaign INTEGER NOT NULL REFERENCES campaigns(id), case_index INTEGER NOT NULL,
  environment TEXT NOT NULL REFERENCES environments(hash), seen INTEGER NOT NULL,
  PRIMARY KEY(finding, case_hash, campaign, environment));
)";

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw Error(path.string(), "cannot be written");
}

}  // namespace

class Store::Impl {
 public:
  explicit Impl(fs::path folder_path)
      : folder(std::move(folder_path)),
        db((fs::create_directories(folder / "findings"), folder / "store.sqlite")) {
    db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON");
    refuse_programs();
    Transaction transaction(db);
    db.execute(kSchema);
    Statement version(db, "SELECT value FROM meta WHERE key = 'schema'");
    if (!version.step()) {
      Statement(db, "INSERT INTO meta VALUES('schema', ?)", std::to_string(kSchemaVersion)).step();
    } else if (const auto found = number<std::int64_t>(version.text(0)); found > kSchemaVersion) {
      throw Error(folder.string(),
                  fmt::format("store of schema version {}; this ulpfuzz knows up to {}", found,
                              kSchemaVersion));
    } else if (found < kSchemaVersion) {
      if (found < 2) {
        db.execute("ALTER TABLE campaigns ADD COLUMN only_names TEXT NOT NULL DEFAULT ''");
      }
      db.execute("ALTER TABLE campaigns ADD COLUMN tests INTEGER NOT NULL DEFAULT 0");
      Statement(db, "UPDATE meta SET value = ? WHERE key = 'schema'",
                std::to_string(kSchemaVersion))
          .step();
    }
    transaction.commit();
  }

  // A view or a trigger in a stranger's database is code that runs with our statements, maybe
  // without end. A store has none.
  void refuse_programs() {
    Statement row(db,
                  "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR "
                  "sql LIKE 'CREATE VIRTUAL%'");
    if (!row.step()) return;
    throw Error(folder.string(),
                "no store of ulpfuzz: its database has the " + row.text(0) + " " + row.text(1));
  }

  // What this store wrote as text.
  template <class T>
  T number(const std::string& text) const {
    T value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) {
      throw Error(folder.string(), "no store of ulpfuzz: '" + text + "' stands for a number");
    }
    return value;
  }

  // Written beside its place and renamed into it, so that a folder that is there is whole.
  void write_folder(const std::string& id, const std::map<std::string, std::string>& files) {
    const fs::path target = folder / "findings" / id;
    if (fs::exists(target)) return;
    const fs::path draft = folder / "findings" / fmt::format(".{}.{}", id, ::getpid());
    fs::remove_all(draft);
    fs::create_directories(draft);
    for (const auto& [name, text] : files) write_file(draft / name, text);
    fs::rename(draft, target);
  }

  void add_counts(const Progress& p) {
    Statement(db,
              "UPDATE campaigns SET next_index = ?, cases = cases + ?, valid = valid + ?, "
              "cpu_seconds = cpu_seconds + ?, wall_seconds = wall_seconds + ?, "
              "system_wall_seconds = system_wall_seconds + ?, tests = tests + ? WHERE id = ?",
              static_cast<std::int64_t>(p.next_index), p.cases, p.valid, p.cpu_seconds,
              p.wall_seconds, p.system_wall_seconds, p.tests, p.campaign)
        .step();
    for (const Progress::Claim& claim : p.claims) {
      Statement(db, "INSERT INTO claims VALUES(?, ?, ?, ?)", p.campaign,
                static_cast<std::int64_t>(claim.case_index), claim.system, claim.e_value)
          .step();
    }
    for (const auto& [key, count] : p.verdicts) {
      Statement(db,
                "INSERT INTO verdicts VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + "
                "excluded.count",
                p.campaign, key.first, key.second, count)
          .step();
    }
  }

  Campaign read_campaign(std::int64_t id) {
    Campaign c;
    Statement row(db,
                  "SELECT seed, systems, next_index, cases, valid, cpu_seconds, wall_seconds, "
                  "system_wall_seconds, only_names, tests FROM campaigns WHERE id = ?",
                  id);
    if (!row.step()) throw Error(folder.string(), fmt::format("no campaign {}", id));
    c.id = id;
    c.seed = number<std::uint64_t>(row.text(0));
    c.systems = row.text(1);
    c.next_index = static_cast<std::uint64_t>(row.integer(2));
    c.cases = row.integer(3);
    c.valid = row.integer(4);
    c.cpu_seconds = row.real(5);
    c.wall_seconds = row.real(6);
    c.system_wall_seconds = row.real(7);
    c.only = row.text(8);
    c.tests = row.integer(9);
    Statement claims(db, "SELECT e_value FROM claims WHERE campaign = ?", id);
    while (claims.step()) c.e_values.push_back(claims.real(0));
    Statement counts(db, "SELECT kind, system, count FROM verdicts WHERE campaign = ?", id);
    while (counts.step()) c.verdicts[{counts.text(0), counts.text(1)}] = counts.integer(2);
    return c;
  }

  std::vector<StoredFinding> read_findings(const std::string& where, const std::string& value) {
    std::vector<StoredFinding> result;
    Statement row(db,
                  "SELECT id, kind, system, detail, minimal_hash, state, (SELECT count(*) FROM "
                  "occurrences WHERE finding = id) FROM findings " +
                      where + " ORDER BY first_seen, id",
                  value);
    while (row.step()) {
      StoredFinding f;
      f.id = row.text(0);
      f.signature = {parse_verdict_kind(row.text(1)).value_or(VerdictKind::kUndecided), row.text(2),
                     row.text(3)};
      f.minimal_hash = row.text(4);
      f.reduced = row.text(5) == "reduced";
      f.occurrences = row.integer(6);
      f.folder = folder / "findings" / f.id;
      result.push_back(std::move(f));
    }
    return result;
  }

  fs::path folder;
  Sqlite db;
};

Store::Store(const fs::path& folder) : impl_(std::make_unique<Impl>(folder)) {}
Store::~Store() = default;

std::int64_t Store::begin_campaign(std::uint64_t seed, const std::string& systems,
                                   const std::string& only) {
  Statement(impl_->db,
            "INSERT INTO campaigns(seed, systems, started, only_names) VALUES(?, ?, ?, ?)",
            std::to_string(seed), systems, now(), only)
      .step();
  return impl_->db.last_id();
}

std::optional<Store::Campaign> Store::last_campaign() const {
  Statement row(impl_->db, "SELECT max(id) FROM campaigns");
  if (!row.step() || row.integer(0) == 0) return std::nullopt;
  return impl_->read_campaign(row.integer(0));
}

Store::Campaign Store::campaign(std::int64_t id) const { return impl_->read_campaign(id); }

void Store::record(const Progress& progress) {
  Transaction transaction(impl_->db);
  impl_->add_counts(progress);
  transaction.commit();
}

void Store::add_finding(const StoredFinding& finding, const Case& shown_by, std::int64_t campaign,
                        std::uint64_t case_index,
                        const std::map<std::string, std::string>& versions,
                        const std::map<std::string, std::string>& files) {
  impl_->write_folder(finding.id, files);
  const std::string environment = nlohmann::json(versions).dump();
  const std::string environment_hash = sha256_hex(environment);
  const std::string case_hash = hashes(shown_by).whole;
  Transaction transaction(impl_->db);
  Statement(impl_->db, "INSERT OR IGNORE INTO cases VALUES(?, ?)", case_hash, to_json(shown_by))
      .step();
  Statement(impl_->db, "INSERT OR IGNORE INTO environments VALUES(?, ?)", environment_hash,
            environment)
      .step();
  Statement(impl_->db, "INSERT OR IGNORE INTO findings VALUES(?, ?, ?, ?, ?, ?, ?)", finding.id,
            std::string(name(finding.signature.kind)), finding.signature.system,
            finding.signature.detail, finding.minimal_hash,
            std::string(finding.reduced ? "reduced" : "new"), now())
      .step();
  Statement(impl_->db, "INSERT OR IGNORE INTO occurrences VALUES(?, ?, ?, ?, ?, ?)", finding.id,
            case_hash, campaign, static_cast<std::int64_t>(case_index), environment_hash, now())
      .step();
  transaction.commit();
}

fs::path Store::folder_of(const std::string& id) const { return impl_->folder / "findings" / id; }

std::vector<Store::StoredFinding> Store::findings() const {
  return impl_->read_findings("WHERE '' = ?", "");
}

std::optional<Store::StoredFinding> Store::finding(const std::string& id) const {
  std::vector<StoredFinding> found = impl_->read_findings("WHERE id = ?", id);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

}  // namespace ulpfuzz
