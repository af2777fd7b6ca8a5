// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/reach.h"

#include <gtest/gtest.h>

namespace orbserve {
namespace {

PipelineOptions With(Score score, Orientation orientation, Descriptor descriptor) {
  PipelineOptions options;
  options.detect.score = score;
  options.describe = {orientation, descriptor};
  return options;
}

TEST(ReachTest, OrbReadsWhatItsStagesRead) {
  const Reach reach = Reach::Of({});
  EXPECT_EQ(reach.detect_px, 3);     // radius of the FAST ring
  EXPECT_EQ(reach.score_px, 4);      // Harris: 7x7 gradients, each of 3x3 pixels
  EXPECT_EQ(reach.orient_px, 15);    // radius of the 31 pixel patch
  EXPECT_EQ(reach.describe_px, 21);  // turned pattern 18, Gaussian 3
  EXPECT_EQ(reach.smallest_border_px, 22);
}

TEST(ReachTest, StagesThatDoNotRunReadNothing) {
  const Reach fast = Reach::Of(With(Score::kFast, Orientation::kNone, Descriptor::kNone));
  EXPECT_EQ(fast.score_px, 0);
  EXPECT_EQ(fast.orient_px, 0);
  EXPECT_EQ(fast.describe_px, 0);
  EXPECT_EQ(fast.smallest_border_px, 3);
}

TEST(ReachTest, TheSmallestBorderHasAPixelToSpareForKeypoints) {
  EXPECT_EQ(
      Reach::Of(With(Score::kHarris, Orientation::kNone, Descriptor::kNone)).smallest_border_px, 5);
  EXPECT_EQ(Reach::Of(With(Score::kHarris, Orientation::kIntensityCentroid, Descriptor::kNone))
                .smallest_border_px,
            16);
  EXPECT_EQ(Reach::Of(With(Score::kHarris, Orientation::kNone, Descriptor::kRBrief256))
                .smallest_border_px,
            22);
}

TEST(ReachTest, RBrief32ReadsAPatchOfTenPixels) {
  const Reach reach =
      Reach::Of(With(Score::kFast, Orientation::kIntensityCentroid, Descriptor::kRBrief32));
  EXPECT_EQ(reach.orient_px, 5);    // columns -4 to 5, rows -5 to 4
  EXPECT_EQ(reach.describe_px, 4);  // x^2 + y^2 <= 20
  EXPECT_EQ(reach.smallest_border_px, 10);
  EXPECT_EQ(Reach::Of(With(Score::kHarris, Orientation::kIntensityCentroid, Descriptor::kRBrief32))
                .smallest_border_px,
            10);
}

TEST(ReachTest, BFrostReadsItsFarthestSquare) {
  const Reach reach =
      Reach::Of(With(Score::kFast, Orientation::kArcMiddle, Descriptor::kBFrost256));
  EXPECT_EQ(reach.orient_px, 3);          // radius of the FAST ring
  EXPECT_EQ(reach.describe_px, 32 + 12);  // radius of the circle, half side of the square
  EXPECT_EQ(reach.smallest_border_px, 44);
  EXPECT_EQ(
      Reach::Of(With(Score::kFast, Orientation::kArcMiddle, Descriptor::kNone)).smallest_border_px,
      3);
}

TEST(ReachTest, RBriefReachesItsTurnedPatternAndTheFilter) {
  EXPECT_EQ(kRBriefSampleReachPx, 18);  // 13 * sqrt(2) = 18.4
  EXPECT_EQ(kRBriefReachPx, 21);
  EXPECT_EQ(kRBriefBorderPx, 22);
}

}  // namespace
}  // namespace orbserve
