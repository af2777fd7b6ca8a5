// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Runs the program `orbserve` as a process, and makes images for it.

#ifndef ORBSERVE_TESTS_INTEGRATION_CLI_FIXTURE_H_
#define ORBSERVE_TESTS_INTEGRATION_CLI_FIXTURE_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"
#include "tests/integration/server_process.h"

namespace orbserve {

constexpr int kWidthPx = 320;
constexpr int kHeightPx = 240;

// Returns a PGM of overlapping rectangles, with corners at all scales. Neighbouring values of
// `shift` look like frames of a moving camera.
std::string Scene(int shift, int width_px = kWidthPx, int height_px = kHeightPx);

struct Outcome {
  int code = -1;  // negative: the signal that ended it
  std::string out;
  std::string err;

  std::vector<std::string> Lines() const;  // of `out`
};

// Waits until `condition` holds, which another process brings about; false after a minute.
bool HappensSoon(const std::function<bool()>& condition);

// Success if the exit code is 0; otherwise the failure carries the program's messages.
::testing::AssertionResult Succeeded(const Outcome& run);

// Writes all bytes to a pipe that another process reads; false if that fails.
bool WriteAll(int pipe, const std::string& bytes);

class CliTest : public ::testing::Test {
 protected:
  // Starts the program; its output goes to files.
  pid_t Start(const std::vector<std::string>& arguments);
  Outcome Wait(pid_t pid);
  // True if the program, which was asked to stop, ends within a minute; otherwise kills it.
  static bool EndsOrIsKilled(pid_t pid);
  Outcome Run(const std::vector<std::string>& arguments) { return Wait(Start(arguments)); }
  // Runs the program with `--server`. The first call starts the server.
  Outcome RunWithServer(std::vector<std::string> arguments);
  ServerProcess& Server();
  // Starts the server with these arguments.
  void StartServer(const std::vector<std::string>& arguments);

  // Standard output of the program so far.
  std::string Output() const { return testing::TemporaryFolder::Read(folder_ / "stdout"); }
  // Writes `count` frames below `in/`, and returns that folder.
  std::string WriteScenes(int count);
  // Content of every file below a folder, by relative path.
  static std::map<std::string, std::string> Files(const std::string& folder);

  testing::TemporaryFolder folder_;
  std::string stdin_;        // content of standard input
  int stdin_fd_ = -1;        // >= 0: standard input instead of `stdin_`
  int stderr_fd_ = -1;       // >= 0: standard error instead of `stderr` in the folder
  std::string stdout_path_;  // "" = `stdout` in the folder
  std::unique_ptr<ServerProcess> server_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_INTEGRATION_CLI_FIXTURE_H_
