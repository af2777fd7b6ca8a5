// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

extern char** environ;

namespace orbserve {
namespace {

constexpr std::chrono::seconds kStartLimit(60);  // sanitizers are slow
constexpr std::chrono::milliseconds kStopLimit(30'000);
constexpr std::chrono::milliseconds kPoll(20);

// The number after ` name=` in the server's line `event=serving`; 0 when it is not there yet.
int PortInLog(const std::string& log, const std::string& name) {
  const size_t line = log.find("event=serving");
  if (line == std::string::npos) return 0;
  const size_t at = log.find(" " + name + "=", line);
  const size_t end = log.find('\n', line);
  if (end == std::string::npos || at == std::string::npos || at > end) return 0;
  return std::atoi(log.c_str() + at + name.size() + 2);
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(
    const std::string& program, const std::vector<std::string>& arguments) {
  std::unique_ptr<ServerProcess> server(new ServerProcess);
  std::string log_path = absl::StrCat(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp",
                                      "/orbserve-server-XXXXXX");
  const int log = mkstemp(log_path.data());
  if (log < 0) return absl::InternalError("no file for the server's log");
  server->log_path_ = log_path;

  std::vector<std::string> words = {program, "--http-listen", "127.0.0.1:0"};
  if (!absl::c_linear_search(arguments, "--listen")) {
    words.insert(words.end(), {"--listen", "127.0.0.1:0"});
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, log, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
  const int error =
      posix_spawn(&server->pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(log);
  if (error != 0) {
    server->pid_ = -1;
    return absl::NotFoundError(absl::StrCat("cannot start ", program));
  }
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < limit) {
    const std::string text = ReadText(log_path);
    server->port_ = PortInLog(text, "port");
    server->http_port_ = PortInLog(text, "http_port");
    if (server->port_ > 0 && server->http_port_ > 0) return server;
    int status = 0;
    if (waitpid(server->pid_, &status, WNOHANG) == server->pid_) {
      server->pid_ = -1;
      return absl::UnavailableError(absl::StrCat("the server has ended: ", text));
    }
    std::this_thread::sleep_for(kPoll);
  }
  return absl::DeadlineExceededError(
      absl::StrCat("the server does not say that it serves: ", ReadText(log_path)));
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) Stop();
  if (!log_path_.empty()) unlink(log_path_.c_str());
}

std::string ServerProcess::Log() const { return ReadText(log_path_); }

int ServerProcess::Wait(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (pid_ > 0 && std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return -1;
}

int ServerProcess::Stop() {
  if (pid_ <= 0) return -1;
  kill(pid_, SIGTERM);
  const int code = Wait(kStopLimit);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  return code;
}

std::string ServerProcess::address() const { return absl::StrCat("127.0.0.1:", port_); }

int64_t ServerProcess::ResidentBytes() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/statm"));
  int64_t size_pages = 0;
  int64_t resident_pages = 0;
  file >> size_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

std::string ServerProcess::HttpGet(const std::string& path) const {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  timeval timeout = {10, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(http_port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    send(connection, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t count = 0; (count = recv(connection, buffer, sizeof(buffer), 0)) > 0;) {
      answer.append(buffer, static_cast<size_t>(count));
    }
  }
  close(connection);
  return answer;
}

ServerRun RunServer(const std::vector<std::string>& arguments) {
  std::string command = absl::StrCat("exec '", ORBSERVE_SERVER_PROGRAM, "'");
  for (const std::string& word : arguments) absl::StrAppend(&command, " '", word, "'");
  absl::StrAppend(&command, " 2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
  ServerRun run;
  std::array<char, 4096> bytes;
  while (const size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
    run.text.append(bytes.data(), count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) run.code = WEXITSTATUS(status);
  return run;
}

int64_t NumberInLog(const std::string& log, const std::string& event, const std::string& key) {
  const size_t line = log.rfind("event=" + event);
  if (line == std::string::npos) return -1;
  const std::string text = log.substr(line, log.find('\n', line) - line);
  const size_t at = text.find(" " + key + "=");
  if (at == std::string::npos) return -1;
  return std::atoll(text.c_str() + at + key.size() + 2);
}

double SumOfSeries(const std::string& page, const std::string& family) {
  double sum = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(page, '\n'))) {
    const size_t space = line.rfind(' ');
    double value = 0;
    if ((absl::StartsWith(line, family + "{") || absl::StartsWith(line, family + " ")) &&
        absl::SimpleAtod(line.substr(space + 1), &value)) {
      sum += value;
    }
  }
  return sum;
}

}  // namespace orbserve
