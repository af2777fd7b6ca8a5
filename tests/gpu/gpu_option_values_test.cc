// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every value of every option on the CUDA backend: the answer of the CPU backend, which
// cpu_backend_option_values_test compares with an independent oracle.

#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <vector>

#include "tests/gpu/backend_pair_test.h"
#include "tests/support/backend_runner.h"
#include "tests/support/option_values.h"
#include "tests/support/track_stream.h"

namespace orbserve::gpu {
namespace {

using GpuOptionValuesTest = BackendPairTest;

TEST_F(GpuOptionValuesTest, EveryValueGivesTheCpusAnswer) {
  const testing::TestImage image = testing::OptionValueImage();
  for (const testing::OptionValue& value : testing::OptionValues()) {
    SCOPED_TRACE(value.name);
    ExpectSame({image.width_px(), image.height_px(), value.pipeline},
               {{.image = image.view(), .parameters = value.parameters}});
  }
}

TEST_F(GpuOptionValuesTest, EveryValueOfMatchingGivesTheCpusMatches) {
  const auto query =
      testing::RunFrame(*cpu_, {}, {.image = testing::OptionValueQueryImage().view()});
  const auto train = testing::RunFrame(*cpu_, {}, {.image = testing::OptionValueImage().view()});
  ASSERT_TRUE(query.ok() && train.ok());
  for (const testing::MatchOptionValue& value : testing::MatchOptionValues()) {
    SCOPED_TRACE(value.name);
    std::vector<Matches> matches;
    for (FeatureBackend* const backend : {cpu_.get(), gpu_.get()}) {
      const MatchBatchAnswer answer = testing::RunMatches(
          *backend,
          {{*backend->ImportState(*query), *backend->ImportState(*train), value.options}});
      ASSERT_TRUE(answer.pairs[0].status.ok()) << answer.pairs[0].status;
      matches.push_back(answer.pairs[0].matches);
    }
    EXPECT_EQ(matches[0].query_index, matches[1].query_index);
    EXPECT_EQ(matches[0].train_index, matches[1].train_index);
    EXPECT_EQ(matches[0].distance, matches[1].distance);
  }
}

TEST_F(GpuOptionValuesTest, EveryValueOfTracksGivesTheCpusTracks) {
  const std::vector<testing::TestImage> frames = testing::OptionValueFrames();
  for (const testing::TrackOptionValue& value : testing::TrackOptionValues()) {
    SCOPED_TRACE(value.name);
    const auto expected = testing::TracksOfStream(*cpu_, frames, value.options);
    const auto actual = testing::TracksOfStream(*gpu_, frames, value.options);
    ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
    EXPECT_EQ(testing::FirstDifference(*expected, *actual), "");
  }
}

TEST_F(GpuOptionValuesTest, ThePresetForOdometryGivesTheCpusTracks) {
  const std::vector<testing::TestImage> frames = testing::OptionValueFrames();
  const TrackOptions& options = (*FindPreset("odometry"))->track;
  const auto expected = testing::TracksOfStream(*cpu_, frames, options, nullptr, "odometry");
  const auto actual = testing::TracksOfStream(*gpu_, frames, options, nullptr, "odometry");
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  EXPECT_EQ(testing::FirstDifference(*expected, *actual), "");
}

}  // namespace
}  // namespace orbserve::gpu
