// What users type, and what comes back: objects on stdout, one line for a mistake, exit statuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

using testing::HasSubstr;

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Commands, HelpTeachesAndSucceeds) {
  const Output help = ulpfuzz_run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"fuzz", "judge", "kernels", "fakes", "calibrate", "minimize", "import",
                           "replay", "show", "doctor"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
    EXPECT_EQ(ulpfuzz_run({word, "--help"}).status, 0) << word;
  }
}

TEST(Commands, DoctorNamesEverySystemWithItsVersions) {
  const Output doctor = ulpfuzz_run({"doctor", "--json"});
  ASSERT_EQ(doctor.status, 0) << doctor.err;
  const auto object = doctor.json();
  EXPECT_GE(object.at("operators"), 60);
  for (const auto& system : object.at("systems")) {
    EXPECT_TRUE(system.at("available")) << system;
    EXPECT_FALSE(system.at("versions").at("torch").get<std::string>().empty()) << system;
  }
  EXPECT_EQ(object.at("systems").size(), 10u);
}

TEST(Commands, ShowPrintsRunnablePython) {
  const Output show = ulpfuzz_run({"show", "corpus/golden-rope.json"});
  ASSERT_EQ(show.status, 0) << show.err;
  EXPECT_THAT(show.out, HasSubstr("def program("));
  Folder folder;
  write_text(folder / "shown.py", show.out);
  const Output compiled = run_program({python(), "-m", "py_compile", folder / "shown.py"});
  EXPECT_EQ(compiled.status, 0) << compiled.err;
  const auto object = ulpfuzz_run({"show", "corpus/golden-rope.json", "--json"}).json();
  EXPECT_THAT(object.at("source").get<std::string>(), HasSubstr("def program("));
  EXPECT_EQ(object.at("hash").get<std::string>().size(), 64u);
}

// Bad usage and bad input: status 2, nothing on stdout, and where the mistake is.
TEST(Commands, MistakesAreOneLineWithTheirPlace) {
  Folder folder;
  write_text(folder / "broken.json", "{\"ulpfuzz\": 1,\n oops}");
  write_text(folder / "key.json", R"({"ulpfuzz": 1, "programme": {}})");
  write_text(folder / "unknown.json", R"({"ulpfuzz": 1, "program": {
      "inputs": [{"name": "x", "dtype": "float32", "shape": [2]}],
      "nodes": [{"name": "y", "op": "aten.no_such.default", "args": {"self": {"ref": "x"}}}],
      "outputs": ["y"]}, "inputs": {"x": {"fill": {"kind": "normal"}}}, "cotangents": [null]})");
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"judge", "no-such-case"}, "no-such-case"},
      {{"show", folder / "broken.json"}, "broken.json"},
      {{"show", folder / "key.json"}, "programme"},
      {{"show", folder / "unknown.json"}, "aten.no_such.default"},
      {{"judge", "corpus/golden-rope.json", "--systems", "nosuch"}, "nosuch"},
      {{"judge", "corpus/golden-rope.json", "--systems", "ind uctor"}, "ind uctor"},
      {{"fuzz", "--time", "soon", "--store", folder / "s"}, "--time"},
      {{"minimize", "corpus/golden-rope.json", "--budget", "-1"}, "--budget"},
      {{"replay", folder / "nowhere"}, "nowhere"},
      {{"replay", folder.path()}, ""},
  };
  for (const auto& [args, word] : mistakes) {
    const Output output = ulpfuzz_run(args);
    EXPECT_EQ(output.status, 2) << args[0] << " " << args[1] << output.err;
    EXPECT_EQ(output.out, "") << args[0];
    EXPECT_THAT(output.err, HasSubstr(word));
    EXPECT_EQ(lines(output.err), 1) << output.err;
  }
  EXPECT_EQ(ulpfuzz_run({"judge"}).status, 2);
  EXPECT_EQ(ulpfuzz_run({"nonsense"}).status, 2);
  EXPECT_EQ(ulpfuzz_run({}).status, 2);
}

TEST(Commands, ASystemThatCannotBeHadIsStatusFour) {
  const Output output = ulpfuzz_run(
      {"judge", "corpus/golden-rope.json", "--systems", "inductor@no-such-environment", "--json"});
  EXPECT_EQ(output.status, 4) << output.err;
  EXPECT_THAT(output.err, HasSubstr("no-such-environment"));
  EXPECT_EQ(output.out, "");
}

}  // namespace
}  // namespace ulpfuzz
