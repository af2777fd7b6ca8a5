// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Device functions of steps that read response maps: which entries are candidates, and how corners
// leave.

#ifndef ORBSERVE_GPU_STEPS_DETECT_CORNER_SINK_CUH_
#define ORBSERVE_GPU_STEPS_DETECT_CORNER_SINK_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/algo/corner_map.h"
#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/detect/corner_sink.h"
#include "gpu/steps/level_images.h"

namespace orbserve::gpu {

// Entries of a response map above this are candidates. Maps of FAST hold candidates alone. Of
// corner maps, whose best response of the frame is complete by now, the quality level decides
// (algo::IsCandidate).
__device__ __forceinline__ uint32_t CandidateThreshold(bool is_corner_map, const FrameParams& frame,
                                                       const FrameCounters& counters) {
  constexpr uint32_t kNothing = 0xffffffffu;
  if (!is_corner_map) return 0;
  if (counters.top_order == 0) return kNothing;
  const float top = algo::ValueOfOrderedBits(counters.top_order);
  if (!(top > 0.0f)) return kNothing;
  return algo::OrderedBits(algo::QualityThreshold(frame.quality_level, top));
}

// Rank key of the pixel whose entry in a response map is `order`.
__device__ __forceinline__ uint64_t RankKeyOfOrder(uint32_t order, int x, int y) {
  return static_cast<uint64_t>(~order) << 32 | static_cast<uint64_t>(y) << 16 |
         static_cast<uint64_t>(x);
}

// Stores the corner with rank key `key` as number `place` of its level. Corners of FAST that are to
// be cut by score get their score from the ring, and the histogram counts them; `copy` is any
// number.
__device__ __forceinline__ void StoreCorner(const CornerSink& sink, const LevelImages& images,
                                            const FrameParams& frame, int frame_index, int level,
                                            FrameCounters& counters, int place, uint64_t key,
                                            int copy) {
  if (!sink.is_scored) {
    sink.keys.key[frame_index * sink.keys.stride + sink.keys.offset[level] + place] = key;
    return;
  }
  const int x = algo::RankKeyX(key);
  const int y = algo::RankKeyY(key);
  const int pitch = images.level[level].pitch_bytes;
  const uint8_t* const centre =
      images.Image(frame, frame_index, level) + static_cast<int64_t>(y) * pitch + x;
  uint8_t ring[algo::kFastRingPixels];
  algo::LoadFastRing(centre, pitch, ring);
  const int score = algo::FastScore(ring, *centre, sink.arc_length);
  const int64_t entry = frame_index * sink.corners.stride + sink.corners.offset[level] + place;
  sink.corners.position[entry] = static_cast<uint32_t>(y) << 16 | static_cast<uint32_t>(x);
  sink.corners.score[entry] = static_cast<uint8_t>(score);
  atomicAdd(&counters.histogram[level][copy % kHistogramCopies][score], 1u);
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DETECT_CORNER_SINK_CUH_
