// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tracks on the CPU: published values, the independent oracle, and the jobs that are allowed.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cpu/frame/frame_state.h"
#include "cpu/tracking/follow_points.h"
#include "features/algo/lucas_kanade.h"
#include "features/errors.h"
#include "oneapi/tbb/task_arena.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/cpu/track_frames.h"
#include "tests/support/feature_compare.h"
#include "tests/support/golden_files.h"
#include "tests/support/published_tracks.h"
#include "tests/support/random_options.h"
#include "tests/support/track_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::OracleTrack;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::PointsAt;
using ::orbserve::testing::PointsOf;
using ::orbserve::testing::PublishedTracks;
using ::orbserve::testing::RunTracks;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::SequenceFrames;
using ::orbserve::testing::TestImage;
using ::orbserve::testing::TrackOptionsWith;

constexpr int kUnit = algo::kTrackUnit;

TrackAnswer Track(FeatureBackend& backend, TrackJob job) {
  std::vector<TrackJob> jobs;
  jobs.push_back(std::move(job));
  return std::move(RunTracks(backend, std::move(jobs)).jobs[0]);
}

std::string NameOf(FeatureBackend& backend) {
  return std::string(backend.name()) + " " + backend.devices()[0].details;
}

// ---- Published values ----

TEST(CpuTrackTest, GivesThePublishedValues) {
  const auto backends = AllBackends();
  int compared = 0;
  for (const PublishedTracks& published : testing::kPublishedTracks) {
    const std::vector<std::string> files = SequenceFrames(published.folder, ORBSERVE_TEST_DATA_DIR);
    if (files.empty()) continue;
    const TestImage first = testing::ReadGreyPng(files[0]);
    const TestImage second = testing::ReadGreyPng(files[published.second_frame]);
    for (const auto& backend : backends) {
      const FrameAnswer from = Extract(*backend, first, VioSpec(first));
      ASSERT_EQ(from.features->count(), 100u);
      const TrackAnswer answer = Track(*backend, {from.state, StateOf(*backend, second),
                                                  PointsOf(*from.features), published.options});
      ASSERT_TRUE(answer.status.ok()) << answer.status;
      ExpectPublished(published, answer.tracked, NameOf(*backend));
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "no frames below \"" << ORBSERVE_TEST_DATA_DIR << "\"";
  printf("%d answers compared\n", compared);
}

TEST(CpuTrackTest, TheOracleGivesThePublishedValues) {
  const auto backend = Backend();
  int compared = 0;
  for (const PublishedTracks& published : testing::kPublishedTracks) {
    const std::vector<std::string> files = SequenceFrames(published.folder, ORBSERVE_TEST_DATA_DIR);
    if (files.empty()) continue;
    const TestImage first = testing::ReadGreyPng(files[0]);
    const TestImage second = testing::ReadGreyPng(files[published.second_frame]);
    const auto origin = testing::OracleTrackPyramid(PlaneOf(first.view()), 5);
    const auto search = testing::OracleTrackPyramid(PlaneOf(second.view()), 5);
    const auto points = PointsOf(*Extract(*backend, first, VioSpec(first)).features);
    TrackedPoints tracked;
    for (size_t i = 0; i < points->count(); ++i) {
      const int32_t x = points->x[i];
      const int32_t y = points->y[i];
      const OracleTrack track =
          testing::OracleFollow(origin, search, published.options, {x, y, 0, 0, x, y});
      tracked.status.push_back(track.status);
      tracked.x.push_back(static_cast<int32_t>(track.x));
      tracked.y.push_back(static_cast<int32_t>(track.y));
      tracked.residual.push_back(track.residual);
    }
    ExpectPublished(published, tracked, "oracle");
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no frames below \"" << ORBSERVE_TEST_DATA_DIR << "\"";
}

// ---- Against the oracle ----

// A second frame: the first moved and with other light, noise on it, or an unrelated one.
TestImage RandomNextImage(const TestImage& first, std::mt19937& random) {
  const int width = first.width_px();
  const int height = first.height_px();
  if (random() % 4 == 0) return testing::RandomImage(width, height, random);
  TestImage next(width, height);
  const bool is_easy = random() % 2 == 0;
  const int reach = 1 + static_cast<int>(random() % (is_easy ? 3 : 12));
  const int dx = static_cast<int>(random() % static_cast<uint32_t>(2 * reach + 1)) - reach;
  const int dy = static_cast<int>(random() % static_cast<uint32_t>(2 * reach + 1)) - reach;
  const int gain = is_easy ? 128 : 64 + static_cast<int>(random() % 128);  // of 128
  const int offset = is_easy ? 0 : static_cast<int>(random() % 60) - 30;
  const int noise = is_easy ? 0 : static_cast<int>(random() % 12);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int grey =
          first.At(std::clamp(x + dx, 0, width - 1), std::clamp(y + dy, 0, height - 1));
      const int jitter = noise > 0 ? static_cast<int>(random() % static_cast<uint32_t>(noise)) : 0;
      next.At(x, y) = static_cast<uint8_t>(std::clamp(grey * gain / 128 + offset + jitter, 0, 255));
    }
  }
  return next;
}

struct RandomJob {
  TestImage first;
  TestImage second;
  TestImage begin;  // frame that patches of FIRST come from
  TrackOptions options;
  TrackPoints points;

  static RandomJob Make(uint32_t seed) {
    std::mt19937 random(seed);
    const auto side = [&random] {
      const uint32_t kind = random() % 12;
      return kind == 0 ? 1 + static_cast<int>(random() % 4)
                       : 5 + static_cast<int>(random() % (kind < 4 ? 40 : 200));
    };
    const int width = side();
    const int height = side();
    // Scenes have corners that can be followed; other images are degenerate now and then.
    TestImage first = random() % 4 == 0
                          ? testing::RandomImage(width, height, random)
                          : SceneImage(width, height, static_cast<uint32_t>(random()));
    TestImage begin = RandomNextImage(first, random);
    TestImage second = RandomNextImage(first, random);
    RandomJob job = {std::move(first),
                     std::move(second),
                     std::move(begin),
                     testing::RandomTrackOptions(random),
                     {}};
    job.AddPoints(random);
    return job;
  }

  void AddPoints(std::mt19937& random) {
    const bool is_first = options.track_template == TrackTemplate::kFirst;
    const int levels =
        static_cast<int>(testing::OracleTrackPyramid(PlaneOf(begin.view()), options.levels).size());
    const auto place = [&random](int side_px) {
      const uint32_t kind = random() % 16;
      if (kind == 0) return static_cast<int32_t>(random());  // anywhere
      if (kind == 1) return static_cast<int32_t>(random() % 2) * (side_px - 1) * kUnit;
      return static_cast<int32_t>(random() % static_cast<uint32_t>((side_px + 10) * kUnit)) -
             5 * kUnit;
    };
    const auto origin = testing::OracleTrackPyramid(PlaneOf(begin.view()), levels);
    int32_t rows = 0;
    for (int i = 0; i < 10; ++i) {
      points.x.push_back(place(first.width_px()));
      points.y.push_back(place(first.height_px()));
      const bool has_light = random() % 3 == 0;
      points.gain.push_back(has_light ? static_cast<float>(random() % 31) / 16.0f - 0.9375f : 0.0f);
      points.offset.push_back(has_light ? static_cast<float>(random() % 4001) - 2000.0f : 0.0f);
      if (!is_first) continue;
      const bool is_fresh = random() % 3 == 0;
      points.patch_row.push_back(is_fresh ? -1 : rows);
      points.template_x.push_back(is_fresh ? points.x.back() : place(first.width_px()));
      points.template_y.push_back(is_fresh ? points.y.back() : place(first.height_px()));
      if (is_fresh) continue;
      ++rows;
      const auto patches = testing::OracleTrackPatches(origin, options, points.template_x.back(),
                                                       points.template_y.back());
      points.patches.insert(points.patches.end(), patches.begin(), patches.end());
    }
  }

  // The oracle's answer.
  TrackedPoints Expected() const {
    const auto of = [this](const TestImage& image) {
      return testing::OracleTrackPyramid(PlaneOf(image.view()), options.levels);
    };
    const auto origin = of(first);
    const auto search = of(second);
    const auto begun = of(begin);
    return testing::OracleSearch(origin, search, options, points,
                                 [&](size_t) -> const testing::TrackLevels& { return begun; });
  }
};

TEST(CpuTrackTest, EqualsTheOracleForAllOptions) {
  constexpr uint32_t kJobs = 400;
  const auto backends = AllBackends();
  int64_t points = 0;
  std::array<int, 5> statuses{};
  for (uint32_t seed = 0; seed < kJobs; ++seed) {
    const RandomJob job = RandomJob::Make(seed);
    const TrackedPoints expected = job.Expected();
    for (const TrackStatus status : expected.status) ++statuses[static_cast<size_t>(status)];
    // Every fourth job on all, so that each target and number of threads sees many.
    for (size_t b = 0; b < backends.size(); ++b) {
      if (seed % 4 != 0 && b % 4 != seed % 4) continue;
      FeatureBackend& backend = *backends[b];
      const int levels = job.options.levels;
      const TrackAnswer answer =
          Track(backend, {StateOf(backend, job.first, levels), StateOf(backend, job.second, levels),
                          std::make_shared<const TrackPoints>(job.points), job.options});
      ASSERT_TRUE(answer.status.ok()) << answer.status;
      ASSERT_EQ(testing::FirstDifference(expected, answer.tracked), "")
          << "seed " << seed << ", " << job.first.width_px() << " x " << job.first.height_px()
          << ", " << NameOf(backend);
      points += static_cast<int64_t>(job.points.count());
    }
  }
  for (const int count : statuses) EXPECT_GT(count, 100);
  printf(
      "%lld points compared; OK %d, NO_TEXTURE %d, LEFT_IMAGE %d, NOT_CONVERGED %d, DIFFERENT %d\n",
      static_cast<long long>(points), statuses[0], statuses[1], statuses[2], statuses[3],
      statuses[4]);
}

// ---- Invariants ----

TEST(CpuTrackTest, IdenticalFramesLeavePlacesUnchanged) {
  const TestImage image = SceneImage(333, 251, 3);
  for (const auto& backend : AllBackends()) {
    const FrameAnswer frame = Extract(*backend, image, VioSpec(image));
    ASSERT_GT(frame.features->count(), 20u);
    const auto points = PointsOf(*frame.features);
    for (int32_t& x : points->x) x += 5003;  // not on whole pixels
    for (const Illumination illumination :
         {Illumination::kNone, Illumination::kOffset, Illumination::kGain, Illumination::kBoth}) {
      TrackOptions options = TrackOptionsWith(illumination);
      options.iterations = 1;
      const TrackAnswer answer = Track(*backend, {frame.state, frame.state, points, options});
      ASSERT_TRUE(answer.status.ok()) << answer.status;
      for (size_t i = 0; i < points->count(); ++i) {
        ASSERT_EQ(answer.tracked.status[i], TrackStatus::kOk) << i;
        ASSERT_EQ(answer.tracked.x[i], points->x[i]);
        ASSERT_EQ(answer.tracked.y[i], points->y[i]);
        ASSERT_EQ(answer.tracked.residual[i], 0.0f);
        ASSERT_EQ(answer.tracked.gain[i], 0.0f);
        ASSERT_EQ(answer.tracked.offset[i], 0.0f);
      }
    }
  }
}

TEST(CpuTrackTest, GainNeedsContrastWhereOffsetDoesNot) {
  // Black but for one bright pixel beside the patch, whose gradient reaches into it: the contrast
  // inside is 0, the texture is not. Two such pixels on different sides give it two directions.
  TestImage image(64, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) image.At(x, y) = 0;
  }
  for (int i = 24; i < 40; ++i) {
    image.At(i, 23) = 255;  // the row above the patch, whose pixels are 24 .. 39 in both directions
    image.At(23, i) = 255;
  }
  for (const auto& backend : AllBackends()) {
    const auto state = StateOf(*backend, image, 1);
    // Whole pixels are sampled: centre 31.5 and half a pixel.
    const auto points = PointsAt({{31 * kUnit + kUnit / 2, 31 * kUnit + kUnit / 2}});
    const auto status = [&](Illumination illumination) {
      TrackOptions options = TrackOptionsWith(illumination);
      options.levels = 1;
      return Track(*backend, {state, state, points, options}).tracked.status.at(0);
    };
    EXPECT_EQ(status(Illumination::kNone), TrackStatus::kOk);
    EXPECT_EQ(status(Illumination::kOffset), TrackStatus::kOk);
    EXPECT_EQ(status(Illumination::kGain), TrackStatus::kNoTexture);
    EXPECT_EQ(status(Illumination::kBoth), TrackStatus::kNoTexture);
  }
}

TEST(CpuTrackTest, StepsOf64PixelsFail) {
  // A faint template and a bright frame: the first step is far longer than the patch.
  TestImage faint = SceneImage(96, 96, 5);
  TestImage bright(96, 96);
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 96; ++x) {
      bright.At(x, y) = static_cast<uint8_t>(x * 255 / 95);
      faint.At(x, y) = static_cast<uint8_t>(100 + (faint.At(x, y) > 128 ? 1 : 0));
    }
  }
  TrackOptions options = TrackOptionsWith(Illumination::kNone);
  options.min_eigen = 0.001f;
  options.levels = 1;
  std::vector<std::pair<int32_t, int32_t>> places;
  for (int i = 20; i < 76; i += 4) places.emplace_back(i * kUnit, (95 - i) * kUnit);
  const auto points = PointsAt(places);
  const auto origin = testing::OracleTrackPyramid(PlaneOf(faint.view()), 1);
  const auto search = testing::OracleTrackPyramid(PlaneOf(bright.view()), 1);
  for (const auto& backend : AllBackends()) {
    const TrackAnswer answer = Track(
        *backend, {StateOf(*backend, faint, 1), StateOf(*backend, bright, 1), points, options});
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    int left = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      const auto& [x, y] = places[i];
      ASSERT_EQ(answer.tracked.status[i],
                testing::OracleFollow(origin, search, options, {x, y, 0, 0, x, y}).status);
      left += answer.tracked.status[i] == TrackStatus::kLeftImage ? 1 : 0;
    }
    EXPECT_GT(left, 3);
  }
}

// ---- Jobs ----

TEST(CpuTrackTest, PatchesOfTheFirstFrameAreCarriedOn) {
  std::mt19937 random(17);
  const TestImage first = SceneImage(200, 150, 8);
  const TestImage second = RandomNextImage(first, random);
  const TestImage third = RandomNextImage(second, random);
  const auto backend = Backend();
  TrackOptions options = TrackOptionsWith(Illumination::kBoth, 8);
  options.track_template = TrackTemplate::kFirst;
  const FrameAnswer a = Extract(*backend, first, VioSpec(first));
  const auto b = StateOf(*backend, second);
  const auto c = StateOf(*backend, third);
  const auto points = PointsOf(*a.features);
  points->patch_row.assign(points->count(), -1);
  points->template_x = points->x;
  points->template_y = points->y;
  const TrackAnswer begun = Track(*backend, {a.state, b, points, options});
  ASSERT_TRUE(begun.status.ok()) << begun.status;
  const auto row = static_cast<size_t>(algo::TrackPatchValues(5, 8));
  ASSERT_EQ(begun.tracked.patches.size(), points->count() * row);

  const auto next = std::make_shared<TrackPoints>();
  for (size_t i = 0; i < points->count(); ++i) {
    if (begun.tracked.status[i] != TrackStatus::kOk) continue;
    next->x.push_back(begun.tracked.x[i]);
    next->y.push_back(begun.tracked.y[i]);
    next->gain.push_back(begun.tracked.gain[i]);
    next->offset.push_back(begun.tracked.offset[i]);
    next->patch_row.push_back(static_cast<int32_t>(i));
    next->template_x.push_back(points->x[i]);
    next->template_y.push_back(points->y[i]);
  }
  ASSERT_GT(next->count(), 5u);
  next->patches = begun.tracked.patches;
  const TrackAnswer carried = Track(*backend, {b, c, next, options});
  ASSERT_TRUE(carried.status.ok()) << carried.status;
  EXPECT_TRUE(carried.tracked.patches.empty());
  const auto origin = testing::OracleTrackPyramid(PlaneOf(first.view()), 5);
  const auto search = testing::OracleTrackPyramid(PlaneOf(third.view()), 5);
  for (size_t i = 0; i < next->count(); ++i) {
    const algo::TrackStart start = algo::TrackStartOf(*next, i);
    const OracleTrack expected = testing::OracleFollow(
        origin, search, options,
        {start.x, start.y, start.gain, start.offset, start.template_x, start.template_y});
    EXPECT_EQ(carried.tracked.status[i], expected.status);
    EXPECT_EQ(carried.tracked.x[i], expected.x);
    EXPECT_EQ(carried.tracked.residual[i], expected.residual);
  }
}

TEST(CpuTrackTest, JobsOfABatchAreAnsweredInTheirOrder) {
  const auto backend = Backend({.threads = 3});
  std::mt19937 random(4);
  std::vector<TrackJob> jobs;
  std::vector<TrackedPoints> alone;
  for (uint32_t i = 0; i < 12; ++i) {
    const TestImage image = SceneImage(64 + 10 * static_cast<int>(i), 90, i);
    const FrameAnswer frame = Extract(*backend, image, VioSpec(image));
    const TrackJob job = {frame.state, StateOf(*backend, RandomNextImage(image, random)),
                          PointsOf(*frame.features), TrackOptionsWith(Illumination::kOffset)};
    alone.push_back(Track(*backend, job).tracked);
    jobs.push_back(job);
  }
  const TrackBatchAnswer answer = RunTracks(*backend, jobs);
  ASSERT_EQ(answer.jobs.size(), jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_TRUE(answer.jobs[i].status.ok()) << answer.jobs[i].status;
    EXPECT_EQ(testing::FirstDifference(alone[i], answer.jobs[i].tracked), "") << i;
  }
  EXPECT_EQ(answer.cost.device, "cpu");
  EXPECT_GT(answer.cost.timings.compute_ns, 0);
  EXPECT_TRUE(RunTracks(*backend, {}).jobs.empty());
}

TEST(CpuTrackTest, NoPointsAreNoError) {
  const auto backend = Backend();
  const auto state = StateOf(*backend, SceneImage(40, 30, 1));
  const TrackAnswer answer = Track(*backend, {state, state, PointsAt({}), {}});
  EXPECT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_EQ(answer.tracked.count(), 0u);
}

TEST(CpuTrackTest, BadJobsAreRefusedAlone) {
  const auto backend = Backend();
  const TestImage image = SceneImage(64, 48, 1);
  const auto state = StateOf(*backend, image);
  const auto other_size = StateOf(*backend, SceneImage(65, 48, 1));
  const auto other_levels = StateOf(*backend, image, 3);
  const auto features_only = *backend->ImportState(std::make_shared<const Features>());
  const auto points = PointsAt({{kUnit * 20, kUnit * 20}});
  const auto changed = [&points](auto change) {
    auto copy = std::make_shared<TrackPoints>(*points);
    change(*copy);
    return copy;
  };
  TrackOptions first;
  first.track_template = TrackTemplate::kFirst;
  TrackOptions bad;
  bad.iterations = 101;
  struct Case {
    TrackJob job;
    ErrorReason reason;
    const char* part;
  };
  const Case cases[] = {
      {{state, state, points, bad}, ErrorReason::kBadOptions, "track.iterations"},
      {{state, features_only, points, {}}, ErrorReason::kBadRequest, "the second has none"},
      {{features_only, state, points, {}}, ErrorReason::kBadRequest, "the first has none"},
      {{state, other_size, points, {}}, ErrorReason::kBadRequest, "64 x 48 with 5 levels and 65"},
      {{state, other_levels, points, {}}, ErrorReason::kBadRequest, "with 3"},
      {{state, state, changed([](TrackPoints& p) { p.y.clear(); }), {}},
       ErrorReason::kBadRequest,
       "columns"},
      {{state, state, points, first}, ErrorReason::kBadRequest, "columns"},
      {{state, state, changed([](TrackPoints& p) { p.gain[0] = 0.95f; }), {}},
       ErrorReason::kBadRequest,
       "gain of point 0"},
      {{state,
        state,
        changed([](TrackPoints& p) { p.offset[0] = std::numeric_limits<float>::quiet_NaN(); }),
        {}},
       ErrorReason::kBadRequest,
       "offset of point 0"},
      {{state, state, changed([](TrackPoints& p) {
          p.patch_row = {0};
          p.template_x = p.x;
          p.template_y = p.y;
        }),
        first},
       ErrorReason::kBadRequest,
       "patch_row of point 0"},
      {{state, state, changed([](TrackPoints& p) {
          p.patch_row = {0};
          p.template_x = p.x;
          p.template_y = p.y;
          p.patches.resize(1619);
        }),
        first},
       ErrorReason::kBadRequest,
       "rows of 1620 values"},
      {{state, state, changed([](TrackPoints& p) {
          p.patch_row = {-1};
          p.template_x = {5};
          p.template_y = p.y;
        }),
        first},
       ErrorReason::kBadRequest,
       "template must lie at the point"},
      {{nullptr, state, points, {}}, ErrorReason::kInternal, "states"},
      {{state, state, nullptr, {}}, ErrorReason::kInternal, "points"},
  };
  for (const Case& c : cases) {
    std::vector<TrackJob> jobs = {c.job, {state, state, points, {}}};
    const TrackBatchAnswer answer = RunTracks(*backend, std::move(jobs));
    ASSERT_FALSE(answer.jobs[0].status.ok()) << c.part;
    EXPECT_EQ(ReasonOf(answer.jobs[0].status), c.reason) << answer.jobs[0].status;
    EXPECT_NE(answer.jobs[0].status.message().find(c.part), std::string::npos)
        << answer.jobs[0].status;
    EXPECT_EQ(answer.jobs[0].tracked.count(), 0u);
    EXPECT_TRUE(answer.jobs[1].status.ok()) << answer.jobs[1].status;
  }
}

TEST(CpuTrackTest, ACancelledJobIsNotFollowed) {
  const auto backend = Backend();
  const TestImage image = SceneImage(320, 240, 2);
  const FrameAnswer frame = Extract(*backend, image, VioSpec(image));
  const auto points = PointsOf(*frame.features);
  const auto flag = std::make_shared<std::atomic<bool>>(true);
  const TrackBatchAnswer answer =
      RunTracks(*backend, {{frame.state, frame.state, points, {}, flag},
                           {frame.state, frame.state, points, {}, nullptr}});
  EXPECT_EQ(ReasonOf(answer.jobs[0].status), ErrorReason::kCancelled);
  EXPECT_EQ(answer.jobs[0].tracked.count(), 0u);
  EXPECT_TRUE(answer.jobs[1].status.ok());
}

TEST(FollowPointsTest, TheFlagIsLookedAtBeforeEachPoint) {
  const auto backend = Backend({.threads = 1});
  const TestImage image = SceneImage(64, 64, 2);
  const auto state = StateOf(*backend, image);
  const auto& pyramid = *dynamic_cast<const CpuFrameState&>(*state).pyramid();
  static std::atomic<bool> cancelled;
  static int followed;
  cancelled = false;
  followed = 0;
  const FollowKernel third_cancels = [](const TrackFrames&, const algo::TrackStart&,
                                        const PointPatches&) {
    if (++followed == 3) cancelled = true;
    return algo::TrackResult();
  };
  const auto points =
      PointsAt(std::vector<std::pair<int32_t, int32_t>>(100, {kUnit * 30, kUnit * 30}));
  TrackedPoints tracked;
  tbb::task_arena one(1);
  one.execute([&] {
    EXPECT_FALSE(FollowPoints(third_cancels, pyramid, pyramid, *points, {}, &cancelled, &tracked));
  });
  EXPECT_EQ(followed, 3);
}

}  // namespace
}  // namespace orbserve::cpu
