// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: [frame] features of the answer, Gaussian images. Out, in pinned host memory: [frame] records
// and [feature][128] bytes, and a report. D. Lowe, "Distinctive Image Features from Scale-Invariant
// Keypoints", IJCV 2004, sec. 6; the arithmetic is that of features/algo/sift_descriptor.h.
//
// Every bin must get its floats in the order of the samples. A sample adds to two neighbouring
// rows, columns and directions of bins, of which one is even and one is odd: eight lanes, one for
// each parity, share the bins of a feature, and each adds exactly once for every sample. So one
// warp adds for four features. Other warps of its block compute a chunk of samples of a feature
// each, and lay what they add into shared memory, while the first adds the chunk before, to bins
// that lie in a bank of their own. Batches have one such warp for a feature; a frame alone has two,
// which wait for each other more, and are done sooner. 24 or 37 KiB of shared memory.

#include "gpu/steps/sift/descriptors.h"

#include <cstdint>

#include "features/algo/sift_descriptor.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/sift/sift_exp_table.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kGroups = 4;  // features of a block
constexpr int kGroupLanes = kWarpLanes / kGroups;
static_assert(kGroupLanes == 8, "a lane for each parity of row, column and direction");
static_assert(algo::kSiftGroup == kGroupLanes);

// Bins of a lane: every other row and column of the 4 x 4 cells and the ring around them, and every
// other direction; the even ones are 0, 2, 4, 6 and 8, which is 0 again.
constexpr int kLaneRows = algo::kSiftRowCells / 2;
constexpr int kLaneDirections = algo::kSiftCellAngles / 2 + 1;
constexpr int kLaneBins = kLaneRows * kLaneRows * kLaneDirections;

// Rows of the largest patch: sigma 4, one layer, 1.5 layers up.
constexpr int kMaxRows = 241;

// Floats of the entries of a descriptor: all lanes of a group read from the same word.
constexpr int kEntryPitch = algo::kSiftDescriptorBytes + 4;

struct RowSpan {
  int16_t begin;
  int16_t end;
};

// A sample after the last complete group is added with one rounding less, when all others were.
struct TailSample {
  float in_direction;
  int32_t direction;
};

// Of a block with kGroupWarps warps that compute samples of a feature.
template <int kGroupWarps>
constexpr int kAddingWarp = kGroups* kGroupWarps;
template <int kGroupWarps>
constexpr int kThreads = (kAddingWarp<kGroupWarps> + 1) * kWarpLanes;
template <int kGroupWarps>
constexpr int kChunk = kGroupWarps* kWarpLanes;  // samples
template <int kGroupWarps>
constexpr int kBlocksPerMultiprocessor = kGroupWarps == 1 ? 6 : 4;

// A warp's samples of a chunk.
struct WarpSamples {
  float value[kGroupLanes * kWarpLanes];     // that a lane adds for a sample: ValueSlot()
  uint16_t place[kWarpLanes * kGroupLanes];  // [sample][lane]: the first lane's bin
};

// Where the value of a sample for a group's lane is. Lanes read four samples at once, each group's
// from all banks; the slot for another lane differs by an exclusive or, which is that of the lanes.
constexpr int kValueLane = kWarpLanes + 4;
static_assert(kWarpLanes == 4 * kGroupLanes);
__device__ __forceinline__ int ValueSlot(int lane, int sample) {
  return sample ^ (lane * kValueLane);
}

template <int kGroupWarps>
struct alignas(16) BlockMemory {
  union {
    // One chunk is filled while the other is read.
    alignas(16) WarpSamples samples[2][kGroups][kGroupWarps];
    alignas(16) float entry[kGroups][kEntryPitch];
  };
  float bin[kLaneBins][kWarpLanes];
  RowSpan span[kGroups][kMaxRows];
  TailSample tail[kGroups][algo::kSiftGroup];
  float tail_value[kGroups][kGroupLanes][algo::kSiftGroup];
  int32_t count[kGroups][kGroupWarps];  // samples of the rows that a warp found
};
static_assert(sizeof(BlockMemory<2>) < 47 * 1024);

// A feature's patch, and where a lane is in its samples, row by row.
struct Patch {
  algo::SiftPatch patch;
  const float* centre = nullptr;  // the pixel of the Gaussian image
  int pitch = 0;
  int v0 = 0;
  int rows = 0;
  int count = 0;  // samples
};
struct Walk {
  int row = 0;     // from the patch's first one
  int column = 0;  // from the row's span

  __device__ __forceinline__ void Settle(const RowSpan* span, int rows) {
    while (row < rows) {
      const int length = span[row].end - span[row].begin;
      if (column < length) return;
      column -= length;
      ++row;
    }
  }
};

// The place of a sample, and its four neighbours.
struct Sample {
  int u = 0;
  int v = 0;
  float right = 0.0f;
  float left = 0.0f;
  float above = 0.0f;
  float below = 0.0f;
};

__device__ __forceinline__ Sample LoadSample(const Patch& patch, const RowSpan* span, bool counts,
                                             int chunk, Walk* walk) {
  Sample sample;
  walk->Settle(span, patch.rows);
  if (counts) {
    sample.u = span[walk->row].begin + walk->column;
    sample.v = patch.v0 + walk->row;
    const float* const at = patch.centre + static_cast<int64_t>(sample.v) * patch.pitch + sample.u;
    sample.right = __ldg(at + 1);
    sample.left = __ldg(at - 1);
    sample.above = __ldg(at - patch.pitch);
    sample.below = __ldg(at + patch.pitch);
  }
  walk->column += chunk;
  return sample;
}

// Index of row or column `cell`, -1 to 4, among those of its parity.
__device__ __forceinline__ int AmongParity(int cell) { return (cell + 1) >> 1; }

// Lays one sample into shared memory. A sample that does not count adds nothing; it is at the
// patch's centre.
template <int kGroupWarps>
__device__ __forceinline__ void StoreSample(const Patch& patch, const Sample& sample, int index,
                                            const SiftExpTable& table, int group, int lane,
                                            WarpSamples* samples,
                                            BlockMemory<kGroupWarps>* memory) {
  const float dx = sample.right - sample.left;
  const float dy = sample.above - sample.below;
  const algo::SiftPlace place = algo::SiftPlaceOf(patch.patch, sample.u, sample.v);
  const algo::SiftSpread spread = algo::SiftSpreadOf(
      patch.patch, place, algo::SiftAngleDegrees(dy, dx, patch.count >= algo::kSiftLongAngles),
      algo::SiftMagnitude(dx, dy), table);
  const float o = spread.in_direction;
  // From the ring around the cells on.
  const int row = FloorToInt(place.row) + 1;
  const int column = FloorToInt(place.column) + 1;
  const int direction = spread.direction;

  // The lane whose parities are those of the upper left cell and the sample's direction; a bit of
  // the lane is turned for the lower, right or next one.
  const int own = (~row & 1) | (~column & 1) << 1 | (direction & 1) << 2;
  const int grouped = algo::SiftGrouped(patch.count);
  const algo::SiftShares shares = algo::SiftSharesOf(place, index < grouped ? spread.weight : 0.0f);
  const float share[4] = {shares.upper_left, shares.lower_left, shares.upper_right,
                          shares.lower_right};
  float* const values = samples->value;
  const int slot = ValueSlot(own, lane);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float second = share[i] * o;
    values[slot ^ (i * kValueLane)] = share[i] - second;
    values[slot ^ ((i ^ 4) * kValueLane)] = second;
  }
  if (index >= grouped && index < patch.count) {
    const int place_in_tail = index % algo::kSiftGroup;
    const algo::SiftShares late = algo::SiftSharesOf(place, spread.weight);
    const float late_share[4] = {late.upper_left, late.lower_left, late.upper_right,
                                 late.lower_right};
    memory->tail[group][place_in_tail] = {o, direction};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      memory->tail_value[group][own ^ i][place_in_tail] =
          FusedMultiplyAdd(-late_share[i], o, late_share[i]);
      memory->tail_value[group][own ^ i ^ 4][place_in_tail] = late_share[i];
    }
  }
  // Bins of the even and the odd one of both rows, in one word; of both columns and both directions
  // among those of their parity.
  constexpr int kBothRows = 1 << 16 | 1;
  constexpr int kRowBins = kLaneRows * kLaneDirections * kWarpLanes;
  constexpr int kColumnBins = kLaneDirections * kWarpLanes * kBothRows;
  constexpr int kDirectionBins = kWarpLanes * kBothRows;
  const int rows = (row >> 1) * kRowBins + ((row + 1) >> 1) * (kRowBins << 16);
  const int even_column = rows + (column >> 1) * kColumnBins;
  const int odd_column = rows + ((column + 1) >> 1) * kColumnBins;
  const int even_direction = ((direction + 1) >> 1) * kDirectionBins;
  const int odd_direction = (direction >> 1) * kDirectionBins;
  reinterpret_cast<int4*>(samples->place)[lane] =
      make_int4(even_column + even_direction, odd_column + even_direction,
                even_column + odd_direction, odd_column + odd_direction);
}

// Adds 32 samples of the lane's feature to its bins, in order.
template <int kGroupWarps>
__device__ __forceinline__ void AddSamples(const WarpSamples& samples, int lane,
                                           BlockMemory<kGroupWarps>* memory) {
  const int own = lane % kGroupLanes;
  const float4* const fours = reinterpret_cast<const float4*>(samples.value);
  const uint16_t* const place = &samples.place[own];
  float* const bins = &memory->bin[0][lane];
  constexpr int kAtOnce = 8;
  constexpr int kReadAtOnce = 2;
#pragma unroll 1
  for (int begin = 0; begin < kWarpLanes; begin += kAtOnce) {
    float values[kAtOnce];
    int places[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; i += 4) {
      const float4 four = fours[ValueSlot(own, begin + i) / 4];
      values[i] = four.x;
      values[i + 1] = four.y;
      values[i + 2] = four.z;
      values[i + 3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) places[i] = place[(begin + i) * kGroupLanes];
      // Bins are read a few at a time; one that was among those before comes from a register.
#pragma unroll
    for (int first = 0; first < kAtOnce; first += kReadAtOnce) {
      float sums[kReadAtOnce];
#pragma unroll
      for (int i = 0; i < kReadAtOnce; ++i) sums[i] = bins[places[first + i]];
#pragma unroll
      for (int i = 0; i < kReadAtOnce; ++i) {
#pragma unroll
        for (int j = 0; j < i; ++j) {
          if (places[first + i] == places[first + j]) sums[i] = sums[j];
        }
        sums[i] += values[first + i];
      }
#pragma unroll
      for (int i = 0; i < kReadAtOnce; ++i) bins[places[first + i]] = sums[i];
    }
  }
}

// Adds the samples after the last complete group of the lane's feature, which has `count`.
template <int kGroupWarps>
__device__ __forceinline__ void AddTail(BlockMemory<kGroupWarps>* memory, int lane, int count) {
  const int group = lane / kGroupLanes;
  const int own = lane % kGroupLanes;
  float* const bins = &memory->bin[0][lane];
  for (int index = algo::SiftGrouped(count); index < count; ++index) {
    const int i = index % algo::kSiftGroup;
    const float value = memory->tail_value[group][own][i];
    // The places of a feature's last chunk were not overwritten.
    const WarpSamples& samples =
        memory->samples[index / kChunk<kGroupWarps> % 2][group][index / kWarpLanes % kGroupWarps];
    float* const bin = bins + samples.place[index % kWarpLanes * kGroupLanes + own];
    const TailSample tail = memory->tail[group][i];
    const bool is_second = (tail.direction & 1) != own >> 2;
    *bin = is_second ? FusedMultiplyAdd(value, tail.in_direction, *bin) : *bin + value;
  }
}

// algo::FinishSiftDescriptor() of four features. Each lane returns sixteen bytes of its group's.
template <int kGroupWarps>
__device__ __forceinline__ uint4 FinishDescriptors(BlockMemory<kGroupWarps>* memory,
                                                   algo::SiftNorm norm, int lane) {
  // The whole warp collects the entries of one feature after the other.
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    const int cell = lane / 2;
    const int row = cell / algo::kSiftCells;
    const int column = cell % algo::kSiftCells;
    const int first = lane % 2 * 4;  // direction
    const int bin = (AmongParity(row) * kLaneRows + AmongParity(column)) * kLaneDirections;
    const int even = group * kGroupLanes + ((row & 1) | (column & 1) << 1);
    const int odd = even + 4;
    float4 four;
    four.x = memory->bin[bin + first / 2][even];
    if (first == 0) four.x += memory->bin[bin + kLaneDirections - 1][even];
    four.y = memory->bin[bin + first / 2][odd];
    four.z = memory->bin[bin + first / 2 + 1][even];
    four.w = memory->bin[bin + first / 2 + 1][odd];
    *reinterpret_cast<float4*>(&memory->entry[group][4 * lane]) = four;
  }
  __syncwarp();  // the entries are there
  const int group = lane / kGroupLanes;
  const int own = lane % kGroupLanes;
  const float* const entry = memory->entry[group];
  float partial = 0.0f;
#pragma unroll
  for (int i = 0; i < algo::kSiftDescriptorBytes; i += algo::kSiftGroup) {
    const float value = entry[i + own];
    partial = FusedMultiplyAdd(value, value, partial);
  }
  // ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)): sums of two are equal in either order.
#pragma unroll
  for (int distance = 1; distance < algo::kSiftGroup; distance *= 2) {
    partial += __shfl_xor_sync(kFullWarp, partial, distance);
  }
  const float most = SquareRoot(partial) * 0.2f;
  const float4* const fours = reinterpret_cast<const float4*>(entry);
  float rest = 0.0f;
#pragma unroll 8
  for (int i = 0; i < algo::kSiftDescriptorBytes / 4; ++i) {
    const float4 four = fours[i];
    const float values[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float cut = Min(values[j], most);
      rest = FusedMultiplyAdd(cut, cut, rest);
    }
  }
  const float factor = 512.0f / Max(SquareRoot(rest), 0x1p-23f);
  // The group's sum of entries, or of bytes, of which the roots of the shares are taken.
  const auto sum_of_group = [](auto value) {
#pragma unroll
    for (int distance = 1; distance < algo::kSiftGroup; distance *= 2) {
      value += __shfl_xor_sync(kFullWarp, value, distance);
    }
    return value;
  };
  float total = 0.0f;
  if (norm == algo::SiftNorm::kL1Root) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < algo::kSiftDescriptorBytes; i += algo::kSiftGroup) {
      sum += Min(entry[i + own], most);
    }
    total = Max(sum_of_group(sum), 0x1p-23f);
  }
  int bytes[16];
  int byte_sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const float cut = Min(entry[16 * own + i], most);
    bytes[i] = norm == algo::SiftNorm::kL1Root ? algo::RootSiftByte(cut, total)
                                               : Clamp(RoundToInt(cut * factor), 0, 255);
    byte_sum += bytes[i];
  }
  if (norm == algo::SiftNorm::kRoot) {
    total = static_cast<float>(Max(sum_of_group(byte_sum), 1));
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      bytes[i] = algo::RootSiftByte(static_cast<float>(bytes[i]), total);
    }
  }
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] =
        static_cast<uint32_t>(bytes[4 * i] | bytes[4 * i + 1] << 8 | bytes[4 * i + 2] << 16) |
        static_cast<uint32_t>(bytes[4 * i + 3]) << 24;
  }
  __syncwarp();  // the entries were read
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// One thread writes the report of a frame of which `written` records are written.
__device__ __forceinline__ void WriteSiftReport(const SiftCounts& counts, bool overflowed,
                                                int written, FrameReport* report) {
  for (int l = 0; l < kMaxLevels; ++l) {
    report->kept[l] = l == 0 ? counts.kept : 0;
    report->survivors[l] = l == 0 ? counts.found : 0;
  }
  report->total = counts.kept;
  report->written = written;
  report->unranked = overflowed ? 1 : 0;
  report->suppression_passes = 0;
  report->sift_points = counts.points;
  report->sift_features = counts.features;
}

// The patch of a feature, by one of its warps, which finds the spans of its share of the rows, and
// counts their samples.
__device__ __forceinline__ Patch PatchOf(const SiftDescriptorsParams& params, int frame_index,
                                         const algo::SiftFeature& feature, int thread, int threads,
                                         RowSpan* spans) {
  const int octave = feature.octave & 0xff;
  const int layer = feature.octave >> 8 & 0xff;
  const SiftOctaveShape& shape = params.space.octave[octave];
  const float scale = PowerOfTwo(-(octave + params.first_octave));
  Patch at;
  at.patch = algo::SiftPatchOf(feature.x * scale, feature.y * scale, feature.size * scale * 0.5f,
                               feature.angle_deg, shape.width_px, shape.height_px);
  const int radius = at.patch.radius;
  at.v0 = Max(-radius, 1 - at.patch.y);
  const int v1 = Min(radius, shape.height_px - 2 - at.patch.y);
  const int u0 = Max(-radius, 1 - at.patch.x);
  const int u1 = Min(radius, shape.width_px - 2 - at.patch.x);
  at.rows = Clamp(v1 - at.v0 + 1, 0, kMaxRows);
  at.pitch = shape.pitch;
  at.centre = params.space.Image(frame_index, octave, layer) +
              static_cast<int64_t>(at.patch.y) * shape.pitch + at.patch.x;
  int samples = 0;
  for (int row = thread; row < at.rows; row += threads) {
    const algo::SiftSpan span = algo::SiftSpanOf(at.patch, at.v0 + row, u0, u1);
    spans[row] = {static_cast<int16_t>(span.begin), static_cast<int16_t>(span.end)};
    samples += span.end - span.begin;
  }
  at.count = WarpSum(samples);
  return at;
}

template <int kGroupWarps>
__global__ __launch_bounds__(
    kThreads<kGroupWarps>,
    kBlocksPerMultiprocessor<kGroupWarps>) void SiftDescriptorsKernel(const __grid_constant__
                                                                          SiftDescriptorsParams
                                                                              params) {
  BeginNextKernel();
  AwaitKernelBefore();
  __shared__ SiftExpTable table;
  __shared__ BlockMemory<kGroupWarps> memory;
  constexpr int kChunkSamples = kChunk<kGroupWarps>;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode == FrameMode::kIdle) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  table.Fill();
  __syncthreads();  // the table is there
  const SiftLists lists = SiftListsOf(frame);
  const SiftCounts counts = SiftCountsOf(params.frames.counters[frame_index]);
  const bool overflowed = counts.points > lists.capacity || counts.features > lists.capacity;
  const int count =
      overflowed ? 0 : Clamp(counts.kept - frame.first_record, 0, frame.record_capacity);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    WriteSiftReport(counts, overflowed, count, frame.report);
  }
  const int32_t* const indices = lists.sorted + frame.first_record;
  const bool adds = warp == kAddingWarp<kGroupWarps>;
  const int group = adds ? lane / kGroupLanes : warp / kGroupWarps;
  const int part = warp % kGroupWarps;  // of the group's samples
  const int thread = part * kWarpLanes + lane;
  const int step = static_cast<int>(gridDim.x) * kGroups;
  for (int first = static_cast<int>(blockIdx.x) * kGroups; first < count; first += step) {
    const int i = first + group;  // the feature
    const bool present = i < count;
    if (adds && present && lane % kGroupLanes == 0) {
      reinterpret_cast<algo::SiftFeature*>(frame.records)[i] = lists.features[indices[i]];
    }
    if (!params.describes) continue;
    Patch patch;
    if (adds) {
#pragma unroll 5
      for (int bin = 0; bin < kLaneBins; ++bin) memory.bin[bin][lane] = 0.0f;
    } else {
      if (present) {
        patch = PatchOf(params, frame_index, lists.features[indices[i]], thread, kChunkSamples,
                        memory.span[group]);
      }
      if (lane == 0) memory.count[group][part] = patch.count;
    }
    __syncthreads();  // bins are zero, spans and counts are there, all descriptors are finished
    const auto count_of = [&](int g) {
      int samples = 0;
#pragma unroll
      for (int part_of = 0; part_of < kGroupWarps; ++part_of) samples += memory.count[g][part_of];
      return samples;
    };
    int longest = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) longest = Max(longest, count_of(g));
    patch.count = count_of(group);
    const int chunks = DivUp(longest, kChunkSamples);
    Walk walk;
    walk.column = thread;
    Sample next;
    if (!adds)
      next = LoadSample(patch, memory.span[group], thread < patch.count, kChunkSamples, &walk);
    for (int k = 0; k <= chunks; ++k) {
      const int begin = k * kChunkSamples;
      if (adds) {
#pragma unroll 1
        for (int i = 0; i < kGroupWarps; ++i) {
          const int before = begin - kChunkSamples + i * kWarpLanes;
          if (before >= 0 && before < patch.count) {
            AddSamples(memory.samples[(k - 1) % 2][group][i], lane, &memory);
          }
        }
      } else if (begin + part * kWarpLanes < patch.count) {
        // The next samples' pixels are on their way while these are worked on.
        const Sample sample = next;
        const int index = begin + thread;
        next = LoadSample(patch, memory.span[group], index + kChunkSamples < patch.count,
                          kChunkSamples, &walk);
        StoreSample(patch, sample, index, table, group, lane, &memory.samples[k % 2][group][part],
                    &memory);
      }
      __syncthreads();  // one chunk is filled, the other was read
    }
    if (!adds) continue;
    AddTail(&memory, lane, patch.count);
    __syncwarp();  // all bins are complete
    const uint4 bytes = FinishDescriptors(&memory, params.norm, lane);
    if (!present) continue;
    const int own = lane % kGroupLanes;
    const int64_t at = static_cast<int64_t>(i) * algo::kSiftDescriptorBytes;
    reinterpret_cast<uint4*>(frame.descriptors + at)[own] = bytes;
    if (i < frame.state_capacity) {
      reinterpret_cast<uint4*>(frame.state_descriptors + at)[own] = bytes;
    }
  }
}

template <int kGroupWarps>
absl::Status LaunchDescriptors(const SiftDescriptorsParams& params, cudaStream_t stream) {
  // Enough blocks to fill the device; loops take the rest.
  const int blocks = DivUp(2 * kBlocksPerMultiprocessor<kGroupWarps> * params.multiprocessors,
                           params.frames.count);
  return LaunchKernel(SiftDescriptorsKernel<kGroupWarps>, "SiftDescriptorsKernel",
                      dim3(blocks, params.frames.count), kThreads<kGroupWarps>, params.follows,
                      params, stream);
}

}  // namespace

absl::Status LaunchSiftDescriptors(const SiftDescriptorsParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  return params.frames.count == 1 ? LaunchDescriptors<2>(params, stream)
                                  : LaunchDescriptors<1>(params, stream);
}

absl::Status SiftDescriptorsStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchSiftDescriptors(
      {context.frames, context.tables->multiprocessors, buffers_.ScaleSpace(context),
       buffers_.geometry().options.first_octave, describes_, norm_, context.follows},
      stream);
}

}  // namespace orbserve::gpu
