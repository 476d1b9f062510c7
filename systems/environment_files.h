#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// How an environment lies on disk (environments.h).
namespace ulpfuzz {

inline constexpr const char* kEnvironmentFile = "environment.json";

struct EnvironmentFile {
  std::string torch, python;
  std::vector<std::string> specs;
};
// Nothing where the installation is not complete.
std::optional<EnvironmentFile> read_environment_file(const std::filesystem::path& environment);

// What a folder and all in it take, in blocks of the disk.
std::uint64_t disk_bytes(const std::filesystem::path& folder);

}  // namespace ulpfuzz
