// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_INTEGRATION_SERVER_PROCESS_H_
#define ORBSERVE_TESTS_INTEGRATION_SERVER_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace orbserve {

// The real server program on free ports of the loopback. Its log goes to a file.
class ServerProcess {
 public:
  // Starts `program` with `arguments` beside the addresses, and waits until it serves. `arguments`
  // may have a `--listen` of their own.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(
      const std::string& program, const std::vector<std::string>& arguments);

  // Stops it (SIGTERM), the hard way after 30 s.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::string address() const;
  int http_port() const { return http_port_; }
  const std::string& log_path() const { return log_path_; }
  // Returns the memory of the process now.
  int64_t ResidentBytes() const;
  // Returns the answer to GET `path` on its HTTP port, headers included; empty when there is none.
  std::string HttpGet(const std::string& path) const;
  // Returns the log so far.
  std::string Log() const;
  // Waits for its end and returns the exit code; -1 when it was killed by a signal or is still
  // there after `limit`.
  int Wait(std::chrono::milliseconds limit);
  // SIGTERM, then the exit code; -1 when it had to be killed.
  int Stop();

 private:
  ServerProcess() = default;

  pid_t pid_ = -1;
  int port_ = 0;
  int http_port_ = 0;
  std::string log_path_;
};

struct ServerRun {
  int code = -1;     // -1 = ended by a signal
  std::string text;  // standard output and standard error
};

// Runs the server program to its end. Arguments have no quotes in them.
ServerRun RunServer(const std::vector<std::string>& arguments);

// The number after ` key=` in the last line of `log` that has `event`; -1 when there is none.
int64_t NumberInLog(const std::string& log, const std::string& event, const std::string& key);

// Sum of the values of all series of `family` on a page of metrics.
double SumOfSeries(const std::string& page, const std::string& family);

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_INTEGRATION_SERVER_PROCESS_H_
