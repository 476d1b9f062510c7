#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/store.h"
#include "ir/error.h"

namespace {

// In memory, and gone with the process.
class Folder {
 public:
  Folder() {
    std::string name = "/dev/shm/open_store.XXXXXX";
    path_ = ::mkdtemp(name.data());
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

}  // namespace

// A store whose database holds these bytes: opened, read, written to.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpfuzz;
  static const Folder folder;
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
