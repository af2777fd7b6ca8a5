// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_reader.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/sensors/nvml_library.h"
#include "tests/server/telemetry/sensors/fake_nvml.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kWhole[] = ORBSERVE_FAKE_NVML;
constexpr char kOld[] = ORBSERVE_FAKE_NVML_OLD;
constexpr char kBroken[] = ORBSERVE_FAKE_NVML_BROKEN;

// Holds the library open, so that its script lasts as long as the test.
class Fake {
 public:
  explicit Fake(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
    script_ = reinterpret_cast<FakeNvmlScriptFunction>(dlsym(handle_, "fake_nvml_script"))();
    *script_ = {};
  }
  ~Fake() { dlclose(handle_); }
  FakeNvmlScript* operator->() { return script_; }

 private:
  void* const handle_;
  FakeNvmlScript* script_;
};

DeviceDescription Board(const char* device, const char* pci_bus_id) {
  return {device, "Some Board", "", pci_bus_id};
}

TEST(NvmlPowerReaderTest, CountsEnergyWhereThatQueryWorks) {
  Fake fake(kWhole);
  fake->boards[0] = {.pci_bus_id = "0000:1b:00.0",
                     .energy_millijoules = 5'000'000'123,
                     .power_milliwatts = 76'543};
  const PowerReaders found = FindNvmlPowerReaders({Board("cuda:0", "0000:1b:00.0")}, kWhole);
  EXPECT_THAT(found.failures, IsEmpty());
  ASSERT_THAT(found.readers, SizeIs(1));
  const PowerRail& rail = found.readers[0].rail;
  EXPECT_EQ(rail.rail, "cuda:0");
  EXPECT_EQ(rail.device, "cuda:0");
  EXPECT_EQ(rail.source, "nvml");
  EXPECT_EQ(rail.scope, "total");
  EXPECT_TRUE(rail.counts_energy);
  EXPECT_EQ(rail.driver, "999.1");
  EXPECT_EQ(rail.model, "Some Board");
  const absl::StatusOr<PowerReading> reading = found.readers[0].read();
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_DOUBLE_EQ(reading->energy_joules.value(), 5'000'000.123);
  EXPECT_DOUBLE_EQ(reading->power_watts.value(), 76.543);
}

TEST(NvmlPowerReaderTest, ReadsPowerWhereOnlyThatQueryWorks) {
  Fake fake(kWhole);
  fake->boards[0] = {.pci_bus_id = "0000:01:00.0",
                     .energy_result = kNvmlNotSupported,
                     .energy_millijoules = 77,
                     .power_milliwatts = 9'500};
  const PowerReaders found = FindNvmlPowerReaders({Board("cuda:0", "0000:01:00.0")}, kWhole);
  ASSERT_THAT(found.readers, SizeIs(1));
  EXPECT_FALSE(found.readers[0].rail.counts_energy);
  const absl::StatusOr<PowerReading> reading = found.readers[0].read();
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_FALSE(reading->energy_joules.has_value());
  EXPECT_DOUBLE_EQ(reading->power_watts.value(), 9.5);
}

TEST(NvmlPowerReaderTest, CountsEnergyWithoutPower) {
  Fake fake(kWhole);
  fake->boards[0] = {
      .pci_bus_id = "0000:01:00.0", .energy_millijoules = 1500, .power_result = kNvmlNotSupported};
  const PowerReaders found = FindNvmlPowerReaders({Board("cuda:0", "0000:01:00.0")}, kWhole);
  ASSERT_THAT(found.readers, SizeIs(1));
  const absl::StatusOr<PowerReading> reading = found.readers[0].read();
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_DOUBLE_EQ(reading->energy_joules.value(), 1.5);
  EXPECT_FALSE(reading->power_watts.has_value());
}

// So it is on Jetson Orin: the library is there, initialises, knows the board and answers nothing.
TEST(NvmlPowerReaderTest, NothingWorksNothingIsClaimed) {
  Fake fake(kWhole);
  fake->boards[0] = {.pci_bus_id = "0000:01:00.0",
                     .energy_result = kNvmlNotSupported,
                     .power_result = kNvmlNotSupported};
  const PowerReaders found = FindNvmlPowerReaders({Board("cuda:0", "0000:01:00.0")}, kWhole);
  EXPECT_THAT(found.readers, IsEmpty());
  EXPECT_THAT(found.failures, ElementsAre(HasSubstr("cuda:0: nvmlDeviceGetTotalEnergyConsumption: "
                                                    "Not Supported (3); nvmlDeviceGetPowerUsage")));
  EXPECT_EQ(fake->open, 0);
}

TEST(NvmlPowerReaderTest, OldDriversWithoutTheEnergyQuery) {
  Fake fake(kOld);
  fake->boards[0] = {.pci_bus_id = "0000:01:00.0", .power_milliwatts = 1000};
  const PowerReaders found = FindNvmlPowerReaders({Board("cuda:0", "0000:01:00.0")}, kOld);
  ASSERT_THAT(found.readers, SizeIs(1));
  EXPECT_FALSE(found.readers[0].rail.counts_energy);
  EXPECT_EQ(found.readers[0].rail.driver, "");
  fake->boards[0].power_result = kNvmlGpuIsLost;
  EXPECT_THAT(std::string(found.readers[0].read().status().message()),
              HasSubstr("nvmlDeviceGetPowerUsage: unknown error (15)"));
}

TEST(NvmlPowerReaderTest, BoardsAreMatchedByAddressNotByNumber) {
  Fake fake(kWhole);
  fake->boards[0] = {.pci_bus_id = "0000:01:00.0", .power_milliwatts = 1000};
  fake->boards[1] = {.pci_bus_id = "0000:02:00.0", .power_milliwatts = 2000};
  const PowerReaders found =
      FindNvmlPowerReaders({Board("cuda:0", "0000:02:00.0"), Board("cuda:1", "0000:03:00.0"),
                            Board("cuda:2", "0000:01:00.0"), Board("cpu", "")},
                           kWhole);
  ASSERT_THAT(found.readers, SizeIs(2));
  EXPECT_EQ(found.readers[0].rail.rail, "cuda:0");
  EXPECT_DOUBLE_EQ(found.readers[0].read()->power_watts.value(), 2);
  EXPECT_EQ(found.readers[1].rail.rail, "cuda:2");
  EXPECT_DOUBLE_EQ(found.readers[1].read()->power_watts.value(), 1);
  EXPECT_THAT(found.failures, ElementsAre(HasSubstr("cuda:1: nvmlDeviceGetHandleByPciBusId_v2")));
}

TEST(NvmlPowerReaderTest, ADeviceThatGetsLostIsAnErrorAndMayComeBack) {
  Fake fake(kWhole);
  fake->boards[0] = {.pci_bus_id = "0000:01:00.0", .energy_millijoules = 10};
  const PowerReaders found = FindNvmlPowerReaders({Board("cuda:0", "0000:01:00.0")}, kWhole);
  ASSERT_THAT(found.readers, SizeIs(1));
  fake->boards[0].energy_result = kNvmlGpuIsLost;
  EXPECT_FALSE(found.readers[0].read().ok());
  fake->boards[0].energy_result = kNvmlSuccess;
  EXPECT_TRUE(found.readers[0].read().ok());
}

TEST(NvmlPowerReaderTest, TheLibraryIsClosedWithItsLastReader) {
  Fake fake(kWhole);
  fake->boards[0] = {.pci_bus_id = "0000:01:00.0"};
  fake->boards[1] = {.pci_bus_id = "0000:02:00.0"};
  {
    PowerReaders found = FindNvmlPowerReaders(
        {Board("cuda:0", "0000:01:00.0"), Board("cuda:1", "0000:02:00.0")}, kWhole);
    ASSERT_THAT(found.readers, SizeIs(2));
    found.readers.pop_back();
    EXPECT_EQ(fake->open, 1);
  }
  EXPECT_EQ(fake->open, 0);
}

TEST(NvmlPowerReaderTest, WithoutALibraryOrWithAWrongOneItSaysWhy) {
  const std::vector<DeviceDescription> devices = {Board("cuda:0", "0000:01:00.0")};
  EXPECT_THAT(FindNvmlPowerReaders(devices, "libno-such-nvml.so.1").failures,
              ElementsAre(HasSubstr("libno-such-nvml.so.1")));
  EXPECT_THAT(
      FindNvmlPowerReaders(devices, kBroken).failures,
      ElementsAre(HasSubstr("nvmlDeviceGetHandleByPciBusId_v2: this driver does not have it")));
  Fake fake(kWhole);
  fake->init_result = kNvmlDriverNotLoaded;
  EXPECT_THAT(FindNvmlPowerReaders(devices, kWhole).failures,
              ElementsAre(HasSubstr("nvmlInit_v2: Some Error (9)")));
  EXPECT_EQ(fake->open, 0);
}

TEST(NvmlPowerReaderTest, WithoutABoardNothingIsLoaded) {
  const PowerReaders found = FindNvmlPowerReaders({Board("cpu", "")}, "libno-such-nvml.so.1");
  EXPECT_THAT(found.readers, IsEmpty());
  EXPECT_THAT(found.failures, IsEmpty());
}

}  // namespace
}  // namespace orbserve
