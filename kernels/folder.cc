#include "kernels/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "ir/error.h"
#include "kernels/variants.h"

namespace ulpfuzz {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path.string(), "cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw Error(path.string(), "cannot be written");
}

// The kernel's text in a namespace, its one function of external linkage with a number.
std::string in_namespace(const KernelExport::Kernel& kernel, std::size_t number) {
  static const std::regex entry(R"re(extern "C"(\s+\w+)?\s+void\s+kernel\()re");
  static const std::regex include(R"re((^|\n)\s*#\s*include[^\n]*)re");
  std::string text = std::regex_replace(kernel.source, include, "$1");
  if (!std::regex_search(text, entry)) throw Error("kernels", "a kernel without an entry");
  text = std::regex_replace(text, entry, fmt::format("static void kernel_{}(", number));
  return fmt::format("namespace ulpfuzz_{} {{\n{}\n}}\n", number, text);
}

std::string call_text(const KernelExport& exported, const KernelExport::Call& call) {
  const KernelExport::Kernel& kernel = exported.kernels[static_cast<std::size_t>(call.kernel)];
  std::string arguments;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string& type = kernel.arguments[i];
    arguments += arguments.empty() ? "" : ", ";
    if (const auto* pointer = std::get_if<KernelExport::Pointer>(&call.arguments[i])) {
      arguments += fmt::format("reinterpret_cast<{}>(buffers[{}] + {})", type, pointer->buffer,
                               pointer->offset);
    } else {
      arguments +=
          fmt::format("static_cast<{}>({}LL)", type, std::get<std::int64_t>(call.arguments[i]));
    }
  }
  return fmt::format("  ulpfuzz_{0}::kernel_{0}({1});\n", call.kernel, arguments);
}

// Flags of g++ that clang has not, or that ask for what is not there.
bool for_gcc_alone(const std::string& flag) {
  static const std::set<std::string> known{"fexcess-precision=fast",
                                           "fno-tree-loop-vectorize",
                                           "fopenmp",
                                           "shared",
                                           "pedantic",
                                           "Werror"};
  return known.contains(flag);
}

}  // namespace

std::string kernel_entry(std::size_t variant) { return fmt::format("ulpfuzz_kernels_{}", variant); }

std::string kernel_source(const KernelExport& exported) {
  std::string text = "#include <cstddef>\n";
  static const std::regex include(R"re(#\s*include[^\n]*)re");
  std::set<std::string> seen;
  for (const KernelExport::Kernel& kernel : exported.kernels) {
    for (std::sregex_iterator it(kernel.source.begin(), kernel.source.end(), include), end;
         it != end; ++it) {
      if (seen.insert(it->str()).second) text += it->str() + "\n";
    }
  }
  for (std::size_t i = 0; i < exported.kernels.size(); ++i) {
    text += in_namespace(exported.kernels[i], i);
  }
  for (std::size_t i = 0; i < exported.bindings.size(); ++i) {
    text += fmt::format("extern \"C\" void {}(std::byte* const* buffers) {{\n", kernel_entry(i));
    for (const KernelExport::Call& call : exported.bindings[i].calls) {
      text += call_text(exported, call);
    }
    text += "}\n";
  }
  return text;
}

KernelFolder write_kernel_folder(const fs::path& folder, const std::vector<Case>& variants,
                                 const std::string& answer) {
  KernelFolder kernel{folder, variants, kernel_export(answer, (folder / "kernels.json").string())};
  for (const KernelExport::Binding& binding : kernel.exported.bindings) {
    if (binding.calls.empty()) throw Error("kernels", "the program has none");
  }
  write_variants(folder, variants);
  write_file(folder / "kernels.json", answer);
  write_file(folder / "kernels.cc", kernel_source(kernel.exported));
  return kernel;
}

KernelFolder read_kernel_folder(const fs::path& folder) {
  const fs::path answer = folder / "kernels.json";
  KernelFolder kernel{folder, read_variants(folder),
                      kernel_export(read_file(answer), answer.string())};
  if (kernel.variants.size() != kernel.exported.bindings.size()) {
    throw Error(folder.string(), "has not the kernels of its variants");
  }
  return kernel;
}

std::vector<std::string> kernel_compile_command(const KernelFolder& kernel,
                                                const std::string& compiler, bool sanitize) {
  const KernelExport::Compiler& given = kernel.exported.compiler;
  std::vector<std::string> command{compiler,  (kernel.folder / "kernels.cc").string(),
                                   "-o",      (kernel.folder / "kernels.so").string(),
                                   "-shared", "-w"};
  for (const std::string& flag : given.flags) {
    if (!for_gcc_alone(flag) && !(sanitize && flag == "O3")) command.push_back("-" + flag);
  }
  for (const std::string& name : given.definitions) command.push_back("-D" + name);
  for (const std::string& path : given.include) command.push_back("-I" + path);
  command.insert(command.end(), given.vector.begin(), given.vector.end());
  if (sanitize) {
    // Not held against the code: conversions that do not fit and shifts, which ATen leaves
    // undefined, and integers that wrap, as ATen's do.
    command.insert(command.end(),
                   {"-O2", "-g1", "-fsanitize=fuzzer-no-link,address,undefined",
                    "-fno-sanitize=vptr,function,float-cast-overflow,signed-integer-overflow,shift",
                    "-fno-sanitize-recover=all"});
  }
  for (const std::string& path : given.libraries) {
    command.push_back("-L" + path);
    command.push_back("-Wl,-rpath," + path);
  }
  command.insert(command.end(), {"-ltorch_cpu", "-lc10"});
  return command;
}

}  // namespace ulpfuzz
