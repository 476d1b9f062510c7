// The store keeps what it was given, whatever happens to the process that writes.
#include "fuzz/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "fuzz/sqlite.h"
#include "generators/build.h"
#include "ir/error.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test, removed afterwards.
class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string pattern = (fs::temp_directory_path() / "ulpfuzz-store-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error(pattern, "cannot be made");
    folder_ = pattern;
  }
  ~StoreTest() override { fs::remove_all(folder_); }

  fs::path folder_;
};

Case some_case(std::int64_t size) {
  ProgramBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {size}, Fill{});
  b.output(b.call("y", "sin", {{"self", x}}));
  return std::move(b).take();
}

Store::StoredFinding finding(const std::string& id) {
  Store::StoredFinding f;
  f.id = id;
  f.signature = {VerdictKind::kStrideAssert, "inductor", "AssertionError in forward"};
  f.minimal_hash = "m" + id;
  f.reduced = true;
  return f;
}

const std::map<std::string, std::string> kVersions{{"torch", "2.11.0"}, {"python", "3.11"}};
const std::map<std::string, std::string> kFiles{{"case.json", "{}"}, {"repro.py", "print(1)\n"}};

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(StoreTest, ANewStoreIsEmpty) {
  const Store store(folder_);
  EXPECT_FALSE(store.last_campaign());
  EXPECT_TRUE(store.findings().empty());
  EXPECT_FALSE(store.finding("nothing"));
}

TEST_F(StoreTest, ProgressAddsUpAndIsThereAfterReopening) {
  std::int64_t id = 0;
  {
    Store store(folder_);
    id = store.begin_campaign(std::uint64_t{1} << 63, "inductor,eager@cpp");
    for (int i = 1; i <= 3; ++i) {
      Store::Progress p;
      p.campaign = id;
      p.next_index = static_cast<std::uint64_t>(10 * i);
      p.cases = 10;
      p.valid = 9;
      p.cpu_seconds = 1.5;
      p.verdicts[{"agree", "inductor"}] = 8;
      p.verdicts[{"wrong", "inductor"}] = 1;
      store.record(p);
    }
  }
  const Store store(folder_);
  const auto last = store.last_campaign();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->id, id);
  EXPECT_EQ(last->seed, std::uint64_t{1} << 63);
  EXPECT_EQ(last->systems, "inductor,eager@cpp");
  EXPECT_EQ(last->next_index, 30u);
  EXPECT_EQ(last->cases, 30);
  EXPECT_EQ(last->valid, 27);
  EXPECT_DOUBLE_EQ(last->cpu_seconds, 4.5);
  EXPECT_EQ(last->verdicts.at({"agree", "inductor"}), 24);
  EXPECT_EQ(last->verdicts.at({"wrong", "inductor"}), 3);
}

TEST_F(StoreTest, TheLastCampaignIsTheOneToResume) {
  Store store(folder_);
  store.begin_campaign(1, "inductor");
  const std::int64_t second = store.begin_campaign(2, "aot_eager");
  EXPECT_EQ(store.last_campaign()->id, second);
  EXPECT_EQ(store.last_campaign()->seed, 2u);
  EXPECT_EQ(store.campaign(1).seed, 1u);
  EXPECT_THROW(store.campaign(3), Error);
}

TEST_F(StoreTest, AFindingHasItsFilesAndCountsEachCaseOnce) {
  Store store(folder_);
  const std::int64_t campaign = store.begin_campaign(0, "inductor");
  store.add_finding(finding("abc"), some_case(3), campaign, 0, kVersions, kFiles);
  store.add_finding(finding("abc"), some_case(4), campaign, 7, kVersions, kFiles);
  store.add_finding(finding("abc"), some_case(4), campaign, 7, kVersions, kFiles);  // resumed
  const auto found = store.finding("abc");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->occurrences, 2);
  EXPECT_TRUE(found->reduced);
  EXPECT_EQ(found->signature, finding("abc").signature);
  EXPECT_EQ(found->folder, folder_ / "findings" / "abc");
  for (const auto& [name, text] : kFiles) EXPECT_EQ(read(found->folder / name), text);
}

TEST_F(StoreTest, SeenAgainTheFilesStayAsTheyWere) {
  Store store(folder_);
  const std::int64_t campaign = store.begin_campaign(0, "inductor");
  store.add_finding(finding("abc"), some_case(3), campaign, 0, kVersions, kFiles);
  store.add_finding(finding("abc"), some_case(5), campaign, 1, kVersions, {});
  EXPECT_EQ(read(folder_ / "findings" / "abc" / "repro.py"), kFiles.at("repro.py"));
}

TEST_F(StoreTest, AStoreOfANewerSchemaIsRefused) {
  { const Store store(folder_); }
  {
    Sqlite db(folder_ / "store.sqlite");
    db.execute("UPDATE meta SET value = '999' WHERE key = 'schema'");
  }
  try {
    const Store store(folder_);
    FAIL() << "opened";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("999"));
    EXPECT_THAT(e.what(), testing::HasSubstr(folder_.string()));
  }
}

TEST_F(StoreTest, ANumberThatIsNoneIsAnErrorThatNamesTheStore) {
  for (const char* change : {"UPDATE meta SET value = 'three'", "UPDATE campaigns SET seed = '-1'",
                             "UPDATE campaigns SET seed = '18446744073709551616'"}) {
    std::filesystem::remove_all(folder_);
    Store(folder_).begin_campaign(7, "inductor");
    Sqlite(folder_ / "store.sqlite").execute(change);
    try {
      Store(folder_).last_campaign();
      FAIL() << change;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(folder_.string())) << change;
    }
  }
}

// The view would be read without end.
TEST_F(StoreTest, ADatabaseThatBringsCodeIsRefused) {
  for (const char* code :
       {"CREATE VIEW findings AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id FROM r) "
        "SELECT id, id AS kind, id AS system, id AS detail, id AS minimal_hash, id AS state, "
        "id AS first_seen FROM r",
        "CREATE TABLE campaigns(id); CREATE TRIGGER t AFTER INSERT ON campaigns BEGIN "
        "DELETE FROM campaigns; END"}) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Sqlite(folder_ / "store.sqlite").execute(code);
    try {
      Store(folder_).findings();
      FAIL() << code;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("no store of ulpfuzz")) << code;
    }
  }
}

// A store of version 1, which did not keep what a campaign was restricted to, is brought up.
TEST_F(StoreTest, AnOlderStoreIsBroughtUp) {
  {
    Store store(folder_);
    store.begin_campaign(7, "inductor");
    Sqlite db(folder_ / "store.sqlite");
    db.execute("ALTER TABLE campaigns DROP COLUMN only_names");
    db.execute("ALTER TABLE campaigns DROP COLUMN tests");
    db.execute("DROP TABLE claims");
    db.execute("UPDATE meta SET value = '1' WHERE key = 'schema'");
  }
  Store store(folder_);
  EXPECT_EQ(store.last_campaign()->seed, 7u);
  EXPECT_EQ(store.last_campaign()->only, "");
  store.begin_campaign(8, "inductor", "qwen2");
  EXPECT_EQ(store.last_campaign()->only, "qwen2");
}

// Version 2 did not count the tests of the judge.
TEST_F(StoreTest, AStoreOfVersion2IsBroughtUp) {
  {
    Store store(folder_);
    store.begin_campaign(7, "inductor", "qwen2");
    Sqlite db(folder_ / "store.sqlite");
    db.execute("ALTER TABLE campaigns DROP COLUMN tests");
    db.execute("UPDATE meta SET value = '2' WHERE key = 'schema'");
  }
  Store store(folder_);
  EXPECT_EQ(store.last_campaign()->only, "qwen2");
  EXPECT_EQ(store.last_campaign()->tests, 0);
}

TEST_F(StoreTest, CountsTestsAndKeepsTheEvidenceOfClaims) {
  Store store(folder_);
  Store::Progress p;
  p.campaign = store.begin_campaign(0, "inductor");
  p.tests = 3;
  p.claims = {{17, "inductor", 2e4}};
  store.record(p);
  p.claims.clear();
  store.record(p);
  EXPECT_EQ(store.campaign(p.campaign).tests, 6);
  EXPECT_EQ(store.campaign(p.campaign).e_values, std::vector<double>{2e4});
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsAnError) {
  std::ofstream(folder_ / "store.sqlite") << "this is not a database, whatever its name says\n";
  EXPECT_THROW(const Store store(folder_), Error);
}

TEST_F(StoreTest, TwoWritersDoNotLoseEachOthersCounts) {
  Store first(folder_);
  Store second(folder_);
  const std::int64_t id = first.begin_campaign(0, "inductor");
  Store::Progress p;
  p.campaign = id;
  p.cases = 1;
  for (int i = 0; i < 20; ++i) {
    first.record(p);
    second.record(p);
  }
  EXPECT_EQ(first.campaign(id).cases, 40);
}

// Keys are content hashes: the same case, environment and finding from another store are already
// there.
TEST_F(StoreTest, MergingIsInsertOrIgnore) {
  const fs::path other = folder_ / "other";
  {
    Store a(folder_);
    a.add_finding(finding("abc"), some_case(3), a.begin_campaign(0, "inductor"), 0, kVersions,
                  kFiles);
    Store b(other);
    const std::int64_t campaign = b.begin_campaign(1, "inductor");
    b.add_finding(finding("abc"), some_case(3), campaign, 5, kVersions, kFiles);
    b.add_finding(finding("def"), some_case(4), campaign, 6, kVersions, kFiles);
  }
  Sqlite db(folder_ / "store.sqlite");
  db.execute("ATTACH '" + (other / "store.sqlite").string() + "' AS other");
  for (const char* table : {"cases", "environments", "findings"}) {
    db.execute(std::string("INSERT OR IGNORE INTO main.") + table + " SELECT * FROM other." +
               table);
  }
  const auto count = [&](const std::string& table) {
    Statement rows(db, "SELECT count(*) FROM main." + table);
    rows.step();
    return rows.integer(0);
  };
  EXPECT_EQ(count("cases"), 2);
  EXPECT_EQ(count("environments"), 1);
  EXPECT_EQ(count("findings"), 2);
}

// What the child of the next test does until it is killed: batches of ten cases with a finding
// each.
[[noreturn]] void write_for_ever(const fs::path& folder, int pipe) {
  Store store(folder);
  const std::int64_t campaign = store.begin_campaign(3, "inductor");
  for (std::uint64_t batch = 0;; ++batch) {
    store.add_finding(finding("f" + std::to_string(batch)),
                      some_case(static_cast<std::int64_t>(batch) + 1), campaign, 10 * batch,
                      kVersions, kFiles);
    Store::Progress p;
    p.campaign = campaign;
    p.next_index = 10 * (batch + 1);
    p.cases = 10;
    p.verdicts[{"agree", "inductor"}] = 9;
    p.verdicts[{"stride-assert", "inductor"}] = 1;
    store.record(p);
    if (::write(pipe, "x", 1) != 1) _exit(1);
  }
}

// Killed wherever it happens to be, the store opens, its counts agree with each other, nothing that
// was reported as written is missing, and every finding in it has whole files.
TEST_F(StoreTest, SurvivesSigkillWhileItWrites) {
  for (int round = 0; round < 12; ++round) {
    const fs::path folder = folder_ / std::to_string(round);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_for_ever(folder, ends[1]);
    close(ends[1]);
    std::int64_t reported = 0;
    char byte = 0;
    while (reported < 1 + 3 * round && ::read(ends[0], &byte, 1) == 1) ++reported;
    kill(child, SIGKILL);
    while (::read(ends[0], &byte, 1) == 1) ++reported;
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    Store store(folder);
    const auto last = store.last_campaign();
    ASSERT_TRUE(last);
    EXPECT_GE(last->cases, 10 * reported);
    EXPECT_EQ(static_cast<std::int64_t>(last->next_index), last->cases);
    std::int64_t verdicts = 0;
    for (const auto& [key, count] : last->verdicts) verdicts += count;
    EXPECT_EQ(verdicts, last->cases);
    const auto findings = store.findings();
    const auto batches = static_cast<std::size_t>(last->cases / 10);
    EXPECT_GE(findings.size(), batches);      // written before the batch is counted
    EXPECT_LE(findings.size(), batches + 1);  // at most the one in flight
    for (const auto& f : findings) {
      EXPECT_EQ(f.occurrences, 1);
      for (const auto& [name, text] : kFiles) EXPECT_EQ(read(f.folder / name), text) << f.folder;
    }
    // And it goes on.
    Store::Progress more;
    more.campaign = last->id;
    more.next_index = last->next_index + 1;
    more.cases = 1;
    store.record(more);
    EXPECT_EQ(store.campaign(last->id).cases, last->cases + 1);
  }
}

}  // namespace
}  // namespace ulpfuzz
