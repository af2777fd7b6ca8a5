// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: ranked keypoints of each (frame, level). Out: per frame [total] records, in order, and a
// report, all in pinned host memory. Intensity centroid: features/algo/orientation.h. Middle of the
// arc: gpu/steps/describe/orientation.cuh.
//
// There may be tens of thousands of keypoints, so the bus and the number of loads count. A block
// takes 32 keypoints, four a warp, and writes their records in one piece of 512 bytes. The 31 rows
// of a disc are read in aligned pieces of 16 bytes, three a row, which are three loads for each
// lane of a warp; those of two keypoints are under way at a time. Each lane masks its bytes and
// sums them up four at a time.
//
// Keypoints without an angle need no images: a block is one warp then.

#include "gpu/steps/describe/orient.h"

#include "features/algo/orientation.h"
#include "features/host_device.h"
#include "features/pipeline/reach.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/describe/feature_records.cuh"
#include "gpu/steps/describe/orientation.cuh"
#include "gpu/steps/global_pointer.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarps = 8;  // of a block that makes angles
constexpr int kGroup = kWarpLanes;
constexpr int kPointsPerWarp = kGroup / kWarps;
constexpr int kPointsAtOnce = 2;
constexpr int kResident = 4;  // blocks of a multiprocessor at a time: 64 registers a thread
static_assert(kPointsPerWarp % kPointsAtOnce == 0);

constexpr int kRadius = algo::kCentroidRadiusPx;
constexpr int kRows = 2 * kRadius + 1;
constexpr int kPieceBytes = 16;
// Pieces that 31 bytes of a row lie in, wherever they begin.
constexpr int kPiecesPerRow = 3;
constexpr int kPiecesPerLane = (kRows * kPiecesPerRow + kWarpLanes - 1) / kWarpLanes;
static_assert(kRowAlignmentBytes % kPieceBytes == 0);

// Bytes [first, end) of a little-endian word that begins at byte `begin`; either may lie outside.
__device__ __forceinline__ uint32_t BytesBetween(int begin, int first, int end) {
  const int skip = Clamp(first - begin, 0, 4) * 8;
  const int keep = Clamp(end - begin, 0, 4) * 8;
  return __funnelshift_lc(0, 0xffffffffu, skip) & ~__funnelshift_lc(0, 0xffffffffu, keep);
}

// The pieces of a disc that a lane reads, the same for all keypoints.
struct LanePieces {
  int v[kPiecesPerLane];           // row
  int half_width[kPiecesPerLane];  // of the disc in this row
  int offset[kPiecesPerLane];      // from the row's first piece

  __device__ __forceinline__ LanePieces() {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
    for (int i = 0; i < kPiecesPerLane; ++i) {
      const int piece = lane + i * kWarpLanes;
      const int row = piece / kPiecesPerRow;
      offset[i] = piece % kPiecesPerRow * kPieceBytes;
      v[i] = Min(row, kRows - 1) - kRadius;
      // Rows past the last lie outside of every piece.
      half_width[i] = row < kRows ? algo::CentroidHalfWidth(v[i] < 0 ? -v[i] : v[i])
                                  : -kPiecesPerRow * kPieceBytes;
    }
  }
};

struct Disc {
  uint4 bytes[kPiecesPerLane];
  int x;        // of its centre
  int first_x;  // of the first pieces of its rows

  // `image`: aligned to kRowAlignmentBytes, as its rows are. The disc lies inside it.
  __device__ __forceinline__ void Load(const LanePieces& pieces, const uint8_t* __restrict__ image,
                                       int pitch, int centre_x, int centre_y) {
    x = centre_x;
    first_x = (x - kRadius) / kPieceBytes * kPieceBytes;
#pragma unroll
    for (int i = 0; i < kPiecesPerLane; ++i) {
      const int begin = first_x + pieces.offset[i];
      bytes[i] = make_uint4(0, 0, 0, 0);
      if (begin <= x + pieces.half_width[i] && begin + kPieceBytes > x - pieces.half_width[i]) {
        bytes[i] = *reinterpret_cast<const uint4*>(
            image + static_cast<int64_t>(centre_y + pieces.v[i]) * pitch + begin);
      }
    }
  }

  // Every lane returns the first moments.
  __device__ __forceinline__ algo::Moments Moments(const LanePieces& pieces) const {
    int moment_x = 0;
    int moment_y = 0;
#pragma unroll
    for (int i = 0; i < kPiecesPerLane; ++i) {
      const int centre = x - first_x - pieces.offset[i];  // its column in the piece
      const int first = centre - pieces.half_width[i];
      const int end = centre + pieces.half_width[i] + 1;
      const uint32_t words[] = {bytes[i].x, bytes[i].y, bytes[i].z, bytes[i].w};
      uint32_t weighted = 0;  // sum of column in the piece * grey
      uint32_t sum = 0;
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const uint32_t inside = words[w] & BytesBetween(4 * w, first, end);
        weighted = __dp4a(inside, 0x03020100u + 0x04040404u * w, weighted);
        sum = __dp4a(inside, 0x01010101u, sum);
      }
      moment_x += static_cast<int>(weighted) - centre * static_cast<int>(sum);
      moment_y += pieces.v[i] * static_cast<int>(sum);
    }
    return {WarpSum(moment_x), WarpSum(moment_y)};
  }
};

// Angles of the points that the warp's lanes first..first + 3 have; lanes 0..3 return them.
template <Orientation kOrientation>
__device__ __forceinline__ float AnglesOf(const OrientParams& params, const FrameParams& frame,
                                          int frame_index, const Point& point, int first) {
  const LanePieces pieces;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  algo::Moments moments = {0, 0};
  float angle_deg = -1.0f;
#pragma unroll 1
  for (int begin = 0; begin < kPointsPerWarp; begin += kPointsAtOnce) {
    Disc discs[kPointsAtOnce];
#pragma unroll
    for (int i = 0; i < kPointsAtOnce; ++i) {
      const int source = first + begin + i;
      const int x = __shfl_sync(kFullWarp, point.x, source);
      const int y = __shfl_sync(kFullWarp, point.y, source);
      const int l = __shfl_sync(kFullWarp, point.level, source);
      const uint8_t* const image = Global(params.images.Image(frame, frame_index, l));
      const int pitch = params.images.level[l].pitch_bytes;
      if constexpr (kOrientation == Orientation::kIntensityCentroid) {
        discs[i].Load(pieces, image, pitch, x, y);
      } else {
        const float angle = ArcMiddleAngle(image, pitch, x, y, params.arc_length);
        if (lane == begin + i) angle_deg = angle;
      }
    }
    if constexpr (kOrientation == Orientation::kIntensityCentroid) {
#pragma unroll
      for (int i = 0; i < kPointsAtOnce; ++i) {
        const algo::Moments of_point = discs[i].Moments(pieces);
        if (lane == begin + i) moments = of_point;
      }
    }
  }
  return kOrientation == Orientation::kIntensityCentroid ? algo::CentroidAngleDegrees(moments)
                                                         : angle_deg;
}

template <Orientation kOrientation>
constexpr int kWarpsFor = kOrientation == Orientation::kNone ? 1 : kWarps;

template <Orientation kOrientation>
__global__ __launch_bounds__(kWarpsFor<kOrientation>* kWarpLanes, kResident) void OrientKernel(
    const __grid_constant__ OrientParams params) {
  __shared__ float angles_deg[kGroup];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const FrameCounters& counters = params.frames.counters[frame_index];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const FrameList list = FindFeatures(params.levels, frame, counters);
  const uint64_t* const __restrict__ ranked = Global(frame.ranked);
  const int count = list.CountFor(frame);
  if (blockIdx.x == 0 && warp == 0) WriteReport(params.levels, frame, counters, list, count);

  for (int first = static_cast<int>(blockIdx.x) * kGroup; first < count;
       first += static_cast<int>(gridDim.x) * kGroup) {
    // Every warp knows all points of the group. Past the end the last one stands for the others.
    const int mine = first + lane;
    Point point =
        PointOfLane(params.levels, list, ranked, frame.first_record + Min(mine, count - 1));
    if constexpr (kOrientation != Orientation::kNone) {
      const float angle_deg =
          AnglesOf<kOrientation>(params, frame, frame_index, point, warp * kPointsPerWarp);
      if (lane < kPointsPerWarp) angles_deg[warp * kPointsPerWarp + lane] = angle_deg;
      __syncthreads();  // the angles of all warps are there
      point.angle_deg = angles_deg[lane];
      __syncthreads();  // all warps have read them
    }
    if (warp == 0 && mine < count) WriteRecord(frame, mine, point);
  }
}

template <Orientation kOrientation>
absl::Status LaunchFor(const OrientParams& params, cudaStream_t stream) {
  // A single frame gets a block for every 32 of 256 keypoints a multiprocessor; loops take the
  // rest. Frames of a large batch get at least half a block per multiprocessor.
  const int multiprocessors = params.multiprocessors;
  const int blocks = Max(8 * multiprocessors / params.frames.count, DivUp(multiprocessors, 2));
  const dim3 grid(blocks, params.frames.count);
  OrientKernel<kOrientation><<<grid, kWarpsFor<kOrientation> * kWarpLanes, 0, stream>>>(params);
  return CheckLaunch("OrientKernel");
}

}  // namespace

absl::Status LaunchOrient(const OrientParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  switch (params.orientation) {
    case Orientation::kIntensityCentroid:
      return LaunchFor<Orientation::kIntensityCentroid>(params, stream);
    case Orientation::kArcMiddle:
      return LaunchFor<Orientation::kArcMiddle>(params, stream);
    case Orientation::kNone:
      break;
  }
  return LaunchFor<Orientation::kNone>(params, stream);
}

absl::Status OrientStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (context.kind.few_keys && few_are_written_) return absl::OkStatus();
  return LaunchOrient({context.frames, images_.At(context), levels_,
                       context.tables->multiprocessors, orientation_, arc_length_},
                      stream);
}

}  // namespace orbserve::gpu
