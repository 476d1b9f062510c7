#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/targets/expected_runs.h"
#include "ir/error.h"
#include "systems/frames.h"
#include "systems/result.h"

namespace {

using namespace ulpfuzz;

// A memory of these bytes; the next call takes it for others.
UniqueFd memory_of(std::string_view bytes) {
  static const UniqueFd memory(::memfd_create("parse_result", MFD_CLOEXEC));
  if (::ftruncate(memory.get(), 0) != 0 ||
      ::pwrite(memory.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  return UniqueFd(::dup(memory.get()));
}

// A text, of which no frame could be the beginning: its first four bytes would be a length beyond
// all frames.
bool is_text(std::string_view bytes) { return bytes.size() >= 4 && bytes[3] >= ' '; }

// A peer that sends these bytes and goes.
void receive(std::string_view bytes) {
  Channel::Pair pair = Channel::make_pair();
  const std::string_view sent = bytes.substr(0, 4096);  // what a socket takes at once
  if (::write(pair.second.get(), sent.data(), sent.size()) != static_cast<ssize_t>(sent.size())) {
    std::abort();
  }
  pair.second = UniqueFd();
  Channel channel(std::move(pair.first));
  Frame frame;
  while (channel.poll(frame) == Channel::Status::kFrame) {
  }
}

}  // namespace

// What a worker sends: bytes of its socket; and, up to the first byte 0, the text of a result
// frame, from there on the elements that come with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!is_text(bytes)) receive(bytes);
  const std::size_t end = std::min(bytes.find('\0'), size);
  for (const bool package : {false, true}) {
    Frame frame;
    frame.text = bytes.substr(0, end);
    if (end < size) frame.fds.push_back(memory_of(bytes.substr(end + 1)));
    try {
      UniqueFd made;
      if (package) {
        read_package(frame, made);
      } else {
        read_result(frame, expected_runs());
      }
    } catch (const Error&) {  // refused
    }
  }
  return 0;
}
