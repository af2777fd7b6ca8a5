// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The real server under a service manager that speaks the protocol of sd_notify(3): when it says
// that it is ready, alive and about to stop, and when it no longer says so.

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr milliseconds kWatchdogTime{2'000};
constexpr milliseconds kPatience{30'000};  // sanitizers are slow

// Receives what a service manager would.
class Manager {
 public:
  // `is_abstract`: the name is none of the file system.
  explicit Manager(bool is_abstract) {
    name_ = absl::StrCat(is_abstract ? "@" : "/tmp/", "orbserve-manager-", getpid());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (is_abstract) address.sun_path[0] = '\0';
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const size_t length = offsetof(sockaddr_un, sun_path) + name_.size();
    EXPECT_EQ(
        bind(socket_, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(length)),
        0)
        << name_ << ": " << std::strerror(errno);
    setenv("NOTIFY_SOCKET", name_.c_str(), 1);
    setenv("WATCHDOG_USEC", absl::StrCat(kWatchdogTime.count() * 1000).c_str(), 1);
    unsetenv("WATCHDOG_PID");
  }
  ~Manager() {
    close(socket_);
    unlink(name_.c_str());
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
  }

  // The messages that come within `time`, or until one that contains `last`.
  std::vector<std::string> Receive(milliseconds time, const std::string& last = "\n\n") const {
    std::vector<std::string> messages;
    const auto end = steady_clock::now() + time;
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
      pollfd look = {.fd = socket_, .events = POLLIN, .revents = 0};
      if (left.count() <= 0 || poll(&look, 1, static_cast<int>(left.count())) <= 0) break;
      char text[4096];
      const ssize_t size = recv(socket_, text, sizeof(text), 0);
      if (size <= 0) break;
      messages.emplace_back(text, static_cast<size_t>(size));
      if (absl::StrContains(messages.back(), last)) break;
    }
    return messages;
  }

 private:
  std::string name_;
  int socket_ = -1;
};

class ServerWatchdogTest : public ::testing::TestWithParam<bool> {
 protected:
  Manager manager_{GetParam()};
};

TEST_P(ServerWatchdogTest, SaysThatItIsReadyAliveAndAboutToStop) {
  auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--drain-timeout-ms", "7000"});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::vector<std::string> first = manager_.Receive(kPatience, "READY=1");
  ASSERT_EQ(first.size(), 1u) << "it was alive before it was ready";
  EXPECT_THAT(first[0], HasSubstr("STATUS=serving on 127.0.0.1:0"));
  // Four times in the watchdog's time.
  const auto begin = steady_clock::now();
  for (int i = 0; i < 4; ++i) {
    ASSERT_THAT(manager_.Receive(kPatience, "WATCHDOG=1"), Contains("WATCHDOG=1"));
  }
  EXPECT_GE(steady_clock::now() - begin, kWatchdogTime / 2);
  kill((*server)->pid(), SIGTERM);
  const std::vector<std::string> last = manager_.Receive(kPatience, "STOPPING=1");
  ASSERT_FALSE(last.empty());
  // Seven seconds of draining, five until the process ends in any case, one for its end.
  EXPECT_THAT(last.back(), HasSubstr("EXTEND_TIMEOUT_USEC=13000000\nWATCHDOG_USEC=13000000"));
  EXPECT_EQ((*server)->Wait(kPatience), 0);
}

TEST_P(ServerWatchdogTest, IsSilentWhenTheBackendIs) {
  // The watch of devices would end the process itself, later.
  auto server = ServerProcess::Start(
      ORBSERVE_FAULTS_PROGRAM, {"--fault", "silence", "--fault-after", "0", "--backend", "cpu",
                                "--device-deadline-ms", "120000", "--drain-timeout-ms", "100"});
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_THAT(manager_.Receive(kPatience, "WATCHDOG=1"), Contains("WATCHDOG=1"));

  client::ClientOptions options;
  options.timeout = absl::Milliseconds(500);
  auto client = client::Client::Connect((*server)->address(), options);
  ASSERT_TRUE(client.ok()) << client.status();
  v1::ExtractRequest request;
  request.mutable_frame()->set_format(v1::PIXEL_FORMAT_GRAY8);
  request.mutable_frame()->set_width_px(64);
  request.mutable_frame()->set_height_px(64);
  request.mutable_frame()->set_pixels(std::string(64 * 64, '\x40'));
  EXPECT_FALSE((*client)->Extract(request).ok()) << "the backend answered";

  // One more message may be due to a look before the frame came, one to its arrival.
  manager_.Receive(kWatchdogTime);
  EXPECT_THAT(manager_.Receive(2 * kWatchdogTime), Not(Contains("WATCHDOG=1")));
  EXPECT_THAT((*server)->Log(), HasSubstr("event=watchdog_waits"));
}

INSTANTIATE_TEST_SUITE_P(Sockets, ServerWatchdogTest, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Abstract" : "File"; });

}  // namespace
}  // namespace orbserve
