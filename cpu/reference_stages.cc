// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The reference: each stage as the plainest loop over features/algo/ that keeps its contract.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/stages.h"
#include "features/algo/corner.h"
#include "features/algo/fast.h"
#include "features/algo/gaussian.h"
#include "features/algo/nms.h"
#include "features/algo/orientation.h"
#include "features/algo/pyramid.h"
#include "features/algo/rbrief.h"

namespace orbserve::cpu {
namespace {

void ResizeRows(const ImageView& src, const MutableImageView& dst, const ResizeAxis& x_axis,
                const ResizeAxis& y_axis, int row_begin, int row_end, uint16_t* /*scratch*/) {
  for (int y = row_begin; y < row_end; ++y) {
    const int top_row = y_axis.first[y];
    const int bottom_row = std::min(top_row + 1, src.height_px - 1);
    const uint8_t* top = src.Row(top_row);
    const uint8_t* bottom = src.Row(bottom_row);
    uint8_t* out = dst.Row(y);
    for (int x = 0; x < dst.width_px; ++x) {
      const int left = x_axis.first[x];
      const int right = std::min(left + 1, src.width_px - 1);
      const uint32_t weight = x_axis.weight[x];
      out[x] = algo::ResizeColumn(algo::ResizeRow(top[left], top[right], weight),
                                  algo::ResizeRow(bottom[left], bottom[right], weight),
                                  y_axis.weight[y]);
    }
  }
}

// Three rows of scores are kept: the row just computed is the lower neighbour of the one that is
// suppressed next. Columns and rows one pixel outside the region take part; 0 where the ring does
// not fit into the image.
int FastCorners(const ImageView& image, const Region& region, int arc_length, int threshold_grey,
                uint8_t* scratch, Candidate* out) {
  const int width = region.x_end - region.x_begin;
  if (width <= 0 || region.y_end <= region.y_begin) return 0;
  const int pitch = width + 2;
  uint8_t* rows[3] = {scratch, scratch + pitch, scratch + 2 * pitch};
  const int x_first = std::max(region.x_begin - 1, algo::kFastRadiusPx);
  const int x_last = std::min(region.x_end + 1, image.width_px - algo::kFastRadiusPx);
  int count = 0;
  for (int y = region.y_begin - 1; y <= region.y_end; ++y) {
    uint8_t* below = rows[2];
    std::memset(below, 0, static_cast<size_t>(pitch));
    if (y >= algo::kFastRadiusPx && y < image.height_px - algo::kFastRadiusPx) {
      for (int x = x_first; x < x_last; ++x) {
        const uint8_t* centre = image.Row(y) + x;
        uint8_t ring[algo::kFastRingPixels];
        algo::LoadFastRing(centre, image.pitch_bytes, ring);
        below[x - (region.x_begin - 1)] =
            static_cast<uint8_t>(algo::FastResponse(ring, *centre, arc_length, threshold_grey));
      }
    }
    if (y > region.y_begin) {
      for (int x = 1; x <= width; ++x) {
        const int score = rows[1][x];
        if (score == 0) continue;
        uint8_t window[9];
        for (int i = 0; i < 3; ++i) std::memcpy(window + 3 * i, rows[i] + x - 1, 3);
        if (!algo::IsLocalMaximum3x3(window + 4, 3)) continue;
        out[count++] = {static_cast<int16_t>(region.x_begin + x - 1), static_cast<int16_t>(y - 1),
                        static_cast<int16_t>(score)};
      }
    }
    std::rotate(rows, rows + 1, rows + 3);
  }
  return count;
}

void HarrisResponses(const ImageView& image, const Candidate* points, int count, float* responses) {
  for (int i = 0; i < count; ++i) {
    responses[i] = algo::HarrisResponse(
        algo::SumGradients(image.Row(points[i].y) + points[i].x, image.pitch_bytes));
  }
}

void IntensityCentroidAngles(const ImageView& image, LevelPoint* points, int count) {
  for (int i = 0; i < count; ++i) {
    points[i].angle_deg = algo::CentroidAngleDegrees(
        algo::CentroidMoments(image.Row(points[i].y) + points[i].x, image.pitch_bytes));
  }
}

void Blur(const ImageView& src, const MutableImageView& dst, const Region& region, float* scratch) {
  constexpr int kRadius = algo::kGaussianRadiusPx;
  constexpr int kTaps = 2 * kRadius + 1;
  const int width = region.x_end - region.x_begin;
  for (int y = region.y_begin - kRadius; y < region.y_end + kRadius; ++y) {
    const uint8_t* in = src.Row(algo::Reflect101(y, src.height_px));
    float* out = scratch + static_cast<ptrdiff_t>(y - (region.y_begin - kRadius)) * width;
    for (int x = region.x_begin; x < region.x_end; ++x) {
      uint8_t pixel[kTaps];
      for (int i = 0; i < kTaps; ++i) {
        pixel[i] = in[algo::Reflect101(x + i - kRadius, src.width_px)];
      }
      out[x - region.x_begin] = algo::GaussianRow(pixel);
    }
  }
  for (int y = region.y_begin; y < region.y_end; ++y) {
    const float* in = scratch + static_cast<ptrdiff_t>(y - region.y_begin) * width;
    uint8_t* out = dst.Row(y);
    for (int x = 0; x < width; ++x) {
      float column[kTaps];
      for (int i = 0; i < kTaps; ++i) column[i] = in[i * static_cast<ptrdiff_t>(width) + x];
      out[region.x_begin + x] = algo::GaussianColumn(column);
    }
  }
}

void DescribeRBrief256(const ImageView& blurred, const LevelPoint* points, int count,
                       uint8_t* descriptors) {
  for (int i = 0; i < count; ++i) {
    algo::DescribeRBrief256(blurred.Row(points[i].y) + points[i].x, blurred.pitch_bytes,
                            points[i].angle_deg, algo::kRBriefPattern,
                            descriptors + static_cast<ptrdiff_t>(i) * algo::kRBriefBytes);
  }
}

}  // namespace

const Stages& ReferenceStages() {
  static constexpr Stages kStages = {
      "reference", ResizeRows,        FastCorners, HarrisResponses, IntensityCentroidAngles,
      Blur,        DescribeRBrief256,
  };
  return kStages;
}

}  // namespace orbserve::cpu
