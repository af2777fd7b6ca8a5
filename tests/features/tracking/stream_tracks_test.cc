// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/tracking/stream_tracks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "features/errors.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int32_t kPixel = 1 << 14;
constexpr size_t kPatchValues = 6;  // of the patches in this test; any number does

struct Candidate {
  float x;
  float y;
  float response;
  int octave = 0;
};

Features Candidates(const std::vector<Candidate>& list) {
  Features features;
  features.Resize(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    features.x[i] = list[i].x;
    features.y[i] = list[i].y;
    features.response[i] = list[i].response;
    features.octave[i] = list[i].octave;
  }
  return features;
}

// A search that finds every point where it was, moved by (dx, dy) pixels. Patches of point i hold
// the number `patch_number` + i.
TrackedPoints Found(const TrackPoints& points, float dx_px = 0.0f, float dy_px = 0.0f,
                    int patch_number = 0) {
  TrackedPoints found;
  const size_t count = points.count();
  found.status.assign(count, TrackStatus::kOk);
  for (size_t i = 0; i < count; ++i) {
    found.x.push_back(points.x[i] + static_cast<int32_t>(dx_px * kPixel));
    found.y.push_back(points.y[i] + static_cast<int32_t>(dy_px * kPixel));
    found.gain.push_back(points.gain[i] + 0.25f);
    found.offset.push_back(points.offset[i] - 16.0f);
    found.residual.push_back(1.5f);
    if (!points.patch_row.empty() && points.patch_row[i] < 0) {
      found.patches.insert(found.patches.end(), kPatchValues,
                           static_cast<int16_t>(patch_number + static_cast<int>(i)));
    }
  }
  return found;
}

void Lose(TrackedPoints* points, size_t i, TrackStatus status) {
  points->status[i] = status;
  points->x[i] = 0;
  points->y[i] = 0;
  points->gain[i] = 0.0f;
  points->offset[i] = 0.0f;
  points->residual[i] = 0.0f;
}

std::vector<uint64_t> IdsOf(const std::vector<Track>& tracks) {
  std::vector<uint64_t> ids;
  for (const Track& track : tracks) ids.push_back(track.id);
  return ids;
}

class StreamTracksTest : public ::testing::Test {
 protected:
  StreamTracksTest() {
    pipeline_.suppress.suppression = Suppression::kCell;
    pipeline_.select.selection = Selection::kBest;
    pipeline_.suppress.cell_width_px = 32;
    pipeline_.suppress.cell_height_px = 16;
    tracks_.Configure(pipeline_, options_);
  }

  // A frame of 100 x 60 pixels whose search was answered with `tracked`.
  FrameTracks Finish(const Features& candidates, int max_features, const TrackedPoints& tracked) {
    auto answer = tracks_.Finish(
        {.mask = mask_, .candidates = &candidates, .max_features = max_features}, tracked);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : FrameTracks();
  }
  FrameTracks FirstFrame(const Features& candidates, int max_features) {
    return Finish(candidates, max_features, Found(*tracks_.Begin(100, 60)));
  }

  PipelineOptions pipeline_;
  TrackOptions options_;
  ImageView mask_;
  StreamTracks tracks_;
};

TEST_F(StreamTracksTest, TracksBeginAtTheBestCandidatesByScoreThenLevelThenPlace) {
  const Features candidates = Candidates({{5, 5, 10},
                                          {40, 5, 30},
                                          {70, 5, 20},
                                          {5, 20, 20},
                                          {6, 40, 20, 1},
                                          {40, 20, 20},
                                          {70, 20, 9}});
  EXPECT_TRUE(tracks_.Begin(100, 60)->x.empty());
  const FrameTracks first = Finish(candidates, 5, {});
  EXPECT_THAT(first.ended, IsEmpty());
  ASSERT_EQ(first.tracks.size(), 5u);
  // Score 30; then 20 on level 0 by y, x; then 20 on level 1. Nothing is left for 10 and 9.
  const std::vector<std::pair<int, int>> places = {{40, 5}, {70, 5}, {5, 20}, {40, 20}, {6, 40}};
  for (size_t i = 0; i < places.size(); ++i) {
    const Track& track = first.tracks[i];
    EXPECT_EQ(track.id, i + 1);
    EXPECT_EQ(track.x, places[i].first * kPixel) << i;
    EXPECT_EQ(track.y, places[i].second * kPixel) << i;
    EXPECT_EQ(track.x_px(), static_cast<float>(places[i].first));
    EXPECT_EQ(track.age_frames, 0u);
    EXPECT_EQ(track.residual, 0.0f);
    EXPECT_EQ(track.gain(), 1.0f);
    EXPECT_EQ(track.offset_grey(), 0.0f);
  }
}

TEST_F(StreamTracksTest, PlacesAreRoundedToTheUnit) {
  // 10.00001 px are 163840.16 units; half a unit goes to the even one.
  const float half_up = 3.0f + 1.5f / kPixel;
  const float half_down = 3.0f + 0.5f / kPixel;
  const FrameTracks first =
      FirstFrame(Candidates({{10.00001f, half_up, 2}, {half_down, 50, 1}}), 9);
  ASSERT_EQ(first.tracks.size(), 2u);
  EXPECT_EQ(first.tracks[0].x, 163840);
  EXPECT_EQ(first.tracks[0].y, 3 * kPixel + 2);
  EXPECT_EQ(first.tracks[1].x, 3 * kPixel);
}

TEST_F(StreamTracksTest, ATrackGoesOnWithItsIdAndAges) {
  FirstFrame(Candidates({{10, 10, 2}, {50, 30, 1}}), 2);
  const auto points = tracks_.Begin(100, 60);
  EXPECT_THAT(points->x, ElementsAre(10 * kPixel, 50 * kPixel));
  EXPECT_THAT(points->y, ElementsAre(10 * kPixel, 30 * kPixel));
  EXPECT_THAT(points->gain, ElementsAre(0.0f, 0.0f));
  EXPECT_THAT(points->patch_row, IsEmpty());
  const FrameTracks second = Finish(Candidates({}), 2, Found(*points, 1.5f, -2.0f));
  ASSERT_EQ(second.tracks.size(), 2u);
  EXPECT_EQ(second.tracks[0], (Track{.id = 1,
                                     .x = 23 * kPixel / 2,
                                     .y = 8 * kPixel,
                                     .age_frames = 1,
                                     .residual = 1.5f,
                                     .alpha = 0.25f,
                                     .beta = -16.0f}));
  EXPECT_EQ(second.tracks[0].gain(), 1.25f);
  EXPECT_EQ(second.tracks[0].offset_grey(), -1.0f);
  // PREVIOUS begins every search without a change of light.
  EXPECT_THAT(tracks_.Begin(100, 60)->gain, ElementsAre(0.0f, 0.0f));
}

TEST_F(StreamTracksTest, EveryFailedSearchEndsItsTrackWithItsReason) {
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}, {70, 5, 7}, {5, 20, 6}, {40, 20, 5}}), 5);
  const auto points = tracks_.Begin(100, 60);
  TrackedPoints tracked = Found(*points);
  Lose(&tracked, 0, TrackStatus::kDifferent);
  Lose(&tracked, 1, TrackStatus::kNotConverged);
  Lose(&tracked, 2, TrackStatus::kLeftImage);
  Lose(&tracked, 3, TrackStatus::kNoTexture);
  const FrameTracks second = Finish(Candidates({}), 5, tracked);
  EXPECT_THAT(IdsOf(second.tracks), ElementsAre(5));
  EXPECT_THAT(
      second.ended,
      ElementsAre(EndedTrack{1, TrackEnd::kDifferent}, EndedTrack{2, TrackEnd::kNotConverged},
                  EndedTrack{3, TrackEnd::kLeftImage}, EndedTrack{4, TrackEnd::kNoTexture}));
  // An end is reported once.
  EXPECT_THAT(Finish(Candidates({}), 5, Found(*tracks_.Begin(100, 60))).ended, IsEmpty());
}

TEST_F(StreamTracksTest, ATrackEndsWhereItsNearestPixelIsMaskedOut) {
  FirstFrame(Candidates({{10, 10, 2}, {50, 30, 1}}), 2);
  std::vector<uint8_t> pixels(60 * 128, 1);
  mask_ = {pixels.data(), 100, 60, 128};
  pixels[10 * 128 + 11] = 0;
  const auto points = tracks_.Begin(100, 60);
  TrackedPoints tracked = Found(*points);
  tracked.x[0] = 10 * kPixel + kPixel / 2 - 1;  // the nearest pixel is 10
  EXPECT_THAT(Finish(Candidates({}), 2, tracked).ended, IsEmpty());
  tracked = Found(*tracks_.Begin(100, 60));
  tracked.x[0] = 10 * kPixel + kPixel / 2;  // 11
  EXPECT_THAT(Finish(Candidates({}), 2, tracked).ended,
              ElementsAre(EndedTrack{1, TrackEnd::kMasked}));
}

TEST_F(StreamTracksTest, NewTracksBeginBelowTheShareOfTheWantedNumber) {
  options_.redetect_percent = 50;
  tracks_.Configure(pipeline_, options_);
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}, {70, 5, 7}, {5, 20, 6}}), 4);
  const Features further = Candidates({{70, 50, 9}});
  TrackedPoints tracked = Found(*tracks_.Begin(100, 60));
  Lose(&tracked, 0, TrackStatus::kNoTexture);
  Lose(&tracked, 1, TrackStatus::kNoTexture);
  // 2 of 4 are not below 50 percent.
  EXPECT_THAT(IdsOf(Finish(further, 4, tracked).tracks), ElementsAre(3, 4));
  // 2 of 5 are. The frame's own number counts.
  EXPECT_THAT(IdsOf(Finish(further, 5, Found(*tracks_.Begin(100, 60))).tracks),
              ElementsAre(3, 4, 5));
}

TEST_F(StreamTracksTest, WithoutTracksNewOnesBeginWhateverTheShare) {
  options_.redetect_percent = 0;
  tracks_.Configure(pipeline_, options_);
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}}), 2);
  TrackedPoints tracked = Found(*tracks_.Begin(100, 60));
  Lose(&tracked, 0, TrackStatus::kNoTexture);
  EXPECT_THAT(IdsOf(Finish(Candidates({{70, 50, 9}}), 2, tracked).tracks), ElementsAre(2));
  tracked = Found(*tracks_.Begin(100, 60));
  Lose(&tracked, 0, TrackStatus::kNoTexture);
  EXPECT_THAT(IdsOf(Finish(Candidates({{70, 50, 9}}), 2, tracked).tracks), ElementsAre(3));
}

TEST_F(StreamTracksTest, TheCutComesAfterOccupiedCellsAreLeftOut) {
  options_.redetect_percent = 100;
  tracks_.Configure(pipeline_, options_);
  FirstFrame(Candidates({{5, 5, 9}}), 3);
  // The track moves into the cell of the best candidate, (31.99, 15.99): rounded down, not to the
  // nearest pixel.
  TrackedPoints tracked = Found(*tracks_.Begin(100, 60));
  tracked.x[0] = 32 * kPixel - 1;
  tracked.y[0] = 16 * kPixel - 1;
  const FrameTracks second =
      Finish(Candidates({{8, 8, 100}, {32, 15, 50}, {31, 16, 40}, {70, 40, 30}}), 3, tracked);
  ASSERT_THAT(IdsOf(second.tracks), ElementsAre(1, 2, 3));
  EXPECT_EQ(second.tracks[1].x, 32 * kPixel);  // not the best of all, but of the free cells
  EXPECT_EQ(second.tracks[2].x, 31 * kPixel);
}

TEST_F(StreamTracksTest, AnIdIsNeverUsedAgain) {
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}}), 2);
  TrackedPoints tracked = Found(*tracks_.Begin(100, 60));
  Lose(&tracked, 0, TrackStatus::kNoTexture);
  Lose(&tracked, 1, TrackStatus::kNoTexture);
  EXPECT_THAT(IdsOf(Finish(Candidates({{5, 5, 9}, {40, 5, 8}}), 2, tracked).tracks),
              ElementsAre(3, 4));
}

TEST_F(StreamTracksTest, AnotherImageSizeEndsAllAndIdsGoOn) {
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}}), 2);
  const auto points = tracks_.Begin(101, 60);
  EXPECT_EQ(points->count(), 0u);
  const FrameTracks second = Finish(Candidates({{5, 5, 9}}), 2, {});
  EXPECT_THAT(IdsOf(second.tracks), ElementsAre(3));
  EXPECT_THAT(second.ended, ElementsAre(EndedTrack{1, TrackEnd::kImageSize},
                                        EndedTrack{2, TrackEnd::kImageSize}));
}

TEST_F(StreamTracksTest, OtherOptionsEndAllAndEqualOnesNothing) {
  FirstFrame(Candidates({{5, 5, 9}}), 1);
  tracks_.Configure(pipeline_, options_);
  EXPECT_EQ(tracks_.count(), 1u);
  options_.iterations = 31;
  tracks_.Configure(pipeline_, options_);
  EXPECT_EQ(tracks_.count(), 0u);
  pipeline_.detect.fast_arc_length = 12;
  tracks_.Configure(pipeline_, options_);
  const FrameTracks second = FirstFrame(Candidates({{5, 5, 9}}), 1);
  EXPECT_THAT(IdsOf(second.tracks), ElementsAre(2));
  EXPECT_THAT(second.ended, ElementsAre(EndedTrack{1, TrackEnd::kPipeline}));
  pipeline_.pyramid.levels = 3;
  tracks_.Configure(pipeline_, options_);
  EXPECT_THAT(tracks_.TakeEnded(), ElementsAre(EndedTrack{2, TrackEnd::kPipeline}));
}

TEST_F(StreamTracksTest, ACopyIsDroppedWithAFailedFrame) {
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}}), 2);
  {
    StreamTracks failed = tracks_;
    TrackedPoints tracked = Found(*failed.Begin(100, 60), 3.0f);
    Lose(&tracked, 0, TrackStatus::kNoTexture);
    const Features none;
    ASSERT_TRUE(failed.Finish({.candidates = &none, .max_features = 2}, tracked).ok());
    failed.EndAll(TrackEnd::kPipeline);
  }
  const FrameTracks second = Finish(Candidates({}), 2, Found(*tracks_.Begin(100, 60)));
  ASSERT_THAT(IdsOf(second.tracks), ElementsAre(1, 2));
  EXPECT_EQ(second.tracks[0].x, 5 * kPixel);
  EXPECT_EQ(second.tracks[0].age_frames, 1u);
}

TEST_F(StreamTracksTest, FirstCarriesPatchesAndLightOfItsTracks) {
  options_.track_template = TrackTemplate::kFirst;
  options_.redetect_percent = 100;
  tracks_.Configure(pipeline_, options_);
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}}), 2);
  auto points = tracks_.Begin(100, 60);
  EXPECT_THAT(points->patch_row, ElementsAre(-1, -1));
  EXPECT_THAT(points->template_x, ElementsAre(5 * kPixel, 40 * kPixel));
  EXPECT_THAT(points->patches, IsEmpty());
  // Track 1 is lost, track 3 begins.
  TrackedPoints tracked = Found(*points, 1.0f, 0.0f, 100);
  Lose(&tracked, 0, TrackStatus::kNoTexture);
  ASSERT_THAT(IdsOf(Finish(Candidates({{70, 50, 1}}), 2, tracked).tracks), ElementsAre(2, 3));

  StreamTracks before = tracks_;
  points = tracks_.Begin(100, 60);
  EXPECT_THAT(points->patch_row, ElementsAre(0, -1));
  EXPECT_THAT(points->x, ElementsAre(41 * kPixel, 70 * kPixel));
  EXPECT_THAT(points->template_x, ElementsAre(40 * kPixel, 70 * kPixel));
  EXPECT_THAT(points->template_y, ElementsAre(5 * kPixel, 50 * kPixel));
  EXPECT_THAT(points->gain, ElementsAre(0.25f, 0.0f));
  EXPECT_THAT(points->offset, ElementsAre(-16.0f, 0.0f));
  EXPECT_THAT(points->patches, ElementsAreArray(std::vector<int16_t>(kPatchValues, 101)));
  Finish(Candidates({}), 2, Found(*points, 1.0f, 0.0f, 200));

  points = tracks_.Begin(100, 60);
  EXPECT_THAT(points->patch_row, ElementsAre(0, 1));
  std::vector<int16_t> patches(kPatchValues, 101);
  patches.insert(patches.end(), kPatchValues, 201);
  EXPECT_THAT(points->patches, ElementsAreArray(patches));
  EXPECT_THAT(points->gain, ElementsAre(0.5f, 0.25f));
  EXPECT_GT(tracks_.size_bytes(), 2 * kPatchValues * sizeof(int16_t));

  // The copy of before has its own patches.
  tracks_ = StreamTracks();
  EXPECT_THAT(before.Begin(100, 60)->patches,
              ElementsAreArray(std::vector<int16_t>(kPatchValues, 101)));
}

TEST_F(StreamTracksTest, AnAnswerThatDoesNotFitIsAnErrorAndChangesNothing) {
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}}), 2);
  const auto points = tracks_.Begin(100, 60);
  TrackedPoints tracked = Found(*points);
  tracked.status.pop_back();
  const Features none;
  const auto answer = tracks_.Finish({.candidates = &none, .max_features = 2}, tracked);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(ReasonOf(answer.status()), ErrorReason::kInternal);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("2 tracks"));
  EXPECT_THAT(IdsOf(Finish(none, 2, Found(*points)).tracks), ElementsAre(1, 2));

  options_.track_template = TrackTemplate::kFirst;
  tracks_.Configure(pipeline_, options_);
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}}), 2);
  TrackedPoints with_patches = Found(*tracks_.Begin(100, 60));
  with_patches.patches.pop_back();
  EXPECT_FALSE(tracks_.Finish({.candidates = &none, .max_features = 2}, with_patches).ok());
  with_patches.patches.clear();
  EXPECT_FALSE(tracks_.Finish({.candidates = &none, .max_features = 2}, with_patches).ok());
}

TEST_F(StreamTracksTest, TheShareOfTheKeyframesTracksThatEndedIsKnown) {
  FirstFrame(Candidates({{5, 5, 9}, {40, 5, 8}, {70, 5, 7}}), 3);
  EXPECT_EQ(tracks_.keyframe_tracks(), 0);
  tracks_.MarkKeyframe();
  EXPECT_EQ(tracks_.keyframe_tracks(), 3);
  options_.redetect_percent = 100;
  TrackedPoints tracked = Found(*tracks_.Begin(100, 60));
  Lose(&tracked, 1, TrackStatus::kNoTexture);
  Finish(Candidates({}), 3, tracked);
  EXPECT_EQ(tracks_.keyframe_tracks_ended(), 1);
  tracks_.EndAll(TrackEnd::kPipeline);
  EXPECT_EQ(tracks_.keyframe_tracks_ended(), 3);
  FirstFrame(Candidates({{5, 5, 9}}), 1);
  EXPECT_EQ(tracks_.keyframe_tracks_ended(), 3);
  tracks_.MarkKeyframe();
  EXPECT_EQ(tracks_.keyframe_tracks(), 1);
  EXPECT_EQ(tracks_.keyframe_tracks_ended(), 0);
}

// The rules of a stream's tracks once more, as slow as they read.
class TrackOracle {
 public:
  struct Point {
    int32_t x, y;
    uint32_t age;
    float residual;
    int32_t first_x, first_y;
    std::vector<int16_t> patch;  // empty until it was searched
    float gain, offset;
  };

  std::map<uint64_t, Point> points;
  std::map<uint64_t, TrackEnd> ended;

  void EndAll(TrackEnd reason) {
    for (const auto& [id, point] : points) ended[id] = reason;
    points.clear();
  }

  // `tracked`: by id.
  void Step(int width, int height, const std::vector<uint8_t>& mask, const Features& winners,
            int wanted, int cell_width, int cell_height, int redetect,
            const std::map<uint64_t, std::pair<TrackStatus, Point>>& tracked) {
    for (const auto& [id, found] : tracked) {
      const auto& [status, point] = found;
      const auto column = static_cast<int>(std::floor(point.x / 16384.0 + 0.5));
      const auto row = static_cast<int>(std::floor(point.y / 16384.0 + 0.5));
      if (status != TrackStatus::kOk) {
        static const std::map<TrackStatus, TrackEnd> kEnds = {
            {TrackStatus::kNoTexture, TrackEnd::kNoTexture},
            {TrackStatus::kLeftImage, TrackEnd::kLeftImage},
            {TrackStatus::kNotConverged, TrackEnd::kNotConverged},
            {TrackStatus::kDifferent, TrackEnd::kDifferent}};
        ended[id] = kEnds.at(status);
        points.erase(id);
      } else if (!mask.empty() && mask[static_cast<size_t>(row * width + column)] == 0) {
        ended[id] = TrackEnd::kMasked;
        points.erase(id);
      } else {
        points[id] = point;
      }
    }
    if (!points.empty() && static_cast<int>(points.size()) * 100 >= redetect * wanted) return;
    std::set<std::pair<int, int>> held;
    for (const auto& [id, point] : points) {
      held.insert({point.x / 16384 / cell_width, point.y / 16384 / cell_height});
    }
    std::vector<std::tuple<float, int, float, float>> order;
    for (size_t i = 0; i < winners.count(); ++i) {
      const int column = std::min(static_cast<int>(winners.x[i]), width - 1) / cell_width;
      const int row = std::min(static_cast<int>(winners.y[i]), height - 1) / cell_height;
      if (held.count({column, row}) > 0) continue;
      order.emplace_back(-winners.response[i], winners.octave[i], winners.y[i], winners.x[i]);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [minus_score, level, y, x] : order) {
      if (static_cast<int>(points.size()) >= wanted) break;
      const auto px = static_cast<int32_t>(x * 16384);
      const auto py = static_cast<int32_t>(y * 16384);
      points[++last_id_] = {px, py, 0, 0, px, py, {}, 0, 0};
    }
  }

 private:
  uint64_t last_id_ = 0;
};

// Streams of random events: sizes, masks, options, searches that fail.
TEST(StreamTracksOracleTest, RandomStreamsFollowTheRules) {
  std::mt19937 random(20240611);
  const auto below = [&random](int bound) {
    return static_cast<int>(random() % static_cast<uint32_t>(bound));
  };
  int begun = 0;
  std::map<TrackEnd, int> ends;
  for (int stream = 0; stream < 60; ++stream) {
    StreamTracks tracks;
    TrackOracle oracle;
    PipelineOptions pipeline;
    TrackOptions options;
    int width = 64 + below(200);
    int height = 64 + below(200);
    const bool first = below(2) == 0;
    options.track_template = first ? TrackTemplate::kFirst : TrackTemplate::kPrevious;
    options.redetect_percent = below(101);
    pipeline.suppress.cell_width_px = 32 * (1 + below(3));
    pipeline.suppress.cell_height_px = 8 * (1 + below(6));
    tracks.Configure(pipeline, options);
    bool other_options = false;  // than those of the last frame that did not fail
    bool other_size = false;
    for (int frame = 0; frame < 40; ++frame) {
      if (below(15) == 0) {
        pipeline.suppress.cell_height_px = 8 * (1 + below(6));
        options.redetect_percent = below(101);
        options.iterations = 1 + options.iterations % 100;
        other_options = true;
      }
      if (below(15) == 0) {
        width += 1;
        other_size = true;
      }
      const int wanted = 1 + below(40);
      std::vector<uint8_t> mask;
      if (below(3) == 0) {
        mask.resize(static_cast<size_t>(width * height));
        for (uint8_t& pixel : mask) pixel = below(8) == 0 ? 0 : 255;
      }
      std::set<std::tuple<int, int, int>> places;
      for (int i = below(120); i > 0; --i) {
        const int level = below(3);
        places.insert({level, below(height >> level), below(width >> level)});
      }
      std::vector<Candidate> list;
      for (const auto& [level, y, x] : places) {
        list.push_back({static_cast<float>(x << level), static_cast<float>(y << level),
                        static_cast<float>(below(12)), level});
      }
      std::shuffle(list.begin(), list.end(), random);
      const Features candidates = Candidates(list);

      TrackOracle next_oracle = oracle;
      if (other_options) {
        next_oracle.EndAll(TrackEnd::kPipeline);
      } else if (other_size) {
        next_oracle.EndAll(TrackEnd::kImageSize);
      }
      StreamTracks next = tracks;
      next.Configure(pipeline, options);
      const auto points = next.Begin(width, height);
      ASSERT_EQ(points->count(), next_oracle.points.size());
      TrackedPoints tracked;
      std::map<uint64_t, std::pair<TrackStatus, TrackOracle::Point>> expected;
      size_t i = 0;
      for (const auto& [id, before] : next_oracle.points) {
        ASSERT_EQ(points->x[i], before.x);
        ASSERT_EQ(points->y[i], before.y);
        ASSERT_EQ(points->gain[i], first ? before.gain : 0.0f);
        ASSERT_EQ(points->offset[i], first ? before.offset : 0.0f);
        TrackOracle::Point point = before;
        if (first) {
          ASSERT_EQ(points->template_x[i], before.first_x);
          ASSERT_EQ(points->template_y[i], before.first_y);
          ASSERT_EQ(points->patch_row[i] < 0, before.patch.empty());
          if (before.patch.empty()) {
            for (size_t v = 0; v < kPatchValues; ++v) {
              point.patch.push_back(static_cast<int16_t>(below(4000)));
            }
            tracked.patches.insert(tracked.patches.end(), point.patch.begin(), point.patch.end());
          } else {
            const int16_t* const row =
                points->patches.data() + static_cast<size_t>(points->patch_row[i]) * kPatchValues;
            ASSERT_THAT(std::vector<int16_t>(row, row + kPatchValues), before.patch);
          }
        }
        const TrackStatus status =
            below(4) == 0 ? static_cast<TrackStatus>(1 + below(4)) : TrackStatus::kOk;
        const bool ok = status == TrackStatus::kOk;
        point.x = ok ? below((width - 1) * kPixel + 1) : 0;
        point.y = ok ? below((height - 1) * kPixel + 1) : 0;
        point.gain = ok ? static_cast<float>(below(100)) / 128 : 0;
        point.offset = ok ? static_cast<float>(below(100)) : 0;
        point.residual = ok ? static_cast<float>(below(100)) / 16 : 0;
        point.age = before.age + 1;
        tracked.status.push_back(status);
        tracked.x.push_back(point.x);
        tracked.y.push_back(point.y);
        tracked.gain.push_back(point.gain);
        tracked.offset.push_back(point.offset);
        tracked.residual.push_back(point.residual);
        expected[id] = {status, point};
        ++i;
      }
      auto answer =
          next.Finish({.mask = {mask.empty() ? nullptr : mask.data(), width, height, width},
                       .candidates = &candidates,
                       .max_features = wanted},
                      tracked);
      ASSERT_TRUE(answer.ok()) << answer.status();
      if (below(10) == 0) continue;  // the frame fails
      tracks = std::move(next);
      oracle = std::move(next_oracle);
      other_options = false;
      other_size = false;
      const size_t before = oracle.points.size();
      oracle.Step(width, height, mask, candidates, wanted, pipeline.suppress.cell_width_px,
                  pipeline.suppress.cell_height_px, options.redetect_percent, expected);
      begun += static_cast<int>(oracle.points.size() > before ? oracle.points.size() - before : 0);

      ASSERT_EQ(answer->tracks.size(), oracle.points.size()) << stream << " " << frame;
      auto track = answer->tracks.begin();
      for (const auto& [id, point] : oracle.points) {
        ASSERT_EQ(*track, (Track{.id = id,
                                 .x = point.x,
                                 .y = point.y,
                                 .age_frames = point.age,
                                 .residual = point.residual,
                                 .alpha = point.gain,
                                 .beta = point.offset}))
            << "stream " << stream << ", frame " << frame << ", id " << id;
        ++track;
      }
      std::vector<EndedTrack> ended;
      for (const auto& [id, reason] : oracle.ended) {
        ended.push_back({id, reason});
        ++ends[reason];
      }
      ASSERT_THAT(answer->ended, ElementsAreArray(ended));
      oracle.ended.clear();
    }
  }
  EXPECT_GT(begun, 1000);
  EXPECT_EQ(ends.size(), 7u);  // every reason
}

}  // namespace
}  // namespace orbserve
