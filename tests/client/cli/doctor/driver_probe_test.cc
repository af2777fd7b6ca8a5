// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/doctor/driver_probe.h"

#include <signal.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLong = absl::Seconds(60);

TEST(DriverProbeTest, TheAnswerOfTheChildIsReturned) {
  const DriverProbe probe = ProbeInChild(
      [] {
        return DriverProbe{DriverProbe::Result::kNotLoaded, "no such library\n"};
      },
      kLong);
  EXPECT_EQ(probe.result, DriverProbe::Result::kNotLoaded);
  EXPECT_EQ(probe.text, "no such library\n");
  const DriverProbe works = ProbeInChild([] { return DriverProbe(); }, kLong);
  EXPECT_EQ(works.result, DriverProbe::Result::kAnswers);
  EXPECT_THAT(works.text, IsEmpty());
}

TEST(DriverProbeTest, AChildThatCrashesOrHangsHarmsNothing) {
  const DriverProbe crashes = ProbeInChild(
      [] {
        raise(SIGKILL);
        return DriverProbe();
      },
      kLong);
  EXPECT_EQ(crashes.result, DriverProbe::Result::kCrashes);
  EXPECT_THAT(crashes.text, HasSubstr("Killed"));
  const DriverProbe hangs = ProbeInChild(
      [] {
        pause();
        return DriverProbe();
      },
      absl::Milliseconds(50));
  EXPECT_EQ(hangs.result, DriverProbe::Result::kHangs);
  EXPECT_THAT(hangs.text, HasSubstr("50ms"));
}

TEST(DriverProbeTest, ALibraryThatIsNoneIsNotLoaded) {
  TemporaryFolder folder;
  const DriverProbe missing = ProbeDriver(folder / "libcuda.so.1", kLong);
  EXPECT_EQ(missing.result, DriverProbe::Result::kNotLoaded);
  EXPECT_THAT(missing.text, HasSubstr("cannot open shared object file"));
  const DriverProbe text = ProbeDriver(folder.Write("libcuda.so.1", "no library"), kLong);
  EXPECT_EQ(text.result, DriverProbe::Result::kNotLoaded);
  // A library without the function of the driver.
  const DriverProbe other = ProbeDriver("libc.so.6", kLong);
  EXPECT_EQ(other.result, DriverProbe::Result::kNotLoaded);
  EXPECT_THAT(other.text, HasSubstr("cuInit"));
}

}  // namespace
}  // namespace orbserve::cli
