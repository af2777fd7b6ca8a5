// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/cli_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::orbserve::testing::TemporaryFolder;

constexpr uint32_t kSeed = 20;

}  // namespace

std::string Scene(int shift, int width_px, int height_px) {
  std::mt19937 random(kSeed);
  std::string pixels(static_cast<size_t>(width_px) * height_px, '\x60');
  for (int i = 0; i < 120; ++i) {
    const int left = static_cast<int>(random() % (width_px + 100)) - shift;
    const int top = static_cast<int>(random() % height_px);
    const int width = 8 + static_cast<int>(random() % 60);
    const int height = 8 + static_cast<int>(random() % 60);
    const char grey = static_cast<char>(random() % 256);
    for (int y = top; y < std::min(top + height, height_px); ++y) {
      for (int x = std::max(left, 0); x < std::min(left + width, width_px); ++x) {
        pixels[static_cast<size_t>(y) * width_px + x] = grey;
      }
    }
  }
  return absl::StrCat("P5\n", width_px, " ", height_px, "\n255\n", pixels);
}

std::vector<std::string> Outcome::Lines() const {
  std::vector<std::string> lines = absl::StrSplit(out, '\n');
  lines.pop_back();
  return lines;
}

::testing::AssertionResult Succeeded(const Outcome& run) {
  if (run.code == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "exit code " << run.code << ": " << run.err;
}

bool HappensSoon(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

bool WriteAll(int pipe, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = write(pipe, bytes.data() + sent, bytes.size() - sent);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

pid_t CliTest::Start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), ORBSERVE_CLI_PROGRAM);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = stdout_path_.empty() ? folder_ / "stdout" : stdout_path_;
  const std::string err = folder_ / "stderr";
  const std::string in = folder_.Write("stdin", stdin_);
  const pid_t pid = fork();
  if (pid == 0) {
    if (dup2(stdin_fd_ >= 0 ? stdin_fd_ : open(in.c_str(), O_RDONLY), STDIN_FILENO) < 0 ||
        dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO) < 0 ||
        dup2(stderr_fd_ >= 0 ? stderr_fd_ : open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
             STDERR_FILENO) < 0) {
      _exit(126);
    }
    execv(argv[0], argv.data());
    _exit(127);
  }
  return pid;
}

Outcome CliTest::Wait(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = Output(),
          .err = TemporaryFolder::Read(folder_ / "stderr")};
}

bool CliTest::EndsOrIsKilled(pid_t pid) {
  const bool ended = HappensSoon([pid] {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
  });
  if (!ended) kill(pid, SIGKILL);
  return ended;
}

Outcome CliTest::RunWithServer(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--server", Server().address()});
  return Run(arguments);
}

ServerProcess& CliTest::Server() {
  if (server_ == nullptr) StartServer({});
  return *server_;
}

void CliTest::StartServer(const std::vector<std::string>& arguments) {
  auto started = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, arguments);
  if (!started.ok()) {
    ADD_FAILURE() << started.status();
    std::abort();
  }
  server_ = *std::move(started);
}

std::string CliTest::WriteScenes(int count) {
  for (int i = 0; i < count; ++i) folder_.Write(absl::StrCat("in/", i, ".pgm"), Scene(i * 2));
  return folder_ / "in";
}

std::map<std::string, std::string> CliTest::Files(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder).native()] =
          TemporaryFolder::Read(entry.path().native());
    }
  }
  return files;
}

}  // namespace orbserve
