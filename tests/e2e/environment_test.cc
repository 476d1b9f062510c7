// Environments as users name them: an interpreter of its own that has torch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class EnvironmentCommands : public testing::Test {
 protected:
  EnvironmentCommands() { ::setenv("ULPFUZZ_ENVIRONMENTS", folder_.path().c_str(), 1); }
  ~EnvironmentCommands() override { ::unsetenv("ULPFUZZ_ENVIRONMENTS"); }

  // A virtual environment that sees the project's packages, and notes in `log` whoever starts it.
  void make_shared(const std::string& name, const fs::path& log) const {
    const fs::path path = folder_ / name;
    ASSERT_EQ(run_program({python(), "-m", "venv", "--without-pip", path}).status, 0);
    const std::string packages = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
    const std::string from = run_program({python(), "-c", packages}).out;
    const std::string into = run_program({path / "bin/python", "-c", packages}).out;
    write_text(fs::path(into.substr(0, into.find('\n'))) / "shared.pth",
               from + "import sys; print(sys.prefix, file=open('" + log.string() + "', 'a'))\n");
    write_text(path / "environment.json",
               R"({"torch": "2.11.0", "python": "3", "specs": ["torch==2.11.0"]})");
  }

  Folder folder_;
};

TEST_F(EnvironmentCommands, ASystemRunsInTheEnvironmentBehindItsName) {
  const Folder logs;
  make_shared("shared", logs / "log");
  const Output output =
      ulpfuzz_run({"judge", "corpus/golden-rope.json", "--systems", "inductor@shared", "--json"});
  ASSERT_EQ(output.status, 0) << output.err;
  const auto verdicts = verdicts_of(output.json());
  EXPECT_EQ(verdicts.at("inductor@shared"), "excess-precision");
  EXPECT_EQ(verdicts.at("eager@py@shared"), "agree");  // the eager that it is held against
  std::ifstream log(logs / "log");
  std::string prefix;
  std::getline(log, prefix);
  EXPECT_EQ(prefix, (folder_ / "shared").string());
}

TEST_F(EnvironmentCommands, ListAndRemoveSpeakOfWhatIsThere) {
  const Folder logs;
  make_shared("shared", logs / "log");
  fs::create_directories(folder_ / "cut/bin");
  const auto listed = ulpfuzz_run({"env", "list", "--json"}).json();
  ASSERT_EQ(listed.at("environments").size(), 1u);
  EXPECT_EQ(listed.at("environments")[0].at("name"), "shared");
  EXPECT_EQ(listed.at("environments")[0].at("torch"), "2.11.0");
  EXPECT_EQ(listed.at("environments")[0].at("path"), (folder_ / "shared").string());
  EXPECT_GT(listed.at("environments")[0].at("bytes"), 0);
  EXPECT_THAT(ulpfuzz_run({"env", "list"}).out, HasSubstr("torch 2.11.0"));

  const Output removed = ulpfuzz_run({"env", "remove", "shared", "--json"});
  EXPECT_EQ(removed.status, 0) << removed.err;
  EXPECT_EQ(removed.json().at("removed"), "shared");
  EXPECT_EQ(ulpfuzz_run({"env", "list", "--json"}).json().at("environments").size(), 0u);
}

// Before anything is fetched: status 2, one line, nothing on stdout.
TEST_F(EnvironmentCommands, MistakesAreOneLine) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"env", "add", "torch"}, "needs torch"},
      {{"env", "add", "torch>=2.9"}, "torch>=2.9"},
      {{"env", "add", "numpy==2.0.0"}, "needs torch"},
      {{"env", "add", "torch==2.9.1", "--limit", "-1"}, "--limit"},
      {{"env", "add", "torch==2.9.1", "--python", "/bin/false"}, "torch-2.9.1"},
      {{"env", "remove", "nowhere"}, "nowhere"},
  };
  for (const auto& [args, word] : mistakes) {
    const Output output = ulpfuzz_run(args);
    EXPECT_EQ(output.status, 2) << args[2];
    EXPECT_EQ(output.out, "") << args[2];
    EXPECT_THAT(output.err, HasSubstr(word));
  }
  EXPECT_EQ(ulpfuzz_run({"env"}).status, 2);
  EXPECT_EQ(ulpfuzz_run({"env", "list", "--json"}).json().at("environments").size(), 0u);
}

}  // namespace
}  // namespace ulpfuzz
