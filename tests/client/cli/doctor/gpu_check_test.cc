// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/doctor/gpu_check.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Status kStarts;
const absl::Status kFails = absl::UnavailableError("no CUDA device");

class GpuCheckTest : public ::testing::Test {
 protected:
  void AddPciDevice(const std::string& name, const char* vendor, const char* device_class) {
    folder_.Write("sys/bus/pci/devices/" + name + "/vendor", vendor);
    folder_.Write("sys/bus/pci/devices/" + name + "/class", device_class);
  }
  void AddDriver() {
    folder_.Write("proc/driver/nvidia/version",
                  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n"
                  "GCC version:  gcc version 12.2.0\n");
  }
  GpuState Read() const { return ReadGpuState(folder_ / ""); }

  TemporaryFolder folder_;
};

TEST_F(GpuCheckTest, AMachineWithoutAGpuIsFine) {
  AddPciDevice("0000:00:02.0", "0x8086\n", "0x030000\n");  // another maker's display
  AddPciDevice("0000:01:00.1", "0x10de\n", "0x040300\n");  // NVIDIA's sound
  const Finding finding = JudgeGpu(Read(), {}, true, kFails, "");
  EXPECT_EQ(finding.kind, Finding::Kind::kGood);
  EXPECT_THAT(finding.text, HasSubstr("no NVIDIA GPU"));
  EXPECT_THAT(finding.advice, IsEmpty());
}

TEST_F(GpuCheckTest, AGpuThatWorksIsNamed) {
  AddPciDevice("0000:01:00.0", "0x10de\n", "0x030200\n");
  AddDriver();
  folder_.Write("dev/nvidia0", "x");
  folder_.Write("dev/nvidiactl", "x");
  const GpuState state = Read();
  EXPECT_EQ(state.pci_devices, 1);
  EXPECT_EQ(state.driver_version, "580.65.06");
  EXPECT_THAT(state.nodes, ElementsAre(folder_ / "dev/nvidia0"));
  const Finding finding = JudgeGpu(state, {}, true, kStarts, "cuda:0: NVIDIA H100");
  EXPECT_EQ(finding.kind, Finding::Kind::kGood);
  EXPECT_EQ(finding.text, "cuda:0: NVIDIA H100; driver 580.65.06");
}

TEST_F(GpuCheckTest, EveryWayToFailHasItsAdvice) {
  AddPciDevice("0000:01:00.0", "0x10de\n", "0x030200\n");
  const auto judge = [this](bool built = true) { return JudgeGpu(Read(), {}, built, kFails, ""); };
  EXPECT_EQ(judge(/*built=*/false).kind, Finding::Kind::kNote);
  EXPECT_THAT(judge(/*built=*/false).advice, HasSubstr("cmake --preset cuda"));
  EXPECT_EQ(judge().kind, Finding::Kind::kBad);
  EXPECT_THAT(judge().advice, HasSubstr("install NVIDIA's driver"));
  AddDriver();
  EXPECT_THAT(judge().text, HasSubstr("no /dev/nvidia0"));
  EXPECT_THAT(judge().advice, HasSubstr("--gpus all"));
  folder_.Write("dev/nvidia0", "x");
  EXPECT_THAT(judge().text, HasSubstr("the backend does not start: no CUDA device"));
  EXPECT_THAT(judge().advice, HasSubstr("--backend cpu"));
  GpuState closed = Read();
  closed.closed_nodes = closed.nodes;
  EXPECT_THAT(JudgeGpu(closed, {}, true, kFails, "").text, HasSubstr("may not open"));
}

TEST_F(GpuCheckTest, EveryFaultOfTheDriversLibraryHasItsAdvice) {
  AddPciDevice("0000:01:00.0", "0x10de\n", "0x030200\n");
  AddDriver();
  folder_.Write("dev/nvidia0", "x");
  const auto judge = [this](const DriverProbe& probe, const char* message) {
    const Finding finding = JudgeGpu(Read(), probe, true, absl::UnavailableError(message), "");
    EXPECT_EQ(finding.kind, Finding::Kind::kBad);
    return finding.text + " -> " + finding.advice;
  };
  using Result = DriverProbe::Result;
  const char* const insufficient =
      "no CUDA device answers: CUDA driver version is insufficient for CUDA runtime version";
  const std::string missing =
      judge({Result::kNotLoaded, "libcuda.so.1: no such file"}, insufficient);
  EXPECT_THAT(missing, HasSubstr("cannot be loaded: libcuda.so.1: no such file"));
  EXPECT_THAT(missing, HasSubstr("docker run --gpus all"));
  EXPECT_THAT(judge({Result::kCrashes, "Bus error"}, ""), HasSubstr("crashes: Bus error"));
  EXPECT_THAT(judge({Result::kHangs, "no answer in 30s"}, ""), HasSubstr("no answer in 30s"));
  EXPECT_THAT(judge({}, insufficient), HasSubstr("older than this program's CUDA"));
  EXPECT_THAT(judge({}, "no CUDA device answers: CUDA driver is a stub library"),
              HasSubstr("LD_LIBRARY_PATH"));
  // Without a GPU it is no fault that there is no driver.
  EXPECT_EQ(JudgeGpu({}, {Result::kNotLoaded, "no such file"}, true, kFails, "").kind,
            Finding::Kind::kGood);
}

TEST_F(GpuCheckTest, AJetsonIsKnownByItsModel) {
  folder_.Write("proc/device-tree/model", std::string("NVIDIA Jetson AGX Orin\0", 23));
  EXPECT_EQ(Read().jetson, "NVIDIA Jetson AGX Orin");
  EXPECT_THAT(JudgeGpu(Read(), {}, true, kFails, "").text, HasSubstr("NVIDIA Jetson AGX Orin"));
}

}  // namespace
}  // namespace orbserve::cli
