// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/gaussian.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/kernels/blur_runs.h"
#include "features/algo/fixed_gaussian.h"
#include "features/algo/gaussian.h"
#include "features/algo/pyramid.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

constexpr int kTilesPerTask = 48;

class Gaussian final : public Step {
 public:
  explicit Gaussian(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        sample_reach_px_(pipeline_.reach.describe_px - algo::kGaussianRadiusPx),
        smooth_(ResizesLinearly(pipeline_.spec.pipeline) ? FixedGaussianKernelFor(setup.target)
                                                         : GaussianKernelFor(setup.target)) {}

  absl::string_view name() const override { return "gaussian"; }
  StageSet stages() const override { return Stage::kDescribe; }

  void Declare(WorkspaceLayout* layout) override {
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      const Tiles tiles(pipeline_.level(l));
      const size_t count = static_cast<size_t>(tiles.columns) * static_cast<size_t>(tiles.rows);
      layout->Add(l, count, &marks_);
      layout->Add(l, count, &runs_);
      layout->Add(l, 1, &division_);
      const Region largest = {0, 0, kMaxBlurRunColumns * kBlurTileWidthPx,
                              std::min(kMaxBlurRunTiles, tiles.rows) * kBlurTileHeightPx};
      layout->AddScratch(static_cast<size_t>(GaussianScratchFloats(largest)) * sizeof(float));
    }
  }

  // Marks the tiles that the keypoints' samples lie in, and makes runs of them.
  int Begin(FrameContext& frame, int level) const override {
    const absl::Span<const LevelPoint> points = frame.level(level).points;
    if (points.empty()) return 0;
    const LevelGeometry& geometry = pipeline_.level(level);
    const Tiles tiles(geometry);
    uint8_t* const marks = frame.At(marks_, level);
    std::memset(marks, 0, static_cast<size_t>(tiles.columns) * static_cast<size_t>(tiles.rows));
    for (const LevelPoint& point : points) MarkTiles(geometry, tiles, point, marks);
    BlurRun* const runs = frame.At(runs_, level);
    Division* const division = frame.At(division_, level);
    division->runs = MakeBlurRuns(marks, tiles.columns, tiles.rows, runs);
    division->tasks = std::min(division->runs, 1);
    if (frame.threads() > 1 && division->runs > 0) {
      int64_t marked = 0;
      for (int i = 0; i < division->runs; ++i) marked += runs[i].Tiles();
      division->tasks = static_cast<int>(
          std::clamp<int64_t>(DivUp<int64_t>(marked, kTilesPerTask), 1, division->runs));
    }
    return division->tasks;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const LevelGeometry& geometry = pipeline_.level(level);
    const BlurRun* const runs = frame.At(runs_, level);
    const Division& division = *frame.At(division_, level);
    const Part part = FrameContext::EvenPart(division.runs, division.tasks, task);
    const ImageView image = frame.Image(level);
    const MutableImageView smoothed = frame.At(frame.lists.smoothed, level);
    auto* const scratch = frame.Scratch<float>();
    for (int i = part.begin; i < part.end; ++i) {
      const Region region = {runs[i].column_begin * kBlurTileWidthPx,
                             runs[i].row_begin * kBlurTileHeightPx,
                             std::min(runs[i].column_end * kBlurTileWidthPx, geometry.width_px),
                             std::min(runs[i].row_end * kBlurTileHeightPx, geometry.height_px)};
      smooth_(image, smoothed, region, scratch);
    }
  }

 private:
  struct Tiles {
    explicit Tiles(const LevelGeometry& level)
        : columns(DivUp(level.width_px, kBlurTileWidthPx)),
          rows(DivUp(level.height_px, kBlurTileHeightPx)) {}
    int columns;
    int rows;
  };
  struct Division {
    int runs;
    int tasks;
  };

  void MarkTiles(const LevelGeometry& level, const Tiles& tiles, const LevelPoint& point,
                 uint8_t* marks) const {
    const int column_begin = std::max(point.x - sample_reach_px_, 0) / kBlurTileWidthPx;
    const int column_end =
        std::min(point.x + sample_reach_px_, level.width_px - 1) / kBlurTileWidthPx;
    const int row_begin = std::max(point.y - sample_reach_px_, 0) / kBlurTileHeightPx;
    const int row_end =
        std::min(point.y + sample_reach_px_, level.height_px - 1) / kBlurTileHeightPx;
    for (int column = column_begin; column <= column_end; ++column) {
      std::memset(marks + static_cast<ptrdiff_t>(column) * tiles.rows + row_begin, 1,
                  static_cast<size_t>(row_end - row_begin + 1));
    }
  }

  const CompiledPipeline& pipeline_;
  const int sample_reach_px_;  // of the descriptor on the smoothed level
  const GaussianKernel smooth_;
  LevelBuffer<uint8_t> marks_;      // [tile column][tile row], 1 = read by a descriptor
  LevelBuffer<BlurRun> runs_;       // [tiles]
  LevelBuffer<Division> division_;  // [1]
};

}  // namespace

void ReferenceGaussian(const ImageView& src, const MutableImageView& dst, const Region& region,
                       float* scratch) {
  constexpr int kRadius = algo::kGaussianRadiusPx;
  constexpr int kTaps = 2 * kRadius + 1;
  const int width = region.width();
  for (int y = region.y_begin - kRadius; y < region.y_end + kRadius; ++y) {
    const uint8_t* const in = src.Row(algo::Reflect101(y, src.height_px));
    float* const out = scratch + static_cast<ptrdiff_t>(y - (region.y_begin - kRadius)) * width;
    for (int x = region.x_begin; x < region.x_end; ++x) {
      uint8_t pixel[kTaps];
      for (int i = 0; i < kTaps; ++i) {
        pixel[i] = in[algo::Reflect101(x + i - kRadius, src.width_px)];
      }
      out[x - region.x_begin] = algo::GaussianRow(pixel);
    }
  }
  for (int y = region.y_begin; y < region.y_end; ++y) {
    const float* const in = scratch + static_cast<ptrdiff_t>(y - region.y_begin) * width;
    uint8_t* const out = dst.Row(y);
    for (int x = 0; x < width; ++x) {
      float column[kTaps];
      for (int i = 0; i < kTaps; ++i) column[i] = in[i * static_cast<ptrdiff_t>(width) + x];
      out[region.x_begin + x] = algo::GaussianColumn(column);
    }
  }
}

void ReferenceFixedGaussian(const ImageView& src, const MutableImageView& dst, const Region& region,
                            float* scratch) {
  constexpr int kRadius = algo::kGaussianRadiusPx;
  constexpr int kTaps = 2 * kRadius + 1;
  const int width = region.width();
  // Sums of a row are exact in single precision.
  for (int y = region.y_begin - kRadius; y < region.y_end + kRadius; ++y) {
    const uint8_t* const in = src.Row(algo::Reflect101(y, src.height_px));
    float* const out = scratch + static_cast<ptrdiff_t>(y - (region.y_begin - kRadius)) * width;
    for (int x = region.x_begin; x < region.x_end; ++x) {
      int pixel[kTaps];
      for (int i = 0; i < kTaps; ++i) {
        pixel[i] = in[algo::Reflect101(x + i - kRadius, src.width_px)];
      }
      out[x - region.x_begin] = static_cast<float>(algo::FixedGaussianSum(pixel));
    }
  }
  for (int y = region.y_begin; y < region.y_end; ++y) {
    const float* const in = scratch + static_cast<ptrdiff_t>(y - region.y_begin) * width;
    uint8_t* const out = dst.Row(y);
    for (int x = 0; x < width; ++x) {
      int column[kTaps];
      for (int i = 0; i < kTaps; ++i) {
        column[i] = static_cast<int>(in[i * static_cast<ptrdiff_t>(width) + x]);
      }
      out[region.x_begin + x] = algo::FixedGaussianGrey(algo::FixedGaussianSum(column));
    }
  }
}

std::unique_ptr<Step> MakeGaussian(const StepSetup& setup) {
  return std::make_unique<Gaussian>(setup);
}

}  // namespace orbserve::cpu
