#include "systems/environments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "ir/error.h"
#include "systems/kinds.h"

// Environments on disk. That a real torch runs in one is seen in tests/e2e/environment_test.cc.
namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Environments : public testing::Test {
 protected:
  Environments() {
    std::string name = (fs::temp_directory_path() / "ulpfuzz-environments-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Environments() override { fs::remove_all(folder_); }

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  void install(const std::string& name) const {
    write(name + "/bin/python", "");
    write(name + "/environment.json",
          R"({"torch": "2.9.1+cu128", "python": "3.11.2", "specs": ["torch==2.9.1"]})");
  }

  fs::path folder_;
};

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(Environments, AreNamedByTheFirstSpecOrByTheUser) {
  const EnvironmentWish plain = parse_environment({"torch==2.15.0"});
  EXPECT_EQ(plain.name, "torch-2.15.0");
  EXPECT_THAT(plain.specs, ElementsAre("torch==2.15.0"));
  const EnvironmentWish named = parse_environment({"old", "torch==2.9.1", "numpy==2.3.1"});
  EXPECT_EQ(named.name, "old");
  EXPECT_THAT(named.specs, ElementsAre("torch==2.9.1", "numpy==2.3.1"));
  EXPECT_EQ(parse_environment({"torch==2.11.0+cpu"}).name, "torch-2.11.0+cpu");
}

TEST_F(Environments, RefuseWhatIsNotPinnedOrHasNoTorch) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"torch"},
                                             {"torch>=2.9"},
                                             {"torch==2.*"},
                                             {"numpy==2.0.0"},
                                             {"a/b", "torch==2.9.1"},
                                             {"..", "torch==2.9.1"},
                                             {"-x", "torch==2.9.1"},
                                             {"torch==2.9.1", "--index-url=http://x"},
                                             {"torch==2.9.1; import os"}}) {
    EXPECT_THROW(parse_environment(words), Error) << testing::PrintToString(words);
  }
}

TEST_F(Environments, AreListedWhenComplete) {
  EXPECT_TRUE(installed_environments(folder_ / "nowhere").empty());
  install("torch-2.9.1");
  write("cut/bin/python", "");
  write("broken/bin/python", "");
  write("broken/environment.json", "{");
  write("no-python/environment.json", R"({"torch": "2", "python": "3", "specs": []})");
  const std::vector<InstalledEnvironment> found = installed_environments(folder_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "torch-2.9.1");
  EXPECT_EQ(found[0].torch, "2.9.1+cu128");
  EXPECT_EQ(found[0].python, "3.11.2");
  EXPECT_GT(found[0].bytes, 0u);
  EXPECT_EQ(environment_python(folder_, "torch-2.9.1"), folder_ / "torch-2.9.1/bin/python");
  EXPECT_EQ(environment_python(folder_, "cut"), std::nullopt);
  EXPECT_EQ(environment_python(folder_ / "cut", "../torch-2.9.1"), std::nullopt);
}

TEST_F(Environments, AreFoundByTheNameBehindASystem) {
  install("torch-2.9.1");
  write("cut/bin/python", "");
  ::setenv("ULPFUZZ_ENVIRONMENTS", folder_.c_str(), 1);
  const WorkerCommand command =
      worker_command(parse_system("inductor@torch-2.9.1"), "/usr/bin/python3", "native");
  EXPECT_EQ(command.argv.front(), (folder_ / "torch-2.9.1/bin/python").string());
  const std::string missing =
      complaint([] { worker_command(parse_system("inductor@cut"), "/usr/bin/python3", "native"); });
  EXPECT_THAT(missing, HasSubstr("no environment 'cut'"));
  ::unsetenv("ULPFUZZ_ENVIRONMENTS");
}

TEST_F(Environments, AreRemovedWhole) {
  install("torch-2.9.1");
  write("cut/bin/python", "");
  EXPECT_GT(remove_environment(folder_, "torch-2.9.1"), 0u);
  EXPECT_FALSE(fs::exists(folder_ / "torch-2.9.1"));
  remove_environment(folder_, "cut");
  EXPECT_FALSE(fs::exists(folder_ / "cut"));
  EXPECT_THROW(remove_environment(folder_, "torch-2.9.1"), Error);
  write("beside/file", "");
  EXPECT_THROW(remove_environment(folder_ / "cut", "../beside"), Error);
  EXPECT_TRUE(fs::exists(folder_ / "beside/file"));
}

TEST_F(Environments, MustFit) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_NO_THROW(require_room("e", 5 * kGiB, 19 * kGiB, 24 * kGiB, 6 * kGiB));
  EXPECT_THAT(complaint([] { require_room("e", 5 * kGiB, 20 * kGiB, 24 * kGiB, 6 * kGiB); }),
              HasSubstr("limit of 24.0 GB"));
  EXPECT_THAT(complaint([] { require_room("e", 5 * kGiB, 30 * kGiB, 24 * kGiB, 6 * kGiB); }),
              HasSubstr("limit"));
  EXPECT_THAT(complaint([] { require_room("e", 5 * kGiB, 0, 24 * kGiB, 4 * kGiB); }),
              HasSubstr("disk has 4.0 GB"));
}

// Whatever happens to the programs that install, nothing is left.
TEST_F(Environments, LeaveNothingWhenAnInstallationFailsOrIsStopped) {
  const EnvironmentWish wish = parse_environment({"torch==2.9.1"});
  write("fails", "#!/bin/sh\nmkdir -p $3/bin\necho 'ERROR: no such release'\necho more\nexit 1\n");
  write("hangs", "#!/bin/sh\nmkdir -p $3/bin\nwhile :; do read -t 1 x </dev/zero; done\n");
  for (const char* script : {"fails", "hangs"}) {
    fs::permissions(folder_ / script, fs::perms::owner_all);
    InstallOptions options;
    options.python = folder_ / script;
    // Asked whether to stop only while something is still running.
    options.stopped = [&] { return script == std::string("hangs"); };
    const std::string said = complaint([&] { add_environment(folder_ / "e", wish, options); });
    EXPECT_THAT(said, HasSubstr(script == std::string("fails") ? "no such release" : "stopped"));
    EXPECT_FALSE(fs::exists(folder_ / "e/torch-2.9.1"));
  }
}

TEST_F(Environments, AreNotReplacedByOthersOfTheSameName) {
  install("torch-2.9.1");
  InstallOptions options;
  options.python = "/bin/false";
  EXPECT_EQ(add_environment(folder_, parse_environment({"torch==2.9.1"}), options).name,
            "torch-2.9.1");  // there already
  const EnvironmentWish other = parse_environment({"torch-2.9.1", "torch==2.10.0"});
  EXPECT_THAT(complaint([&] { add_environment(folder_, other, options); }), HasSubstr("remove"));
}

}  // namespace
}  // namespace ulpfuzz
