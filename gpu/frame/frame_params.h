// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Plain data about one frame that host and kernels exchange: parameters go up with the batch,
// counters stay on the device, records and a report come down.

#ifndef ORBSERVE_GPU_FRAME_FRAME_PARAMS_H_
#define ORBSERVE_GPU_FRAME_FRAME_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "features/options.h"

namespace orbserve::gpu {

// Most survivors of a level that are ranked by comparing all with all. The slow path sorts longer
// lists. 2^28 comparisons take some 100 microseconds of an H200.
inline constexpr int kMaxRanked = 16384;

// Most keyed corners of a level that are ranked, or chosen from, on the fast path. Their steps sort
// runs of keys; memory is the bound.
inline constexpr int kMaxSorted = 32768;

// Lengths of the lists of undecided cells of a level (minimum distance), in turns: of the one
// which is read, of the one which is filled, and of the one which comes after it. The fourth is of
// the one that tiles fill.
inline constexpr int kCellCounts = 4;

inline constexpr int kHistogramBins = 256;
// Copies of each histogram, filled by different warps: atomics on one address serialise, and on
// dense images that took longer than finding the corners.
inline constexpr int kHistogramCopies = 4;

enum class FrameMode : int32_t { kIdle, kDetect, kDescribeGiven };

// A keypoint given by the caller, in pixels of its level, and for descriptors of level 0 in pixels
// of that, with the side of its patch.
struct GivenEntry {
  uint16_t x;
  uint16_t y;
  float angle_deg;
  int32_t level;
  float zero_x;
  float zero_y;
  float patch_px;
};

// Part of an answer that comes down for one feature, beside its descriptor.
struct FeatureRecord {
  uint16_t x;  // pixels of its level
  uint16_t y;
  float angle_deg;
  float response;
  int32_t level;
};
static_assert(sizeof(FeatureRecord) == 16);

// Summary that comes down for one frame.
struct FrameReport {
  int32_t kept[kMaxLevels];  // features per level before the capacity cut
  int32_t survivors[kMaxLevels];
  int32_t total;     // sum of `kept`
  int32_t written;   // records written; fewer than the answer holds when the slow path must go on
  int32_t unranked;  // levels whose lists found no room, one bit each; nothing was described then
  int32_t suppression_passes;  // of the minimum distance, the most of any level
  int32_t sift_points;         // of SIFT: extrema, and
  int32_t sift_features;       // features with duplicates
  int32_t pad[2];
};
static_assert(sizeof(FrameReport) % 32 == 0);

// Place of one level's list in the memory of a frame's lists, in entries.
struct ListRoom {
  int32_t begin;  // a multiple of kListAlignment
  int32_t count;  // entries that there is room for
};
inline constexpr int kListAlignment = 8;

// Everything that may differ between the frames of a batch.
struct FrameParams {
  FrameMode mode;
  int32_t threshold_grey;         // at which FAST corners are found
  int32_t strong_threshold_grey;  // with a second threshold: the first, higher one; else 0
  float quality_level;            // of corner maps
  int32_t answer_limit;           // the lesser of the wanted number and the capacity
  // Keyed corners that BEST keeps, the first of the frame at least: the answer and whether it is
  // truncated depend on no others.
  int32_t first_keys;
  int32_t first_cut[kMaxLevels];   // wanted by detection score
  int32_t second_cut[kMaxLevels];  // wanted by response
  int64_t image_offset;            // of level 0's first pixel in the batch's input
  int64_t mask_offset;             // of its mask's; negative = none
  // Lists of rank keys (features/algo/order.h), device memory. A list that finds no room is counted
  // in full and filled as far as it goes.
  uint64_t* survivors;  // keypoints that the first cut leaves, in any order
  uint64_t* ranked;     // keypoints that the second cut leaves, in order
  uint64_t* spare;      // of selections that sort: as many entries as FrameRoom::spare_entries
  ListRoom survivor_room[kMaxLevels];
  ListRoom ranked_room[kMaxLevels];
  // Pinned host memory.
  FeatureRecord* records;  // of SIFT: algo::SiftFeature
  uint8_t* descriptors;
  FrameReport* report;
  const GivenEntry* given;     // kDescribeGiven
  uint8_t* state_descriptors;  // device copy of the descriptors, or null
  uint8_t* state_pyramid;      // of a state for tracks, a TrackPyramid on the device; or null
  int32_t given_count;
  int32_t first_record;     // features before this one are passed over
  int32_t record_capacity;  // records that there is room for
  int32_t state_capacity;   // descriptors that state_descriptors has room for
};
static_assert(sizeof(FrameParams) % alignof(int64_t) == 0);

// Counters of one frame, zero at the start of a batch. Written by integer atomics, or by one thread
// of the block that has a frame or a level to itself.
struct FrameCounters {
  int32_t corners[kMaxLevels];
  int32_t survivors[kMaxLevels];
  int32_t kept[kMaxLevels];
  int32_t suppression_passes[kMaxLevels];  // of the minimum distance
  int32_t chosen[kMaxLevels];              // by the quadtree
  int32_t undecided_cells[kMaxLevels][kCellCounts];
  uint32_t top_order;  // OrderedBits() of the best response inside border and mask; 0 = none
  uint32_t pad[3];
  // Corners by detection score; the copies are to be added.
  alignas(16) uint32_t histogram[kMaxLevels][kHistogramCopies][kHistogramBins];
};

// Frames of a batch that a launch works on.
struct Frames {
  const FrameParams* params;  // [batch]
  FrameCounters* counters;    // [batch]
  int32_t first;              // place of the launch's first frame in the batch
  int32_t count;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_FRAME_FRAME_PARAMS_H_
