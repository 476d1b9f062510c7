#include "importers/hf_config.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "importers/module_settings.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_reader.h"
#include "ir/modules.h"

namespace ulpfuzz {
namespace {

struct ModelType {
  std::string_view name;    // model_type
  std::string_view module;  // ir/modules.h
  std::string_view architecture;
};
constexpr std::array kModelTypes{
    ModelType{"qwen2", "transformers.Qwen2ForCausalLM", "Qwen2ForCausalLM"},
    ModelType{"llama", "transformers.LlamaForCausalLM", "LlamaForCausalLM"},
    ModelType{"phi3", "transformers.Phi3ForCausalLM", "Phi3ForCausalLM"},
};

// Make a library load code that is not its own.
constexpr std::array<std::string_view, 5> kCode{"auto_map", "trust_remote_code", "custom_pipelines",
                                                "use_kernels", "kernel_config"};

// Of no effect on what the module computes, whatever the value.
const std::set<std::string_view> kOfNoEffect{"model_type",
                                             "architectures",
                                             "transformers_version",
                                             "_name_or_path",
                                             "use_cache",
                                             "bos_token_id",
                                             "eos_token_id",
                                             "id2label",
                                             "label2id",
                                             "return_dict",
                                             "output_attentions",
                                             "output_hidden_states",
                                             "problem_type",
                                             "tokenizer_class",
                                             "finetuning_task",
                                             "task_specific_params",
                                             "max_window_layers",
                                             "num_labels",
                                             "chunk_size_feed_forward",
                                             "is_encoder_decoder",
                                             "original_max_position_embeddings",
                                             "ignore_keys_at_rope_validation",
                                             "torch_dtype",
                                             "dtype",
                                             "rope_scaling",
                                             "rope_parameters",
                                             "_attn_implementation",
                                             "layer_types"};

// Of no effect with this value.
const std::multimap<std::string_view, Json>& harmless() {
  static const std::multimap<std::string_view, Json> values = {
      {"attention_dropout", 0.0},    {"resid_pdrop", 0.0},           {"embd_pdrop", 0.0},
      {"use_sliding_window", false}, {"pretraining_tp", 1},          {"mlp_bias", false},
      {"attention_bias", false},     {"partial_rotary_factor", 1.0}, {"hidden_dropout", 0.0},
  };
  return values;
}

std::string text_of(const JsonReader& value) {
  const std::string text = value.json().dump();
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

class ConfigImport {
 public:
  ConfigImport(const JsonReader& config, const Settings& settings)
      : config_(config), settings_(settings) {}

  Imported imported() {
    refuse_code();
    const ModelType& type = model_type();
    module_.module = type.module;
    for (const std::string& key : config_.keys()) take(key, config_.at(key));
    take_rope();
    take_attention();
    check_layers();
    check_architecture(type);
    take_call();
    for (const auto& [field, value] : settings_) set_module_field(module_, field, value);
    take_length();
    check_padding();
    check_module(module_, "--set");
    Imported result{{}, "config", std::move(notes_)};
    result.test.module = std::move(module_);
    return result;
  }

 private:
  void note(const std::string& text) { notes_.push_back(text); }
  void left_out(const std::string& key, const JsonReader& value, const std::string& why) {
    note(key + " = " + text_of(value) + " is not taken: " + why);
  }

  void refuse_code() const {
    for (const std::string_view key : kCode) {
      const std::optional<JsonReader> found = config_.find(key);
      if (!found || found->is_null()) continue;
      if (found->json().is_boolean() && !found->boolean()) continue;
      found->fail("would make a library load code that is not its own; a case is data");
    }
  }

  const ModelType& model_type() const {
    const JsonReader given = config_.at("model_type");
    const std::string name = given.string();
    std::string known;
    for (const ModelType& type : kModelTypes) {
      if (type.name == name) return type;
      known += (known.empty() ? "" : ", ") + std::string(type.name);
    }
    given.fail("is '" + name + "'; there are " + known);
  }

  const ModuleField* field(std::string_view name) const {
    const auto fields = module_kind(module_.module).fields;
    const auto found = std::ranges::find(fields, name, &ModuleField::name);
    return found == fields.end() ? nullptr : &*found;
  }

  bool changes_nothing(const std::string& key, const JsonReader& value) const {
    if (value.is_null() || kOfNoEffect.contains(key)) return true;
    const auto [first, last] = harmless().equal_range(key);
    if (std::any_of(first, last, [&](const auto& one) { return one.second == value.json(); })) {
      return true;
    }
    const std::optional<JsonReader> window = config_.find("use_sliding_window");
    const bool on = window && window->json().is_boolean() && window->boolean();
    return key == "sliding_window" && !on;
  }

  void take(const std::string& key, const JsonReader& value) {
    const ModuleField* known = field(key);
    if (known == nullptr) {
      if (!changes_nothing(key, value)) left_out(key, value, "no field that a case may give");
      return;
    }
    if (value.is_null()) return;  // the library's default
    try {
      const ConfigValue read = value_of(value, *known);
      ModuleConfig alone;
      alone.module = module_.module;
      alone.length = 2;
      alone.config[key] = read;
      check_module(alone, config_.place());
      module_.config[key] = read;
    } catch (const Error& error) {
      left_out(key, value, error.what());
    }
  }

  static ConfigValue value_of(const JsonReader& value, const ModuleField& known) {
    if (std::holds_alternative<bool>(known.smallest)) return value.boolean();
    if (std::holds_alternative<std::int64_t>(known.smallest)) return value.integer();
    if (std::holds_alternative<std::string>(known.smallest)) return value.string();
    if (!value.json().is_number()) value.fail("must be a number");
    return value.json().get<double>();
  }

  // Both the form of transformers 5 (rope_parameters) and the older one.
  void take_rope() {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
      const std::optional<JsonReader> rope = config_.find(key);
      if (!rope || rope->is_null()) continue;
      for (const std::string& name : rope->keys()) {
        const JsonReader value = rope->at(name);
        const std::string whole = std::string(key) + "." + name;
        if (field(name) != nullptr) {
          take(name, value);
        } else if (name == "rope_type" || name == "type") {
          if (value.string() != "default") {
            left_out(whole, value, "the rotary embedding is the default one");
          }
        } else if (!value.is_null() && !changes_nothing(name, value)) {
          left_out(whole, value, "no field that a case may give");
        }
      }
    }
  }

  void take_attention() {
    const std::optional<JsonReader> given = config_.find("_attn_implementation");
    if (!given || given->is_null()) return;
    const std::string name = given->string();
    if (name.find('/') != std::string::npos) given->fail("would load kernels of a hub");
    take("attn_implementation", *given);
  }

  void check_layers() {
    const std::optional<JsonReader> types = config_.find("layer_types");
    if (!types || types->is_null()) return;
    const auto all = types->elements(1 << 16);
    const auto other = std::ranges::find_if(
        all, [](const JsonReader& type) { return type.string() != "full_attention"; });
    if (other != all.end()) left_out("layer_types", *other, "every layer has full attention");
  }

  void check_architecture(const ModelType& type) {
    const std::optional<JsonReader> given = config_.find("architectures");
    if (!given || given->is_null()) return;
    for (const JsonReader& name : given->elements(64)) {
      if (name.string() == type.architecture) return;
    }
    left_out("architectures", *given, "the module is " + std::string(type.architecture));
  }

  void take_call() {
    for (const char* key : {"dtype", "torch_dtype"}) {
      const std::optional<JsonReader> given = config_.find(key);
      if (!given || given->is_null()) continue;
      const std::string name = given->string();
      const std::optional<DType> dtype = parse_dtype(name);
      if (dtype && is_floating(*dtype)) {
        module_.dtype = name;
      } else {
        left_out(key, *given, "no floating type that a case may have");
      }
      break;
    }
    module_.labels = true;
  }

  void take_length() {
    if (settings_.contains("length")) return;
    const auto positions = module_.config.find("max_position_embeddings");
    const std::int64_t* most =
        positions == module_.config.end() ? nullptr : std::get_if<std::int64_t>(&positions->second);
    module_.length = most == nullptr ? 32 : std::clamp<std::int64_t>(*most, 2, 32);
  }

  // A smaller vocabulary may have no such token.
  void check_padding() {
    const auto pad = module_.config.find("pad_token_id");
    const auto tokens = module_.config.find("vocab_size");
    if (pad == module_.config.end() || tokens == module_.config.end()) return;
    if (std::get<std::int64_t>(pad->second) < std::get<std::int64_t>(tokens->second)) return;
    note("pad_token_id is not taken: there are fewer tokens");
    module_.config.erase(pad);
  }

  const JsonReader& config_;
  const Settings& settings_;
  ModuleConfig module_;
  std::vector<std::string> notes_;
};

}  // namespace

Imported import_hf_config(std::string_view text, const std::string& place,
                          const Settings& settings) {
  const Json json = parse_json(text, place);
  const JsonReader config(json, pointer_root(place));
  return ConfigImport(config, settings).imported();
}

bool is_hf_config(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("model_type") && !json.contains("ulpfuzz");
}

}  // namespace ulpfuzz
