// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tracks of the CUDA backend are those of the CPU backend, bit by bit: on real sequences, shifted
// and unrelated images of every size, with every option, alone and in batches; and the pyramids
// that states keep are the levels of the method.
//
// ORBSERVE_TEST_PLANS: rounds of random sizes and options. ORBSERVE_TEST_FRAMES: frames of each
// sequence. ORBSERVE_TEST_SIDE: largest side of a random image.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/algo/lucas_kanade.h"
#include "features/algo/pyramid.h"
#include "features/errors.h"
#include "features/pipeline/geometry.h"
#include "features/track_job.h"
#include "gpu/frame_state.h"
#include "gtest/gtest.h"
#include "tests/gpu/backend_pair_test.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/golden_files.h"
#include "tests/support/image_makers.h"
#include "tests/support/published_tracks.h"
#include "tests/support/random_options.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

using State = std::shared_ptr<const FrameState>;
using Points = std::shared_ptr<const TrackPoints>;

int EnvironmentNumber(const char* name, int otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

std::future<TrackBatchAnswer> Submit(FeatureBackend& backend, std::vector<TrackJob> jobs) {
  auto promise = std::make_shared<std::promise<TrackBatchAnswer>>();
  std::future<TrackBatchAnswer> answer = promise->get_future();
  backend.SubmitTracks(std::move(jobs),
                       [promise](TrackBatchAnswer given) { promise->set_value(std::move(given)); });
  return answer;
}

// The image moved by (dx, dy), its grey levels changed to gain * v + offset.
TestImage Moved(const TestImage& image, double dx, double dy, double gain, double offset) {
  TestImage moved(image.width_px(), image.height_px());
  const auto at = [&](int x, int y) {
    return static_cast<double>(
        image.At(std::clamp(x, 0, image.width_px() - 1), std::clamp(y, 0, image.height_px() - 1)));
  };
  for (int y = 0; y < image.height_px(); ++y) {
    for (int x = 0; x < image.width_px(); ++x) {
      const double u = x - dx;
      const double v = y - dy;
      const int x0 = static_cast<int>(std::floor(u));
      const int y0 = static_cast<int>(std::floor(v));
      const double fx = u - x0;
      const double fy = v - y0;
      const double grey = (1 - fy) * ((1 - fx) * at(x0, y0) + fx * at(x0 + 1, y0)) +
                          fy * ((1 - fx) * at(x0, y0 + 1) + fx * at(x0 + 1, y0 + 1));
      moved.At(x, y) =
          static_cast<uint8_t>(std::clamp(std::lround(gain * grey + offset), 0L, 255L));
    }
  }
  return moved;
}

class TrackParityTest : public BackendPairTest {
 protected:
  // The backends in the order in which states and answers are kept.
  std::vector<FeatureBackend*> Backends() { return {cpu_.get(), gpu_.get()}; }

  static PlanSpec SpecOf(int width_px, int height_px, int levels) {
    return {width_px, height_px, (*FindPreset("vio"))->pipeline, levels};
  }

  // States with pyramids of both backends, [backend][image], made in one batch or a few.
  struct Frames {
    std::vector<State> states[2];
    std::vector<std::shared_ptr<const Features>> features;
  };
  Frames Extract(const std::vector<const TestImage*>& images, int levels, int max_features = 300) {
    Frames frames;
    size_t b = 0;
    for (FeatureBackend* const backend : Backends()) {
      const auto plan =
          backend->MakePlan(SpecOf(images[0]->width_px(), images[0]->height_px(), levels));
      EXPECT_TRUE(plan.ok()) << plan.status();
      if (!plan.ok()) return {};
      const auto most = static_cast<size_t>((*plan)->max_batch_frames());
      for (size_t first = 0; first < images.size(); first += most) {
        std::vector<FrameJob> jobs;
        for (size_t i = first; i < std::min(first + most, images.size()); ++i) {
          FrameParameters parameters = (*FindPreset("vio"))->frame;
          parameters.max_features = max_features;
          jobs.push_back(
              *testing::MakeJob(*backend, {.image = images[i]->view(), .parameters = parameters}));
          jobs.back().keep_state = KeepState::kPyramid;
        }
        FrameBatchAnswer answer = testing::RunBatch(*backend, *plan, std::move(jobs));
        for (FrameAnswer& frame : answer.frames) {
          EXPECT_TRUE(frame.status.ok()) << frame.status;
          EXPECT_NE(frame.state, nullptr);
          frames.states[b].push_back(frame.state);
          if (b == 0) frames.features.push_back(frame.features);
        }
      }
      ++b;
    }
    return frames;
  }
  Frames Extract(const std::vector<TestImage>& images, int levels, int max_features = 300) {
    std::vector<const TestImage*> pointers;
    for (const TestImage& image : images) pointers.push_back(&image);
    return Extract(pointers, levels, max_features);
  }

  // Jobs of both backends with equal answers; their number of points.
  struct JobPair {
    TrackJob jobs[2];
  };
  static JobPair Pair(const Frames& frames, size_t from, size_t to, Points points,
                      const TrackOptions& options) {
    JobPair pair;
    for (size_t b = 0; b < 2; ++b) {
      pair.jobs[b] = {frames.states[b][from], frames.states[b][to], points, options};
    }
    return pair;
  }

  // Runs the jobs on both backends and compares; returns the CPU's answers.
  std::vector<TrackAnswer> ExpectSameTracks(const std::vector<JobPair>& pairs) {
    TrackBatchAnswer answers[2];
    for (size_t b = 0; b < 2; ++b) {
      std::vector<TrackJob> jobs;
      jobs.reserve(pairs.size());
      for (const JobPair& pair : pairs) jobs.push_back(pair.jobs[b]);
      answers[b] = Submit(*Backends()[b], std::move(jobs)).get();
      EXPECT_EQ(answers[b].jobs.size(), pairs.size());
      if (answers[b].jobs.size() != pairs.size()) return {};
    }
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(answers[0].jobs[i].status, answers[1].jobs[i].status) << "job " << i;
      EXPECT_EQ(testing::FirstDifference(answers[0].jobs[i].tracked, answers[1].jobs[i].tracked),
                "")
          << "job " << i << " of " << pairs.size();
      compared_ += answers[0].jobs[i].tracked.count();
      for (const TrackStatus status : answers[0].jobs[i].tracked.status) {
        ++of_status_[static_cast<size_t>(status)];
      }
    }
    return std::move(answers[0].jobs);
  }

  // Points at features, between pixels, at the edges and outside; of the template FIRST, some with
  // patches that `rows` names.
  static Points RandomPoints(const Features& features, size_t count, const TrackOptions& options,
                             int levels, const std::vector<int16_t>& patches,
                             std::mt19937* random) {
    auto points = std::make_shared<TrackPoints>();
    const int width = features.image_width_px;
    const int height = features.image_height_px;
    const auto below = [&](int n) {
      return static_cast<int>((*random)() % static_cast<unsigned>(n));
    };
    const bool first = options.track_template == TrackTemplate::kFirst;
    const auto row_values = static_cast<size_t>(
        algo::TrackPatchValues(std::min(options.levels, levels), options.coarse_patch_px));
    const auto rows = static_cast<int>(patches.size() / row_values);
    if (first) {
      points->patches.assign(patches.begin(),
                             patches.begin() + static_cast<ptrdiff_t>(row_values) * rows);
    }
    for (size_t i = 0; i < count; ++i) {
      const int kind = below(8);
      int32_t x = below(width) * algo::kTrackUnit + below(algo::kTrackUnit);
      int32_t y = below(height) * algo::kTrackUnit + below(algo::kTrackUnit);
      if (kind < 4 && features.count() > 0) {
        const auto row = static_cast<size_t>(below(static_cast<int>(features.count())));
        x = algo::TrackPlace(features.x[row]);
        y = algo::TrackPlace(features.y[row]);
      } else if (kind == 4) {
        x += (below(41) - 20) * algo::kTrackUnit;
        y += (below(41) - 20) * algo::kTrackUnit;
      } else if (kind == 5 && below(8) == 0) {
        x = static_cast<int32_t>((*random)());
      }
      points->x.push_back(x);
      points->y.push_back(y);
      points->gain.push_back(below(2) == 0 ? 0.0f : static_cast<float>(below(1801) - 900) * 1e-3f);
      points->offset.push_back(below(2) == 0 ? 0.0f : static_cast<float>(below(4001) - 2000));
      if (!first) continue;
      const bool carries = rows > 0 && below(2) == 0;
      points->patch_row.push_back(carries ? below(rows) : -1);
      const int moved = carries && below(4) == 0 ? below(64) - 32 : 0;
      points->template_x.push_back(x + moved * algo::kTrackUnit);
      points->template_y.push_back(y - moved * algo::kTrackUnit);
    }
    return points;
  }

  // Tracks between neighbouring images with random options, each job alone and all in one request;
  // with the template FIRST a second round takes the patches of the first.
  void ExpectSameOn(const std::vector<TestImage>& images, int rounds, size_t most_points,
                    std::mt19937* random) {
    const auto below = [&](size_t n) { return static_cast<size_t>((*random)() % n); };
    for (int round = 0; round < rounds; ++round) {
      const int levels = below(2) == 0 ? 5 : 1 + static_cast<int>(below(11));
      const Frames frames = Extract(images, levels);
      ASSERT_EQ(frames.features.size(), images.size());
      const int existing = frames.states[0][0]->pyramid_levels();
      ASSERT_EQ(existing, frames.states[1][0]->pyramid_levels());
      std::vector<JobPair> jobs;
      std::vector<JobPair> second;
      for (size_t i = 0; i + 1 < images.size(); ++i) {
        const TrackOptions options = testing::RandomTrackOptions(*random);
        const size_t to = below(8) == 0 ? i : i + 1;
        const Points fresh = RandomPoints(*frames.features[i], below(most_points + 1), options,
                                          existing, {}, random);
        jobs.push_back(Pair(frames, i, to, fresh, options));
        if (below(4) != 0) continue;
        const std::vector<TrackAnswer> alone = ExpectSameTracks({jobs.back()});
        ASSERT_EQ(alone.size(), 1u);
        if (options.track_template != TrackTemplate::kFirst) continue;
        second.push_back(Pair(frames, to, i,
                              RandomPoints(*frames.features[to], below(most_points + 1), options,
                                           existing, alone[0].tracked.patches, random),
                              options));
      }
      ExpectSameTracks(jobs);
      if (!second.empty()) ExpectSameTracks(second);
      if (HasFailure()) return;
    }
  }

  void PrintCompared() const {
    printf(
        "%zu points compared: %zu ok, %zu without texture, %zu left, %zu not converged, %zu "
        "different\n",
        compared_, of_status_[0], of_status_[1], of_status_[2], of_status_[3], of_status_[4]);
  }

  // The first `count` images of a sequence; none where it is missing.
  static std::vector<TestImage> Sequence(const std::string& folder, int count) {
    std::vector<TestImage> images;
    for (const std::string& file : testing::SequenceFrames(folder, ORBSERVE_TEST_DATA_DIR)) {
      if (static_cast<int>(images.size()) == count) break;
      images.push_back(testing::ReadGreyPng(file));
    }
    return images;
  }

  size_t compared_ = 0;
  size_t of_status_[5] = {};
};

// ---- Reference values ----

TEST_F(TrackParityTest, GivesThePublishedValues) {
  int compared = 0;
  for (const testing::PublishedTracks& published : testing::kPublishedTracks) {
    const std::vector<TestImage> images = Sequence(published.folder, 6);
    if (images.size() <= published.second_frame) {
      printf("MISSING: %s below \"%s\"\n", published.folder, ORBSERVE_TEST_DATA_DIR);
      continue;
    }
    const Frames frames =
        Extract(std::vector<const TestImage*>{&images[0], &images[published.second_frame]},
                published.options.levels, 100);
    ASSERT_EQ(frames.features.size(), 2u);
    const std::vector<State>& states = frames.states[1];
    TrackBatchAnswer answer = testing::RunTracks(
        *gpu_, {{states[0], states[1], testing::PointsOf(*frames.features[0]), published.options}});
    ASSERT_TRUE(answer.jobs[0].status.ok()) << answer.jobs[0].status;
    ExpectPublished(published, answer.jobs[0].tracked, "cuda");
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no sequence below \"" << ORBSERVE_TEST_DATA_DIR << "\"";
  printf("%d values\n", compared);
}

// ---- Pyramids ----

// The pyramid of a state on the device.
std::vector<uint8_t> Download(const GpuFrameState& state) {
  const auto buffer = state.OnDevice(0, StatePart::kPyramid);
  std::vector<uint8_t> bytes;
  if (buffer == nullptr) return bytes;
  bytes.resize(state.pyramid().bytes());
  EXPECT_EQ(cudaMemcpy(bytes.data(), buffer->data(), bytes.size(), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return bytes;
}

// Levels of the method, each from the one before.
std::vector<TestImage> LevelsOf(const TestImage& image, const PlanSpec& spec) {
  const PyramidGeometry geometry = PyramidGeometry::For(spec);
  std::vector<TestImage> levels = {image};
  for (size_t l = 1; l < geometry.track_levels.size(); ++l) {
    const LevelGeometry& level = geometry.track_levels[l];
    const TestImage& source = levels.back();
    TestImage made(level.width_px, level.height_px);
    for (int y = 0; y < level.height_px; ++y) {
      const algo::ResizeTap row = level.y_taps[static_cast<size_t>(y)];
      for (int x = 0; x < level.width_px; ++x) {
        const algo::ResizeTap column = level.x_taps[static_cast<size_t>(x)];
        const auto sum = [&](int source_y) {
          const int clamped = std::min(source_y, source.height_px() - 1);
          return algo::ResizeRow(
              source.At(column.first, clamped),
              source.At(std::min(column.first + 1, source.width_px() - 1), clamped),
              static_cast<uint32_t>(column.weight));
        };
        made.At(x, y) = algo::ResizeColumn(sum(row.first), sum(row.first + 1),
                                           static_cast<uint32_t>(row.weight));
      }
    }
    levels.push_back(std::move(made));
  }
  return levels;
}

TEST_F(TrackParityTest, StatesKeepTheLevelsOfTheMethod) {
  std::mt19937 random(3);
  std::vector<std::pair<int, int>> sizes = {{1, 1},     {2, 3},     {5, 1},      {63, 65},
                                            {64, 64},   {752, 480}, {753, 479},  {1241, 376},
                                            {640, 480}, {999, 77},  {1920, 1080}};
  for (int i = 0; i < 12; ++i) {
    sizes.emplace_back(1 + static_cast<int>(random() % 700), 1 + static_cast<int>(random() % 500));
  }
  for (const auto& [width, height] : sizes) {
    const int levels = 1 + static_cast<int>(random() % 11);
    const PlanSpec spec = SpecOf(width, height, levels);
    const auto plan = gpu_->MakePlan(spec);
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::vector<TestImage> images;
    std::vector<FrameJob> jobs;
    for (uint32_t i = 0; i < 5; ++i) {
      images.push_back(i % 2 == 0 ? NoiseImage(width, height, i) : SceneImage(width, height, i));
      jobs.push_back(*testing::MakeJob(*gpu_, {.image = images.back().view()}));
      // Frames that keep less are in the same batch.
      jobs.back().keep_state = i == 1   ? KeepState::kNone
                               : i == 3 ? KeepState::kFeatures
                                        : KeepState::kPyramid;
    }
    const FrameBatchAnswer answer = testing::RunBatch(*gpu_, *plan, std::move(jobs));
    EXPECT_EQ(answer.frames[1].state, nullptr);
    ASSERT_NE(answer.frames[3].state, nullptr);
    EXPECT_EQ(answer.frames[3].state->input(), nullptr);
    EXPECT_EQ(answer.frames[3].state->pyramid_levels(), 0);
    for (const size_t i : {size_t{0}, size_t{2}, size_t{4}}) {
      const auto* const state = dynamic_cast<const GpuFrameState*>(answer.frames[i].state.get());
      ASSERT_NE(state, nullptr);
      // The pyramid that came with the frame is compared with one made again from the slot.
      const State again = *gpu_->RebuildPyramid(*state);
      const auto* const rebuilt = dynamic_cast<const GpuFrameState*>(again.get());
      ASSERT_NE(rebuilt, nullptr);
      auto points = std::make_shared<TrackPoints>();
      points->x = points->y = {0};
      points->gain = points->offset = {0.0f};
      Submit(*gpu_, {{again, again, points, {}}}).get();
      const std::vector<TestImage> want = LevelsOf(images[i], spec);
      for (const GpuFrameState* const own : {state, rebuilt}) {
        const std::vector<uint8_t> got = Download(*own);
        ASSERT_FALSE(got.empty());
        const TrackPyramid pyramid = own->pyramid();
        ASSERT_EQ(static_cast<size_t>(pyramid.levels), want.size());
        for (int l = 0; l < pyramid.levels; ++l) {
          const TrackPyramidLevel& level = pyramid.level[l];
          const TestImage& image = want[static_cast<size_t>(l)];
          ASSERT_EQ(level.width_px, image.width_px());
          ASSERT_EQ(level.height_px, image.height_px());
          for (int y = 0; y < level.height_px; ++y) {
            const uint8_t* const row = got.data() + level.offset + y * level.pitch_bytes;
            ASSERT_TRUE(std::equal(row, row + level.width_px, image.view().Row(y)))
                << width << " x " << height << ", level " << l << ", row " << y;
          }
        }
      }
    }
  }
}

TEST_F(TrackParityTest, PyramidsAreCountedAndFreedWithTheirStates) {
  const auto bytes_of = [&](absl::string_view kind) {
    int64_t bytes = 0;
    for (const MemoryUse& use : gpu_->memory()) bytes += use.kind == kind ? use.bytes : 0;
    return bytes;
  };
  GpuBackendOptions options;
  options.devices = {0};
  options.memory_limit_bytes = int64_t{512} << 20;
  gpu_ = *CreateGpuBackend(options);
  const std::vector<TestImage> images(24, SceneImage(1280, 960, 5));
  const int64_t before = bytes_of("states");
  int64_t first_idle = 0;
  for (int round = 0; round < 3; ++round) {
    Frames frames = Extract(images, 5, 100);
    const int64_t held = bytes_of("states") - before;
    EXPECT_GE(held, int64_t{24} * 1280 * 960 * 4 / 3);
    EXPECT_GE(frames.states[1][0]->size_bytes(), size_t{1280} * 960 * 4 / 3);
    frames = {};
    const int64_t idle = bytes_of("states") - before;
    // A fortieth of the limit, or 16 MiB.
    EXPECT_LE(idle, int64_t{16} << 20);
    if (round == 0) first_idle = idle;
    EXPECT_EQ(idle, first_idle);
  }
}

// ---- Tracks ----

TEST_F(TrackParityTest, RealSequences) {
  const int frames = EnvironmentNumber("ORBSERVE_TEST_FRAMES", 7);
  std::mt19937 random(71);
  int found = 0;
  for (const char* const folder :
       {testing::kKittiFrames, testing::kEurocFrames, testing::kTumFrames}) {
    const std::vector<TestImage> images = Sequence(folder, frames);
    if (images.size() < 2) {
      printf("MISSING: %s below \"%s\"\n", folder, ORBSERVE_TEST_DATA_DIR);
      continue;
    }
    ++found;
    ExpectSameOn(images, 3, 500, &random);
    ASSERT_FALSE(HasFailure()) << folder;
  }
  PrintCompared();
  if (found == 0) GTEST_SKIP() << "no sequence below \"" << ORBSERVE_TEST_DATA_DIR << "\"";
}

TEST_F(TrackParityTest, ShiftedChangedAndUnrelatedImages) {
  std::mt19937 random(73);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 4097) / 4096.0;
  };
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{320, 240}, {333, 201}, {97, 480}}) {
    std::vector<TestImage> images = {SceneImage(width, height, random())};
    for (int i = 0; i < 3; ++i) {
      images.push_back(Moved(images.back(), between(-3, 3), between(-3, 3), 1, 0));
      images.push_back(Moved(images.back(), between(-25, 25), between(-25, 25), 1, 0));
      images.push_back(Moved(images.back(), between(-1, 1), between(-1, 1), between(0.6, 1.4),
                             between(-30, 30)));
      images.push_back(images.back());
    }
    images.push_back(NoiseImage(width, height, 1));
    images.push_back(NoiseImage(width, height, 2));
    images.push_back(TestImage(width, height));
    ExpectSameOn(images, 3, 300, &random);
    ASSERT_FALSE(HasFailure()) << width << " x " << height;
  }
  PrintCompared();
  for (const size_t count : of_status_) EXPECT_GT(count, 0u);
}

TEST_F(TrackParityTest, EverySizeOfImage) {
  std::mt19937 random(79);
  const int plans = EnvironmentNumber("ORBSERVE_TEST_PLANS", 20);
  const int side = EnvironmentNumber("ORBSERVE_TEST_SIDE", 500);
  std::vector<std::pair<int, int>> sizes = {{1, 1}, {1, 40}, {16, 16}, {17, 15}, {40, 2}, {8, 8}};
  for (int i = 0; i < plans; ++i) {
    const int most = 1 + static_cast<int>(random() % static_cast<unsigned>(side));
    sizes.emplace_back(1 + static_cast<int>(random() % static_cast<unsigned>(most)),
                       1 + static_cast<int>(random() % static_cast<unsigned>(most)));
  }
  for (const auto& [width, height] : sizes) {
    const TestImage first = random() % 3 == 0 ? NoiseImage(width, height, random())
                                              : SceneImage(width, height, random());
    ExpectSameOn({first, Moved(first, 0.75, -1.25, 1.0, 0.0), Moved(first, -2.5, 0.5, 1.1, -9.0)},
                 1, 400, &random);
    ASSERT_FALSE(HasFailure()) << width << " x " << height;
  }
  PrintCompared();
}

TEST_F(TrackParityTest, ALargeImage) {
  std::mt19937 random(83);
  const TestImage first = SceneImage(7680, 4320, 9);
  ExpectSameOn({first, Moved(first, 3.25, -2.5, 1.0, 0.0)}, 1, 3000, &random);
  PrintCompared();
}

// More points than one launch takes, and more patches.
TEST_F(TrackParityTest, ManyPointsInRounds) {
  std::mt19937 random(89);
  const TestImage first = SceneImage(640, 480, 11);
  const Frames frames = Extract({first, Moved(first, 1.5, 0.25, 1.0, 0.0)}, 5);
  std::vector<JobPair> jobs;
  for (const size_t count : {size_t{40'000}, size_t{0}, size_t{100}, size_t{16'384}}) {
    TrackOptions options;
    options.iterations = 4;
    jobs.push_back(Pair(
        frames, 0, 1, RandomPoints(*frames.features[0], count, options, 5, {}, &random), options));
    options.track_template = TrackTemplate::kFirst;
    jobs.push_back(Pair(frames, 0, 1,
                        RandomPoints(*frames.features[0], count / 4, options, 5, {}, &random),
                        options));
  }
  const std::vector<TrackAnswer> answers = ExpectSameTracks(jobs);
  ASSERT_EQ(answers.size(), jobs.size());
  std::vector<JobPair> carried;
  for (size_t i = 1; i < jobs.size(); i += 2) {
    const TrackOptions& options = jobs[i].jobs[0].options;
    carried.push_back(Pair(frames, 1, 0,
                           RandomPoints(*frames.features[1], jobs[i].jobs[0].points->count(),
                                        options, 5, answers[i].tracked.patches, &random),
                           options));
  }
  ExpectSameTracks(carried);
  PrintCompared();
}

TEST_F(TrackParityTest, RequestsOfManyThreadsAtATime) {
  std::mt19937 seed(97);
  const TestImage first = SceneImage(320, 240, 13);
  const Frames frames =
      Extract({first, Moved(first, 1.5, 0.25, 1.0, 0.0), Moved(first, -2.0, 3.5, 0.9, 4.0)}, 5);
  std::vector<std::future<void>> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.push_back(std::async(std::launch::async, [&, t] {
      std::mt19937 random(100 + t);
      for (int round = 0; round < 6; ++round) {
        std::vector<TrackJob> jobs[2];
        for (unsigned i = 0; i < 1 + random() % 12; ++i) {
          const TrackOptions options = testing::RandomTrackOptions(random);
          const Points points =
              RandomPoints(*frames.features[0], random() % 150, options, 5, {}, &random);
          const size_t to = random() % 3;
          for (size_t b = 0; b < 2; ++b) {
            jobs[b].push_back({frames.states[b][0], frames.states[b][to], points, options});
          }
        }
        const TrackBatchAnswer want = Submit(*cpu_, jobs[0]).get();
        // The jobs go as one request, and job by job, all at once.
        std::vector<std::future<TrackBatchAnswer>> single;
        auto together = Submit(*gpu_, jobs[1]);
        for (const TrackJob& job : jobs[1]) single.push_back(Submit(*gpu_, {job}));
        const TrackBatchAnswer got = together.get();
        ASSERT_EQ(got.jobs.size(), want.jobs.size());
        for (size_t i = 0; i < want.jobs.size(); ++i) {
          EXPECT_EQ(want.jobs[i].status, got.jobs[i].status);
          EXPECT_EQ(testing::FirstDifference(want.jobs[i].tracked, got.jobs[i].tracked), "");
          const TrackBatchAnswer alone = single[i].get();
          EXPECT_EQ(testing::FirstDifference(want.jobs[i].tracked, alone.jobs.at(0).tracked), "");
        }
        if (HasFailure()) return;
      }
    }));
  }
  for (auto& thread : threads) thread.get();
}

TEST_F(TrackParityTest, CancelledEmptyAndRefusedJobs) {
  std::mt19937 random(101);
  const TestImage image = SceneImage(200, 160, 17);
  const Frames frames = Extract({image, Moved(image, 1.0, 2.0, 1.0, 0.0)}, 4);
  const Frames others = Extract({SceneImage(201, 160, 17)}, 4);
  const TrackOptions options;
  const Points points = RandomPoints(*frames.features[0], 50, options, 4, {}, &random);
  EXPECT_TRUE(Submit(*gpu_, {}).get().jobs.empty());

  std::vector<JobPair> jobs(6, Pair(frames, 0, 1, points, options));
  for (size_t b = 0; b < 2; ++b) {
    jobs[1].jobs[b].cancelled = std::make_shared<std::atomic<bool>>(true);
    jobs[2].jobs[b].to = others.states[b][0];
    jobs[3].jobs[b].options.iterations = 0;
    jobs[4].jobs[b].to = *Backends()[b]->ImportState(frames.features[0]);
  }
  const std::vector<TrackAnswer> answers = ExpectSameTracks(jobs);
  ASSERT_EQ(answers.size(), 6u);
  EXPECT_TRUE(answers[0].status.ok());
  EXPECT_EQ(answers[1].status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ReasonOf(answers[3].status), ErrorReason::kBadOptions);
  EXPECT_FALSE(answers[2].status.ok());
  EXPECT_FALSE(answers[4].status.ok());
  EXPECT_TRUE(answers[5].status.ok());
  // States of another backend can be made again here.
  EXPECT_FALSE(Submit(*gpu_, {{frames.states[0][0], frames.states[0][1], points, options}})
                   .get()
                   .jobs[0]
                   .status.ok());
  const State from = *gpu_->RebuildPyramid(*frames.states[0][0]);
  const State to = *gpu_->RebuildPyramid(*frames.states[0][1]);
  const TrackBatchAnswer rebuilt = Submit(*gpu_, {{from, to, points, options}}).get();
  EXPECT_EQ(testing::FirstDifference(answers[0].tracked, rebuilt.jobs[0].tracked), "");
  EXPECT_EQ(ReasonOf(gpu_->RebuildPyramid(**gpu_->ImportState(frames.features[0])).status()),
            ErrorReason::kInternal);
}

// Frames of two devices: the points go to the device of the second frame, which makes the pyramid
// of the first again.
TEST_F(TrackParityTest, FramesOfTwoDevices) {
  if (gpu_->devices().size() < 2) GTEST_SKIP() << "one device";
  std::mt19937 random(103);
  const TestImage image = SceneImage(400, 300, 19);
  const std::vector<TestImage> images = {image, Moved(image, 1.0, -2.0, 1.0, 0.0)};
  const TrackOptions options;
  // Batches of several threads come to lie on both devices.
  std::vector<Frames> frames(8);
  std::vector<std::future<void>> threads;
  for (Frames& own : frames) {
    threads.push_back(std::async(std::launch::async, [&] { own = Extract(images, 5); }));
  }
  for (auto& thread : threads) thread.get();
  std::vector<JobPair> jobs;
  size_t apart = 0;
  for (const Frames& a : frames) {
    for (const Frames& b : frames) {
      const auto device_of = [](const State& state) {
        const auto& own = dynamic_cast<const GpuFrameState&>(*state);
        return own.OnDevice(0, StatePart::kPyramid) != nullptr ? 0 : 1;
      };
      apart += device_of(a.states[1][0]) != device_of(b.states[1][1]) ? 1 : 0;
      const Points points = RandomPoints(*a.features[0], 60, options, 5, {}, &random);
      JobPair pair;
      for (size_t i = 0; i < 2; ++i) {
        pair.jobs[i] = {a.states[i][0], b.states[i][1], points, options};
      }
      jobs.push_back(pair);
    }
  }
  ExpectSameTracks(jobs);
  printf("%zu of %zu jobs between two devices\n", apart, jobs.size());
}

}  // namespace
}  // namespace orbserve::gpu
