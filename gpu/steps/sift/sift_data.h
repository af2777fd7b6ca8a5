// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Data of SIFT on a device that its kernels exchange. Lists are filled in any order, and sorted
// before their order counts. They lie in the memory of a frame's lists (FrameParams::survivors),
// and their capacity is that of level 0 there; a list that finds no room is counted in full.

#ifndef ORBSERVE_GPU_STEPS_SIFT_SIFT_DATA_H_
#define ORBSERVE_GPU_STEPS_SIFT_SIFT_DATA_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/sift_order.h"
#include "features/algo/sift_scale_space.h"
#include "features/host_device.h"
#include "gpu/frame/frame_params.h"

namespace orbserve::gpu {

// Octaves of the largest image, 8192 x 8192 pixels doubled.
inline constexpr int kSiftMaxOctaves = algo::SiftOctaves(16384, 16384, -1);

inline constexpr int kSiftMaxImages = algo::kSiftMaxLayers + algo::kSiftExtraImages;

// The Gaussian images of one octave: [image][height_px][pitch] floats.
struct SiftOctaveShape {
  int32_t width_px;
  int32_t height_px;
  int32_t pitch;   // floats
  int64_t offset;  // of image 0 in a frame's images, floats
  int64_t plane;   // floats of an image
};

struct SiftScaleSpace {
  float* memory;   // [frame][stride]
  int64_t stride;  // floats
  int32_t octaves;
  int32_t images;  // of an octave
  SiftOctaveShape octave[kSiftMaxOctaves];

#if defined(__CUDACC__)
  __device__ float* Image(int frame_index, int o, int image) const {
    return memory + frame_index * stride + octave[o].offset + image * octave[o].plane;
  }
#endif
};

// An extremum after the fit.
struct SiftPoint {
  int16_t x;  // pixels of its octave
  int16_t y;
  int16_t layer;
  int16_t octave;
  float offset_x;
  float offset_y;
  float offset_layer;
  float response;
};

// An extremum before the fit.
struct SiftCandidate {
  int16_t x;
  int16_t y;
  int16_t layer;
  int16_t octave;
};

// A feature on its way through the order. `capacity` of lists is even, so these are aligned.
struct SiftRank {
  float response;  // while features are sorted: x
  int32_t index;   // in the list of features
};

// Where counts of a frame are in its FrameCounters. Lists longer than their capacity are
// incomplete, and so is the answer.
#if defined(__CUDACC__)
struct SiftCounts {
  int32_t& candidates;  // extrema before the fit; those without room are fitted at once
  int32_t& points;
  int32_t& features;  // with duplicates
  int32_t& found;     // without them
  int32_t& kept;      // of the answer
};
__device__ __forceinline__ SiftCounts SiftCountsOf(FrameCounters& counters) {
  return {counters.undecided_cells[0][0], counters.corners[0], counters.chosen[0],
          counters.survivors[0], counters.kept[0]};
}
#endif

// The lists of one frame.
struct SiftLists {
  SiftPoint* points;
  algo::SiftFeature* features;
  SiftRank* ranks;
  SiftCandidate* candidates;  // in the memory of the ranks, which come later
  int32_t* sorted;            // indices of the answer's features
  int32_t* left;              // of a division
  int32_t* right;
  SiftRank* sorted_ranks;  // in the memory of the division, which comes later
  int32_t capacity;        // of each
};

// Words of FrameParams::survivors that an entry takes in all lists together.
inline constexpr int kSiftListWords = 9;

ORBSERVE_HOST_DEVICE inline SiftLists SiftListsAt(uint64_t* memory, int32_t capacity) {
  SiftLists lists;
  lists.capacity = capacity;
  lists.points = reinterpret_cast<SiftPoint*>(memory);
  lists.features = reinterpret_cast<algo::SiftFeature*>(lists.points + capacity);
  lists.ranks = reinterpret_cast<SiftRank*>(lists.features + capacity);
  lists.candidates = reinterpret_cast<SiftCandidate*>(lists.ranks);
  lists.sorted = reinterpret_cast<int32_t*>(lists.ranks + capacity);
  lists.left = lists.sorted + capacity;
  lists.right = lists.left + capacity;
  lists.sorted_ranks = reinterpret_cast<SiftRank*>(lists.left);
  return lists;
}
static_assert(sizeof(SiftCandidate) <= sizeof(SiftRank));
static_assert(sizeof(SiftPoint) + sizeof(algo::SiftFeature) + sizeof(SiftRank) +
                  3 * sizeof(int32_t) <=
              kSiftListWords * sizeof(uint64_t));
ORBSERVE_HOST_DEVICE inline SiftLists SiftListsOf(const FrameParams& frame) {
  return SiftListsAt(frame.survivors, frame.survivor_room[0].count);
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_SIFT_DATA_H_
