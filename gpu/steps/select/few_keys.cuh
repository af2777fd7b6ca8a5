// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The first keypoints of a frame by BEST, chosen and put in order by one block of any number of
// threads: those that precede the others by response, level, y and x (features/algo/frame_order.h).
//
// A histogram of the upper bits tells up to which keys may be among the first ones. These are
// gathered in shared memory and sorted there. A key has 64 bits that order the keypoints of all
// levels, so that comparisons of keys are all that is needed.

#ifndef ORBSERVE_GPU_STEPS_SELECT_FEW_KEYS_CUH_
#define ORBSERVE_GPU_STEPS_SELECT_FEW_KEYS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/options.h"
#include "gpu/steps/describe/feature_records.cuh"
#include "gpu/steps/frame_params.h"
#include "gpu/steps/level_share.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {

// Keys of a frame that one block puts in order.
inline constexpr int kFewKeys = 1024;

// --- Keys ---

// A rank key with its level, ordered as keypoints of a frame are: response order, level, and place
// in a level that is as wide as level 0.
inline constexpr int kFrameKeyLevelShift = 28;
inline constexpr int kFrameKeyOrderShift = 32;
static_assert(kMaxLevels <= 1 << (kFrameKeyOrderShift - kFrameKeyLevelShift));
// Pixels of level 0 up to which places fit.
inline constexpr int64_t kMostFrameKeyPixels = int64_t{1} << kFrameKeyLevelShift;

__device__ __forceinline__ uint64_t FrameKey(uint64_t rank_key, int level, int width_px) {
  const auto place =
      static_cast<uint32_t>(algo::RankKeyY(rank_key) * width_px + algo::RankKeyX(rank_key));
  return rank_key >> kFrameKeyOrderShift << kFrameKeyOrderShift |
         static_cast<uint32_t>(level) << kFrameKeyLevelShift | place;
}
__device__ __forceinline__ int LevelOfFrameKey(uint64_t key) {
  return static_cast<int>(static_cast<uint32_t>(key) >> kFrameKeyLevelShift);
}
__device__ __forceinline__ uint64_t RankKeyOfFrameKey(uint64_t key, int width_px) {
  const uint32_t place = static_cast<uint32_t>(key) & ((1u << kFrameKeyLevelShift) - 1);
  const auto width = static_cast<uint32_t>(width_px);
  return key >> kFrameKeyOrderShift << kFrameKeyOrderShift | place / width << 16 | place % width;
}

// --- Shared memory ---

template <int kThreads>
struct FewKeyMemory {
  static constexpr int kWarps = kThreads / kWarpLanes;
  static_assert(kWarps <= kWarpLanes, "one warp scans the sums of all warps");
  // Of a digit that a histogram counts. Small blocks have smaller ones, which they clear sooner.
  static constexpr int kDigitBits = kThreads >= 1024 ? 12 : 11;
  static constexpr int kBins = 1 << kDigitBits;
  static constexpr int kBinsPerThread = kBins / kThreads;
  static_assert(kBinsPerThread <= kWarpLanes, "one warp looks at the bins of a thread");
  // Groups of 32 sorted keys.
  static constexpr int kGroups = kFewKeys / kWarpLanes;
  static_assert(kGroups == kWarpLanes, "one warp scans the counts of all groups");

  union {
    uint32_t histogram[kBins];
    uint64_t sorted[kFewKeys];
  };
  uint32_t warp_sums[kWarps];
  int kept;  // keys of a list that stay
  // The bin in which the wanted number is reached. Its numbers are loaded together, 16 bytes at a
  // time; nothing that changes meanwhile lies beside them.
  alignas(16) int bin;
  int before_bin;  // keys of the bins before it
  int in_bin;
  int unused;
  // Keys of each level in a group: survivors << 16 | kept. Then those of the groups before it; the
  // last row has the sums.
  uint32_t of_level[kGroups + 1][kMaxLevels];
  int32_t survivors[kMaxLevels];  // keys of each level that were gathered
};
static_assert(kFewKeys < 1 << 16);

// --- Choice ---

__device__ __forceinline__ uint32_t SumUpToLane(uint32_t value) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

// Finds the bin in which the number of keys reaches `wanted`, 1 .. all keys of the histogram. The
// last of the warps' sums is the number of all keys.
template <int kThreads>
__device__ __forceinline__ void FindBin(int wanted, FewKeyMemory<kThreads>* memory) {
  constexpr int kWarps = FewKeyMemory<kThreads>::kWarps;
  constexpr int kBinsPerThread = FewKeyMemory<kThreads>::kBinsPerThread;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int first_bin = static_cast<int>(threadIdx.x) * kBinsPerThread;
  uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kBinsPerThread; ++i) {
    // Lanes begin at different bins, which spreads them over the banks.
    own += memory->histogram[first_bin + (i + lane) % kBinsPerThread];
  }
  uint32_t end = SumUpToLane(own);
  if (lane == kWarpLanes - 1) memory->warp_sums[warp] = end;
  __syncthreads();  // the sums of all warps are there
  if (warp == 0) {
    const uint32_t sums = SumUpToLane(lane < kWarps ? memory->warp_sums[lane] : 0);
    if (lane < kWarps) memory->warp_sums[lane] = sums;
  }
  __syncthreads();  // and summed up
  if (warp > 0) end += memory->warp_sums[warp - 1];
  const auto target = static_cast<uint32_t>(wanted);
  const uint32_t before = end - own;
  const unsigned reaches = __ballot_sync(kFullWarp, before < target && target <= end);
  if (reaches != 0) {  // one warp: the bin is among those of one of its lanes
    const int owner = __ffs(static_cast<int>(reaches)) - 1;
    const int bin = __shfl_sync(kFullWarp, first_bin, owner) + lane;
    const uint32_t in_bin = lane < kBinsPerThread ? memory->histogram[bin] : 0;
    const uint32_t up_to = __shfl_sync(kFullWarp, before, owner) + SumUpToLane(in_bin);
    const unsigned reached = __ballot_sync(kFullWarp, up_to >= target);
    if (lane == __ffs(static_cast<int>(reached)) - 1) {
      memory->bin = bin;
      memory->before_bin = static_cast<int>(up_to - in_bin);
      memory->in_bin = static_cast<int>(in_bin);
    }
  }
  __syncthreads();  // the bin is found
}

// Gathers the first `wanted` of a frame's keys, 1..kFewKeys, and perhaps more, in memory->sorted,
// in any order. `visit_keys(visit)` calls visit(is_key, frame_key) for all of them, by whole warps;
// there are no more keys than `most`. Returns the number of those gathered, at most kFewKeys.
template <int kThreads, typename VisitKeys>
__device__ __forceinline__ int GatherFew(const VisitKeys& visit_keys, int most, int wanted,
                                         FewKeyMemory<kThreads>* memory) {
  constexpr int kDigitBits = FewKeyMemory<kThreads>::kDigitBits;
  constexpr int kKeyBits = 64;
  // Up to so many keys a sort of all is as fast as a choice.
  constexpr int kMostUncut = Min(kFewKeys, 4 * kThreads);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  uint64_t last = kLastKey;  // upper bits up to which keys stay
  int shift = 0;
  if (most > kMostUncut) {
    shift = kKeyBits;
    last = 0;
    int rest = wanted;  // of the keys that begin with `last`
    bool fits = false;
    while (!fits && shift > 0) {
      const int digit_bits = Min(kDigitBits, shift);
      const int decided = shift;  // bits below those that `last` has
      shift -= digit_bits;
      for (int i = thread; i < FewKeyMemory<kThreads>::kBins; i += kThreads) {
        memory->histogram[i] = 0;
      }
      __syncthreads();  // the histogram is empty
      const uint64_t mask = (uint64_t{1} << digit_bits) - 1;
      visit_keys([&](bool is_key, uint64_t key) {
        if (is_key && (decided == kKeyBits || key >> decided == last)) {
          atomicAdd(&memory->histogram[key >> shift & mask], 1u);
        }
      });
      __syncthreads();  // the histogram is complete
      FindBin(rest, memory);
      const uint32_t all = memory->warp_sums[FewKeyMemory<kThreads>::kWarps - 1];
      if (decided == kKeyBits && all <= static_cast<uint32_t>(wanted)) {
        // All keys are wanted.
        last = kLastKey;
        shift = 0;
        break;
      }
      rest -= memory->before_bin;
      last = last << digit_bits | static_cast<uint64_t>(memory->bin);
      fits = wanted - rest + memory->in_bin <= kFewKeys;
    }
  }
  if (thread == 0) memory->kept = 0;
  __syncthreads();  // no key is counted yet, and the histogram is read
  visit_keys([&](bool is_key, uint64_t key) {
    const bool stays = is_key && key >> shift <= last;
    const unsigned staying = __ballot_sync(kFullWarp, stays);
    if (staying == 0) return;
    int place = 0;
    if (lane == 0) place = atomicAdd(&memory->kept, __popc(staying));
    place = __shfl_sync(kFullWarp, place, 0);
    if (stays) memory->sorted[place + __popc(staying & ((1u << lane) - 1))] = key;
  });
  __syncthreads();  // the keys are there
  return memory->kept;
}

// --- Order ---

// Sorts the `count` keys of memory->sorted, at most kFewKeys. Bitonic: pairs `distance` apart,
// ascending where bit `width` of their place is 0. 32 pairs that are at most 32 apart lie in 64
// keys, which one warp has to itself.
template <int kThreads>
__device__ __forceinline__ void SortFew(int count, FewKeyMemory<kThreads>* memory) {
  constexpr int kOfWarp = 2 * kWarpLanes;
  const int thread = static_cast<int>(threadIdx.x);
  uint64_t* const keys = memory->sorted;
  int size = kOfWarp;
  while (size < count) size *= 2;
  for (int i = count + thread; i < size; i += kThreads) keys[i] = kLastKey;
  __syncthreads();  // the keys are filled up to a power of two
#pragma unroll 1
  for (int width = 2; width <= size; width *= 2) {
#pragma unroll 1
    for (int distance = width / 2; distance > 0; distance /= 2) {
      for (int pair = thread; pair < size / 2; pair += kThreads) {
        const int i = 2 * pair - (pair & (distance - 1));
        const uint64_t first = keys[i];
        const uint64_t second = keys[i + distance];
        if ((second < first) == ((i & width) == 0)) {
          keys[i] = second;
          keys[i + distance] = first;
        }
      }
      const int next = distance > 1 ? distance / 2 : width;
      if (distance >= kOfWarp || next >= kOfWarp) {
        __syncthreads();  // all pairs of this round are in order
      } else {
        __syncwarp();  // those of this warp are
      }
    }
  }
}

// Calls write(key, level, place, first) for the first `limit` of the `count` keys that SortFew()
// has sorted: `place` counts the keys of the level that precede, `first` those of lower levels.
// Lane l returns those of level l in the order of the answer. memory->survivors is there for warp
// 0.
template <int kThreads, typename Write>
__device__ __forceinline__ LevelShare PlaceFew(int levels, int count, int limit,
                                               FewKeyMemory<kThreads>* memory, const Write& write) {
  constexpr int kWarps = FewKeyMemory<kThreads>::kWarps;
  constexpr int kGroups = FewKeyMemory<kThreads>::kGroups;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const auto level_at = [&](int i) { return i < count ? LevelOfFrameKey(memory->sorted[i]) : -1; };
  for (int group = warp; group < kGroups; group += kWarps) {
    const int i = group * kWarpLanes + lane;
    const int level = level_at(i);
    uint32_t counts = 0;
    for (int l = 0; l < levels && group * kWarpLanes < count; ++l) {
      const unsigned of_level = __ballot_sync(kFullWarp, level == l);
      const unsigned kept = __ballot_sync(kFullWarp, level == l && i < limit);
      if (lane == l) counts = static_cast<uint32_t>(__popc(of_level) << 16 | __popc(kept));
    }
    if (lane < levels) memory->of_level[group][lane] = counts;
  }
  __syncthreads();  // all groups are counted
  for (int l = warp; l < levels; l += kWarps) {
    const uint32_t own = memory->of_level[lane][l];
    const uint32_t end = SumUpToLane(own);
    memory->of_level[lane][l] = end - own;
    if (lane == kWarpLanes - 1) memory->of_level[kGroups][l] = end;
  }
  __syncthreads();  // and added up
  const uint32_t sums = lane < levels ? memory->of_level[kGroups][lane] : 0;
  const LevelShare kept = ShareOfLevel(static_cast<int>(sums & 0xffff));
  if (warp == 0 && lane < levels) memory->survivors[lane] = static_cast<int32_t>(sums >> 16);
  for (int group = warp; group * kWarpLanes < limit; group += kWarps) {
    const int i = group * kWarpLanes + lane;
    const int level = level_at(i);
    int place = 0;
    for (int l = 0; l < levels; ++l) {
      const unsigned of_level = __ballot_sync(kFullWarp, level == l);
      if (level == l) place = __popc(of_level & ((1u << lane) - 1));
    }
    const int first = __shfl_sync(kFullWarp, kept.begin, Max(level, 0));
    if (i < limit) {
      place += static_cast<int>(memory->of_level[group][level] & 0xffff);
      write(memory->sorted[i], level, place, first);
    }
  }
  return kept;
}

// Writes the records of the first of the `count` keys that SortFew() has sorted, and the report of
// the frame: the end of a pipeline without angles and descriptors.
template <int kThreads>
__device__ __forceinline__ void WriteFew(int levels, int width_px, const FrameParams& frame,
                                         const FrameCounters& counters, int count,
                                         FewKeyMemory<kThreads>* memory) {
  const int limit = Min(count, frame.second_cut[0]);
  const LevelShare kept = PlaceFew<kThreads>(
      levels, count, limit, memory, [&](uint64_t key, int level, int place, int first) {
        if (first + place >= frame.record_capacity) return;
        const uint64_t rank_key = RankKeyOfFrameKey(key, width_px);
        WriteRecord(frame, first + place,
                    {algo::RankKeyX(rank_key), algo::RankKeyY(rank_key), level, -1.0f,
                     algo::RankKeyResponse(rank_key)});
      });
  if (threadIdx.x < kWarpLanes) {
    const FrameList list = {kept.end - kept.begin, kept.begin, 0, kept.total, 0};
    WriteReport(levels, frame, counters, memory->survivors, list,
                Min(list.total, frame.record_capacity));
  }
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SELECT_FEW_KEYS_CUH_
