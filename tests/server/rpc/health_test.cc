// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/health.h"

#include <string>
#include <utility>
#include <vector>

#include "features/errors.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

// Writes down what the health service is told: "service=1", and "*=0" for all services.
class RecordingService final : public grpc::HealthCheckServiceInterface {
 public:
  void SetServingStatus(const std::string& name, bool serving) override {
    told.push_back(name + (serving ? "=1" : "=0"));
  }
  void SetServingStatus(bool serving) override { told.push_back(serving ? "*=1" : "*=0"); }

  // Returns what was told since the last call.
  std::vector<std::string> Take() { return std::exchange(told, {}); }

  std::vector<std::string> told;
};

const std::vector<std::string> kServing = {"orbserve.v1.Features=1", "*=1"};
const std::vector<std::string> kNotServing = {"orbserve.v1.Features=0", "*=0"};
const std::vector<std::string> kNothing;

class HealthTest : public ::testing::Test {
 protected:
  RecordingService service_;
  Health health_;
};

TEST_F(HealthTest, ServesFromItsStartToItsDrain) {
  health_.Attach(&service_);
  EXPECT_EQ(service_.Take(), kNothing);
  health_.Start();
  EXPECT_EQ(service_.Take(), kServing);
  EXPECT_TRUE(health_.Ready().ok());
  health_.BeginDrain();
  EXPECT_EQ(service_.Take(), kNotServing);
  EXPECT_EQ(ReasonOf(health_.Ready()), ErrorReason::kDraining);
}

TEST_F(HealthTest, AStallComesAndGoes) {
  health_.Attach(&service_);
  health_.Start();
  service_.Take();
  EXPECT_TRUE(health_.SetStalled(true));
  EXPECT_EQ(service_.Take(), kNotServing);
  EXPECT_EQ(ReasonOf(health_.Ready()), ErrorReason::kDeviceLost);
  EXPECT_FALSE(health_.device_lost());
  EXPECT_TRUE(health_.SetStalled(false));
  EXPECT_EQ(service_.Take(), kServing);
  EXPECT_TRUE(health_.Ready().ok());
}

TEST_F(HealthTest, ALossIsFinal) {
  health_.Attach(&service_);
  health_.Start();
  service_.Take();
  int calls = 0;
  health_.SetLost([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(service_.Take(), kNotServing);
  EXPECT_TRUE(health_.device_lost());
  EXPECT_FALSE(health_.SetStalled(false));
  EXPECT_EQ(service_.Take(), kNothing);
  EXPECT_EQ(ReasonOf(health_.Ready()), ErrorReason::kDeviceLost);
}

TEST_F(HealthTest, ADeviceThatIsLostWhileTheServerStartsIsNotForgotten) {
  health_.SetLost([] {});
  health_.Attach(&service_);
  EXPECT_EQ(service_.Take(), kNotServing);
  health_.Start();
  EXPECT_EQ(service_.Take(), kNotServing);
}

TEST_F(HealthTest, ADrainHidesAStall) {
  health_.Attach(&service_);
  health_.Start();
  health_.BeginDrain();
  service_.Take();
  EXPECT_FALSE(health_.SetStalled(true));
  EXPECT_FALSE(health_.SetStalled(false));
  EXPECT_EQ(service_.Take(), kNothing);
  EXPECT_EQ(ReasonOf(health_.Ready()), ErrorReason::kDraining);
}

TEST_F(HealthTest, NothingHappensAfterTheEnd) {
  health_.Attach(&service_);
  health_.Start();
  service_.Take();
  health_.Close();
  int calls = 0;
  health_.SetLost([&] { ++calls; });
  EXPECT_FALSE(health_.SetStalled(true));
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(health_.device_lost());
  EXPECT_EQ(service_.Take(), kNothing);
}

}  // namespace
}  // namespace orbserve
