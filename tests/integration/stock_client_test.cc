// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The real server and a client that has nothing of ours but the contract: gRPC's own libraries for
// Python. Skipped where Python or one of these libraries is missing.

#include <sys/wait.h>

#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

constexpr int kLibraryMissing = 77;  // exit code of stock_client.py

// Output and exit code of a shell command; -1 when it did not exit.
std::pair<std::string, int> RunCommand(const std::string& command) {
  std::FILE* const pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"popen failed", -1};
  std::string output;
  char buffer[4096];
  for (size_t size = 0; (size = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    output.append(buffer, size);
  }
  const int status = pclose(pipe);
  return {output, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

TEST(StockClientTest, DecodesTheReasonOfEveryFailedCall) {
  const std::string python = ORBSERVE_TEST_PYTHON;
  if (python.empty())
    GTEST_SKIP() << "SKIPPED: no python3 was found when the tests were configured";
  const auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto [output, code] =
      RunCommand(absl::StrCat("'", python, "' '", ORBSERVE_STOCK_CLIENT, "' '",
                              (*server)->address(), "' '", ORBSERVE_DESCRIPTOR_SET, "'"));
  if (code == kLibraryMissing) {
    GTEST_SKIP() << "SKIPPED: " << python << " lacks grpcio, grpcio-status or protobuf: " << output;
  }
  EXPECT_EQ(code, 0) << output;
}

}  // namespace
}  // namespace orbserve
