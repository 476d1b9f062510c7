#include "systems/frames.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

namespace ulpfuzz {
namespace {

using Status = Channel::Status;

// Two ends in one process: what one sends the other receives.
struct Ends {
  Ends() : Ends(Channel::make_pair()) {}
  explicit Ends(Channel::Pair pair) : here(std::move(pair.first)), there(std::move(pair.second)) {}
  Channel here, there;
};

Channel::Clock::time_point soon() { return Channel::Clock::now() + std::chrono::seconds(60); }

void write_raw(const Channel& channel, std::string_view bytes) {
  ASSERT_EQ(::send(channel.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

TEST(Frames, ArriveWholeAndInOrder) {
  Ends ends;
  ASSERT_TRUE(ends.here.send("{}"));
  ASSERT_TRUE(ends.here.send(""));
  ASSERT_TRUE(ends.here.send("second"));
  Frame frame;
  for (const char* expected : {"{}", "", "second"}) {
    ASSERT_EQ(ends.there.poll(frame), Status::kFrame);
    EXPECT_EQ(frame.text, expected);
    EXPECT_TRUE(frame.fds.empty());
  }
  EXPECT_EQ(ends.there.poll(frame), Status::kAgain);
}

// Much more than the socket's buffer holds: both sides must make progress in turns.
TEST(Frames, LargerThanTheSocketsBuffer) {
  Ends ends;
  std::string text(8u << 20, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  std::jthread sender([&] { EXPECT_TRUE(ends.here.send(text, {}, soon())); });
  Frame frame;
  ASSERT_EQ(ends.there.receive(frame, soon()), Status::kFrame);
  EXPECT_EQ(frame.text, text);
}

TEST(Frames, CarryDescriptorsOfTheirOwnFrameOnly) {
  Ends ends;
  const UniqueFd memory(::memfd_create("frames_test", MFD_CLOEXEC));
  ASSERT_EQ(::write(memory.get(), "1234", 4), 4);
  const int fds[] = {memory.get()};
  ASSERT_TRUE(ends.here.send("before"));
  ASSERT_TRUE(ends.here.send("with", fds));
  ASSERT_TRUE(ends.here.send("after"));
  Frame frame;
  ASSERT_EQ(ends.there.poll(frame), Status::kFrame);
  EXPECT_TRUE(frame.fds.empty());
  ASSERT_EQ(ends.there.poll(frame), Status::kFrame);
  ASSERT_EQ(frame.fds.size(), 1u);
  char read[4];
  EXPECT_EQ(::pread(frame.fds[0].get(), read, 4, 0), 4);
  EXPECT_EQ(std::string_view(read, 4), "1234");
  ASSERT_EQ(ends.there.poll(frame), Status::kFrame);
  EXPECT_TRUE(frame.fds.empty());
}

// Every prefix of a frame leaves the reader waiting; the rest completes it.
TEST(Frames, CutAnywhere) {
  const std::string bytes = std::string("\x05\0\0\0", 4) + "hello";
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Ends ends;
    if (cut > 0) write_raw(ends.here, bytes.substr(0, cut));
    Frame frame;
    ASSERT_EQ(ends.there.poll(frame), Status::kAgain) << cut;
    write_raw(ends.here, bytes.substr(cut));
    ASSERT_EQ(ends.there.poll(frame), Status::kFrame) << cut;
    EXPECT_EQ(frame.text, "hello");
  }
}

TEST(Frames, PeerGoneAtEveryPointIsClosed) {
  const std::string bytes = std::string("\x05\0\0\0", 4) + "hello";
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Channel::Pair pair = Channel::make_pair();
    Channel there(std::move(pair.second));
    {
      Channel here(std::move(pair.first));
      if (cut > 0) write_raw(here, bytes.substr(0, cut));
    }
    Frame frame;
    EXPECT_EQ(there.receive(frame, soon()), Status::kClosed) << cut;
    EXPECT_EQ(there.poll(frame), Status::kClosed) << cut;
  }
}

TEST(Frames, LengthBeyondTheLimitIsGarbageForEver) {
  Ends ends;
  write_raw(ends.here, std::string("\x01\0\0\x04", 4) + "anything");  // 64 MiB + 1
  Frame frame;
  EXPECT_EQ(ends.there.poll(frame), Status::kGarbage);
  EXPECT_EQ(ends.there.poll(frame), Status::kGarbage);
}

// A length that promises 64 MiB costs no memory until the bytes come.
TEST(Frames, PromisedBytesAreNotAllocated) {
  Ends ends;
  write_raw(ends.here, std::string("\0\0\0\x04", 4) + "x");
  Frame frame;
  EXPECT_EQ(ends.there.poll(frame), Status::kAgain);
}

TEST(Frames, TooManyDescriptorsAreGarbage) {
  Ends ends;
  const UniqueFd memory(::memfd_create("frames_test", MFD_CLOEXEC));
  constexpr std::size_t kCount = Channel::kMaxFds + 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kCount)] = {};
  char bytes[] = {2, 0, 0, 0, '{', '}'};
  iovec part{bytes, sizeof(bytes)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int) * kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const int fd = memory.get();
    std::memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
  }
  ASSERT_EQ(::sendmsg(ends.here.fd(), &message, MSG_NOSIGNAL), 6);
  Frame frame;
  EXPECT_EQ(ends.there.poll(frame), Status::kGarbage);
}

// Bytes of a counter-based stream as the peer's whole output: the reader ends in one of its four
// answers, whatever comes, and takes no frame that is longer than what was sent.
TEST(Frames, AnyBytesAreSurvived) {
  std::uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>(state >> 33);
  };
  for (int round = 0; round < 2000; ++round) {
    Channel::Pair pair = Channel::make_pair();
    Channel there(std::move(pair.second));
    std::string bytes(next() % 64, '\0');
    // Small lengths are frequent, so that whole frames occur too.
    for (char& c : bytes) c = static_cast<char>(next() % 3 == 0 ? next() % 4 : 0);
    {
      Channel here(std::move(pair.first));
      if (!bytes.empty()) write_raw(here, bytes);
    }
    std::size_t taken = 0;
    Frame frame;
    Status status = Status::kFrame;
    while ((status = there.poll(frame)) == Status::kFrame) taken += 4 + frame.text.size();
    EXPECT_NE(status, Status::kAgain);  // the peer is gone
    EXPECT_LE(taken, bytes.size());
  }
}

TEST(Frames, SendingToAPeerThatIsGoneOrDeafEnds) {
  {
    Channel::Pair pair = Channel::make_pair();
    Channel here(std::move(pair.first));
    pair.second.reset();
    EXPECT_FALSE(here.send("{}"));
  }
  Ends ends;
  const std::string text(Channel::kMaxBytes, 'x');
  EXPECT_FALSE(ends.here.send(text, {}, Channel::Clock::now() + std::chrono::milliseconds(20)));
}

}  // namespace
}  // namespace ulpfuzz
