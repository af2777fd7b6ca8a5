// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Where the data of a batch lies on the device: what host and kernels agree on. Plain data.
//
// A lane's arena holds, for a batch of up to F frames of one plan:
//
//   parameters   FrameParams [F]                         copied up with every batch
//   counters     FrameCounters [F]                       zeroed by the graph
//   input        slots of the batch, as leased           copied up with every batch
//   pyramid      [F] levels 1.., each pitch x height     levels of masks alike, when there are
//   masks corners      [F][level][capacity] position, score    what FAST and suppression leave
//   survivors    [F][level][capacity] RankKey            what the first cut leaves, with responses
//   ranked       [F][level][kMaxRanked] RankKey          what the second cut leaves, in order
//
// Lists are filled in any order (atomic counters hand out places) and are made one order by
// ranking under a total order, so that no answer depends on arrival.

#ifndef ORBSERVE_GPU_KERNELS_LAYOUT_H_
#define ORBSERVE_GPU_KERNELS_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "features/options.h"

namespace orbserve::gpu {

// Most survivors of a level that are ranked by comparing all with all; beyond it the batch's slow
// path sorts them. 2^28 comparisons take some 100 microseconds of an H200.
inline constexpr int kMaxRanked = 16384;

inline constexpr int kHistogramBins = 256;
// Copies of each histogram, filled by different warps: additions to one word come one at a time,
// and on dense images that took longer than finding the corners.
inline constexpr int kHistogramCopies = 4;

struct LevelLayout {
  int32_t width_px;
  int32_t height_px;
  int32_t pitch_bytes;      // level 0: set per batch, as slots are leased
  int32_t detect;           // 0: too small to hold a keypoint
  int64_t image_offset;     // in a frame's pyramid; unused at level 0
  int64_t corner_offset;    // in a frame's lists of corners and survivors, in entries
  int32_t corner_capacity;  // no two survivors of 3x3 suppression touch
  int32_t tile_begin;       // first FAST tile of this level in a frame's tile list
  int32_t tile_columns;     // FAST tiles side by side
  int32_t x_taps;           // first entry of the level's columns in the resize table
  int32_t y_taps;           // first entry of its rows
  float scale;              // to level-0 pixels
};

// One entry of the resize table: algo::ResizeTap, and the right-hand sample clamped to the row.
struct ResizeEntry {
  uint16_t first;
  uint16_t weight : 15;  // of the second sample, of 256
  uint16_t next : 1;     // first + next is the second sample: 1, or 0 at the end of the row
};
static_assert(sizeof(ResizeEntry) == 4);
// Columns and rows of a level begin at a multiple of this many entries and are filled up to one by
// repeating the last.
inline constexpr int kResizeEntryGroup = 4;

enum class FrameMode : int32_t { kIdle, kDetect, kDescribeGiven };

// One keypoint of one level.
struct GivenEntry {
  uint16_t x;
  uint16_t y;
  float angle_deg;
  int32_t level;
};

// What comes down for one feature beside its descriptor.
struct FeatureRecord {
  uint16_t x;  // pixels of its level
  uint16_t y;
  float angle_deg;
  float response;
  int32_t level;
};
static_assert(sizeof(FeatureRecord) == 16);

// What comes down for one frame.
struct FrameReport {
  int32_t kept[kMaxLevels];  // features per level before the capacity cut
  int32_t survivors[kMaxLevels];
  int32_t total;     // sum of `kept`
  int32_t written;   // records written; fewer than the answer holds when the slow path must go on
  int32_t unranked;  // levels with more than kMaxRanked survivors, one bit each; nothing was
                     // described then
  int32_t pad[5];
};
static_assert(sizeof(FrameReport) % 32 == 0);

// What may differ between the frames of a batch.
struct FrameParams {
  FrameMode mode;
  int32_t threshold_grey;
  int32_t first_cut[kMaxLevels];   // wanted by FAST score
  int32_t second_cut[kMaxLevels];  // wanted by response
  int64_t image_offset;            // of level 0's first pixel in the lane's input
  int64_t mask_offset;             // of its mask's; negative = none
  // Pinned host memory, or device memory in the slow path.
  FeatureRecord* records;
  uint8_t* descriptors;
  FrameReport* report;
  const GivenEntry* given;  // kDescribeGiven
  int32_t given_count;
  int32_t first_record;        // features before this one are passed over
  int32_t record_capacity;     // records that there is room for
  uint8_t* state_descriptors;  // device copy of the descriptors, or null
};

// Counters of one frame, zero at the start of a batch. Written by integer atomics only.
struct FrameCounters {
  int32_t corners[kMaxLevels];
  int32_t survivors[kMaxLevels];
  int32_t kept[kMaxLevels];
  // Corners by FAST score; the copies are to be added.
  alignas(16) uint32_t histogram[kMaxLevels][kHistogramCopies][kHistogramBins];
};

// Everything a kernel needs to find its data; passed by value. Strides are per frame.
struct BatchView {
  const FrameParams* params;
  FrameCounters* counters;
  const uint8_t* input;
  uint8_t* pyramid;
  uint8_t* mask_pyramid;      // null when no frame has a mask
  uint32_t* corner_position;  // y << 16 | x
  uint8_t* corner_score;
  uint64_t* survivors;
  uint64_t* ranked;  // [frame][level][kMaxRanked]
  const ResizeEntry* taps;
  int64_t pyramid_stride;
  int64_t corner_stride;
  int32_t frame_count;
  int32_t levels;
  int32_t border_px;
  int32_t tiles_per_frame;  // of FAST, over all levels
  int32_t tile_rows;        // that a FAST tile yields
  LevelLayout level[kMaxLevels];

#if defined(__CUDACC__)
  __device__ const uint8_t* Image(const FrameParams& frame, int frame_index, int l) const {
    return l == 0 ? input + frame.image_offset
                  : pyramid + frame_index * pyramid_stride + level[l].image_offset;
  }
  // Null when the frame has no mask.
  __device__ const uint8_t* Mask(const FrameParams& frame, int frame_index, int l) const {
    if (mask_pyramid == nullptr || frame.mask_offset < 0) return nullptr;
    return l == 0 ? input + frame.mask_offset
                  : mask_pyramid + frame_index * pyramid_stride + level[l].image_offset;
  }
#endif
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_KERNELS_LAYOUT_H_
