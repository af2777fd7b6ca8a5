// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/frame/frame_lists.h"

#include <algorithm>

#include "cpu/frame/integral_view.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/reach.h"

namespace orbserve::cpu {
namespace {

// Detection takes some 20 to 40 microseconds for as many pixels, far above the cost of a task.
constexpr int kStripPixels = 48 * 1024;
constexpr int kMinStripRows = 16;
// Rows of a response map begin at a multiple of so many entries: a line of the cache.
constexpr int kResponsePitch = 16;
// Room for undecided places of MINIMUM_DISTANCE: images of the real world need less.
constexpr int kPixelsPerUndecided = 32;
constexpr int kLeastUndecided = 64;
// An integral image takes some 10 to 20 microseconds for as many.
constexpr int kIntegralStripPixels = 128 * 1024;

Strips DivideIntoStrips(const PipelineOptions& options, const Region& region, int threads) {
  Strips strips;
  if (region.empty()) return strips;
  const int rows = region.height();
  // Each strip scores a row more on either side, so a single thread has one.
  strips.rows =
      threads == 1 ? rows
                   : std::clamp(kStripPixels / region.width(), std::min(kMinStripRows, rows), rows);
  if (HasZones(options)) {  // whole rows of zones
    const algo::Zones zones = ZonesOf(region);
    const int zone_rows = DivUp(strips.rows, zones.height_px);
    strips.rows = zone_rows * zones.height_px;
    strips.count = DivUp(rows, strips.rows);
    strips.capacity = MaxCorners(zones, zone_rows) + kCornerSlack;
    return strips;
  }
  strips.count = DivUp(rows, strips.rows);
  strips.capacity = MaxCorners(options, {0, 0, region.width(), strips.rows}) + kCornerSlack;
  return strips;
}

}  // namespace

Region Strips::Of(const Region& region, int strip) const {
  Region part = region;
  part.y_begin += strip * rows;
  part.y_end = std::min(part.y_begin + rows, region.y_end);
  return part;
}

bool FrameLists::HasBlocks(const PipelineOptions& options) {
  return options.suppress.suppression == Suppression::kMinimumDistance &&
         options.suppress.cornerness_compression && options.suppress.minimum_distance_px > 1;
}

bool FrameLists::HasCoarseMaps(const PipelineOptions& options) {
  return options.detect.detector != Detector::kFast &&
         options.suppress.suppression == Suppression::kMinimumDistance &&
         options.suppress.distance_shape == DistanceShape::kSquare &&
         options.suppress.minimum_distance_px > 1 && !HasBlocks(options);
}

bool FrameLists::BoundsLevelZero(const CompiledPipeline& pipeline) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  return options.detect.detector == Detector::kFast && options.detect.score == Score::kSadArc &&
         options.suppress.compare == Compare::kScore &&
         options.suppress.suppression == Suppression::kCell &&
         options.select.selection == Selection::kBest && pipeline.pyramid.detecting_levels > 1;
}

FrameLists FrameLists::Declare(const CompiledPipeline& pipeline, int threads,
                               WorkspaceLayout* layout) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  FrameLists lists;
  if (HasScaleSpace(options)) return lists;
  if (BoundsLevelZero(pipeline)) layout->Add(1, &lists.least_response);
  if (HasResponseMap(options)) layout->Add(1, &lists.candidate_threshold);
  for (int l = 0; l < pipeline.level_count(); ++l) {
    const LevelGeometry& level = pipeline.level(l);
    if (l > 0) {
      layout->AddImage(l, level.width_px, level.height_px, &lists.images);
      layout->AddMask(l, level.width_px, level.height_px, &lists.masks);
    }
    // Any other descriptor reads the level itself.
    const Descriptor descriptor = options.describe.descriptor;
    if (descriptor == Descriptor::kRBrief256) {
      layout->AddImage(l, level.width_px, level.height_px, &lists.smoothed);
    }
    if (descriptor == Descriptor::kBFrost256 || (IsOfLevelZero(descriptor) && l == 0)) {
      lists.DeclareIntegral(l, level, threads, layout);
    }
    const auto i = static_cast<size_t>(l);
    const Strips strips = DivideIntoStrips(options, level.region, threads);
    lists.strips[i] = strips;
    if (strips.count == 0) continue;
    const size_t corners = static_cast<size_t>(strips.capacity) * static_cast<size_t>(strips.count);
    lists.max_points[i] = static_cast<int>(
        std::min<int64_t>(options.select.capacity, MaxCorners(options, level.region)));
    const auto points = static_cast<size_t>(lists.max_points[i]);
    layout->Add(l, static_cast<size_t>(strips.count), &lists.strip_corners);
    if (HasResponseMap(options)) lists.DeclareResponses(options, l, level, layout);
    layout->Add(l, corners, &lists.corners);
    layout->Add(l, corners, &lists.keys);
    layout->Add(l, points, &lists.points);
    layout->Add(l, points * static_cast<size_t>(pipeline.descriptor_bytes), &lists.descriptors);
  }
  return lists;
}

void FrameLists::DeclareResponses(const PipelineOptions& options, int l, const LevelGeometry& level,
                                  WorkspaceLayout* layout) {
  const auto i = static_cast<size_t>(l);
  response_pitch[i] = RoundUp<ptrdiff_t>(level.width_px, kResponsePitch);
  layout->Add(
      l,
      static_cast<size_t>(response_pitch[i]) * static_cast<size_t>(level.height_px) + kMapRowSlack,
      &responses);
  layout->Add(l, static_cast<size_t>(strips[i].count), &strip_tops);
  if (options.suppress.suppression != Suppression::kMinimumDistance) return;
  if (HasCoarseMaps(options)) return DeclareCoarseMap(options, l, level.region, layout);
  const auto strip_count = static_cast<size_t>(strips[i].count);
  undecided_capacity[i] =
      kLeastUndecided + strips[i].rows * level.region.width() / kPixelsPerUndecided;
  layout->Add(l, strip_count * static_cast<size_t>(undecided_capacity[i]), &undecided);
  layout->Add(l, strip_count, &strip_undecided);
  if (!HasBlocks(options)) return;
  block_pitch[i] = RoundUp<ptrdiff_t>(DivUp(level.width_px, 2), kResponsePitch);
  layout->Add(l,
              static_cast<size_t>(block_pitch[i]) * static_cast<size_t>(DivUp(level.height_px, 2)) +
                  kMapRowSlack,
              &blocks);
}

void FrameLists::DeclareCoarseMap(const PipelineOptions& options, int l, const Region& region,
                                  WorkspaceLayout* layout) {
  constexpr int kLine = kCoarseBlock;  // entries
  static_assert(kLine * sizeof(uint16_t) == 64);
  const int reach = options.suppress.minimum_distance_px - 1;
  ptrdiff_t pitch = RoundUp<ptrdiff_t>(region.width() + reach, kLine);
  // Rows a multiple of 1 KiB apart would share few sets of the first cache, and a square has many.
  if (pitch % (16 * kLine) == 0) pitch += kLine;
  coarse_pitch[static_cast<size_t>(l)] = pitch;
  layout->Add(
      l,
      static_cast<size_t>(pitch) * static_cast<size_t>(region.height() + 2 * reach + kBandRows) +
          kMapRowSlack,
      &coarse);
}

void FrameLists::DeclareIntegral(int l, const LevelGeometry& level, int threads,
                                 WorkspaceLayout* layout) {
  constexpr int kLine = 16;  // entries
  const auto i = static_cast<size_t>(l);
  ptrdiff_t pitch = RoundUp<ptrdiff_t>(IntegralRowEntries(level.width_px), kLine);
  // Rows a multiple of 1 KiB apart would share few sets of the first cache, and squares have their
  // corners on many rows.
  if (pitch % (16 * kLine) == 0) pitch += kLine;
  integral_pitch[i] = pitch;
  layout->Add(l, static_cast<size_t>(pitch) * (static_cast<size_t>(level.height_px) + 1),
              &integral);

  IntegralStrips& division = integral_strips[i];
  division.rows = level.height_px;
  if (threads > 1) {
    division.rows = std::clamp(kIntegralStripPixels / level.width_px,
                               std::min(kMinStripRows, level.height_px), level.height_px);
  }
  division.count = DivUp(level.height_px, division.rows);
  division.sums = RoundUp(level.width_px, 64);
  layout->Add(l, static_cast<size_t>(division.sums) * static_cast<size_t>(division.count - 1),
              &column_sums);
}

}  // namespace orbserve::cpu
