#include <gtest/gtest.h>

#include "ops/table.h"
#include "systems/scheduler.h"
#include "tests/systems/cases.h"

// What a profile run says of attention kernels, in every system on real torch: which one ran, and
// the layouts of its tensors, forward and backward.
namespace ulpfuzz {
namespace {

using Status = Run::Status;  // in a test, Run is GoogleTest's

// As a model has it: b h s d as a view of memory in the order b s h d.
constexpr std::int64_t kHeads = 2, kLength = 4, kWidth = 8;

Case attention() {
  CaseBuilder b;
  const Shape shape{1, kHeads, kLength, kWidth};
  const Shape strides{kHeads * kLength * kWidth, kWidth, kHeads * kWidth, 1};
  std::vector<double> values;
  for (int i = 0; i < kHeads * kLength * kWidth; ++i) values.push_back(0.25 * (i % 7) - 0.5);
  const Ref q = b.input("q", DType::kFloat32, shape, values, strides);
  const Ref k = b.input("k", DType::kFloat32, shape, values, strides);
  const Ref v = b.input("v", DType::kFloat32, shape, values, strides);
  const Ref y =
      b.node("y", "scaled_dot_product_attention.default", {{"query", q}, {"key", k}, {"value", v}});
  return b.output(y, values).wrt({"q", "k", "v"}).take();
}

Scheduler& scheduler() {
  static Scheduler instance(op_table(), {.jobs = 1});
  return instance;
}

Run run_of(const Case& c, const std::string& system) {
  RunRequest wish = request(c, system);
  wish.profile = true;
  const RunRequest wishes[] = {wish};
  return scheduler().run(wishes)[0];
}

const KernelRecord* find(const Run& run, const std::string& part, const std::string& phase) {
  for (const KernelRecord& k : run.kernels) {
    const bool backward = k.name.ends_with("_backward");
    if (k.phase == phase && k.name.find(part) != std::string::npos &&
        backward == (phase == "backward")) {
      return &k;
    }
  }
  return nullptr;
}

const TensorLayout* find(const std::vector<KernelTensor>& tensors, const std::string& name) {
  for (const KernelTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor.layout;
  }
  return nullptr;
}

class Attestation : public testing::TestWithParam<const char*> {};

TEST_P(Attestation, FlashRunsBothWaysAndWhatItSavedHasALayout) {
  Case c = attention();
  c.environment.sdpa = SdpaChoice{{SdpaKernel::kFlash}, false};
  const auto run = run_of(c, GetParam());
  ASSERT_TRUE(run.completed()) << run.exception_message << run.worker_text;
  const KernelRecord* forward = find(run, "_scaled_dot_product_flash_attention", "forward");
  ASSERT_NE(forward, nullptr);
  const TensorLayout* output = find(forward->outputs, "output");
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(output->shape, (Shape{1, kHeads, kLength, kWidth}));
  EXPECT_EQ(output->strides.size(), 4u);
  const KernelRecord* backward = find(run, "_scaled_dot_product_flash_attention", "backward");
  ASSERT_NE(backward, nullptr);
  for (const char* saved : {"grad_out", "query", "key", "value", "out", "logsumexp"}) {
    EXPECT_NE(find(backward->inputs, saved), nullptr) << saved;
  }
  EXPECT_NE(find(backward->outputs, "grad_query"), nullptr);
  // What was saved is what came out.
  const TensorLayout* saved = find(backward->inputs, "out");
  ASSERT_NE(saved, nullptr);
  EXPECT_EQ(*saved, *output);
}

TEST_P(Attestation, MathIsSeenAsNoFusedKernel) {
  Case c = attention();
  c.environment.sdpa = SdpaChoice{{SdpaKernel::kMath}, false};
  const auto run = run_of(c, GetParam());
  ASSERT_TRUE(run.completed()) << run.exception_message << run.worker_text;
  EXPECT_EQ(find(run, "flash_attention", "forward"), nullptr);
  EXPECT_EQ(find(run, "flash_attention", "backward"), nullptr);
}

// Negative control: the choice is not made, and the profile says so.
TEST_P(Attestation, AChoiceThatIsIgnoredIsSeen) {
  Case c = attention();
  c.environment.sdpa = SdpaChoice{{SdpaKernel::kMath}, false};
  const auto run = run_of(c, std::string(GetParam()) + "[fault=ignores-sdpa-choice]");
  ASSERT_TRUE(run.completed()) << run.exception_message << run.worker_text;
  EXPECT_NE(find(run, "flash_attention", "forward"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Systems, Attestation,
                         testing::Values("eager@py", "eager@cpp", "aot_eager", "inductor",
                                         "torchscript"));

// A package's code goes round the dispatcher and names its kernels itself.
TEST(AttestedKernels, OfAPackageTheNamesAreSeen) {
  for (const SdpaKernel kernel : {SdpaKernel::kFlash, SdpaKernel::kMath}) {
    Case c = attention();
    c.wrt.clear();
    c.cotangents[0].reset();
    c.environment.grad = false;
    c.environment.sdpa = SdpaChoice{{kernel}, false};
    const auto run = run_of(c, "aoti");
    ASSERT_TRUE(run.completed()) << run.exception_message << run.worker_text;
    const bool flash = find(run, "aten::_scaled_dot_product_flash", "forward") != nullptr;
    EXPECT_EQ(flash, kernel == SdpaKernel::kFlash);
  }
}

// In a training step on a CPU Thunder takes attention apart into products, whatever the choice:
// what is seen are these.
TEST(AttestedKernels, ThunderTrainsAttentionByProducts) {
  Case c = attention();
  c.environment.sdpa = SdpaChoice{{SdpaKernel::kFlash}, false};
  const auto run = run_of(c, "thunder");
  ASSERT_TRUE(run.completed()) << run.exception_message << run.worker_text;
  EXPECT_EQ(find(run, "_scaled_dot_product", "forward"), nullptr);
  const KernelRecord* product = find(run, "mm", "forward");
  ASSERT_NE(product, nullptr);
  EXPECT_FALSE(product->outputs.empty());
  EXPECT_FALSE(product->inputs.empty());
}

// Both roads see the same calls with the same layouts.
TEST(AttestedKernels, PythonAndCppSeeTheSame) {
  const auto py = run_of(attention(), "eager@py");
  const auto cpp = run_of(attention(), "eager@cpp");
  ASSERT_FALSE(py.kernels.empty());
  EXPECT_EQ(py.kernels, cpp.kernels);
}

// Of a run that raises, the kernels that ran before: what there is to see of a failed assertion.
TEST(AttestedKernels, KernelsBeforeAnExceptionAreKept) {
  CaseBuilder b;
  const Ref x = b.input("x", DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  const Ref index = b.input("i", DType::kInt64, {1}, {7});
  const Ref y = b.node("y", "mm.default", {{"self", x}, {"mat2", x}});
  b.output(b.node("z", "embedding.default", {{"weight", y}, {"indices", index}}));
  const auto run = run_of(b.take(), "eager@py");
  EXPECT_EQ(run.status, Status::kRaised);
  EXPECT_EQ(run.stage, Stage::kForward);
  EXPECT_NE(find(run, "aten::mm", "forward"), nullptr);
}

}  // namespace
}  // namespace ulpfuzz
