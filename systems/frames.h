#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systems/unique_fd.h"

namespace ulpfuzz {

// One message of the worker protocol (PROTOCOL.md): its JSON text, unparsed, and the descriptors
// that travelled with it.
struct Frame {
  std::string text;
  std::vector<UniqueFd> fds;
};

// A connected Unix stream socket that carries frames: a 32-bit little-endian length, then as many
// bytes; descriptors come with the first byte of the length.
//
// The peer is not trusted. Nothing it sends throws, blocks beyond a deadline, or allocates more
// than it has sent; descriptors beyond kMaxFds, or with any byte but a frame's first, are closed.
// One thread at a time.
class Channel {
 public:
  static constexpr std::uint32_t kMaxBytes = 64u << 20;
  static constexpr std::size_t kMaxFds = 4;
  using Clock = std::chrono::steady_clock;

  enum class Status : std::uint8_t {
    kFrame,   // one frame was read
    kAgain,   // nothing whole has come yet
    kClosed,  // the peer is gone, at the end of a frame or within one
    kGarbage  // the length is beyond kMaxBytes or too many descriptors came: not a frame
  };

  // Two connected ends, both closed on exec.
  struct Pair {
    UniqueFd first, second;
  };
  static Pair make_pair();  // throws Error

  explicit Channel(UniqueFd fd);

  int fd() const { return fd_.get(); }

  // Takes in what has come, without blocking. A frame that came in part is kept for the next call.
  // After kClosed or kGarbage it gives the same answer for ever.
  Status poll(Frame& frame);

  // The next frame, or kAgain when the deadline has passed.
  Status receive(Frame& frame, Clock::time_point deadline);

  // Sends one frame whole. False when the peer is gone, or has not taken all by the deadline; the
  // channel is of no use then. Throws Error for a text beyond kMaxBytes.
  bool send(std::string_view text, std::span<const int> fds = {},
            Clock::time_point deadline = Clock::time_point::max());

 private:
  Status read_length();
  Status read_body();
  Status fail(Status status);

  UniqueFd fd_;
  std::array<unsigned char, 4> length_{};
  std::size_t length_read_ = 0;
  std::size_t body_size_ = 0;
  std::string body_;
  std::vector<UniqueFd> fds_;
  Status failed_ = Status::kFrame;  // kFrame: not failed
};

// Waits until `fd` is ready for `events` (of poll(2)) or the deadline has passed: false.
bool wait_for(int fd, short events, Channel::Clock::time_point deadline);

// Milliseconds until the deadline as poll(2) wants them: at least 0, rounded up, at most an hour.
int poll_timeout(Channel::Clock::time_point deadline);

}  // namespace ulpfuzz
