// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Power and energy of a running server whose sensors are a tree of files.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "tests/integration/server_fixture.h"
#include "tests/server/telemetry/metrics_page.h"
#include "tests/server/telemetry/sensors/fake_tree.h"
#include "tests/server/telemetry/sensors/jetson_trees.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A counter of RAPL that a thread moves on every few milliseconds, by kWatts.
class RunningCounter {
 public:
  static constexpr double kWatts = 40;

  explicit RunningCounter(const FakeTree& tree) {
    tree.AddZone("intel-rapl:0", "package-0", Text(), "262143328850");
    const std::string path = tree.root() + "/sys/class/powercap/intel-rapl:0/energy_uj";
    file_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(file_, 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~RunningCounter() {
    stopped_ = true;
    thread_.join();
    close(file_);
  }
  RunningCounter(const RunningCounter&) = delete;
  RunningCounter& operator=(const RunningCounter&) = delete;

  // The longest time for which the machine did not let the thread run.
  milliseconds longest_pause() const { return longest_pause_; }

 private:
  static constexpr int64_t kFirst = 1'000'000'000;

  // Always as long, so that no reader ever sees a part of it.
  std::string Text() const { return absl::StrFormat("%012d", microjoules_.load()); }

  void Run() {
    const auto begin = std::chrono::steady_clock::now();
    auto last = begin;
    while (!stopped_) {
      std::this_thread::sleep_for(milliseconds(5));
      const auto now = std::chrono::steady_clock::now();
      longest_pause_ =
          std::max(longest_pause_.load(), std::chrono::duration_cast<milliseconds>(now - last));
      last = now;
      const std::chrono::duration<double> time = now - begin;
      microjoules_ = kFirst + static_cast<int64_t>(time.count() * kWatts * 1e6);
      const std::string text = Text();
      EXPECT_EQ(pwrite(file_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
  }

  int file_ = -1;
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> microjoules_{kFirst};
  std::atomic<milliseconds> longest_pause_{milliseconds(0)};
  std::thread thread_;
};

class ServerPowerTest : public ServerTest {
 protected:
  void SetUp() override {}

  void StartOn(const FakeTree& tree) {
    ServerHooks hooks;
    hooks.sensor_root = tree.root();
    StartServer({}, std::move(hooks));
  }

  v1::GetServerInfoResponse Info() {
    grpc::ClientContext context;
    SetLimit(context);
    v1::GetServerInfoResponse info;
    const grpc::Status status = stub_->GetServerInfo(&context, {}, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return info;
  }
};

// Energy per frame times frames is what the processor took while it worked: at constant power,
// power times busy time.
TEST_F(ServerPowerTest, FramesPayForTheEnergyOfTheTimeInWhichTheyAreComputed) {
  const FakeTree tree;
  const RunningCounter counter(tree);
  StartOn(tree);
  std::this_thread::sleep_for(milliseconds(400));  // energy is measured by now
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> answered{0};
  std::atomic<uint64_t> with_energy{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back([&, i] {
      v1::ExtractRequest request;
      *request.mutable_frame() = MakeFrame(640, 480, static_cast<uint32_t>(i));
      while (!stop) {
        v1::ExtractResponse response;
        const grpc::Status status = Extract(request, &response);
        ASSERT_TRUE(status.ok()) << status.error_message();
        ++answered;
        if (response.execution().has_energy_joules()) ++with_energy;
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(4000));
  stop = true;
  for (std::thread& client : clients) client.join();
  // Energy reaches the frames after BatchEnergyShares::kLag.
  const bool all = WaitUntil([&] {
    return Info().frame_energy_size() == 1 && Info().frame_energy(0).frames() == answered;
  });
  // Then some frame may have no reading near it, and readings come late.
  if (counter.longest_pause() > milliseconds(50)) {
    GTEST_SKIP() << "the machine stood still for " << counter.longest_pause().count() << " ms";
  }
  ASSERT_TRUE(all) << Info().frame_energy(0).frames() << " of " << answered;

  const v1::GetServerInfoResponse info = Info();
  ASSERT_EQ(info.power_rails_size(), 1);
  const v1::PowerRail& rail = info.power_rails(0);
  EXPECT_EQ(rail.rail(), "package-0");
  EXPECT_EQ(rail.source(), "rapl");
  EXPECT_EQ(rail.scope(), "total");
  EXPECT_EQ(rail.device(), "cpu");
  ASSERT_EQ(info.frame_energy_size(), 1);
  const v1::FrameEnergy& energy = info.frame_energy(0);
  const double per_frame = energy.joules() / static_cast<double>(energy.frames());
  const double busy_seconds =
      ValueOf(server_->RenderMetrics(),
              "orbserve_device_busy_seconds_total{backend=\"cpu\",device=\"cpu\"}");
  const double expected = RunningCounter::kWatts * busy_seconds;
  EXPECT_NEAR(per_frame * static_cast<double>(answered), expected, 0.02 * expected);
  EXPECT_LT(energy.joules(), rail.joules());
  EXPECT_GT(with_energy, answered / 2);
  std::printf("%d frames, %.3f J, %.3f J by busy time, %.2f mJ a frame\n",
              static_cast<int>(answered.load()), energy.joules(), expected, per_frame * 1e3);
}

TEST_F(ServerPowerTest, AModuleIsToldByWireAndMetrics) {
  const FakeTree tree;
  const JetsonModule* orin = nullptr;
  for (const JetsonModule& module : JetsonModules()) {
    if (module.name == "AgxOrin") orin = &module;
  }
  orin->build(tree);
  StartOn(tree);
  const v1::GetServerInfoResponse info = Info();
  EXPECT_EQ(info.power_source(), "ina");
  ASSERT_EQ(info.devices_size(), 1);
  const v1::DeviceInfo& device = info.devices(0);
  EXPECT_EQ(device.board(), orin->board);
  EXPECT_EQ(device.power_mode(), "MAXN");
  EXPECT_EQ(device.clock_mode(), "dynamic");
  EXPECT_THAT(device.throttled(), ElementsAre("gpu-throttle-alert"));
  EXPECT_EQ(device.clocks(0).clock(), "gpu");
  EXPECT_EQ(device.clocks(0).hertz(), orin->gpu_hertz);
  EXPECT_EQ(device.temperatures_size(), 3);
  EXPECT_EQ(info.power_rails_size(), static_cast<int>(orin->watts.size()));
  for (const v1::PowerRail& rail : info.power_rails()) {
    EXPECT_NEAR(rail.watts(), orin->watts.at(rail.rail()), 1e-9) << rail.rail();
    EXPECT_EQ(rail.device(), rail.rail() == orin->total ? "cpu" : "") << rail.rail();
  }
  EXPECT_THAT(
      server_->RenderMetrics(),
      AllOf(HasSubstr("board=\"NVIDIA Jetson AGX Orin Developer Kit\",power_mode=\"MAXN\""),
            HasSubstr("orbserve_device_throttled{device=\"cpu\",reason=\"gpu-throttle-alert\"} 1"),
            HasSubstr("throttle_events_total{device=\"cpu\",reason=\"oc3\"} 37")));
}

TEST_F(ServerPowerTest, WithoutSensorsThereAreNoFigures) {
  const FakeTree tree;
  StartOn(tree);
  const v1::GetServerInfoResponse info = Info();
  EXPECT_EQ(info.power_source(), "none");
  EXPECT_EQ(info.power_rails_size(), 0);
  EXPECT_EQ(info.frame_energy_size(), 0);
  EXPECT_EQ(info.devices(0).board(), "");
  EXPECT_EQ(info.devices(0).clocks_size(), 0);
  EXPECT_THAT(server_->RenderMetrics(),
              AllOf(HasSubstr("orbserve_device_info{"), Not(HasSubstr("orbserve_device_clock"))));
}

}  // namespace
}  // namespace orbserve
