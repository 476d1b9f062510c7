#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ulpfuzz {

// Environments: interpreters with packages of their own, so that other releases of torch can be run
// beside the project's. Each is a folder that holds a virtual environment, `requirements.lock` (all
// packages, with versions and hashes) and `environment.json`, which is written last: a folder
// without it is the rest of an installation that was cut, and is no environment.
struct InstalledEnvironment {
  std::string name;    // "torch-2.15.0": `inductor@torch-2.15.0` runs there
  std::string torch;   // version
  std::string python;  // version
  std::filesystem::path path;
  std::uint64_t bytes = 0;  // on disk
};

// $ULPFUZZ_ENVIRONMENTS, else ulpfuzz/environments in $XDG_DATA_HOME or ~/.local/share.
std::filesystem::path environments_folder();

// By name; nothing where the folder is not there.
std::vector<InstalledEnvironment> installed_environments(const std::filesystem::path& folder);

// The interpreter of an environment; nothing where there is none of this name.
std::optional<std::filesystem::path> environment_python(const std::filesystem::path& folder,
                                                        const std::string& name);

// What is to be installed: exact versions of torch and, if wanted, of others.
struct EnvironmentWish {
  std::string name;
  std::vector<std::string> specs;  // "torch==2.15.0"
};

// "NAME SPEC..." or "SPEC...", whose name is the first spec's, "torch-2.15.0". Throws Error for a
// name that a system could not be written with, a spec that does not name one version, and where
// torch is missing.
EnvironmentWish parse_environment(const std::vector<std::string>& words);

struct InstallOptions {
  std::string python;  // the interpreter that virtual environments are made with
  std::uint64_t limit_bytes = std::uint64_t{24} << 30;  // of all environments together
  std::function<bool()> stopped = [] { return false; };
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// Installs from the package index that pip is configured for (PyPI), wheels only. One that is there
// already with these specs is left as it is. Throws Error, and leaves nothing, when it cannot be
// had, does not fit (before anything is installed), or was stopped.
InstalledEnvironment add_environment(const std::filesystem::path& folder,
                                     const EnvironmentWish& wish, const InstallOptions& options);

// Also what is left of an installation that was cut. The bytes that were on disk; throws Error
// where there is nothing of this name.
std::uint64_t remove_environment(const std::filesystem::path& folder, const std::string& name);

// Throws Error, in one line, where `more` bytes beside `used` are beyond `limit`, or beyond `free`.
void require_room(const std::string& name, std::uint64_t more, std::uint64_t used,
                  std::uint64_t limit, std::uint64_t free);

}  // namespace ulpfuzz
