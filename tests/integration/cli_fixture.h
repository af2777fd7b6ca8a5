// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve` as people run it, and images for it.

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

// A PGM of overlapping rectangles: corners at all scales. Neighbouring `shift`s are like frames of
// a moving camera.
std::string Scene(int shift, int width_px = kWidthPx, int height_px = kHeightPx);

struct Outcome {
  int code = -1;  // negative: the signal that ended it
  std::string out;
  std::string err;

  std::vector<std::string> Lines() const;  // of `out`
};

// Waits for what happens soon in another process; false after a minute.
bool HappensSoon(const std::function<bool()>& condition);

// Whether the program ended with 0; else what it said.
::testing::AssertionResult Succeeded(const Outcome& run);

// All bytes, to a pipe that somebody reads; false when that fails.
bool WriteAll(int pipe, const std::string& bytes);

class CliTest : public ::testing::Test {
 protected:
  // Starts the program; its output goes to files.
  pid_t Start(const std::vector<std::string>& arguments);
  Outcome Wait(pid_t pid);
  // Whether the program, asked to stop, does so soon; else it is killed.
  static bool EndsOrIsKilled(pid_t pid);
  Outcome Run(const std::vector<std::string>& arguments) { return Wait(Start(arguments)); }
  // The same with `--server` of a server that the test starts with its first call.
  Outcome RunWithServer(std::vector<std::string> arguments);
  ServerProcess& Server();
  // Starts that server with these arguments, before the first call.
  void StartServer(const std::vector<std::string>& arguments);

  // What the program has written to standard output so far.
  std::string Output() const { return testing::TemporaryFolder::Read(folder_ / "stdout"); }
  // Writes `count` frames below `in/`, and returns that folder.
  std::string WriteScenes(int count);
  // Every file below a folder, by relative path.
  static std::map<std::string, std::string> Files(const std::string& folder);

  testing::TemporaryFolder folder_;
  std::string stdin_;        // what standard input holds
  int stdin_fd_ = -1;        // instead of it
  std::string stdout_path_;  // "" = `stdout` in the folder
  std::unique_ptr<ServerProcess> server_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_INTEGRATION_CLI_FIXTURE_H_
