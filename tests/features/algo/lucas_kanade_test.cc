// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/lucas_kanade.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace orbserve::algo {
namespace {

constexpr int kUnit = kTrackUnit;

TrackParameters ParametersOf(Illumination illumination, int levels = 1, int iterations = 30) {
  TrackOptions options;
  options.illumination = illumination;
  options.levels = levels;
  options.iterations = iterations;
  return TrackParameters::Of(options, levels);
}

// Sums of a patch whose gradients are worth `eigen` (grey level / pixel)^2 in both directions.
TrackTemplateSums<int64_t> RoundSums(int64_t eigen) {
  TrackTemplateSums<int64_t> sums;
  sums.xx = sums.yy = eigen * 1024 * 256;
  sums.cc = 4096;
  return sums;
}

TEST(TrackPatchTest, SidesAndRowsFollowTheCoarsePatch) {
  EXPECT_EQ(TrackPatchSide(0, 8), 16);
  EXPECT_EQ(TrackPatchSide(2, 8), 16);
  EXPECT_EQ(TrackPatchSide(3, 8), 8);
  EXPECT_EQ(TrackPatchSide(10, 16), 16);
  EXPECT_EQ(TrackPatchSamples(16), 324);
  EXPECT_EQ(TrackPatchSamples(8), 100);
  EXPECT_EQ(TrackPatchOffset(0, 8), 0);
  EXPECT_EQ(TrackPatchOffset(3, 8), 972);
  EXPECT_EQ(TrackPatchOffset(4, 8), 1072);
  EXPECT_EQ(TrackPatchOffset(4, 16), 1296);
  EXPECT_EQ(TrackPatchValues(2, 8), 648);
  EXPECT_EQ(TrackPatchValues(5, 8), 1172);
  EXPECT_EQ(TrackPatchValues(5, 16), 1620);
}

TEST(TrackPlaceTest, PlacesAreRoundedToTheGridOfALevel) {
  EXPECT_EQ(TrackPlace(1.5f), 24576);
  EXPECT_EQ(TrackPlace(-0.25f), -4096);
  EXPECT_EQ(TrackPixels(24577), 24577.0f / 16384.0f);
  EXPECT_EQ(TrackPlaceOnLevel(5, 0), 5);
  EXPECT_EQ(TrackPlaceOnLevel(5, 1), 3);
  EXPECT_EQ(TrackPlaceOnLevel(6, 2), 2);
  EXPECT_EQ(TrackPlaceOnLevel(5, 2), 1);
  EXPECT_EQ(TrackPlaceOnLevel(-3, 1), -1);
  EXPECT_EQ(TrackPlaceOnLevel(-4, 1), -2);
  EXPECT_EQ(TrackPlaceOnLevel(std::numeric_limits<int32_t>::max(), 3), 268435456);
}

TEST(TrackPlaceTest, NearReachesEightPixelsOverTheEdges) {
  EXPECT_TRUE(IsTrackNear(-8 * kUnit, 10));
  EXPECT_FALSE(IsTrackNear(-8 * kUnit - 1, 10));
  EXPECT_TRUE(IsTrackNear(18 * kUnit - 1, 10));
  EXPECT_FALSE(IsTrackNear(18 * kUnit, 10));
  EXPECT_FALSE(IsTrackNear(std::numeric_limits<int32_t>::max(), 65535));
  EXPECT_FALSE(IsTrackNear(std::numeric_limits<int32_t>::min(), 65535));
}

TEST(TrackSamplerTest, AnEvenPatchIsSampledHalfAPixelOff) {
  const TrackSampler middle = TrackSamplerAt(0, 0);
  EXPECT_EQ(middle.x, 0);
  EXPECT_EQ(middle.y, 0);
  EXPECT_EQ(middle.w00, 4096);
  EXPECT_EQ(middle.w11, 4096);
  EXPECT_EQ(middle.Sample(0, 255, 0, 255), 2040);
  const TrackSampler whole = TrackSamplerAt(kUnit / 2, -kUnit / 2);
  EXPECT_EQ(whole.x, 1);
  EXPECT_EQ(whole.y, 0);
  EXPECT_EQ(whole.w00, kUnit);
  EXPECT_EQ(whole.Sample(255, 0, 0, 0), 4080);
  const TrackSampler last = TrackSamplerAt(kUnit / 2 - 1, kUnit / 2 - 1);
  EXPECT_EQ(last.x, 0);
  EXPECT_EQ(last.w00, 0);
  EXPECT_EQ(last.w01, 1);
  EXPECT_EQ(last.w10, 1);
  EXPECT_EQ(last.w11, 16382);
  const TrackSampler negative = TrackSamplerAt(-kUnit, -3 * kUnit / 4);
  EXPECT_EQ(negative.x, -1);
  EXPECT_EQ(negative.y, -1);
  EXPECT_EQ(negative.w10, 12288 / 2);  // 3/4 of a pixel down, half a pixel right
}

TEST(TrackSamplerTest, WeightsAreNeverNegativeAndAddUpToOne) {
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const TrackSampler s =
        TrackSamplerAt(static_cast<int>(random() & 0x3fff), static_cast<int>(random() & 0x3fff));
    ASSERT_GE(std::min({s.w00, s.w01, s.w10, s.w11}), 0);
    ASSERT_EQ(s.w00 + s.w01 + s.w10 + s.w11, kUnit);
    ASSERT_EQ(s.Sample(255, 255, 255, 255), kMaxTrackSample);
  }
}

TEST(TrackTemplateTest, GradientsAndMeansAreRounded) {
  EXPECT_EQ(TrackGradient(1, 2, 3), 2);
  EXPECT_EQ(TrackGradient(-1, -1, -1), -1);  // -16 / 16 + 1/2, rounded down
  EXPECT_EQ(TrackGradient(4080, 4080, 4080), 4080);
  EXPECT_EQ(TrackGradient(-4080, -4080, -4080), -4080);
  EXPECT_EQ(TrackMean(383, 16), 1);
  EXPECT_EQ(TrackMean(384, 16), 2);
  EXPECT_EQ(TrackMean(32, 8), 1);
}

TEST(TrackTemplateTest, SumsOfTheLargestPatchFit) {
  TrackTemplateSums<int64_t> sums;
  TrackResidualSums residuals;
  for (int i = 0; i < 256; ++i) {
    sums.AddPixel(-4080, 4080, 4080);
    residuals.AddPixel(4080, -4080, -4080, 2047);
  }
  EXPECT_EQ(sums.xx, int64_t{4'261'478'400});
  EXPECT_EQ(sums.xy, -sums.xx);
  EXPECT_EQ(sums.yc, sums.cc);
  EXPECT_EQ(sums.xo, -1'044'480);
  EXPECT_EQ(residuals.x, 2'138'050'560);
  EXPECT_EQ(residuals.y, -2'138'050'560);
  EXPECT_EQ(residuals.c, residuals.y);
  EXPECT_EQ(residuals.o, 524'032);
}

TEST(TrackParametersTest, StopAboveLevelZeroIsTenTimesAsFar) {
  TrackOptions options;
  options.epsilon_px = 0.25f;
  options.levels = 5;
  const TrackParameters parameters = TrackParameters::Of(options, 3);
  EXPECT_EQ(parameters.levels, 3);
  EXPECT_EQ(parameters.fine_stop, 4096.0f * 4096.0f);
  EXPECT_EQ(parameters.coarse_stop, 4096.0f * 4096.0f * 100.0f);
  EXPECT_FALSE(parameters.with_gain);
  EXPECT_FALSE(parameters.with_offset);
  EXPECT_TRUE(ParametersOf(Illumination::kGain).with_gain);
  EXPECT_FALSE(ParametersOf(Illumination::kGain).with_offset);
  EXPECT_TRUE(ParametersOf(Illumination::kOffset).with_offset);
  EXPECT_FALSE(ParametersOf(Illumination::kOffset).with_gain);
  EXPECT_TRUE(ParametersOf(Illumination::kBoth).subtracts_mean());
}

TEST(TrackModelTest, InverseOfARoundHessian) {
  TrackModel model;
  ASSERT_TRUE(MakeTrackModel(RoundSums(4), 0, 16, ParametersOf(Illumination::kNone), &model));
  EXPECT_EQ(model.sxx, 0.03125f);  // 2^15 / 2^20
  EXPECT_EQ(model.syy, 0.03125f);
  EXPECT_EQ(model.sxy, 0.0f);
  EXPECT_EQ(model.rc, 0.0f);
  EXPECT_EQ(model.ro, 0.0f);
}

TEST(TrackModelTest, OffsetAndGainAreTakenOutOfTheHessian) {
  // Gradients of 2 and -1 everywhere, beside texture; c of 3 on the mean.
  TrackTemplateSums<int64_t> sums = RoundSums(4);
  sums.xx += 1024;
  sums.xy += -512;
  sums.yy += 256;
  sums.xo = 512;
  sums.yo = -256;
  sums.co = 768;
  sums.cc = 4096 + 2304;
  sums.xc = 1536 + 8192;
  sums.yc = -768;
  TrackModel model;
  ASSERT_TRUE(MakeTrackModel(sums, 7, 16, ParametersOf(Illumination::kOffset), &model));
  EXPECT_EQ(model.sxx, 0.03125f);
  EXPECT_EQ(model.sxy, 0.0f);
  EXPECT_EQ(model.lxo, 2.0f);
  EXPECT_EQ(model.lyo, -1.0f);
  EXPECT_EQ(model.lco, 0.0f);  // only where gain is followed, too
  EXPECT_EQ(model.ro, 1.0f / 256.0f);
  EXPECT_EQ(model.lxc, 0.0f);
  ASSERT_TRUE(MakeTrackModel(sums, 7, 16, ParametersOf(Illumination::kBoth), &model));
  EXPECT_EQ(model.lco, 3.0f);
  EXPECT_EQ(model.lxc, 2.0f);  // 8192 / 4096
  EXPECT_EQ(model.lyc, 0.0f);
  EXPECT_EQ(model.rc, 1.0f / 4096.0f);
  EXPECT_EQ(model.mean, 7.0f);
  EXPECT_EQ(model.syy, 0.03125f);
  EXPECT_EQ(model.sxx, static_cast<float>(32768.0 / (1048576.0 - 16384.0)));
}

TEST(TrackModelTest, TheSmallerEigenvalueDecides) {
  TrackParameters parameters = ParametersOf(Illumination::kNone);
  parameters.min_eigen = 4.0f;
  TrackModel model;
  EXPECT_TRUE(MakeTrackModel(RoundSums(4), 0, 16, parameters, &model));
  TrackTemplateSums<int64_t> sums = RoundSums(4);
  sums.yy -= 1;
  EXPECT_FALSE(MakeTrackModel(sums, 0, 16, parameters, &model));
  // Both diagonal sums are large, the texture has one direction only.
  sums = RoundSums(400);
  sums.xy = sums.xx;
  EXPECT_FALSE(MakeTrackModel(sums, 0, 16, parameters, &model));
  // Both eigenvalues below the limit: the product of two negative numbers does not count.
  EXPECT_FALSE(MakeTrackModel(RoundSums(3), 0, 16, parameters, &model));
  // A patch of 8 pixels needs a quarter of the sum.
  sums = RoundSums(1);
  EXPECT_TRUE(MakeTrackModel(sums, 0, 8, parameters, &model));
  EXPECT_FALSE(MakeTrackModel({}, 0, 16, parameters, &model));
}

TEST(TrackModelTest, GainNeedsContrast) {
  TrackModel model;
  TrackTemplateSums<int64_t> sums = RoundSums(4);
  sums.cc = 0;
  EXPECT_TRUE(MakeTrackModel(sums, 0, 16, ParametersOf(Illumination::kNone), &model));
  EXPECT_TRUE(MakeTrackModel(sums, 0, 16, ParametersOf(Illumination::kOffset), &model));
  EXPECT_FALSE(MakeTrackModel(sums, 0, 16, ParametersOf(Illumination::kGain), &model));
  sums.cc = 1;
  EXPECT_TRUE(MakeTrackModel(sums, 0, 16, ParametersOf(Illumination::kGain), &model));
  EXPECT_TRUE(MakeTrackModel(sums, 0, 16, ParametersOf(Illumination::kBoth), &model));
  sums.co = 1;  // 1 - 1/256
  EXPECT_TRUE(MakeTrackModel(sums, 0, 16, ParametersOf(Illumination::kGain), &model));
  EXPECT_FALSE(MakeTrackModel(sums, 0, 16, ParametersOf(Illumination::kBoth), &model));
}

class TrackSearchTest : public ::testing::Test {
 protected:
  TrackSearchTest() {
    MakeTrackModel(RoundSums(4), 0, 16, ParametersOf(Illumination::kNone), &model_);
  }
  // A step of the search for the wanted move, in 2^-14 pixels.
  TrackStep Step(float dx, float dy, float stop = 1.0f) {
    TrackResidualSums sums;
    sums.x = static_cast<int32_t>(dx * 32.0f);
    sums.y = static_cast<int32_t>(dy * 32.0f);
    return search_.Step(sums, model_, stop);
  }

  TrackModel model_;
  TrackSearch search_ = TrackSearch::Begin({1000, 2000, 0.0f, 0.0f}, 0, {});
};

TEST_F(TrackSearchTest, StepsAreSubtractedAndRoundedHalfToEven) {
  EXPECT_EQ(Step(3.0f, -4.0f), TrackStep::kGoesOn);
  EXPECT_EQ(search_.x, 997);
  EXPECT_EQ(search_.y, 2004);
  EXPECT_EQ(Step(0.5f, -1.5f, 2.5f), TrackStep::kGoesOn);  // 2.5 is not below 2.5
  EXPECT_EQ(search_.x, 997);
  EXPECT_EQ(search_.y, 2006);
  EXPECT_EQ(Step(0.0f, -1.5f, 2.5f), TrackStep::kConverged);
}

TEST_F(TrackSearchTest, StepsThatTurnBackAreHalved) {
  Step(4.0f, 0.0f);
  EXPECT_EQ(search_.x, 996);
  Step(-4.0f, 0.0f);
  EXPECT_EQ(search_.x, 998);
  // The step before counts as it was before it was halved, and halving lasts.
  Step(4.0f, 0.0f);
  EXPECT_EQ(search_.x, 997);
  Step(8.0f, 4.0f);
  EXPECT_EQ(search_.x, 995);
  EXPECT_EQ(search_.y, 1999);
}

TEST_F(TrackSearchTest, StepsOf64PixelsFail) {
  EXPECT_EQ(Step(1048575.0f, -1048575.0f), TrackStep::kGoesOn);
  EXPECT_EQ(search_.x, 1000 - 1048575);
  EXPECT_EQ(search_.y, 2000 + 1048575);
  TrackSearch before = search_;
  EXPECT_EQ(Step(1048576.0f, -1.0f), TrackStep::kFailed);
  EXPECT_EQ(search_.x, before.x);
  EXPECT_EQ(search_.y, before.y);
  EXPECT_EQ(Step(0.0f, -1048576.0f), TrackStep::kFailed);
  EXPECT_EQ(search_.y, before.y);
}

TEST_F(TrackSearchTest, ADampedStepCountsAgainstTheLimit) {
  Step(-4.0f, 0.0f);
  EXPECT_EQ(Step(2097150.0f, 0.0f), TrackStep::kGoesOn);
  EXPECT_EQ(search_.x, 1000 + 4 - 1048575);
}

TEST_F(TrackSearchTest, GainAndOffsetFollowTheSums) {
  TrackTemplateSums<int64_t> sums = RoundSums(4);
  ASSERT_TRUE(MakeTrackModel(sums, 100, 16, ParametersOf(Illumination::kBoth), &model_));
  search_ = TrackSearch::Begin({0, 0, 0.25f, 8.0f}, 0, model_);
  EXPECT_EQ(search_.offset, 33.0f);
  EXPECT_EQ(search_.RoundedGain(), 8192);
  EXPECT_EQ(search_.RoundedOffset(), 33);
  EXPECT_EQ(search_.Step({0, 0, 2048, 256}, model_, 1.0f), TrackStep::kConverged);
  EXPECT_EQ(search_.gain, 0.75f);
  EXPECT_EQ(search_.offset, 34.0f);
  const TrackState end = search_.End({0, 0, 0.25f, 8.0f}, 0, model_);
  EXPECT_EQ(end.gain, 0.75f);
  EXPECT_EQ(end.offset, -41.0f);
  // Both stay within their limits.
  search_.Step({0, 0, 1 << 20, 1 << 20}, model_, 1.0f);
  EXPECT_EQ(search_.gain, 0.9375f);
  EXPECT_EQ(search_.offset, 2047.0f);
  EXPECT_EQ(search_.RoundedGain(), 30720);
  EXPECT_EQ(TrackSearch::Begin({0, 0, 0.9375f, 5000.0f}, 0, model_).offset, 2047.0f);
  EXPECT_EQ(TrackSearch::Begin({0, 0, 0.0f, -5000.0f}, 0, model_).offset, -2047.0f);
}

TEST_F(TrackSearchTest, FractionsThatALevelCannotHoldSurvive) {
  const TrackState before = {1003, -1003, 0.0f, 0.0f};
  TrackSearch search = TrackSearch::Begin(before, 3, model_);
  EXPECT_EQ(search.x, 125);   // (1003 + 4) >> 3
  EXPECT_EQ(search.y, -125);  // (-1003 + 4) >> 3
  search.x += 2;
  search.y -= 1;
  const TrackState after = search.End(before, 3, model_);
  EXPECT_EQ(after.x, 1019);
  EXPECT_EQ(after.y, -1011);
}

TEST(TrackResidualTest, ThePredictionIsTakenOffAndTheRestIsCut) {
  EXPECT_EQ(TrackResidual(100, 50, 50, 16384, 3), 22);
  EXPECT_EQ(TrackResidual(0, 0, 1, -16384, 0), 0);
  EXPECT_EQ(TrackResidual(0, 0, 2, -16384, 0), 1);
  EXPECT_EQ(TrackResidual(4080, 0, 0, 0, 0), 2047);
  EXPECT_EQ(TrackResidual(0, 4080, 4080, 30720, 2047), -2047);
  EXPECT_EQ(TrackMeanResidual(0), 0.0f);
  EXPECT_EQ(TrackMeanResidual(4096), 1.0f);
  EXPECT_EQ(TrackMeanResidual(524'032), 127.9375f);
}

// Loops that answer from a list and note what they were asked for.
struct ScriptedLoops {
  int64_t eigen = 4;                      // of the template on every level but `bare_level`
  int bare_level = -1;                    // has no texture
  std::vector<TrackResidualSums> script;  // of the searches in order; zeros afterwards
  int absolute_sum = 0;

  std::vector<int> taken;
  std::vector<int> passed;
  std::vector<int> searched;
  int level = 0;

  void TakeTemplate(int at, int /*side_px*/, int32_t /*x*/, int32_t /*y*/) {
    taken.push_back(at);
    level = at;
  }
  void PassTemplate(int at, int /*side_px*/) { passed.push_back(at); }
  int TemplateSum(int /*side_px*/) { return 0; }
  TrackTemplateSums<int64_t> SumTemplate(int /*side_px*/, int /*mean*/) {
    return level == bare_level ? TrackTemplateSums<int64_t>() : RoundSums(eigen);
  }
  TrackResidualSums SumResiduals(int at, int /*side_px*/, const TrackSampler& /*sampler*/,
                                 int /*rounded_gain*/, int /*rounded_offset*/) {
    searched.push_back(at);
    return searched.size() <= script.size() ? script[searched.size() - 1] : TrackResidualSums();
  }
  int SumAbsoluteResiduals(const TrackSampler& /*sampler*/, int /*rounded_gain*/,
                           int /*rounded_offset*/) {
    return absolute_sum;
  }
};

// Sums that move the place by (dx, dy) 2^-14 pixels of the level.
TrackResidualSums MoveBy(int dx, int dy) {
  TrackResidualSums sums;
  sums.x = -32 * dx;
  sums.y = -32 * dy;
  return sums;
}

constexpr TrackLevelSize kSizes[] = {{64, 48}, {32, 24}, {16, 12}};

TrackResult Follow(ScriptedLoops* loops, const TrackParameters& parameters, int32_t x, int32_t y) {
  return FollowPoint(parameters, kSizes, {x, y, 0.0f, 0.0f, x, y}, *loops);
}

TEST(FollowPointTest, MovesOfCoarseLevelsAreScaledUp) {
  ScriptedLoops loops;
  loops.script = {MoveBy(100, 0), {}, MoveBy(0, 30), {}, MoveBy(7, 7)};
  loops.absolute_sum = 2048;
  TrackParameters parameters = ParametersOf(Illumination::kNone, 3);
  parameters.coarse_stop = 1.0f;
  parameters.fine_stop = 100.0f;  // 7 * 7 + 7 * 7 ends it
  const TrackResult result = Follow(&loops, parameters, 20 * kUnit + 1, 20 * kUnit);
  EXPECT_EQ(result.status, TrackStatus::kOk);
  EXPECT_EQ(result.x, 20 * kUnit + 1 + 400 + 7);
  EXPECT_EQ(result.y, 20 * kUnit + 60 + 7);
  EXPECT_EQ(result.residual, 0.5f);
  EXPECT_EQ(loops.taken, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(loops.searched, (std::vector<int>{2, 2, 1, 1, 0}));
}

TEST(FollowPointTest, LevelsWithoutTextureArePassedOverButLevelZeroEndsTheTrack) {
  ScriptedLoops loops;
  loops.bare_level = 1;
  EXPECT_EQ(Follow(&loops, ParametersOf(Illumination::kNone, 3), kUnit, kUnit).status,
            TrackStatus::kOk);
  EXPECT_EQ(loops.searched, (std::vector<int>{2, 0}));
  loops = {};
  loops.bare_level = 0;
  const TrackResult result = Follow(&loops, ParametersOf(Illumination::kNone, 3), kUnit, kUnit);
  EXPECT_EQ(result.status, TrackStatus::kNoTexture);
  EXPECT_EQ(result.x, 0);
}

TEST(FollowPointTest, ATemplateFarFromItsLevelIsPassed) {
  ScriptedLoops loops;
  // Pixel 36 is within 8 pixels of level 1 (32 wide), pixel 72 is not of level 0 (64 wide).
  EXPECT_EQ(Follow(&loops, ParametersOf(Illumination::kNone, 2), 72 * kUnit, 0).status,
            TrackStatus::kNoTexture);
  EXPECT_EQ(loops.taken, std::vector<int>{1});
  EXPECT_EQ(loops.passed, std::vector<int>{0});
}

TEST(FollowPointTest, AFailedCoarseLevelLeavesThePlaceAlone) {
  ScriptedLoops loops;
  loops.script = {MoveBy(5 * kUnit, 0), MoveBy(60 * kUnit, 0)};  // then it is 20 pixels outside
  TrackParameters parameters = ParametersOf(Illumination::kNone, 2);
  const TrackResult result = Follow(&loops, parameters, 8 * kUnit, 8 * kUnit);
  EXPECT_EQ(result.status, TrackStatus::kOk);
  EXPECT_EQ(result.x, 8 * kUnit);
  EXPECT_EQ(loops.searched, (std::vector<int>{1, 1, 0}));
}

TEST(FollowPointTest, ACoarseLevelNeedNotConverge) {
  ScriptedLoops loops;
  loops.script = {MoveBy(4000, 0), MoveBy(4000, 0)};
  const TrackResult result =
      Follow(&loops, ParametersOf(Illumination::kNone, 2, 2), 8 * kUnit, 8 * kUnit);
  EXPECT_EQ(result.status, TrackStatus::kOk);
  EXPECT_EQ(result.x, 8 * kUnit + 16000);
}

TEST(FollowPointTest, EndsOnLevelZeroInTheirOrder) {
  const TrackParameters parameters = ParametersOf(Illumination::kNone, 1, 2);
  ScriptedLoops loops;
  loops.script = {MoveBy(-20 * kUnit, 0)};  // not near when the second iteration begins
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kLeftImage);
  // After the last iteration nobody asks whether the place is near.
  loops = {};
  loops.script = {MoveBy(kUnit, 0), MoveBy(-60 * kUnit, 0)};
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kNotConverged);
  // Converged outside, within the 8 pixels that are near.
  loops = {};
  loops.script = {MoveBy(-kUnit - 1, 0)};
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kLeftImage);
  loops = {};
  loops.script = {MoveBy(-kUnit, 0)};
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kOk);
  loops = {};
  loops.script = {MoveBy(62 * kUnit, 46 * kUnit)};
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kOk);
  loops = {};
  loops.script = {MoveBy(0, 46 * kUnit + 1)};
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kLeftImage);
  loops = {};
  loops.script = {MoveBy(64 * kUnit, 0)};  // 2^20: too far for one step
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kLeftImage);
  EXPECT_EQ(loops.searched.size(), 1u);
}

TEST(FollowPointTest, AResidualAboveTheLimitIsDifferent) {
  TrackParameters parameters = ParametersOf(Illumination::kNone);
  parameters.max_residual = 2.0f;
  ScriptedLoops loops;
  loops.absolute_sum = 8192;
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kOk);
  loops = {};
  loops.absolute_sum = 8193;
  EXPECT_EQ(Follow(&loops, parameters, kUnit, kUnit).status, TrackStatus::kDifferent);
}

TEST(FollowPointTest, GainAndOffsetThatAreNotFollowedStartAtZero) {
  const TrackStart start = {kUnit, kUnit, 0.5f, 100.0f, kUnit, kUnit};
  ScriptedLoops loops;
  EXPECT_EQ(FollowPoint(ParametersOf(Illumination::kNone), kSizes, start, loops).offset, 0.0f);
  const TrackResult gain = FollowPoint(ParametersOf(Illumination::kGain), kSizes, start, loops);
  EXPECT_EQ(gain.gain, 0.5f);
  EXPECT_EQ(gain.offset, 0.0f);
  const TrackResult offset = FollowPoint(ParametersOf(Illumination::kOffset), kSizes, start, loops);
  EXPECT_EQ(offset.gain, 0.0f);
  EXPECT_EQ(offset.offset, 100.0f);
}

}  // namespace
}  // namespace orbserve::algo
