#include <fmt/format.h>

#include "ir/python_source.h"
#include "report/module_text.h"
#include "report/report.h"
#include "report/repro_text.h"
#include "report/witness.h"

namespace ulpfuzz {
namespace {

// One sentence for a docstring.
std::string headline(const Finding& finding) {
  std::string detail = leading_fact(finding).detail;
  detail = detail.substr(0, detail.find('\n')).substr(0, 200);
  std::string safe;
  for (const char c : detail) {
    if (c == '\\' || c == '"') safe += '\\';
    safe += c;
  }
  return fmt::format("{}: {}{}{}", finding.signature.system, name(finding.signature.kind),
                     safe.empty() ? "" : ". ", safe);
}

std::string seen_with(const Finding& finding) {
  const auto& versions = finding.system_run.versions.empty() ? finding.eager_run.versions
                                                             : finding.system_run.versions;
  const auto torch = versions.find("torch");
  return torch == versions.end() ? "" : " Seen with torch " + torch->second + ".";
}

// The script without its last lines, which call main().
std::string definitions(const Finding& finding, const OpTable& table, const std::string& usage) {
  const ReproCheck check = repro_check(finding, table);
  const ReproSetting setting = repro_setting(check.shown.environment);
  const CompiledText compiled =
      compiled_text(parse_system(finding.signature.system), check.shown.environment);
  std::string text =
      fmt::format("\"\"\"{}\n{}{}\"\"\"\n", headline(finding), usage, seen_with(finding));
  for (const std::string& line : setting.before_torch) text += line + "\n";
  for (const std::string& module : check.imports) text += "import " + module + "\n";
  text += "import sys\nimport traceback\n\nimport torch\n";
  for (const std::string& line : setting.imports) text += line + "\n";
  for (const std::string& line : compiled.imports) text += line + "\n";
  std::optional<ModuleText> module;
  if (check.shown.module) {
    module = module_text(*check.shown.module);
    for (const std::string& line : module->imports) text += line + "\n";
  }
  text += "\n";
  for (const std::string& line : setting.switches) text += line + "\n";
  text +=
      "\n" + (module ? module->definitions : python_function(check.shown.program, table)) + "\n";
  text += run_function(check.shown, check.result, setting, table) + "\n";
  return text + compiled.functions + check.functions;
}

}  // namespace

std::string repro_pytest(const Finding& finding, const OpTable& table) {
  return definitions(finding, table, "A test that fails while this fault is there.") +
         fmt::format(
             "\ndef test_{}():\n"
             "    status = main()\n"
             "    if status == 2:\n"
             "        import pytest\n\n"
             "        pytest.skip('cannot tell')\n"
             "    assert status == 0\n",
             finding.id);
}

std::string repro_py(const Finding& finding, const OpTable& table) {
  std::string text = definitions(
      finding, table, "Exits 1 while this fails, 0 when it is fixed, 2 when it cannot tell.");
  text +=
      "\nif __name__ == '__main__':\n"
      "    try:\n"
      "        sys.exit(main())\n"
      "    except Exception:\n"
      "        traceback.print_exc()\n"
      "        sys.exit(2)\n";
  return text;
}

}  // namespace ulpfuzz
