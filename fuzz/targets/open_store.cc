#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/store.h"
#include "ir/error.h"

namespace {

// In memory where there is such a place, and gone with the process.
class Folder {
 public:
  Folder() {
    for (const char* place : {"/dev/shm", "/tmp"}) {
      std::string name = std::string(place) + "/open_store.XXXXXX";
      if (::mkdtemp(name.data()) == nullptr) continue;
      path_ = name;
      return;
    }
    std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// One process has the database, so SQLite keeps what processes would share in its own memory.
bool alone() {
  return sqlite3_vfs_register(sqlite3_vfs_find("unix-excl"), /*makeDflt=*/1) == SQLITE_OK;
}

}  // namespace

// A store whose database holds these bytes: opened, read, written to.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpfuzz;
  static const Folder folder;
  static const bool is_alone = alone();
  if (!is_alone) std::abort();
  for (const char* left : {"store.sqlite", "store.sqlite-wal", "store.sqlite-shm"}) {
    std::filesystem::remove(folder.path() / left);
  }
  std::ofstream(folder.path() / "store.sqlite", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    Store store(folder.path());
    store.findings();
    store.last_campaign();
    store.finding("0123456789ab");
    store.begin_campaign(1, "inductor");
  } catch (const Error&) {  // refused
  }
  return 0;
}
