// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The programs where no more threads can be started: they say so and end, with an exit code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

constexpr char kExplanation[] = "cannot start a thread: the limit of threads";
constexpr int kMoreThanNeeded = 400;

// The server with `count` threads at most.
absl::StatusOr<std::unique_ptr<ServerProcess>> StartWithThreads(int count) {
  setenv("LD_PRELOAD", ORBSERVE_FEW_THREADS, 1);
  setenv("FEW_THREADS", absl::StrCat(count).c_str(), 1);
  auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
  unsetenv("FEW_THREADS");
  unsetenv("LD_PRELOAD");
  return server;
}

TEST(ThreadLimitTest, AServerThatCannotStartItsThreadsSaysSo) {
  for (int threads = 0; threads <= 12; threads += 3) {
    const auto server = StartWithThreads(threads);
    ASSERT_FALSE(server.ok()) << threads;
    EXPECT_THAT(std::string(server.status().message()), HasSubstr(kExplanation)) << threads;
  }
}

TEST(ThreadLimitTest, AServerWithJustEnoughThreadsServesAndEndsWithACode) {
  const auto rich = StartWithThreads(kMoreThanNeeded);
  ASSERT_TRUE(rich.ok()) << rich.status();
  EXPECT_EQ((*rich)->Stop(), 0) << (*rich)->Log();
  int poor_servers = 0;
  for (int threads = 13; threads < kMoreThanNeeded && poor_servers < 4; ++threads) {
    const auto server = StartWithThreads(threads);
    if (!server.ok()) {
      EXPECT_THAT(std::string(server.status().message()), HasSubstr(kExplanation)) << threads;
      continue;
    }
    ++poor_servers;
    const auto stub = v1::Features::NewStub(
        grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
    v1::ExtractRequest request;
    *request.mutable_frame() = MakeFrame(320, 240, 1);
    v1::ExtractResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const bool is_answered = stub->Extract(&context, request, &response).ok();
    const int code = is_answered ? (*server)->Stop() : (*server)->Wait(std::chrono::seconds(20));
    EXPECT_TRUE(code == 0 || code == 1) << threads << " threads, code " << code << "\n"
                                        << (*server)->Log();
    if (code == 1) {
      EXPECT_THAT((*server)->Log(), HasSubstr(kExplanation));
    }
  }
  EXPECT_EQ(poor_servers, 4);
}

}  // namespace
}  // namespace orbserve
