// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The small octaves of SIFT: all their images by one block. Their launches would each take longer
// to begin than to work. The image lies in shared memory with a halo of mirrored columns; its
// filtered rows lie beside it, with a halo of mirrored rows. One short loop serves all radii: code
// for each would be fetched for a single use.

#ifndef ORBSERVE_GPU_STEPS_SIFT_SMALL_OCTAVES_CUH_
#define ORBSERVE_GPU_STEPS_SIFT_SMALL_OCTAVES_CUH_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "features/host_device.h"
#include "gpu/steps/sift/sift_data.h"
#include "gpu/steps/sift/sift_geometry.h"

namespace orbserve::gpu {

inline constexpr int kSmallPixels = 2048;  // of the largest small octave
inline constexpr int kSmallRun = 4;        // pixels of a row or a column, that a thread filters
inline constexpr int kSmallHalo = RoundUp(kSiftTileRadius, kSmallRun);
inline constexpr size_t kSmallBytes = 24 * 1024;

// Floats of a row of the image, and of its filtered rows: rows begin in different banks.
ORBSERVE_HOST_DEVICE constexpr int SmallPitch(int width_px) {
  return (RoundUp(width_px, kSmallRun) + 2 * kSmallHalo) | 1;
}
ORBSERVE_HOST_DEVICE constexpr int SmallFilteredPitch(int width_px) {
  return RoundUp(width_px, kSmallRun) | 1;
}
ORBSERVE_HOST_DEVICE constexpr int SmallFilteredRows(int height_px) {
  return RoundUp(height_px, kSmallRun) + 2 * kSmallHalo;
}
inline constexpr size_t SmallBytes(int width_px, int height_px) {
  return sizeof(float) *
         (static_cast<size_t>(height_px) * SmallPitch(width_px) +
          static_cast<size_t>(SmallFilteredRows(height_px)) * SmallFilteredPitch(width_px));
}

struct TileTaps {
  int32_t radius;
  float taps[kSiftTileRadius + 1];
};

// What a kernel needs to make them.
struct SmallOctaves {
  int32_t first_octave;  // of the small ones; the number of octaves: there is none
  int32_t layers;
  size_t bytes;                   // of shared memory
  TileTaps blur[kSiftMaxImages];  // [i] leads to image i
};

// Divides by a number in [2, 65536]; dividends are in [0, 65536).
class Divider {
 public:
  __device__ __forceinline__ explicit Divider(int divisor)
      : divisor_(divisor), factor_(0xffffffffu / static_cast<unsigned>(divisor) + 1) {}
  __device__ __forceinline__ int Quotient(int dividend) const {
    return static_cast<int>(__umulhi(static_cast<unsigned>(dividend), factor_));
  }
  __device__ __forceinline__ int Remainder(int dividend, int quotient) const {
    return dividend - quotient * divisor_;
  }

 private:
  int divisor_;
  unsigned factor_;
};

// An image in shared memory. No side of an octave is less than 2 pixels.
struct SmallImage {
  int width_px;
  int height_px;
  int pitch;
  int filtered_pitch;
  float* pixels;    // the one at (0, 0)
  float* filtered;  // the same
  Divider by_width;
  Divider by_height;
};

template <int kThreads>
__device__ __forceinline__ void FilterSmallRows(const SmallImage& image, const TileTaps& blur) {
  const int radius = blur.radius;
  const int last_odd = image.width_px % 2 != 0 ? image.width_px - 1 : -1;
  const int tasks = image.height_px * DivUp(image.width_px, kSmallRun);
  for (int task = static_cast<int>(threadIdx.x); task < tasks; task += kThreads) {
    const int run = image.by_height.Quotient(task);
    const int row = image.by_height.Remainder(task, run);
    const int x0 = run * kSmallRun;
    const float* const from = image.pixels + row * image.pitch + x0;
    float sum[kSmallRun];
    if (radius > algo::kSiftSmallRadius) {
      float window[kSmallRun];
#pragma unroll
      for (int j = 0; j < kSmallRun; ++j) {
        window[j] = from[j - radius];
        sum[j] = window[j] * blur.taps[radius];
      }
#pragma unroll 4
      for (int i = -radius + 1; i <= radius; ++i) {
        const float tap = blur.taps[i < 0 ? -i : i];
#pragma unroll
        for (int j = 0; j + 1 < kSmallRun; ++j) window[j] = window[j + 1];
        window[kSmallRun - 1] = from[i + kSmallRun - 1];
#pragma unroll
        for (int j = 0; j < kSmallRun; ++j) sum[j] = FusedMultiplyAdd(window[j], tap, sum[j]);
      }
    } else {
#pragma unroll
      for (int j = 0; j < kSmallRun; ++j) {
        sum[j] = algo::SiftBlurRow(from + j, blur.taps, radius, x0 + j == last_odd);
      }
    }
#pragma unroll
    for (int j = 0; j < kSmallRun; ++j) {
      image.filtered[row * image.filtered_pitch + x0 + j] = sum[j];
    }
  }
}

// `store(x, y, value)` takes the pixels.
template <int kThreads, typename Store>
__device__ __forceinline__ void FilterSmallColumns(const SmallImage& image, const TileTaps& blur,
                                                   const Store& store) {
  const int tasks = image.width_px * DivUp(image.height_px, kSmallRun);
  const int pitch = image.filtered_pitch;
  for (int task = static_cast<int>(threadIdx.x); task < tasks; task += kThreads) {
    const int run = image.by_width.Quotient(task);
    const int x = image.by_width.Remainder(task, run);
    const int y0 = run * kSmallRun;
    const float* const from = image.filtered + y0 * pitch + x;
    float sum[kSmallRun];
#pragma unroll
    for (int j = 0; j < kSmallRun; ++j) {
      sum[j] = blur.radius > 0 ? from[j * pitch] * blur.taps[0] : from[j * pitch];
    }
#pragma unroll 4
    for (int i = 1; i <= blur.radius; ++i) {
      const float tap = blur.taps[i];
#pragma unroll
      for (int j = 0; j < kSmallRun; ++j) {
        sum[j] = FusedMultiplyAdd(from[(j + i) * pitch] + from[(j - i) * pitch], tap, sum[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < kSmallRun; ++j) {
      if (y0 + j < image.height_px) store(x, y0 + j, sum[j]);
    }
  }
}

// Blurs the image in shared memory.
template <int kThreads, typename Store>
__device__ __forceinline__ void BlurSmall(const SmallImage& image, const TileTaps& blur,
                                          const Store& store) {
  const int radius = blur.radius;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < 2 * radius * image.height_px; i += kThreads) {
    const int column = image.by_height.Quotient(i);
    const int x = column < radius ? column - radius : image.width_px + column - radius;
    float* const row = image.pixels + image.by_height.Remainder(i, column) * image.pitch;
    row[x] = row[algo::SiftMirror(x, image.width_px)];
  }
  __syncthreads();  // the halo is there
  FilterSmallRows<kThreads>(image, blur);
  __syncthreads();  // the filtered rows are there
  for (int i = thread; i < 2 * radius * image.width_px; i += kThreads) {
    const int row = image.by_width.Quotient(i);
    const int y = row < radius ? row - radius : image.height_px + row - radius;
    float* const column = image.filtered + image.by_width.Remainder(i, row);
    column[y * image.filtered_pitch] =
        column[algo::SiftMirror(y, image.height_px) * image.filtered_pitch];
  }
  __syncthreads();  // their halo is there
  FilterSmallColumns<kThreads>(image, blur, store);
}

// Makes the small octaves of a frame from image 0 of the first, by a block of kThreads. `memory`:
// SmallOctaves::bytes of shared memory.
template <int kThreads>
__device__ __forceinline__ void MakeSmallOctaves(const SmallOctaves& small,
                                                 const SiftScaleSpace& space, int frame,
                                                 float* memory) {
#pragma unroll 1
  for (int o = small.first_octave; o < space.octaves; ++o) {
    const SiftOctaveShape& shape = space.octave[o];
    const int pitch = SmallPitch(shape.width_px);
    const int filtered_pitch = SmallFilteredPitch(shape.width_px);
    const SmallImage image = {shape.width_px,
                              shape.height_px,
                              pitch,
                              filtered_pitch,
                              memory + kSmallHalo,
                              memory + shape.height_px * pitch + kSmallHalo * filtered_pitch,
                              Divider(shape.width_px),
                              Divider(shape.height_px)};
    // Written by a kernel before, or by this block.
    const float* const from = space.Image(frame, o, 0);
    for (int i = static_cast<int>(threadIdx.x); i < shape.width_px * shape.height_px;
         i += kThreads) {
      const int y = image.by_width.Quotient(i);
      const int x = image.by_width.Remainder(i, y);
      image.pixels[y * image.pitch + x] = from[y * shape.pitch + x];
    }
    __syncthreads();  // image 0 is there
#pragma unroll 1
    for (int i = 1; i < space.images; ++i) {
      float* const to = space.Image(frame, o, i);
      const bool halves = i == small.layers && o + 1 < space.octaves;
      const SiftOctaveShape& next = space.octave[halves ? o + 1 : o];
      float* const half = space.Image(frame, halves ? o + 1 : o, 0);
      BlurSmall<kThreads>(image, small.blur[i], [&](int x, int y, float value) {
        image.pixels[y * image.pitch + x] = value;
        to[y * shape.pitch + x] = value;
        if (halves && x % 2 == 0 && y % 2 == 0 && x / 2 < next.width_px && y / 2 < next.height_px) {
          half[y / 2 * next.pitch + x / 2] = value;
        }
      });
      __syncthreads();  // the image is there
    }
  }
}

// ---- On the host ----

// The first octave that one block makes with all that follow; the number of octaves if there is
// none.
inline int FirstSmallOctave(const SiftGeometry& geometry) {
  const SiftScaleSpace& space = geometry.space;
  for (int i = 1; i < space.images; ++i) {
    if (geometry.blurs[i].radius > kSiftTileRadius) return space.octaves;
  }
  int first = space.octaves;
  while (first > 0) {
    const SiftOctaveShape& shape = space.octave[first - 1];
    if (shape.width_px * shape.height_px > kSmallPixels ||
        SmallBytes(shape.width_px, shape.height_px) > kSmallBytes) {
      break;
    }
    --first;
  }
  return first;
}

inline SmallOctaves SmallOctavesOf(const SiftGeometry& geometry) {
  const SiftScaleSpace& space = geometry.space;
  SmallOctaves small = {FirstSmallOctave(geometry), geometry.options.octave_layers, 0, {}};
  if (small.first_octave == space.octaves) return small;
  const SiftOctaveShape& shape = space.octave[small.first_octave];
  small.bytes = SmallBytes(shape.width_px, shape.height_px);
  for (int i = 1; i < space.images; ++i) {
    small.blur[i].radius = geometry.blurs[i].radius;
    std::copy_n(geometry.blurs[i].taps, kSiftTileRadius + 1, small.blur[i].taps);
  }
  return small;
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_SMALL_OCTAVES_CUH_
