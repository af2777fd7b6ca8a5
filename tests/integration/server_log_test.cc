// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The log of the real program when nobody reads it, and its signals.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/integration/server_process.h"

extern char** environ;

namespace orbserve {
namespace {

using Clock = std::chrono::steady_clock;

v1::ExtractRequest GreyFrame(int width_px, int height_px) {
  v1::ExtractRequest request;
  v1::Frame& frame = *request.mutable_frame();
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(static_cast<uint32_t>(width_px));
  frame.set_height_px(static_cast<uint32_t>(height_px));
  frame.set_pixels(std::string(static_cast<size_t>(width_px * height_px), '\x7f'));
  return request;
}

// A frame whose refusal is logged in a line of about 200 bytes.
v1::ExtractRequest BadFrame() {
  v1::ExtractRequest request = GreyFrame(64, 64);
  request.mutable_frame()->mutable_pixels()->resize(5);
  return request;
}

// The server program with standard error in a pipe that is read until it serves, and then no more.
class UnreadServer {
 public:
  UnreadServer() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    read_end_ = ends[0];
    fcntl(read_end_, F_SETPIPE_SZ, 4096);
    std::vector<std::string> words = {
        ORBSERVE_SERVER_PROGRAM, "--listen", "127.0.0.1:0", "--http-listen", "", "--backend", "cpu",
        "--log-level",           "debug"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char byte = 0;
    while (!(log_.find("event=serving") != std::string::npos && log_.back() == '\n') &&
           read(read_end_, &byte, 1) == 1) {
      log_ += byte;
    }
  }
  ~UnreadServer() {
    if (read_end_ >= 0) close(read_end_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  UnreadServer(const UnreadServer&) = delete;
  UnreadServer& operator=(const UnreadServer&) = delete;

  pid_t pid() const { return pid_; }
  std::string address() const {
    return absl::StrCat("127.0.0.1:", NumberInLog(log_, "serving", "port"));
  }
  int unread_bytes() const {
    int bytes = 0;
    ioctl(read_end_, FIONREAD, &bytes);
    return bytes;
  }
  // The exit code; -1 when it has not ended by itself within `limit`.
  int Wait(std::chrono::milliseconds limit) {
    const auto end = Clock::now() + limit;
    while (Clock::now() < end) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return -1;
  }

 private:
  pid_t pid_ = -1;
  int read_end_ = -1;
  std::string log_;
};

// Fills the pipe, whose 4096 bytes hold about twenty lines. The log passes fifty of these lines a
// second.
void FillPipe(client::Client& client) {
  for (int i = 0; i < 50; ++i) {
    const auto answer = client.Extract(BadFrame());
    ASSERT_FALSE(answer.ok());
  }
}

TEST(ServerLogTest, NobodyWaitsForALogThatIsNotRead) {
  UnreadServer server;
  ASSERT_GT(server.pid(), 0);
  auto client = client::Client::Connect(server.address(), {});
  ASSERT_TRUE(client.ok()) << client.status();
  FillPipe(**client);
  EXPECT_GT(server.unread_bytes(), 3500);
  const auto begin = Clock::now();
  const auto answer = (*client)->Extract(GreyFrame(320, 240));
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  kill(server.pid(), SIGTERM);
  EXPECT_EQ(server.Wait(std::chrono::seconds(20)), 0);
}

TEST(ServerLogTest, SignalsThatMeanNothingDoNotEndIt) {
  auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
  ASSERT_TRUE(server.ok()) << server.status();
  for (const int signal : {SIGPIPE, SIGHUP}) kill((*server)->pid(), signal);
  auto client = client::Client::Connect((*server)->address(), {});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto answer = (*client)->Extract(GreyFrame(64, 64));
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*server)->Stop(), 0);
}

TEST(ServerLogTest, SignalsChangeItsLevel) {
  auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
  ASSERT_TRUE(server.ok()) << server.status();
  auto client = client::Client::Connect((*server)->address(), {});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto waits_for = [&](const std::string& line) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while ((*server)->Log().find(line) == std::string::npos) {
      if (Clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  };
  const auto is_logged = [&](const std::string& id) {
    client::ClientOptions options;
    options.client_id = id;
    auto caller = client::Client::Connect((*server)->address(), options);
    EXPECT_FALSE((*caller)->Extract(BadFrame()).ok());
    // The line of its failure: it comes before the answer, that of the call after it.
    const std::string line = absl::StrCat("/", id, " reason=");
    return [&, line] { return (*server)->Log().find(line) != std::string::npos; };
  };
  const auto before = is_logged("before");
  kill((*server)->pid(), SIGUSR1);
  ASSERT_TRUE(waits_for("info event=log_level_changed to=debug"));
  const auto between = is_logged("between");
  kill((*server)->pid(), SIGUSR2);
  ASSERT_TRUE(waits_for("info event=log_level_changed to=info"));
  const auto after = is_logged("after");
  EXPECT_EQ((*server)->Stop(), 0);
  EXPECT_FALSE(before());
  EXPECT_TRUE(between());
  EXPECT_FALSE(after());
}

TEST(ServerLogTest, SigquitDrains) {
  auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
  ASSERT_TRUE(server.ok()) << server.status();
  kill((*server)->pid(), SIGQUIT);
  EXPECT_EQ((*server)->Wait(std::chrono::seconds(20)), 0);
  EXPECT_NE((*server)->Log().find("event=stopped complete=true"), std::string::npos)
      << (*server)->Log();
}

}  // namespace
}  // namespace orbserve
