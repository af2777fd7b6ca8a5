// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: level 0 of each frame whose state keeps a pyramid. Out: all levels of that pyramid.
//
// Each level is made from the one before and rounded to 8 bits, so levels are a chain. One launch
// makes up to four of them: a block has a square of 64 x 64 pixels of the finest level in shared
// memory, makes its 32 x 32 pixels of the next one there, then 16 x 16, and so on. Sides that are
// even need no pixel of another block. Where a level is one pixel longer or shorter than twice the
// next one, its samples drift by up to a pixel against the square: such blocks make a rim of one
// pixel more, which grows to 15 pixels over four levels and is made by its neighbours, too. Only
// the block that a pixel belongs to writes it to the pyramid.

#include "gpu/steps/track_pyramid.h"

#include <algorithm>

#include "features/algo/pyramid.h"
#include "features/host_device.h"
#include "features/image_view.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/global_pointer.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxMade = 4;  // levels of a launch
constexpr int kSquarePx = 64;
constexpr int kGroupPx = 4;  // columns that a thread makes: one word
static_assert(kSquarePx >> kMaxMade == kGroupPx, "squares of every level begin at a word");

// Most pixels along a side that a block has of the launch's level number `made` (0 = the finest):
// its square, the rim on one side, and on the other the rim or what is left at the end of the
// level.
constexpr int MostPx(int made) { return (kSquarePx >> made) + 2 * ((1 << (kMaxMade - made)) - 1); }
// Words of such a row, which begins at a word.
constexpr int MostWords(int made) { return DivUp(MostPx(made) + kGroupPx - 1, kGroupPx); }

struct Launch {
  TrackPyramidParams params;
  int32_t first_level;  // the finest
  int32_t made;         // levels to make, 0..kMaxMade
  // Pixels of the rim, [level number], along x and y.
  int32_t rim_x[kMaxMade + 1];
  int32_t rim_y[kMaxMade + 1];
};

// Columns (or rows) of one level that a block has: it makes [begin, end), of which those of its
// square, [own_begin, own_end), belong to it.
struct Span {
  int own_begin;
  int own_end;
  int begin;
  int end;

  // First of the columns in shared memory.
  __device__ int word_begin() const { return begin & ~(kGroupPx - 1); }
  __device__ int words() const { return DivUp(end - word_begin(), kGroupPx); }
};

__device__ __forceinline__ Span SpanOf(int square, bool is_last, int square_px, int rim, int side) {
  Span span;
  span.own_begin = square * square_px;
  span.own_end = is_last ? side : Min(span.own_begin + square_px, side);
  span.begin = Max(span.own_begin - rim, 0);
  span.end = Min(span.own_end + rim, side);
  return span;
}

// A tap in shared memory: the first source sample counted from the begin of the source's span, the
// weight of the second one, and 1 or 0 from the first to the second.
struct SharedTap {
  uint16_t first;
  uint16_t weight : 15;
  uint16_t next : 1;
};

__device__ __forceinline__ SharedTap SharedTapOf(int source_side, int side, int index,
                                                 int source_begin) {
  // Twice the side is the common case, and devices with few units for f64 take long over others.
  const algo::ResizeTap tap = source_side == 2 * side ? algo::ResizeTap{2 * index, 128}
                                                      : algo::ResizeTapOf(source_side, side, index);
  SharedTap shared;
  shared.first = static_cast<uint16_t>(tap.first - source_begin);
  shared.weight = static_cast<uint16_t>(tap.weight);
  shared.next = tap.first + 1 < source_side ? 1 : 0;
  return shared;
}

__global__ __launch_bounds__(kThreads) void TrackPyramidKernel(
    const __grid_constant__ Launch launch) {
  __shared__ uint32_t fine[MostPx(0) * MostWords(0)];
  __shared__ uint32_t coarse[MostPx(1) * MostWords(1)];
  __shared__ SharedTap x_taps[MostWords(1) * kGroupPx];
  __shared__ SharedTap y_taps[MostPx(1)];

  const TrackPyramid& pyramid = launch.params.pyramid;
  uint8_t* to = launch.params.alone;
  const uint8_t* input = nullptr;
  if (to == nullptr) {
    const FrameParams& frame =
        launch.params.frames.params[launch.params.frames.first + static_cast<int>(blockIdx.z)];
    to = frame.state_pyramid;
    if (to == nullptr) return;
    input = launch.params.input + frame.image_offset;
  }
  to = Global(to);
  const int thread = static_cast<int>(threadIdx.x);
  const auto x_span = [&](int made) {
    return SpanOf(static_cast<int>(blockIdx.x), blockIdx.x + 1 == gridDim.x, kSquarePx >> made,
                  launch.rim_x[made], pyramid.level[launch.first_level + made].width_px);
  };
  const auto y_span = [&](int made) {
    return SpanOf(static_cast<int>(blockIdx.y), blockIdx.y + 1 == gridDim.y, kSquarePx >> made,
                  launch.rim_y[made], pyramid.level[launch.first_level + made].height_px);
  };

  // The finest level comes from the slot, whose rows are those of level 0, or from the pyramid.
  Span x_from = x_span(0);
  Span y_from = y_span(0);
  {
    const TrackPyramidLevel& level = pyramid.level[launch.first_level];
    const bool copies = launch.first_level == 0 && input != nullptr;
    const uint8_t* const source = copies ? Global(input) : to + level.offset;
    const int words = x_from.words();
    for (int i = thread; i < words * (y_from.end - y_from.begin); i += kThreads) {
      const int row = i / words;
      const int word = i - row * words;
      const int x = x_from.word_begin() + word * kGroupPx;
      const int y = y_from.begin + row;
      const int64_t place = static_cast<int64_t>(y) * level.pitch_bytes + x;
      const uint32_t pixels = *reinterpret_cast<const uint32_t*>(source + place);
      fine[row * MostWords(0) + word] = pixels;
      if (copies && x >= x_from.own_begin && x < x_from.own_end && y >= y_from.own_begin &&
          y < y_from.own_end) {
        *reinterpret_cast<uint32_t*>(to + level.offset + place) = pixels;
      }
    }
  }

  for (int made = 1; made <= launch.made; ++made) {
    const TrackPyramidLevel& source = pyramid.level[launch.first_level + made - 1];
    const TrackPyramidLevel& level = pyramid.level[launch.first_level + made];
    const Span x_to = x_span(made);
    const Span y_to = y_span(made);
    const int words = x_to.words();
    const int rows = y_to.end - y_to.begin;
    for (int i = thread; i < words * kGroupPx + rows; i += kThreads) {
      // Columns of words that the span cuts repeat its ends.
      if (i < words * kGroupPx) {
        const int x = Clamp(x_to.word_begin() + i, x_to.begin, x_to.end - 1);
        x_taps[i] = SharedTapOf(source.width_px, level.width_px, x, x_from.word_begin());
      } else {
        const int row = i - words * kGroupPx;
        y_taps[row] =
            SharedTapOf(source.height_px, level.height_px, y_to.begin + row, y_from.begin);
      }
    }
    __syncthreads();
    const bool from_fine = made % 2 == 1;
    const auto* const from = reinterpret_cast<const uint8_t*>(from_fine ? fine : coarse);
    uint32_t* const out = from_fine ? coarse : fine;
    const int from_pitch = (from_fine ? MostWords(0) : MostWords(1)) * kGroupPx;
    const int out_words = from_fine ? MostWords(1) : MostWords(0);
    for (int i = thread; i < words * rows; i += kThreads) {
      const int row = i / words;
      const int word = i - row * words;
      const SharedTap y_tap = y_taps[row];
      const uint8_t* const top = from + y_tap.first * from_pitch;
      const uint8_t* const bottom = top + y_tap.next * from_pitch;
      uint32_t pixels = 0;
#pragma unroll
      for (int column = 0; column < kGroupPx; ++column) {
        const SharedTap x_tap = x_taps[word * kGroupPx + column];
        const int left = x_tap.first;
        const int right = left + x_tap.next;
        const uint32_t pixel = algo::ResizeColumn(
            algo::ResizeRow(top[left], top[right], x_tap.weight),
            algo::ResizeRow(bottom[left], bottom[right], x_tap.weight), y_tap.weight);
        pixels |= pixel << (8 * column);
      }
      out[row * out_words + word] = pixels;
      const int x = x_to.word_begin() + word * kGroupPx;
      const int y = y_to.begin + row;
      if (x >= x_to.own_begin && x < x_to.own_end && y >= y_to.own_begin && y < y_to.own_end) {
        *reinterpret_cast<uint32_t*>(to + level.offset +
                                     static_cast<int64_t>(y) * level.pitch_bytes + x) = pixels;
      }
    }
    // The taps are written again, and the next level is read.
    __syncthreads();
    x_from = x_to;
    y_from = y_to;
  }
}

}  // namespace

TrackPyramid TrackPyramid::For(int width_px, int height_px, int levels) {
  TrackPyramid pyramid = {};
  int64_t end = 0;
  for (int l = 0; l < levels; ++l) {
    const float scale = algo::LevelScale(2.0f, l);
    TrackPyramidLevel& level = pyramid.level[l];
    level.width_px = algo::LevelSide(width_px, scale);
    level.height_px = algo::LevelSide(height_px, scale);
    if (level.width_px == 0 || level.height_px == 0) break;
    pyramid.levels = l + 1;
    level.pitch_bytes = RoundUp(level.width_px, kRowAlignmentBytes);
    level.offset = static_cast<int32_t>(end + kImagePaddingBytes);
    end = level.offset + static_cast<int64_t>(level.pitch_bytes) * level.height_px;
  }
  return pyramid;
}

size_t TrackPyramid::bytes() const {
  const TrackPyramidLevel& last = level[levels - 1];
  return static_cast<size_t>(last.offset) +
         static_cast<size_t>(last.pitch_bytes) * static_cast<size_t>(last.height_px) +
         kImagePaddingBytes;
}

absl::Status LaunchTrackPyramid(const TrackPyramidParams& params, cudaStream_t stream) {
  const bool is_alone = params.alone != nullptr;
  const int frames = is_alone ? 1 : params.frames.count;
  if (frames == 0) return absl::OkStatus();
  Launch launch = {};
  launch.params = params;
  const int levels = params.pyramid.levels;
  // The first launch of a batch copies level 0, even if no other level exists.
  for (int first = 0; first == 0 ? !is_alone || levels > 1 : first < levels - 1;
       first += kMaxMade) {
    const TrackPyramidLevel* const level = params.pyramid.level + first;
    launch.first_level = first;
    launch.made = std::min(levels - 1 - first, kMaxMade);
    launch.rim_x[launch.made] = launch.rim_y[launch.made] = 0;
    for (int made = launch.made - 1; made >= 0; --made) {
      const auto rim = [&](int coarser_rim, int side, int coarser_side) {
        return 2 * coarser_rim + (side == 2 * coarser_side ? 0 : 1);
      };
      launch.rim_x[made] =
          rim(launch.rim_x[made + 1], level[made].width_px, level[made + 1].width_px);
      launch.rim_y[made] =
          rim(launch.rim_y[made + 1], level[made].height_px, level[made + 1].height_px);
    }
    const int square_px = kSquarePx >> launch.made;  // of the coarsest level
    const dim3 grid(DivUp(level[launch.made].width_px, square_px),
                    DivUp(level[launch.made].height_px, square_px), frames);
    TrackPyramidKernel<<<grid, kThreads, 0, stream>>>(launch);
    ORBSERVE_RETURN_IF_ERROR(CheckLaunch("TrackPyramidKernel"));
  }
  return absl::OkStatus();
}

absl::Status TrackPyramidStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (!context.kind.pyramids) return absl::OkStatus();
  TrackPyramidParams params = {};
  params.pyramid = pyramid_;
  params.frames = context.frames;
  params.input = images_.At(context).input;
  return LaunchTrackPyramid(params, stream);
}

}  // namespace orbserve::gpu
