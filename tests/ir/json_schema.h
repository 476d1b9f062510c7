#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace ulpfuzz {

// JSON Schema (draft 2020-12) as far as the schemas of this project use it. A keyword that is not
// known here is an error, so that no constraint is passed over in silence.
class JsonSchemas {
 public:
  // Reads all schemas (*.schema.json) of a folder; a schema is named by its file.
  explicit JsonSchemas(const std::string& folder);

  // "" when `value` is valid under the schema, else where and why it is not.
  std::string check(const std::string& schema, const nlohmann::json& value) const;

 private:
  using Json = nlohmann::json;
  // `file` is the document that "#" in `schema` refers to.
  std::string check(const std::string& file, const Json& schema, const Json& value,
                    const std::string& at) const;
  std::string keyword(const std::string& file, const Json& schema, const std::string& key,
                      const Json& value, const std::string& at) const;
  std::string reference(const std::string& file, const std::string& target, const Json& value,
                        const std::string& at) const;
  std::string members(const std::string& file, const Json& schema, const Json& value,
                      const std::string& at) const;
  int matching(const std::string& file, const Json& alternatives, const Json& value,
               const std::string& at) const;

  std::map<std::string, Json> documents_;
};

}  // namespace ulpfuzz
