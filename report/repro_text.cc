#include "report/repro_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/verify.h"
#include "report/module_text.h"
#include "report/python_text.h"

namespace ulpfuzz {
namespace {

std::string kernel_list(const SdpaChoice& choice) {
  std::string kernels;
  for (const SdpaKernel kernel : choice.kernels) {
    kernels += fmt::format("{}SDPBackend.{}", kernels.empty() ? "" : ", ", name(kernel));
  }
  return fmt::format("[{}]", kernels);
}

// Lines that differentiate `outputs`; they leave `gradients`.
std::vector<std::string> backward_lines(const Case& c, TensorText& text, const OpTable& table) {
  const Types types = verify(c.program, table);
  std::vector<std::string> lines, outputs, cotangents;
  for (std::size_t i = 0; i < c.cotangents.size(); ++i) {
    if (!c.cotangents[i]) continue;
    const TensorType& type = types.of(c.program.outputs[i]);
    const std::string name = fmt::format("cotangent_{}", i);
    for (std::string& line : text.cotangent(name, *c.cotangents[i], type.dtype, type.shape)) {
      lines.push_back(std::move(line));
    }
    outputs.push_back(fmt::format("outputs[{}]", i));
    cotangents.push_back(name);
  }
  if (outputs.size() > 1) {
    lines.push_back(fmt::format("pairs = [p for p in zip([{}], [{}]) if p[0].requires_grad]",
                                fmt::join(outputs, ", "), fmt::join(cotangents, ", ")));
  }
  lines.push_back(outputs.size() > 1
                      ? "heads, tangents = zip(*pairs)"
                      : fmt::format("heads, tangents = {}, {}", outputs[0], cotangents[0]));
  lines.push_back(
      fmt::format("gradients = torch.autograd.grad(heads, [{}], tangents, allow_unused=True)",
                  fmt::join(c.wrt, ", ")));
  return lines;
}

std::string returned(const Case& c, const std::string& result, bool backward) {
  constexpr std::string_view kGradient = "gradient of ", kOutput = "output ", kAfter = " after";
  if (result.starts_with(kOutput)) return fmt::format("outputs[{}]", result.substr(kOutput.size()));
  if (result.ends_with(kAfter)) return result.substr(0, result.size() - kAfter.size());
  if (result.starts_with(kGradient)) {
    const auto it = std::find(c.wrt.begin(), c.wrt.end(), result.substr(kGradient.size()));
    return fmt::format("gradients[{}]", it - c.wrt.begin());
  }
  return backward ? "(*outputs, *gradients)" : "outputs";
}

}  // namespace

ReproSetting repro_setting(const Environment& e) {
  ReproSetting s;
  if (e.isa != "native") {
    s.before_torch = {"import os", fmt::format("os.environ['ATEN_CPU_CAPABILITY'] = '{}'", e.isa)};
  }
  if (e.sdpa || e.primed_by) {
    s.imports.push_back("from torch.nn.attention import SDPBackend, sdpa_kernel");
  }
  s.switches.push_back(fmt::format("torch.set_num_threads({})", e.threads));
  if (e.device != "cpu")
    s.switches.push_back(fmt::format("torch.set_default_device('{}')", e.device));
  if (e.flush_denormal) s.switches.push_back("torch.set_flush_denormal(True)");
  if (e.deterministic) s.switches.push_back("torch.use_deterministic_algorithms(True)");
  if (e.allow_tf32) s.switches.push_back("torch.backends.cuda.matmul.allow_tf32 = True");
  if (e.sdpa || e.primed_by) {
    const bool set_priority = e.sdpa && e.sdpa->set_priority;
    s.kernels = e.sdpa ? kernel_list(*e.sdpa) : "list(SDPBackend.__members__.values())[1:]";
    s.contexts.push_back(set_priority ? "sdpa_kernel(kernels, set_priority=True)"
                                      : "sdpa_kernel(kernels)");
  }
  if (!e.autocast.empty()) {
    s.contexts.push_back(fmt::format("torch.autocast('{}', torch.{})", e.device, e.autocast));
  }
  if (!e.grad) s.contexts.push_back("torch.no_grad()");
  if (e.primed_by) s.primed_kernels = kernel_list(*e.primed_by);
  return s;
}

std::string run_function(const Case& bound, const RunResult& result, const ReproSetting& setting,
                         const OpTable& table) {
  TensorText text;
  const bool has_cotangent = std::any_of(bound.cotangents.begin(), bound.cotangents.end(),
                                         [](const auto& c) { return c.has_value(); });
  const bool backward = bound.environment.grad && !bound.wrt.empty() && has_cotangent &&
                        !result.tensor.starts_with("output ") && !result.tensor.ends_with(" after");
  std::vector<std::string> names, lines = text.inputs(bound);
  for (const ProgramInput& input : bound.program.inputs) names.push_back(input.name);
  std::vector<std::string> given = names;
  if (bound.module) {
    const ModuleInputs inputs = module_inputs(bound);
    given = inputs.given;
    lines.push_back("(");
    for (const std::string& name : inputs.placed) lines.push_back("    " + name + ",");
    lines.push_back(") = placed(");
    for (const std::string& name : inputs.placed) {
      lines.push_back(fmt::format("    {0}={0},", name));
    }
    lines.push_back(")");
  }
  if (bound.environment.rng_seed != 0) {
    lines.push_back(fmt::format("torch.manual_seed({})", bound.environment.rng_seed));
  }
  const std::string call = fmt::format("outputs = f({})", fmt::join(given, ", "));
  if (setting.contexts.empty()) {
    lines.push_back(call);
  } else {
    lines.push_back(fmt::format("with {}:", fmt::join(setting.contexts, ", ")));
    lines.push_back("    " + call);
  }
  if (backward) {
    for (std::string& line : backward_lines(bound, text, table)) lines.push_back(std::move(line));
  }
  std::string value = returned(bound, result.tensor, backward);
  if (result.with_neighbours) value += fmt::format(", [{}, *outputs]", fmt::join(names, ", "));
  lines.push_back("return " + value);
  std::string body = setting.kernels.empty()
                         ? "def run(f):\n"
                         : fmt::format("def run(f, kernels={}):\n", setting.kernels);
  for (const std::string& line : lines) body += "    " + line + "\n";
  return text.functions() + body;
}

}  // namespace ulpfuzz
