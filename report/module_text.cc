#include "report/module_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/python_text.h"

namespace ulpfuzz {
namespace {

constexpr std::string_view kTransformers = "transformers.", kCausal = "ForCausalLM";

std::string literal(const ConfigValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return python_number(*real);
  return "'" + std::get<std::string>(value) + "'";  // of a list of known texts
}

using Fields = std::map<std::string, std::string>;

std::string arguments(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += fmt::format("    {}={},\n", name, value);
  return text;
}

Fields literals(const ModuleConfig& module) {
  Fields fields;
  for (const auto& [name, value] : module.config) fields[name] = literal(value);
  return fields;
}

std::string transformers_module(const ModuleConfig& module) {
  const std::string name = module.module.substr(kTransformers.size());
  Fields fields = literals(module);
  fields.try_emplace("pad_token_id", "None");
  if (fields["pad_token_id"] == "-1") fields["pad_token_id"] = "None";
  fields.try_emplace("attn_implementation", "'sdpa'");
  fields["bos_token_id"] = fields["eos_token_id"] = "None";
  std::string rope;
  for (const char* field : {"rope_theta", "partial_rotary_factor"}) {
    if (const auto node = fields.extract(field)) {
      rope += fmt::format(", '{}': {}", field, node.mapped());
    }
  }
  if (!rope.empty()) {
    if (rope.find("rope_theta") == rope.npos) rope += ", 'rope_theta': 10000.0";
    fields["rope_parameters"] = "{'rope_type': 'default'" + rope + "}";
  }
  return fmt::format("config = transformers.{}Config(\n{})\nmodule = transformers.{}(config)",
                     name.substr(0, name.size() - kCausal.size()), arguments(fields), name);
}

std::string litgpt_module(const ModuleConfig& module) {
  Fields fields = literals(module);
  if (fields.contains("sliding_window_size") && fields["sliding_window_size"] == "0") {
    fields.erase("sliding_window_size");
  }
  return fmt::format("config = litgpt.Config(\n{})\nmodule = litgpt.GPT(config)",
                     arguments(fields));
}

std::string step_body(bool of_transformers, bool labels) {
  if (of_transformers) {
    return labels ? "        result = self.module(input_ids=input_ids, labels=labels, "
                    "use_cache=False)\n        return result.loss, result.logits\n"
                  : "        return (self.module(input_ids=input_ids, use_cache=False).logits,)\n";
  }
  return labels ? "        logits = self.module(input_ids)\n"
                  "        rows = logits.reshape(-1, logits.size(-1))\n"
                  "        loss = torch.nn.functional.cross_entropy(rows, labels.reshape(-1))\n"
                  "        return loss, logits\n"
                : "        return (self.module(input_ids),)\n";
}

constexpr std::string_view kPlaced =
    "def placed(**values):\n"
    "    own = {name.replace('.', '_'): t for name, t in module.named_buffers()}\n"
    "    for name, parameter in module.named_parameters():\n"
    "        own[name.replace('.', '_')] = parameter\n"
    "        parameter.requires_grad_(values[name.replace('.', '_')].requires_grad)\n"
    "    for name in own.keys() & values.keys():\n"
    "        own[name].data.copy_(values[name].detach())\n"
    "    return [own.get(name, value) for name, value in values.items()]\n";

}  // namespace

ModuleText module_text(const ModuleConfig& module) {
  const bool of_transformers = module.module.starts_with(kTransformers);
  ModuleText text;
  text.needs = of_transformers ? "transformers" : "litgpt";
  text.imports = {"import " + text.needs};
  text.definitions = of_transformers ? transformers_module(module) : litgpt_module(module);
  text.definitions +=
      fmt::format(".to(torch.{}){}\n\n\n", module.dtype, module.gradients ? "" : ".eval()");
  text.definitions += fmt::format(
      "class Step(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "        self.module = module\n\n    def forward(self, input_ids{}):\n{}\n\n"
      "program = Step()\n\n\n{}",
      module.labels ? ", labels" : "", step_body(of_transformers, module.labels), kPlaced);
  return text;
}

ModuleInputs module_inputs(const Case& c) {
  ModuleInputs names;
  for (const ProgramInput& input : c.program.inputs) {
    const bool given = input.name == "input_ids" || input.name == "labels";
    (given ? names.given : names.placed).push_back(input.name);
  }
  return names;
}

}  // namespace ulpfuzz
