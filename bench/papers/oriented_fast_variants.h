// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The steps from a plain FAST detector with Harris responses to that of paper 1 (Q. Chang et al.,
// "Faster than Fast: accelerating oriented FAST feature detection on low-end embedded GPUs"), each
// as a kernel of its own, and detection as OpenCV's CUDA module does it. They are written after the
// descriptions of those programs, in our own words, to be measured; the product uses none of them.

#ifndef ORBSERVE_BENCH_PAPERS_ORIENTED_FAST_VARIANTS_H_
#define ORBSERVE_BENCH_PAPERS_ORIENTED_FAST_VARIANTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"

namespace orbserve::bench {

// A variant tells in one of these ways whether a pixel is a corner (sec. 5.1, table 2).
enum class FastVariant {
  kBaseline,      // a table of classes in constant memory, branches after each pair of the ring
  kBinary,        // all 16 differences as bits of one word, runs by shifts
  kShared,        // kBaseline from shared memory
  kSharedBinary,  // kBinary from shared memory
};

// A variant computes the response of a corner in one of these ways (sec. 5.2, table 2). The last
// three need shared memory.
enum class HarrisVariant {
  kNone,           // not at all
  kBaseline,       // a thread computes 49 gradients by the 3x3 operator
  kSeparable,      // a thread computes them by rows, then by columns
  kParaSeparable,  // a warp with a corner computes all columns, which it keeps in shared memory
  kSemiSeparable,  // the same, of which each lane keeps three rows in registers
};

inline constexpr int kMaxVariantLevels = 4;

struct VariantLevel {
  const uint8_t* image;  // rows begin at multiples of four bytes
  float* responses;      // of corners; other entries stay as they are
  int32_t width_px;
  int32_t height_px;
  int32_t pitch_bytes;
  int32_t response_pitch;  // entries
};

struct VariantParams {
  VariantLevel level[kMaxVariantLevels];
  int32_t levels;
  int32_t threshold_grey;
};

// Copies the tables that variants need. `pitches` of the levels as in `params`.
absl::Status PrepareVariants(const VariantParams& params);

// One launch for all levels. Writes the Harris response of each corner that has room for it, or 1.
absl::Status LaunchVariant(FastVariant fast, HarrisVariant harris, const VariantParams& params,
                           cudaStream_t stream);

// Lists of one level, as OpenCV's CUDA module has them.
struct StyleLists {
  uint32_t* found;    // y << 16 | x, of corners
  uint32_t* kept;     // of those that suppression keeps
  float* responses;   // of those
  float* angles_deg;  // of those
  int32_t* scores;    // [height][width]
  uint32_t* counts;   // found, kept
};

// The kernels of OpenCV's CUDA FAST and ORB for one level: corners with scores by a search for the
// largest threshold; 3x3 suppression; Harris responses by 32 threads a corner; and angles. Between
// them the host reads the counts, as it does there.
absl::Status LaunchStyleCorners(const VariantLevel& level, int threshold_grey,
                                const StyleLists& lists, uint32_t most, cudaStream_t stream);
absl::Status LaunchStyleSuppression(const VariantLevel& level, const StyleLists& lists,
                                    uint32_t found, cudaStream_t stream);
absl::Status LaunchStyleResponses(const VariantLevel& level, const StyleLists& lists, uint32_t kept,
                                  cudaStream_t stream);
absl::Status LaunchStyleAngles(const VariantLevel& level, const StyleLists& lists, uint32_t kept,
                               cudaStream_t stream);
// Appends the keypoints of a level to those of the levels before it: six rows of floats, `pitch`
// entries apart, from entry `first` on: x and y on level 0, response, angle, octave and size.
inline constexpr int kStyleRowsOfFloats = 6;
absl::Status LaunchStyleMerge(const StyleLists& lists, uint32_t kept, int octave, float* rows,
                              int64_t pitch, int64_t first, cudaStream_t stream);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PAPERS_ORIENTED_FAST_VARIANTS_H_
