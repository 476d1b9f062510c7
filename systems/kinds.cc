#include "systems/kinds.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "ir/error.h"
#include "systems/environments.h"

namespace ulpfuzz {

std::filesystem::path own_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path();
}

namespace {

namespace fs = std::filesystem;

// Adding a system is one entry here and one in its worker.
constexpr std::array kKinds{
    SystemKind{.name = "eager@py",
               .worker = "python",
               .compiles = false,
               .meaning = "PyTorch's eager mode, called from Python",
               .rounds_all = true},
    SystemKind{.name = "eager@cpp",
               .worker = "libtorch",
               .compiles = false,
               .meaning = "PyTorch's eager mode, called from C++",
               .rounds_all = true},
    SystemKind{.name = "fake@py",
               .worker = "python",
               .compiles = false,
               .meaning = "FakeTensorMode: layouts that compilers believe",
               .has_values = false},
    SystemKind{
        .name = "synthetic@py",
        .worker = "python",
        .compiles = false,
        .meaning =
            "right by construction: eager mode that rounds, reorders and rewrites at random"},
    SystemKind{.name = "inductor",
               .worker = "python",
               .compiles = true,
               .meaning = "torch.compile with its default backend"},
    SystemKind{.name = "dynamo",
               .worker = "python",
               .compiles = true,
               .meaning = "TorchDynamo's graphs, run by ATen's own kernels",
               .rounds_all = true},
    // Without a table of decompositions its graphs are the operators that eager mode calls.
    SystemKind{.name = "aot_eager",
               .worker = "python",
               .compiles = true,
               .meaning = "AOTAutograd's graphs, run by ATen's own kernels",
               .rounds_all = true},
    SystemKind{.name = "thunder",
               .worker = "python",
               .compiles = true,
               .meaning = "Lightning Thunder, behind torch.compile or by itself"},
    SystemKind{.name = "torchscript",
               .worker = "python",
               .compiles = true,
               .meaning = "torch.jit.trace, with its optimised graph"},
    SystemKind{.name = "aoti",
               .worker = "python",
               .compiles = true,
               .meaning = "AOTInductor's package, run by C++; forward only",
               .runner = "libtorch",
               .differentiates = false},
};

constexpr std::string_view kHost = "systems/python/host.py";

// The first folder at or above this binary's that has `path` in it; empty: none.
fs::path above(const fs::path& path) {
  for (fs::path folder = own_folder(); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / path)) return folder;
    if (folder == folder.parent_path()) break;
  }
  return {};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// A file that was built with this binary; "": none that can be accessed so.
std::string beside_binary(const char* file, int access) {
  for (const fs::path& folder : {own_folder(), fs::path(variable("ULPFUZZ_BUILD_DIR"))}) {
    if (!folder.empty() && ::access((folder / file).c_str(), access) == 0) return folder / file;
  }
  return "";
}

// The interpreter of an environment (environments.h), or of a virtual environment in a folder of
// this name; "" is the project's own.
std::string interpreter(const SystemSpec& system, const std::string& python) {
  const std::string& name = system.environment;
  if (name.empty()) return project_python(python, to_string(system));
  const fs::path folder = environments_folder();
  if (const std::optional<fs::path> found = environment_python(folder, name)) return *found;
  if (fs::exists(fs::path(name) / "bin/python")) return fs::path(name) / "bin/python";
  throw NotAvailable(to_string(system), "there is no environment '" + name +
                                            "': 'ulpfuzz env list' says which there are, "
                                            "'ulpfuzz env add' installs one");
}

std::vector<std::string> python_worker(const SystemSpec& system, const std::string& python) {
  return {interpreter(system, python), python_sources(to_string(system)) / "host.py"};
}

std::vector<std::string> libtorch_worker(const SystemSpec& system) {
  if (!system.environment.empty()) {
    throw NotAvailable(to_string(system), "the LibTorch worker is built for one torch only");
  }
  if (const std::string worker = beside_binary("ulpfuzz-libtorch", X_OK); !worker.empty()) {
    return {worker};
  }
  throw NotAvailable(to_string(system), "ulpfuzz-libtorch is not beside this binary");
}

// ATen, oneDNN and MKL choose their kernels once in a process. An empty value removes a variable.
std::map<std::string, std::string> isa_variables(const std::string& isa) {
  if (isa == "native") return {{"ATEN_CPU_CAPABILITY", ""}};
  std::map<std::string, std::string> variables{{"ATEN_CPU_CAPABILITY", isa}};
  if (isa == "avx2") {
    variables["ONEDNN_MAX_CPU_ISA"] = variables["MKL_ENABLE_INSTRUCTIONS"] = "AVX2";
  } else if (isa == "default") {
    variables["ONEDNN_MAX_CPU_ISA"] = "SSE41";
    variables["MKL_ENABLE_INSTRUCTIONS"] = "SSE4_2";
  } else if (isa != "avx512") {
    throw Error("isa", "'" + isa + "' is not one of native, avx512, avx2, default");
  }
  return variables;
}

}  // namespace

std::span<const SystemKind> system_kinds() { return kKinds; }

const SystemKind& system_kind(const std::string& name) {
  std::string known;
  for (const SystemKind& kind : kKinds) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw NotAvailable(name, "there is no such system; there are " + known);
}

std::string project_python(const std::string& python, const std::string& whom) {
  if (!python.empty()) return python;
  if (const std::string named = variable("ULPFUZZ_PYTHON"); !named.empty()) return named;
  if (const fs::path root = above(".venv/bin/python"); !root.empty()) {
    return root / ".venv/bin/python";
  }
  throw NotAvailable(whom, "no Python with torch: set ULPFUZZ_PYTHON, or run make setup");
}

fs::path python_sources(const std::string& whom) {
  const fs::path root = above(kHost);
  if (root.empty()) throw NotAvailable(whom, std::string(kHost) + " is not there");
  return (root / kHost).parent_path();
}

Case asked_of(const SystemSpec& system, const Case& c) {
  const auto kind = std::ranges::find(kKinds, system.name, &SystemKind::name);
  if (kind == kKinds.end() || kind->differentiates) return c;
  Case forward = c;
  forward.wrt.clear();
  for (std::optional<Cotangent>& cotangent : forward.cotangents) cotangent.reset();
  return forward;
}

FreedomSet freedom_of(const SystemSpec& system) {
  const auto given = system.options.find("freedom");
  const bool eager = given == system.options.end() ? system_kind(system.name).rounds_all &&
                                                         !system.options.contains("decompositions")
                                                   : given->second == "eager";
  return eager ? eager_freedom() : fusing_freedom();
}

WorkerCommand runner_command(const SystemSpec& system, const std::string& isa) {
  return {libtorch_worker(system), isa_variables(isa)};
}

WorkerCommand worker_command(const SystemSpec& system, const std::string& python,
                             const std::string& isa) {
  const SystemKind& kind = system_kind(system.name);
  WorkerCommand command{{}, isa_variables(isa)};
  if (kind.worker == "python") {
    command.argv = python_worker(system, python);
    command.variables["ULPFUZZ_FILLS"] = beside_binary("libulpfuzz-fills.so", R_OK);
  } else {
    command.argv = libtorch_worker(system);
  }
  return command;
}

}  // namespace ulpfuzz
