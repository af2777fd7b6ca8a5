// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST on a device by every score, comparison, window and arc. The lists and maps that the search
// leaves are compared with a slow program, and answers with those of the CPU backend.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "features/image_view.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/geometry.h"
#include "gpu/frame/frame_params.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/memory/input_pool.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/steps/detect/corner_lists.h"
#include "gpu/steps/detect/fast.h"
#include "gpu/steps/detect/fast_keys.h"
#include "gpu/steps/detect/fast_map.h"
#include "gpu/steps/detect/response_map.h"
#include "gpu/steps/level_images.h"
#include "gtest/gtest.h"
#include "tests/gpu/gpu_test_support.h"
#include "tests/support/method_oracle.h"
#include "tests/support/option_values.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::CornerPlanes;
using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::OracleCompare;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::Plane;
using ::orbserve::testing::WindowMaxima;

// Grey levels of one level, or its mask.
using Pixels = std::vector<uint8_t>;

struct SearchFrame {
  std::vector<Pixels> levels;
  std::vector<Pixels> masks;  // empty: none
  int threshold_grey = 20;
};

// Rank keys that a search leaves on each level of each frame, ascending.
using Corners = std::vector<std::vector<std::vector<uint64_t>>>;

// Corners by the slow program. `options`: of a pipeline with the detector FAST.
Corners CornersOfOracle(const CompiledPipeline& pipeline, const std::vector<SearchFrame>& frames) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  OracleOptions oracle;
  oracle.arc_length = options.detect.fast_arc_length;
  oracle.score = options.detect.score;
  oracle.compare =
      options.suppress.compare == Compare::kScore ? OracleCompare::kScore : OracleCompare::kFast;
  Corners corners;
  for (const SearchFrame& frame : frames) {
    corners.emplace_back();
    for (int l = 0; l < pipeline.pyramid.detecting_levels; ++l) {
      const LevelGeometry& level = pipeline.level(l);
      GreyPlane plane(level.width_px, level.height_px);
      const Pixels& pixels = frame.levels[static_cast<size_t>(l)];
      std::copy(pixels.begin(), pixels.end(), plane.values.begin());
      const CornerPlanes planes = OracleFastMap(plane, oracle, frame.threshold_grey);
      std::vector<std::pair<int, int>> places;
      if (HasResponseMap(options)) {
        places = WindowMaxima(planes.largest_threshold, 1);
      } else if (ComparesFastScores(options)) {
        places = WindowMaxima(planes.largest_threshold, options.suppress.window_px);
      } else {
        places = WindowMaxima(planes.response, options.suppress.window_px);
      }
      const bool is_scored = CornerListOf(options) == CornerList::kScored;
      std::vector<uint64_t> keys;
      for (const auto& [x, y] : places) {
        const Region& region = level.region;
        if (x < region.x_begin || x >= region.x_end || y < region.y_begin || y >= region.y_end) {
          continue;
        }
        const auto pixel = static_cast<size_t>(y * level.width_px + x);
        if (!frame.masks.empty() && frame.masks[static_cast<size_t>(l)][pixel] == 0) continue;
        const float response = is_scored && !HasResponseMap(options)
                                   ? static_cast<float>(planes.largest_threshold.At(x, y))
                                   : planes.response.At(x, y);
        keys.push_back(algo::RankKey(response, x, y));
      }
      std::sort(keys.begin(), keys.end());
      corners.back().push_back(std::move(keys));
    }
  }
  return corners;
}

// The search of a pipeline as a plan places it in an arena, on images of levels of its own.
class Search {
 public:
  explicit Search(const CompiledPipeline& pipeline)
      : pipeline_(pipeline),
        params_(layout_.Add("parameters", sizeof(FrameParams))),
        counters_(layout_.Add("counters", sizeof(FrameCounters))),
        images_(pipeline, /*reads_in_place=*/false, &layout_),
        corners_(pipeline, &layout_),
        keys_(pipeline, &layout_),
        maps_(pipeline, &layout_) {}

  // Corners that the search leaves, with `test` for pixels. Levels are searched from `split` on by
  // a second launch.
  Corners Run(const std::vector<SearchFrame>& frames, CornerTest test, int split) {
    const int levels = pipeline_.pyramid.detecting_levels;
    const bool masks = std::any_of(frames.begin(), frames.end(),
                                   [](const SearchFrame& frame) { return !frame.masks.empty(); });
    StepContext context;
    context.kind = {ClassOfFrames(static_cast<int>(frames.size())), masks};
    context.layout = &layout_;
    auto arena = DeviceBuffer::Create(0, layout_.Bytes(context.kind), nullptr);
    EXPECT_TRUE(arena.ok()) << arena.status();
    context.arena = arena->data();
    algo::FillFastBitTable<9>(bit_tables_[0]);
    algo::FillFastBitTable<10>(bit_tables_[1]);
    algo::FillFastBitTable<11>(bit_tables_[2]);
    algo::FillFastBitTable<12>(bit_tables_[3]);
    auto tables = DeviceBuffer::CreateCopyOf(
        0, {reinterpret_cast<const uint8_t*>(bit_tables_), sizeof(bit_tables_)}, nullptr);
    EXPECT_TRUE(tables.ok()) << tables.status();
    DeviceTables device_tables;
    device_tables.multiprocessors = 1;  // tall tiles from small images on
    device_tables.default_test = test;
    device_tables.bit_tables = reinterpret_cast<const uint32_t*>(tables->data());
    context.tables = &device_tables;
    context.frames = {reinterpret_cast<const FrameParams*>(context.At(params_)),
                      reinterpret_cast<FrameCounters*>(context.At(counters_)), 0,
                      context.kind.frames()};

    // Memory that no step writes has changing contents.
    std::vector<uint8_t> host(layout_.Bytes(context.kind));
    for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(i * 37 + 11);
    const auto at = [&](const void* device) {
      return host.data() + (static_cast<const uint8_t*>(device) - arena->data());
    };
    const LevelImages images = images_.At(context);
    const SlotLayout slot = SlotLayout::For(pipeline_.spec.width_px, pipeline_.spec.height_px);
    auto* const params = reinterpret_cast<FrameParams*>(at(context.frames.params));
    std::memset(at(context.frames.counters), 0,
                static_cast<size_t>(context.kind.frames()) * sizeof(FrameCounters));
    for (int f = 0; f < context.kind.frames(); ++f) {
      params[f] = {};
      params[f].mode = FrameMode::kIdle;
      if (f >= static_cast<int>(frames.size())) continue;
      const SearchFrame& frame = frames[static_cast<size_t>(f)];
      params[f].mode = FrameMode::kDetect;
      params[f].threshold_grey = frame.threshold_grey;
      params[f].image_offset =
          static_cast<int64_t>(static_cast<size_t>(f) * (masks ? 2 : 1) * slot.image_bytes) +
          kImagePaddingBytes;
      params[f].mask_offset = frame.masks.empty()
                                  ? -1
                                  : params[f].image_offset + static_cast<int64_t>(slot.image_bytes);
      for (int l = 0; l < levels; ++l) {
        const LevelImage& level = images.level[l];
        const auto copy = [&](const Pixels& pixels, const uint8_t* level_zero, uint8_t* pyramid,
                              int64_t offset) {
          const uint8_t* const first =
              l == 0 ? level_zero + offset : pyramid + f * images.stride + level.offset;
          for (int y = 0; y < level.height_px; ++y) {
            std::memcpy(at(first + static_cast<int64_t>(y) * level.pitch_bytes),
                        pixels.data() + static_cast<size_t>(y * level.width_px),
                        static_cast<size_t>(level.width_px));
          }
        };
        copy(frame.levels[static_cast<size_t>(l)], images.input, images.pyramid,
             params[f].image_offset);
        if (!frame.masks.empty()) {
          copy(frame.masks[static_cast<size_t>(l)], images.input, images.mask_pyramid,
               params[f].mask_offset);
        }
      }
    }
    EXPECT_EQ(cudaMemcpy(arena->data(), host.data(), host.size(), cudaMemcpyHostToDevice),
              cudaSuccess);
    // The copy may return before its last bytes have arrived, and the stream of the launches does
    // not wait for them.
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);

    auto stream = Stream::Create();
    EXPECT_TRUE(stream.ok()) << stream.status();
    for (const auto& [first, last] :
         std::vector<std::pair<int, int>>{{0, split - 1}, {split, levels - 1}}) {
      EXPECT_TRUE(StepFor(first, last)->Enqueue(context, stream->get()).ok());
    }
    EXPECT_EQ(cudaStreamSynchronize(stream->get()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(host.data(), arena->data(), host.size(), cudaMemcpyDeviceToHost),
              cudaSuccess);

    Corners found;
    for (int f = 0; f < static_cast<int>(frames.size()); ++f) {
      const auto& counters = reinterpret_cast<const FrameCounters*>(at(context.frames.counters))[f];
      found.emplace_back();
      for (int l = 0; l < levels; ++l) {
        std::vector<uint64_t> keys;
        if (HasResponseMap(pipeline_.spec.pipeline)) {
          const ResponseMaps maps = maps_.At(context);
          const auto* const map = reinterpret_cast<const uint32_t*>(at(maps.Of(f, l)));
          for (int y = 0; y < images.level[l].height_px; ++y) {
            for (int x = 0; x < maps.pitch[l]; ++x) {
              const uint32_t order = map[static_cast<int64_t>(y) * maps.pitch[l] + x];
              if (order != 0) {
                keys.push_back(algo::RankKey(algo::ValueOfOrderedBits(order), x, y));
              }
            }
          }
        } else if (CornerListOf(pipeline_.spec.pipeline) == CornerList::kKeyed) {
          const KeyLists lists = keys_.At(context);
          const auto* const list =
              reinterpret_cast<const uint64_t*>(at(lists.key + f * lists.stride + lists.offset[l]));
          keys.assign(list, list + counters.corners[l]);
        } else {
          const FastCornerLists lists = corners_.At(context);
          const int64_t first = f * lists.stride + lists.offset[l];
          const auto* const position =
              reinterpret_cast<const uint32_t*>(at(lists.position + first));
          const uint8_t* const score = at(lists.score + first);
          std::array<uint32_t, kHistogramBins> bins = {};
          for (int i = 0; i < counters.corners[l]; ++i) {
            keys.push_back(algo::RankKey(score[i], static_cast<int>(position[i] & 0xffff),
                                         static_cast<int>(position[i] >> 16)));
            ++bins[score[i]];
          }
          for (int bin = 0; bin < kHistogramBins; ++bin) {
            uint32_t sum = 0;
            for (const auto& copy : counters.histogram[l]) sum += copy[bin];
            EXPECT_EQ(sum, bins[static_cast<size_t>(bin)]) << "bin " << bin << " level " << l;
          }
        }
        std::sort(keys.begin(), keys.end());
        found.back().push_back(std::move(keys));
      }
    }
    return found;
  }

 private:
  std::unique_ptr<Step> StepFor(int first, int last) const {
    const PipelineOptions& options = pipeline_.spec.pipeline;
    if (HasResponseMap(options)) {
      return std::make_unique<FastMapStep>(pipeline_, images_, maps_, first, last);
    }
    if (CornerListOf(options) == CornerList::kKeyed) {
      return std::make_unique<FastKeysStep>(pipeline_, images_, keys_, std::nullopt, first, last);
    }
    return std::make_unique<FastStep>(pipeline_, images_, corners_, first, last);
  }

  const CompiledPipeline& pipeline_;
  ArenaLayout layout_;
  const BufferId params_;
  const BufferId counters_;
  const LevelImageBuffers images_;
  const FastCornerListBuffers corners_;
  const KeyListBuffers keys_;
  const ResponseMapBuffers maps_;
  uint32_t bit_tables_[4][algo::kFastBitTableWords];
};

using GpuFastTest = GpuTest;

std::string NameOf(const PipelineOptions& options) {
  return absl::StrCat("score ", static_cast<int>(options.detect.score), ", compare ",
                      static_cast<int>(options.suppress.compare), ", window ",
                      options.suppress.window_px, ", arc ", options.detect.fast_arc_length,
                      ", suppression ", static_cast<int>(options.suppress.suppression),
                      ", selection ", static_cast<int>(options.select.selection), ", border ",
                      options.select.border_px, ", levels ", options.pyramid.levels);
}

// The kernels alone: every way of searching over windows, arcs, tests of pixels, odd sizes, masks
// and heights of tiles.
TEST_F(GpuFastTest, CornersOfEveryLevelAreTheOracles) {
  constexpr unsigned kSeed = 311;
  std::mt19937 random(kSeed);
  const int rounds = EnvironmentNumber("ORBSERVE_TEST_PLANS", 4);
  size_t corners = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [score, compare] : testing::ScoresAndComparisons()) {
      for (const int window : {3, 5, 7, 9}) {
        for (const auto& [suppression, selection] : std::vector<std::pair<Suppression, Selection>>{
                 {Suppression::kNeighbourhood, Selection::kBest},
                 {Suppression::kNeighbourhood, Selection::kQuadtree},
                 {Suppression::kMinimumDistance, Selection::kBest}}) {
          CompiledPipeline pipeline;
          PipelineOptions& options = pipeline.spec.pipeline;
          pipeline.spec.width_px = 9 + static_cast<int>(random() % 400);
          pipeline.spec.height_px = 9 + static_cast<int>(random() % 150);
          options.pyramid.levels = 1 + static_cast<int>(random() % 3);
          options.pyramid.scale_factor = 1.3f;
          options.detect.score = score;
          options.detect.fast_arc_length = 9 + static_cast<int>(random() % 4);
          options.suppress.compare = compare;
          options.suppress.window_px = window;
          options.suppress.suppression = suppression;
          options.select.selection = selection;
          // Nothing but the search reads pixels: corners may lie as near to the sides as it allows.
          options.describe = {Orientation::kNone, Descriptor::kNone};
          options.select.border_px = BorderRange(options).low + static_cast<int>(random() % 16);
          pipeline.pyramid = PyramidGeometry::For(pipeline.spec);
          const int levels = pipeline.pyramid.detecting_levels;
          if (levels == 0) continue;
          const bool masked = random() % 2 == 0;
          std::vector<SearchFrame> frames(1 + random() % 3);
          for (size_t f = 0; f < frames.size(); ++f) {
            SearchFrame& frame = frames[f];
            frame.threshold_grey = 1 + static_cast<int>(random() % 50);
            const auto content = static_cast<Content>(random() % kContents);
            for (int l = 0; l < levels; ++l) {
              const LevelGeometry& level = pipeline.level(l);
              frame.levels.push_back(
                  MakeImage(content, level.width_px, level.height_px, &random).pixels);
              if (!masked || f == 1) continue;
              frame.masks.push_back(
                  MakeImage(Content::kShapes, level.width_px, level.height_px, &random).pixels);
              for (uint8_t& pixel : frame.masks.back()) pixel = pixel < 120 ? 0 : 255;
            }
          }
          const auto test = static_cast<CornerTest>(random() % 3);
          const int split = static_cast<int>(random() % static_cast<unsigned>(levels + 1));
          const Corners expected = CornersOfOracle(pipeline, frames);
          const Corners found = Search(pipeline).Run(frames, test, split);
          ASSERT_EQ(found.size(), expected.size());
          for (size_t f = 0; f < found.size(); ++f) {
            for (size_t l = 0; l < found[f].size(); ++l) {
              const auto& want = expected[f][l];
              const auto& got = found[f][l];
              const auto [a, b] = std::mismatch(want.begin(), want.end(), got.begin(), got.end());
              ASSERT_TRUE(want == got)
                  << NameOf(options) << ", " << pipeline.spec.width_px << "x"
                  << pipeline.spec.height_px << ", test " << static_cast<int>(test) << ", seed "
                  << kSeed << ", frame " << f << ", level " << l << ": " << want.size()
                  << " corners expected, " << got.size() << " found; the first difference at "
                  << (a == want.end() ? "the end"
                                      : absl::StrCat(algo::RankKeyX(*a), ", ", algo::RankKeyY(*a)))
                  << " expected, "
                  << (b == got.end() ? "the end"
                                     : absl::StrCat(algo::RankKeyX(*b), ", ", algo::RankKeyY(*b)))
                  << " found";
              corners += got.size();
            }
          }
        }
      }
    }
  }
  EXPECT_GT(corners, 10'000u);
  printf("%zu corners compared\n", corners);
}

// Whole answers over the options of the search, with selections that take scored and keyed lists.
TEST_F(GpuFastTest, AnswersEqualThoseOfTheCpu) {
  constexpr unsigned kSeed = 313;
  std::mt19937 random(kSeed);
  size_t features = 0;
  for (const auto& [score, compare] : testing::ScoresAndComparisons()) {
    for (const int window : {3, 5, 7, 9}) {
      for (const Selection selection :
           {Selection::kLevelQuota, Selection::kBest, Selection::kCell, Selection::kQuadtree}) {
        PlanSpec spec = {
            33 + static_cast<int>(random() % 700), 33 + static_cast<int>(random() % 400), {}};
        PipelineOptions& options = spec.pipeline;
        options.pyramid.levels = 1 + static_cast<int>(random() % 4);
        options.pyramid.scale_factor = random() % 2 == 0 ? 2.0f : 1.2f;
        options.detect.score = score;
        options.detect.fast_arc_length = 9 + static_cast<int>(random() % 4);
        options.detect.candidate_test = static_cast<CandidateTest>(random() % 3);
        options.suppress.compare = compare;
        options.suppress.window_px = window;
        options.select.selection = selection;
        options.select.border_px = 16 + static_cast<int>(random() % 8);
        options.describe.descriptor = Descriptor::kNone;
        SCOPED_TRACE(absl::StrCat(NameOf(options), ", ", spec.width_px, "x", spec.height_px,
                                  ", seed ", kSeed));
        const auto on_cpu = cpu_->MakePlan(spec);
        ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
        const auto on_gpu = gpu_->MakePlan(spec);
        ASSERT_TRUE(on_gpu.ok()) << on_gpu.status();
        std::vector<TestFrame> frames;
        for (const int wanted : {50, 700, kMaxFeatures}) {
          const auto content = static_cast<Content>(random() % kContents);
          TestFrame frame = {MakeImage(content, spec.width_px, spec.height_px, &random), {}, {}};
          frame.parameters.max_features = wanted;
          frame.parameters.fast_threshold_grey = 3 + static_cast<int>(random() % 40);
          if (wanted == 700) {
            frame.mask = MakeImage(Content::kShapes, spec.width_px, spec.height_px, &random);
            for (uint8_t& pixel : frame.mask.pixels) pixel = pixel < 120 ? 0 : 255;
          }
          frames.push_back(std::move(frame));
        }
        const FrameBatchAnswer expected = Compute(*cpu_, *on_cpu, frames);
        const FrameBatchAnswer actual = Compute(*gpu_, *on_gpu, frames);
        for (size_t i = 0; i < frames.size(); ++i) {
          ASSERT_TRUE(expected.frames[i].status.ok()) << expected.frames[i].status;
          ASSERT_TRUE(actual.frames[i].status.ok()) << actual.frames[i].status;
          const Features& want = *expected.frames[i].features;
          const Features& got = *actual.frames[i].features;
          ASSERT_TRUE(SameFeatures(want, got)) << "frame " << i;
          EXPECT_EQ(want.truncated, got.truncated) << "frame " << i;
          features += want.count();
        }
      }
    }
  }
  EXPECT_GT(features, 20'000u);
  printf("%zu features compared\n", features);
}

}  // namespace
}  // namespace orbserve::gpu
