#include "systems/frames.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ir/error.h"

namespace ulpfuzz {
namespace {

// What a body grows by: as much as has come, within these. A peer that announces much and sends
// little makes little be allocated.
constexpr std::size_t kReadFirst = 1u << 16;
constexpr std::size_t kReadAtOnce = 1u << 20;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// Moves the descriptors of a received message into `fds`; false when some were lost.
bool take_fds(msghdr& message, std::vector<UniqueFd>& fds) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return (message.msg_flags & MSG_CTRUNC) == 0 && fds.size() <= Channel::kMaxFds;
}

}  // namespace

int poll_timeout(Channel::Clock::time_point deadline) {
  const auto now = Channel::Clock::now();
  if (deadline <= now) return 0;
  if (deadline - now > std::chrono::hours(1)) return 3'600'000;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count());
}

bool wait_for(int fd, short events, Channel::Clock::time_point deadline) {
  for (;;) {
    pollfd p{fd, events, 0};
    const int ready = ::poll(&p, 1, poll_timeout(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the read or write will say what is wrong
    if (Channel::Clock::now() >= deadline) return false;
  }
}

Channel::Pair Channel::make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(std::string("cannot make a socket for a worker: ") + std::strerror(errno));
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Channel::Channel(UniqueFd fd) : fd_(std::move(fd)) {}

Channel::Status Channel::fail(Status status) {
  fds_.clear();
  body_.clear();
  failed_ = status;
  return status;
}

Channel::Status Channel::poll(Frame& frame) {
  if (failed_ != Status::kFrame) return failed_;
  if (length_read_ < length_.size()) {
    const Status status = read_length();
    if (status != Status::kFrame) return status;
  }
  const Status status = read_body();
  if (status != Status::kFrame) return status;
  frame.text = std::move(body_);
  frame.fds = std::move(fds_);
  body_.clear();
  fds_.clear();
  length_read_ = 0;
  return Status::kFrame;
}

Channel::Status Channel::read_length() {
  while (length_read_ < length_.size()) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * (kMaxFds + 1))];
    iovec part{length_.data() + length_read_, length_.size() - length_read_};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t n = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && would_block(errno)) return Status::kAgain;
    if (n <= 0) return fail(Status::kClosed);
    if (!take_fds(message, fds_)) return fail(Status::kGarbage);
    length_read_ += static_cast<std::size_t>(n);
  }
  body_size_ = 0;
  for (std::size_t i = length_.size(); i-- > 0;) body_size_ = body_size_ << 8 | length_[i];
  if (body_size_ > kMaxBytes) return fail(Status::kGarbage);
  return Status::kFrame;
}

Channel::Status Channel::read_body() {
  while (body_.size() < body_size_) {
    const std::size_t before = body_.size();
    body_.resize(std::min(body_size_, before + std::clamp(before, kReadFirst, kReadAtOnce)));
    const ssize_t n = ::recv(fd_.get(), body_.data() + before, body_.size() - before, MSG_DONTWAIT);
    const int error = errno;
    body_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && error == EINTR) continue;
    if (n < 0 && would_block(error)) return Status::kAgain;
    if (n <= 0) return fail(Status::kClosed);
  }
  return Status::kFrame;
}

Channel::Status Channel::receive(Frame& frame, Clock::time_point deadline) {
  for (;;) {
    const Status status = poll(frame);
    if (status != Status::kAgain) return status;
    if (!wait_for(fd_.get(), POLLIN, deadline)) return Status::kAgain;
  }
}

bool Channel::send(std::string_view text, std::span<const int> fds, Clock::time_point deadline) {
  if (text.size() > kMaxBytes) throw Error("a message for a worker is beyond 64 MiB");
  unsigned char length[4];
  for (std::size_t i = 0; i < 4; ++i) length[i] = static_cast<unsigned char>(text.size() >> 8 * i);

  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  std::size_t sent = 0;
  while (sent < sizeof(length) + text.size()) {
    iovec parts[2];
    const std::size_t of_text = sent < sizeof(length) ? 0 : sent - sizeof(length);
    std::size_t count = 0;
    if (sent < sizeof(length)) parts[count++] = {length + sent, sizeof(length) - sent};
    parts[count++] = {const_cast<char*>(text.data()) + of_text, text.size() - of_text};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    if (sent == 0 && !fds.empty()) {
      if (fds.size() > kMaxFds) throw Error("too many descriptors for one frame");
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
    }
    const ssize_t n = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
    } else if (n < 0 && would_block(errno)) {
      if (!wait_for(fd_.get(), POLLOUT, deadline)) return false;
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace ulpfuzz
