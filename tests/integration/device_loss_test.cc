// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A device is lost in a running server: the real program but for the fault, under load, with a
// supervisor (this test). Each case prints what it measured as one line of JSON.
//
// Built twice: with faults simulated in front of the CPU backend, and, label gpu, with a real
// device. Environment: ORBSERVE_EXPECT_GPU=1 makes a skip a failure; ORBSERVE_FAULTS_PROGRAM names
// the server where it is not where it was built.

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu/gpu_backend.h"
#include "gtest/gtest.h"
#include "tests/faults/fault_signal.h"
#include "tests/integration/checked_load.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kClients = 8;
constexpr int kWarmUpFrames = ORBSERVE_LOSS_OF_REAL_DEVICE ? 4000 : 100;
constexpr int kDeviceLostCode = 3;
// The unit in deploy/systemd has the same.
constexpr std::chrono::milliseconds kRestartDelay{250};
constexpr std::chrono::milliseconds kDeadline{1000 * kSlower};  // of a batch, where nothing is said

struct LossCase {
  const char* fault;
  const char* backend;
  bool hangs;  // found out by the deadline
};

void PrintTo(const LossCase& loss_case, std::ostream* out) { *out << loss_case.fault; }

std::string Program() {
  const char* const elsewhere = std::getenv("ORBSERVE_FAULTS_PROGRAM");
  return elsewhere != nullptr ? elsewhere : ORBSERVE_FAULTS_PROGRAM;
}

double MsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// Asks again and again, from a thread of its own, until the answer is yes; then says when.
class FirstTime {
 public:
  explicit FirstTime(std::function<bool()> asked)
      : thread_([this, asked = std::move(asked)] {
          while (!stop_) {
            if (asked()) {
              when_ = Clock::now();
              came_ = true;
              return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  ~FirstTime() { Stop(); }

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // After Stop().
  bool came() const { return came_; }
  double MsAfter(Clock::time_point begin) const { return came_ ? MsBetween(begin, when_) : -1; }

 private:
  std::atomic<bool> stop_{false};
  bool came_ = false;
  Clock::time_point when_;
  std::thread thread_;
};

class DeviceLossTest : public ::testing::TestWithParam<LossCase> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().backend) != "cuda") return;
    // Gone again before the server starts: it would hold a context.
    const absl::Status status = gpu::CreateGpuBackend({}).status();
    if (status.ok()) return;
    const char* const expected = std::getenv("ORBSERVE_EXPECT_GPU");
    if (expected != nullptr && std::string(expected) != "0") {
      FAIL() << "a GPU is expected here: " << status;
    }
    GTEST_SKIP() << "no GPU, so nothing was tested: " << status;
  }

  absl::StatusOr<std::unique_ptr<ServerProcess>> StartServer() {
    return ServerProcess::Start(Program(),
                                {"--fault", GetParam().fault, "--backend", GetParam().backend,
                                 "--device-deadline-ms", absl::StrCat(kDeadline.count())});
  }
};

TEST_P(DeviceLossTest, NoAcceptedFrameIsLostAndTheProcessStartsAnew) {
  const auto expected = ExpectedAnswers::Compute(640, 480);
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto started = StartServer();
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  auto client = client::Client::Connect(server.address(), {});
  ASSERT_TRUE(client.ok());
  CheckedLoad load(expected->get(), server.address(), kClients, "DEVICE_LOST");
  // A device must have answered often enough that it is known what is usual.
  ASSERT_TRUE(WaitUntil([&] { return load.answered() > kWarmUpFrames; }));
  ASSERT_EQ(*(*client)->CheckHealth("orbserve.v1.Features"), client::Health::kServing);

  FirstTime told([&] { return server.Log().find("event=device_lost") != std::string::npos; });
  FirstTime health([&] {
    const auto answer = (*client)->CheckHealth("orbserve.v1.Features");
    return answer.ok() && *answer == client::Health::kNotServing;
  });
  FirstTime ready(
      [&] { return server.HttpGet("/readyz").find("HTTP/1.1 503") != std::string::npos; });
  std::string page;  // of metrics, with the loss
  FirstTime counted([&] {
    std::string now = server.HttpGet("/metrics");
    if (SumOfSeries(now, "orbserve_device_lost_total") != 1) return false;
    page = std::move(now);
    return true;
  });

  kill(server.pid(), FaultSignal());
  const int code = server.Wait(kDeadline + std::chrono::seconds(20));
  const auto gone = Clock::now();
  for (FirstTime* watch : {&told, &health, &ready, &counted}) watch->Stop();
  load.Join();
  const std::string log = server.Log();
  const int64_t fault_ns = NumberInLog(log, "fault_injected", "monotonic_ns");
  ASSERT_GT(fault_ns, 0) << log;
  const Clock::time_point fault{std::chrono::nanoseconds(fault_ns)};

  // The supervisor.
  std::this_thread::sleep_for(kRestartDelay);
  auto again = StartServer();
  ASSERT_TRUE(again.ok()) << again.status();
  client = client::Client::Connect((*again)->address(), {});
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(*(*client)->CheckHealth("orbserve.v1.Features"), client::Health::kServing);
  v1::ExtractRequest request;
  *request.mutable_frame() = (*expected)->FrameOf(1);
  const auto response = (*client)->Extract(request);
  const auto serving = Clock::now();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_TRUE((*expected)->IsRight(1, response->features()));
  EXPECT_EQ((*again)->Stop(), 0);

  const CheckedLoad::Counts counts = load.counts();
  const double lost_ms = told.MsAfter(fault);
  std::printf(
      "{\"fault\": \"%s\", \"deadline_ms\": %lld, \"loss_noticed_ms\": %.1f, "
      "\"health_not_serving_ms\": %.1f, \"readyz_503_ms\": %.1f, \"gone_ms\": %.1f, "
      "\"gone_after_loss_ms\": %.1f, \"exit_code\": %d, \"serving_again_after_fault_ms\": %.1f, "
      "\"serving_again_after_gone_ms\": %.1f, \"frames_ok\": %lld, \"frames_device_lost\": %lld, "
      "\"calls_unreached\": %lld, \"wrong\": %lld}\n",
      GetParam().fault, GetParam().hangs ? static_cast<long long>(kDeadline.count()) : 0LL, lost_ms,
      health.MsAfter(fault), ready.MsAfter(fault), MsBetween(fault, gone),
      MsBetween(fault, gone) - lost_ms, code, MsBetween(fault, serving), MsBetween(gone, serving),
      static_cast<long long>(counts.ok), static_cast<long long>(counts.refused),
      static_cast<long long>(counts.unreached), static_cast<long long>(counts.wrong));

  EXPECT_EQ(code, kDeviceLostCode) << log;
  EXPECT_TRUE(told.came());
  EXPECT_TRUE(health.came());
  EXPECT_TRUE(ready.came());
  EXPECT_TRUE(counted.came());
  EXPECT_EQ(counts.wrong, 0) << load.Complaints();
  // What the server says that it did is what clients got.
  EXPECT_EQ(NumberInLog(log, "stopped", "frames_ok"), counts.ok) << log;
  EXPECT_EQ(NumberInLog(log, "stopped", "frames_failed"), counts.refused);
  EXPECT_EQ(NumberInLog(log, "stopped", "frames_received"), counts.ok + counts.refused);
  // The contract's times hold on a robot, not on a machine that runs other tests beside this one.
  if (ORBSERVE_LOSS_OF_REAL_DEVICE) {
    EXPECT_LT(MsBetween(fault, gone) - lost_ms, 2000.0);
    EXPECT_LT(health.MsAfter(fault), 100.0);
    EXPECT_LT(MsBetween(fault, serving), 3000.0);
  }
}

std::vector<LossCase> Cases() {
  if (ORBSERVE_LOSS_OF_REAL_DEVICE) return {{"trap", "cuda", false}, {"hang", "cuda", true}};
  return {{"error", "cpu", false}, {"silence", "cpu", true}};
}

INSTANTIATE_TEST_SUITE_P(Faults, DeviceLossTest, ::testing::ValuesIn(Cases()));

}  // namespace
}  // namespace orbserve
