// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: pyramids of two frames, points of the first. Out: where the points are in the second.
//
// A warp follows a point through all levels (algo::FollowPoint), and a block is one warp: few
// points spread over all multiprocessors, and no point waits for another. A lane has a piece of a
// row of the patch: 8 pixels of 16 x 16, or 2 of 8 x 8. Its samples and gradients of the template
// are in registers. The template's samples lie in shared memory until the gradients are made.
//
// An iteration costs loads only where the patch moved by a pixel: a lane keeps the 9 pixels of both
// rows that its samples are means of, once as they are and once moved by a pixel, so that each pair
// of neighbours is half a register and a sample takes two dot products of two numbers
// (__dp2a). Patches inside the image are read as words; those that hang over its edge pixel by
// pixel, with the places clamped.
//
// Sums are integers and every lane gets them, so lanes never differ in what they do next.

#include "gpu/tracking/track_kernel.h"

#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/global_pointer.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kBlocksOfMultiprocessor = 16;  // bounds the registers: 128 a thread
constexpr int kMaxPixels = 8;                // of a lane
constexpr int kMaxSamples = algo::TrackPatchSamples(algo::kFineTrackPatchPx);

// The sum over the warp of values whose sum has more than 32 bits, for every lane.
__device__ __forceinline__ int64_t WideWarpSum(int32_t value) {
  constexpr int kLowBits = 16;
  const int32_t low = WarpSum(value & ((1 << kLowBits) - 1));
  const int32_t high = WarpSum(value >> kLowBits);
  return static_cast<int64_t>(high) * (1 << kLowBits) + low;
}

// A lane's part of a patch: pixels (column..column + kPixels - 1, row) of kSide x kSide.
template <int kSide>
struct LanePart {
  static constexpr int kPixels = kSide * kSide / kWarpLanes;
  static constexpr int kOuterSide = kSide + 2;
  static_assert(kPixels <= kMaxPixels && kPixels % 2 == 0);

  int row;
  int column;

  __device__ __forceinline__ explicit LanePart(int lane)
      : row(lane / (kSide / kPixels)), column(lane % (kSide / kPixels) * kPixels) {}
};

// The loops of a warp. `kWithLight`: gain or offset may be followed; otherwise both are 0.
template <bool kWithLight>
class WarpLoops {
 public:
  // `job` and `samples` [kMaxSamples] in shared memory, the latter aligned to words.
  __device__ __forceinline__ WarpLoops(const TrackJobParams& job, const int16_t* given,
                                       int16_t* answered, int16_t* samples)
      : job_(job),
        given_(given),
        answered_(answered),
        samples_(samples),
        lane_(static_cast<int>(threadIdx.x)) {}

  __device__ __forceinline__ void TakeTemplate(int level, int side_px, int32_t x, int32_t y) {
    window_is_valid_ = false;
    __syncwarp();  // the samples of the level before were read
    if (side_px == algo::kFineTrackPatchPx) {
      Take<algo::kFineTrackPatchPx>(level, x, y);
    } else {
      Take<8>(level, x, y);
    }
  }

  __device__ __forceinline__ void PassTemplate(int level, int side_px) {
    if (answered_ == nullptr) return;
    uint32_t* const words = Words(answered_ + PatchOffset(level));
    for (int i = lane_; i < algo::TrackPatchSamples(side_px) / 2; i += kWarpLanes) words[i] = 0;
  }

  __device__ __forceinline__ int TemplateSum(int side_px) const {
    return WarpSum(side_px == algo::kFineTrackPatchPx ? OwnSum<algo::kFineTrackPatchPx>()
                                                      : OwnSum<8>());
  }

  __device__ __forceinline__ algo::TrackTemplateSums<int64_t> SumTemplate(int side_px, int mean) {
    mean_ = mean;
    algo::TrackTemplateSums<int32_t> own;
    if (side_px == algo::kFineTrackPatchPx) {
      MakeGradients<algo::kFineTrackPatchPx>(&own);
    } else {
      MakeGradients<8>(&own);
    }
    algo::TrackTemplateSums<int64_t> sums;
    sums.xx = WideWarpSum(own.xx);
    sums.xy = WideWarpSum(own.xy);
    sums.yy = WideWarpSum(own.yy);
    if constexpr (kWithLight) {
      sums.xc = WideWarpSum(own.xc);
      sums.yc = WideWarpSum(own.yc);
      sums.cc = WideWarpSum(own.cc);
      sums.xo = WarpSum(own.xo);
      sums.yo = WarpSum(own.yo);
      sums.co = WarpSum(own.co);
    }
    return sums;
  }

  __device__ __forceinline__ algo::TrackResidualSums SumResiduals(int level, int side_px,
                                                                  const algo::TrackSampler& sampler,
                                                                  int rounded_gain,
                                                                  int rounded_offset) {
    algo::TrackResidualSums own;
    const auto add = [&](int i, int r) { own.AddPixel(gx_[i], gy_[i], t_[i] - mean_, r); };
    if (side_px == algo::kFineTrackPatchPx) {
      ForResiduals<algo::kFineTrackPatchPx>(level, sampler, rounded_gain, rounded_offset, add);
    } else {
      ForResiduals<8>(level, sampler, rounded_gain, rounded_offset, add);
    }
    algo::TrackResidualSums sums;
    sums.x = WarpSum(own.x);
    sums.y = WarpSum(own.y);
    if constexpr (kWithLight) {
      sums.c = WarpSum(own.c);
      sums.o = WarpSum(own.o);
    }
    return sums;
  }

  __device__ __forceinline__ int SumAbsoluteResiduals(const algo::TrackSampler& sampler,
                                                      int rounded_gain, int rounded_offset) {
    int own = 0;
    ForResiduals<algo::kFineTrackPatchPx>(0, sampler, rounded_gain, rounded_offset,
                                          [&](int, int r) { own += r < 0 ? -r : r; });
    return WarpSum(own);
  }

 private:
  __device__ __forceinline__ static uint32_t* Words(int16_t* values) {
    return reinterpret_cast<uint32_t*>(values);
  }
  __device__ __forceinline__ static const uint32_t* Words(const int16_t* values) {
    return reinterpret_cast<const uint32_t*>(values);
  }
  __device__ __forceinline__ int PatchOffset(int level) const {
    return algo::TrackPatchOffset(level, job_.parameters.coarse_patch_px);
  }

  // Brings the samples of a template into shared memory, and to the host if it wants them.
  template <int kSide>
  __device__ __forceinline__ void Take(int level, int32_t x, int32_t y) {
    constexpr int kOuterSide = LanePart<kSide>::kOuterSide;
    constexpr int kSamples = algo::TrackPatchSamples(kSide);
    constexpr int kRounds = DivUp(kSamples, kWarpLanes);
    if (given_ != nullptr) {
      const uint32_t* const row = Words(given_ + PatchOffset(level));
      for (int i = lane_; i < kSamples / 2; i += kWarpLanes) Words(samples_)[i] = row[i];
    } else {
      const algo::TrackSampler sampler = algo::TrackSamplerAt(x, y);
      const uint8_t* const image = Global(job_.from) + job_.offset[level];
      const int right = job_.size[level].width_px - 1;
      const int bottom = job_.size[level].height_px - 1;
      const int pitch = job_.pitch_bytes[level];
      int sample[kRounds];
      // All loads are on their way before the first value is used.
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const int i = Min(lane_ + round * kWarpLanes, kSamples - 1);
        const int row = i / kOuterSide;
        const int y0 = sampler.y - kSide / 2 - 1 + row;
        const int x0 = sampler.x - kSide / 2 - 1 + (i - row * kOuterSide);
        const uint8_t* const upper = image + Clamp(y0, 0, bottom) * pitch;
        const uint8_t* const lower = image + Clamp(y0 + 1, 0, bottom) * pitch;
        const int left = Clamp(x0, 0, right);
        const int next = Clamp(x0 + 1, 0, right);
        sample[round] = sampler.Sample(upper[left], upper[next], lower[left], lower[next]);
      }
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const int i = lane_ + round * kWarpLanes;
        if (i < kSamples) samples_[i] = static_cast<int16_t>(sample[round]);
      }
    }
    __syncwarp();
    if (answered_ != nullptr) {
      uint32_t* const row = Words(answered_ + PatchOffset(level));
      for (int i = lane_; i < kSamples / 2; i += kWarpLanes) row[i] = Words(samples_)[i];
    }
  }

  // Values (column.., row) of the outer square, two more than the lane has pixels.
  template <int kSide>
  __device__ __forceinline__ void ReadRow(int row, int column,
                                          int (&values)[kMaxPixels + 2]) const {
    const uint32_t* const words = Words(static_cast<const int16_t*>(samples_)) +
                                  (row * LanePart<kSide>::kOuterSide + column) / 2;
#pragma unroll
    for (int i = 0; i < LanePart<kSide>::kPixels / 2 + 1; ++i) {
      const uint32_t word = words[i];
      values[2 * i] = static_cast<int16_t>(word & 0xffff);
      values[2 * i + 1] = static_cast<int16_t>(word >> 16);
    }
  }

  template <int kSide>
  __device__ __forceinline__ int OwnSum() const {
    const LanePart<kSide> part(lane_);
    int values[kMaxPixels + 2];
    ReadRow<kSide>(part.row + 1, part.column, values);
    int sum = 0;
#pragma unroll
    for (int i = 0; i < LanePart<kSide>::kPixels; ++i) sum += values[i + 1];
    return sum;
  }

  template <int kSide>
  __device__ __forceinline__ void MakeGradients(algo::TrackTemplateSums<int32_t>* sums) {
    const LanePart<kSide> part(lane_);
    int above[kMaxPixels + 2];
    int middle[kMaxPixels + 2];
    int below[kMaxPixels + 2];
    ReadRow<kSide>(part.row, part.column, above);
    ReadRow<kSide>(part.row + 1, part.column, middle);
    ReadRow<kSide>(part.row + 2, part.column, below);
#pragma unroll
    for (int i = 0; i < LanePart<kSide>::kPixels; ++i) {
      gx_[i] = algo::TrackGradient(above[i + 2] - above[i], middle[i + 2] - middle[i],
                                   below[i + 2] - below[i]);
      gy_[i] = algo::TrackGradient(below[i] - above[i], below[i + 1] - above[i + 1],
                                   below[i + 2] - above[i + 2]);
      t_[i] = middle[i + 1];
      sums->AddPixel(gx_[i], gy_[i], t_[i] - mean_);
    }
  }

  // Makes the window that of a patch of the new frame.
  template <int kSide>
  __device__ __forceinline__ void ReadWindow(int level, const algo::TrackSampler& sampler) {
    if (window_is_valid_ && sampler.x == window_x_ && sampler.y == window_y_) return;
    window_is_valid_ = true;
    window_x_ = sampler.x;
    window_y_ = sampler.y;
    const LanePart<kSide> part(lane_);
    const uint8_t* const image = Global(job_.to) + job_.offset[level];
    const int right = job_.size[level].width_px - 1;
    const int bottom = job_.size[level].height_px - 1;
    const int pitch = job_.pitch_bytes[level];
    const int x = sampler.x - kSide / 2 + part.column;
    const int y = sampler.y - kSide / 2 + part.row;
    const bool is_inside = sampler.x >= kSide / 2 && sampler.x + kSide / 2 <= right &&
                           sampler.y >= kSide / 2 && sampler.y + kSide / 2 <= bottom;
    if (is_inside) {
      ReadInside<kSide>(image + y * pitch, x, &upper_);
      ReadInside<kSide>(image + (y + 1) * pitch, x, &lower_);
    } else {
      ReadClamped<kSide>(image + Clamp(y, 0, bottom) * pitch, x, right, &upper_);
      ReadClamped<kSide>(image + Clamp(y + 1, 0, bottom) * pitch, x, right, &lower_);
    }
  }

  // Pixels of one row that a lane's samples are means of: one more than it has samples.
  struct WindowRow {
    uint32_t pixel[2];  // first eight
    uint32_t next[2];   // the same from the second one on
  };

  // `row` is aligned to words. No word is read that has none of the pixels.
  template <int kSide>
  __device__ __forceinline__ static void ReadInside(const uint8_t* row, int x, WindowRow* window) {
    const auto* const words = reinterpret_cast<const uint32_t*>(row + (x & ~3));
    const unsigned shift = static_cast<unsigned>(x & 3) * 8;
    if constexpr (LanePart<kSide>::kPixels == 8) {
      const uint32_t word[3] = {words[0], words[1], words[2]};
      window->pixel[0] = __funnelshift_r(word[0], word[1], shift);
      window->pixel[1] = __funnelshift_r(word[1], word[2], shift);
      window->next[0] = __funnelshift_r(window->pixel[0], window->pixel[1], 8);
      window->next[1] = __funnelshift_r(window->pixel[1], word[2] >> shift, 8);
    } else {
      static_assert(LanePart<kSide>::kPixels == 2);
      const uint32_t second = shift > 8 ? words[1] : 0;
      window->pixel[0] = __funnelshift_r(words[0], second, shift);
      window->next[0] = window->pixel[0] >> 8;
    }
  }

  template <int kSide>
  __device__ __forceinline__ static void ReadClamped(const uint8_t* row, int x, int right,
                                                     WindowRow* window) {
    constexpr int kPixels = LanePart<kSide>::kPixels;
    window->pixel[0] = window->pixel[1] = window->next[0] = window->next[1] = 0;
#pragma unroll
    for (int i = 0; i <= kPixels; ++i) {
      const uint32_t pixel = row[Clamp(x + i, 0, right)];
      if (i < kPixels) window->pixel[i / 4] |= pixel << (i % 4 * 8);
      if (i > 0) window->next[(i - 1) / 4] |= pixel << ((i - 1) % 4 * 8);
    }
  }

  // Calls use(i, residual) for the lane's pixels.
  template <int kSide, typename Use>
  __device__ __forceinline__ void ForResiduals(int level, const algo::TrackSampler& sampler,
                                               int rounded_gain, int rounded_offset, Use use) {
    ReadWindow<kSide>(level, sampler);
    const uint32_t upper_weights =
        static_cast<uint32_t>(sampler.w00) | static_cast<uint32_t>(sampler.w01) << 16;
    const uint32_t lower_weights =
        static_cast<uint32_t>(sampler.w10) | static_cast<uint32_t>(sampler.w11) << 16;
#pragma unroll
    for (int i = 0; i < LanePart<kSide>::kPixels; ++i) {
      const uint32_t upper = i % 2 == 0 ? upper_.pixel[i / 4] : upper_.next[i / 4];
      const uint32_t lower = i % 2 == 0 ? lower_.pixel[i / 4] : lower_.next[i / 4];
      // algo::TrackSampler::Sample
      uint32_t sum = 512;
      if (i % 4 < 2) {
        sum = __dp2a_lo(upper_weights, upper, sum);
        sum = __dp2a_lo(lower_weights, lower, sum);
      } else {
        sum = __dp2a_hi(upper_weights, upper, sum);
        sum = __dp2a_hi(lower_weights, lower, sum);
      }
      const int v = static_cast<int>(sum >> 10);
      use(i, kWithLight ? algo::TrackResidual(v, t_[i], t_[i] - mean_, rounded_gain, rounded_offset)
                        : algo::TrackResidual(v, t_[i], 0, 0, 0));
    }
  }

  const TrackJobParams& job_;
  const int16_t* const given_;
  int16_t* const answered_;
  int16_t* const samples_;
  const int lane_;
  int mean_ = 0;
  // Values of the lane's pixels of the template.
  int t_[kMaxPixels];
  int gx_[kMaxPixels];
  int gy_[kMaxPixels];
  // Window of the new frame, and its sampler's pixel.
  bool window_is_valid_ = false;
  int32_t window_x_;
  int32_t window_y_;
  WindowRow upper_;
  WindowRow lower_;
};

template <bool kWithLight>
__device__ __forceinline__ algo::TrackResult Follow(const TrackJobParams& job,
                                                    const TrackPointParams& point,
                                                    int16_t* samples) {
  WarpLoops<kWithLight> loops(job, point.given, point.answered, samples);
  algo::TrackParameters parameters = job.parameters;
  if constexpr (!kWithLight) parameters.with_gain = parameters.with_offset = false;
  return algo::FollowPoint(parameters, job.size, point.start, loops);
}

__global__ __launch_bounds__(kWarpLanes,
                             kBlocksOfMultiprocessor) void TrackKernel(const TrackParams params) {
  __shared__ TrackJobParams job;
  alignas(16) __shared__ int16_t samples[kMaxSamples];
  const int index = static_cast<int>(blockIdx.x);
  const TrackPointParams point = params.points[index];
  {
    const auto* const from = reinterpret_cast<const uint32_t*>(params.jobs + point.job);
    auto* const to = reinterpret_cast<uint32_t*>(&job);
    constexpr int kWords = static_cast<int>(sizeof(TrackJobParams) / sizeof(uint32_t));
    for (int i = static_cast<int>(threadIdx.x); i < kWords; i += kWarpLanes) to[i] = from[i];
  }
  __syncwarp();
  const bool with_light = job.parameters.with_gain || job.parameters.with_offset;
  const algo::TrackResult result =
      with_light ? Follow<true>(job, point, samples) : Follow<false>(job, point, samples);
  if (threadIdx.x == 0) {
    TrackRecord record = {};
    record.status = static_cast<int32_t>(result.status);
    record.x = result.x;
    record.y = result.y;
    record.gain = result.gain;
    record.offset = result.offset;
    record.residual = result.residual;
    params.records[index] = record;
  }
}

}  // namespace

TrackJobParams TrackJobParams::Of(const algo::TrackParameters& parameters,
                                  const TrackPyramid& pyramid, const uint8_t* from,
                                  const uint8_t* to) {
  TrackJobParams job = {};
  job.from = from;
  job.to = to;
  job.parameters = parameters;
  for (int l = 0; l < pyramid.levels; ++l) {
    job.size[l] = {pyramid.level[l].width_px, pyramid.level[l].height_px};
    job.offset[l] = pyramid.level[l].offset;
    job.pitch_bytes[l] = pyramid.level[l].pitch_bytes;
  }
  return job;
}

absl::Status LaunchTrack(const TrackParams& params, cudaStream_t stream) {
  if (params.count == 0) return absl::OkStatus();
  TrackKernel<<<params.count, kWarpLanes, 0, stream>>>(params);
  return CheckLaunch("TrackKernel");
}

}  // namespace orbserve::gpu
