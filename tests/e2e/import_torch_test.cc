// Files of torch as sources: made by the real torch, and hostile ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/e2e/binary.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A model with parameters, a buffer, views and dropout that is off, exported with its inputs.
constexpr const char* kExport = R"py(
import sys, torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 16)
        self.drop, self.norm = torch.nn.Dropout(0.1), torch.nn.LayerNorm(16)
        self.register_buffer("scale", torch.full((16,), 2.0))
    def forward(self, x, y):
        h = self.norm(self.drop(torch.nn.functional.gelu(self.linear(x)) * self.scale))
        return h.view(2, -1).transpose(0, 1) + y, h.sum()
torch.manual_seed(0)
inputs = (torch.randn(3, 4, 8)[:2], torch.randn(64, 2))
torch.export.save(torch.export.export(Model().eval(), inputs), sys.argv[1])
)py";

// The same archive, whose example inputs are a pickle that makes a file, or whose sizes are code.
constexpr const char* kSpoil = R"py(
import os, sys, torch, zipfile, io, json
source, target, canary, how = sys.argv[1:]
class Evil:
    def __reduce__(self):
        return os.system, (f"touch {canary}",)
pickled = io.BytesIO()
torch.save(Evil(), pickled)
with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
    for info in old.infolist():
        data = old.read(info)
        if how == "pickle" and "sample_inputs" in info.filename:
            data = pickled.getvalue()
        if how == "size" and info.filename.endswith("models/model.json"):
            model = json.loads(data)
            code = f"__import__('os').system('touch {canary}')"
            size = model["graph_module"]["graph"]["tensor_values"]
            first = next(iter(size.values()))
            first["sizes"][0] = {"as_expr": {"expr_str": code, "hint": {"as_int": 2}}}
            data = json.dumps(model).encode()
        new.writestr(info.filename, data)
)py";

constexpr const char* kMinifier = R"py(
import sys, torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch._dynamo.repro.after_aot import save_graph_repro
def f(x, w, b):
    y = torch.nn.functional.relu(torch.addmm(b, x, w))
    a, i = torch.max(y, 1)
    return y.exp().sum(1), torch.cat([a, a * 2]), i, torch.full((2,), float("inf")) * a[:2]
args = (torch.randn(4, 8), torch.randn(8, 8).t(), torch.randn(8))
with open(sys.argv[1], "w") as script:
    save_graph_repro(script, make_fx(f)(*args), args, "inductor_accuracy", accuracy=True,
                     command="minify", save_dir=None)
)py";

// The verdict of eager mode on what was imported: a program that it runs and that is judged.
void judged_clean(const fs::path& c) {
  const Output judged = ulpfuzz_run({"judge", c, "--systems", "eager@cpp", "--json"});
  EXPECT_EQ(judged.status, 0) << judged.out << judged.err;
  for (const auto& [system, verdict] : verdicts_of(judged.json())) {
    EXPECT_EQ(verdict, "agree") << system << judged.out;
  }
  EXPECT_THAT(judged.out, testing::Not(HasSubstr("not a valid case")));
}

TEST(ImportTorch, AnExportedProgramKeepsItsNumbersAndLayouts) {
  const Folder folder;
  const std::string model = folder / "model.pt2";
  ASSERT_EQ(run_program({python(), "-c", kExport, model}).status, 0);
  const Output imported = ulpfuzz_run({"import", model, "-o", folder / "case.json", "--json"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  EXPECT_EQ(imported.json().at("kind"), "pt2");
  const std::string shown = ulpfuzz_run({"show", folder / "case.json"}).out;
  for (const char* part :
       {"float32[2, 4, 8]", "gelu", "layer_norm", "gradient by p_linear_weight"}) {
    EXPECT_THAT(shown, HasSubstr(part));
  }
  judged_clean(folder / "case.json");
}

TEST(ImportTorch, NoCodeOfAnExportedProgramRuns) {
  const Folder folder;
  const std::string model = folder / "model.pt2", canary = folder / "canary";
  ASSERT_EQ(run_program({python(), "-c", kExport, model}).status, 0);
  for (const char* how : {"pickle", "size"}) {
    const std::string evil = folder / "evil.pt2";
    const Output made = run_program({python(), "-c", kSpoil, model, evil, canary, how});
    ASSERT_EQ(made.status, 0) << made.err;
    const Output refused = ulpfuzz_run({"import", evil});
    EXPECT_EQ(refused.status, 2) << how << refused.out;
    EXPECT_FALSE(fs::exists(canary)) << how;
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  }
  // The pickle is one that works: torch.load makes the file.
  const Output loaded =
      run_program({python(), "-c",
                   "import sys, zipfile, io, torch\n"
                   "z = zipfile.ZipFile(sys.argv[1])\n"
                   "name = next(n for n in z.namelist() if 'sample_inputs' in n)\n"
                   "torch.load(io.BytesIO(z.read(name)), weights_only=False)\n",
                   [&] {
                     const std::string evil = folder / "pickle.pt2";
                     run_program({python(), "-c", kSpoil, model, evil, canary, "pickle"});
                     return evil;
                   }()});
  EXPECT_TRUE(fs::exists(canary)) << loaded.err;
}

TEST(ImportTorch, TheMinifiersScriptIsReadAndNotRun) {
  const Folder folder;
  const fs::path script = folder / "minifier_launcher.py", canary = folder / "canary";
  const Output made = run_program({python(), "-c", kMinifier, script});
  ASSERT_EQ(made.status, 0) << made.err;
  std::ofstream(script, std::ios::app) << "\nopen('" << canary.string() << "', 'w').close()\n";
  const Output imported = ulpfuzz_run({"import", script, "-o", folder / "case.json", "--json"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  EXPECT_FALSE(fs::exists(canary));
  EXPECT_EQ(imported.json().at("kind"), "minifier");
  EXPECT_THAT(imported.json().at("notes").dump(), HasSubstr("drawn"));
  const std::string shown = ulpfuzz_run({"show", folder / "case.json"}).out;
  EXPECT_THAT(shown, HasSubstr("float32[8, 8], strides (1, 8)"));
  EXPECT_THAT(shown, HasSubstr("torch.addmm(b_1, x_1, w_1)"));
  judged_clean(folder / "case.json");
}

TEST(ImportTorch, AScriptThatCallsAnythingElseIsRefused) {
  const Folder folder;
  const fs::path script = folder / "repro.py", canary = folder / "canary";
  for (const std::string call :
       {"__import__('os').system('touch CANARY')", "torch.ops.aten.__class__('CANARY')",
        "torch.save(x, 'CANARY')", "torch.ops.load_library('CANARY')"}) {
    std::string text = call;
    if (const auto at = text.find("CANARY"); at != std::string::npos) {
      text.replace(at, 6, canary.string());
    }
    write_text(script,
               "import torch\nclass Repro(torch.nn.Module):\n  def forward(self, x):\n    y = " +
                   text + "\n    return (y,)\ndef load_args(reader):\n" +
                   "  buf0 = reader.storage(None, 16)\n  reader.tensor(buf0, (4,))\n");
    const Output refused = ulpfuzz_run({"import", script});
    EXPECT_EQ(refused.status, 2) << call << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("line 4")) << call;
    EXPECT_FALSE(fs::exists(canary)) << call;
  }
}

TEST(ImportTorch, APythonFileRunsOnlyWhenItIsTrusted) {
  const Folder folder;
  const fs::path file = folder / "model.py", canary = folder / "canary";
  write_text(file, "import torch\nopen('" + canary.string() +
                       "', 'w').close()\n"
                       "module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())\n"
                       "inputs = (torch.randn(2, 4),)\n");
  for (const char* command : {"import", "judge", "minimize", "show"}) {
    const Output refused = ulpfuzz_run({command, file});
    EXPECT_EQ(refused.status, 2) << command;
    EXPECT_THAT(refused.err, HasSubstr("--trust")) << command;
    EXPECT_FALSE(fs::exists(canary)) << command;
  }
  const Output taken =
      ulpfuzz_run({"import", file, "--trust", "-o", folder / "case.json", "--json"});
  ASSERT_EQ(taken.status, 0) << taken.err;
  EXPECT_TRUE(fs::exists(canary));
  EXPECT_EQ(taken.json().at("kind"), "python");
  EXPECT_THAT(ulpfuzz_run({"show", folder / "case.json"}).out, HasSubstr("gradient by p_0_weight"));
  judged_clean(folder / "case.json");
}

}  // namespace
}  // namespace ulpfuzz
