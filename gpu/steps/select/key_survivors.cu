// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: keyed corners of the levels of each frame, or the winners of its cells. Out: the same lists
// without the keys that the selection surely does not want, and their numbers.
//
// One block takes a frame, because each phase needs the whole of the one before: winners of cells
// to lists, a histogram of the upper 12 bits of the response order, the bin in which the wanted
// number is reached, and the keys up to that bin. Bins are eighths of an octave, so that few keys
// are kept in vain; the exact cut is the ranking's. Where ties leave more than the lists of
// survivors have room for, the next bits decide, too. Lists are shortened in place: a key moves to
// a place that every thread has read.
//
// The block also ranks the keys where few are wanted. The sums of the histogram say where each
// bin begins in the order of all keys, so keys go straight to the places of their bin, and a key is
// compared with those of its own bin only, on photographs a small part. Keys of crowded bins, which
// tie or nearly do, are sorted instead. Latency is what counts, so threads keep up to 12 keys each
// in registers between the two times that they look at them, places are computed of the keys that
// stay only, and code that photographs do not need lies apart. 39 KiB of shared memory. Where
// keypoints get neither an angle nor a descriptor, the block also writes their records, which saves
// a launch.

#include "gpu/steps/select/key_survivors.h"

#include "features/algo/cell.h"
#include "features/algo/frame_order.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/describe/feature_records.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarpLanes;
static_assert(kWarps == kWarpLanes, "each warp scans the sums of all warps");
constexpr int kKeysInFlight = 8;  // of a thread: a block has 64 KiB under way
constexpr int kOrderBits = 32;
constexpr int kDigitBits = 12;
constexpr int kBins = 1 << kDigitBits;
constexpr int kBinsPerThread = kBins / kThreads;

constexpr int kKeysHeld = 12;  // of a thread that ranks few keys
constexpr int kRoundKeys = kKeysHeld * kThreads;
constexpr int kBinShift = 64 - kDigitBits;  // of keys: the first digit of their order
// Keys of a bin up to which each is compared with all others. About as long as sorting takes.
constexpr int kMaxOfBin = 256;
static_assert(algo::kNoCellKey == kLastKey, "one value says that there is no key");

struct BlockMemory {
  alignas(16) uint32_t histogram[kBins];  // then where bins begin
  uint64_t sorted[2][kFewKeys];           // of the few that are ranked
  int source[kFewKeys];                   // cells or levels of those in sorted[0]
  uint32_t warp_sums[kWarps];
  int counts[kMaxLevels];  // keys of each list
  int kept;                // keys of a list that stay
  // The bin in which the wanted number is reached. Its numbers are loaded together, 16 bytes at a
  // time; nothing that changes meanwhile lies beside them.
  alignas(16) int bin;
  int before_bin;  // keys of the bins before it
  int in_bin;
  int unused;
  // Few keys of each level in a warp's part of the sorted list: survivors << 16 | kept. Then those
  // of the warps before it; the last row has the sums.
  uint32_t of_level[kWarps + 1][kMaxLevels];
};
static_assert(kFewKeys == kThreads, "a thread has one of the few keys");
static_assert(kFewKeys < 1 << 16);

// Moves the winners of the cells to the lists of their levels.
__device__ void GatherWinners(const CellWinners& winners, int frame_index, const KeyLists& keys,
                              uint64_t* frame_keys, BlockMemory* memory) {
  const algo::CellGrid& grid = winners.cells.grid;
  const int cells = grid.count();
  const uint64_t* __restrict__ of_frame = winners.key + static_cast<int64_t>(frame_index) * cells;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int begin = 0; begin < cells; begin += kThreads) {
    const int cell = begin + static_cast<int>(threadIdx.x);
    const uint64_t key = cell < cells ? of_frame[cell] : algo::kNoCellKey;
    const int level = key == algo::kNoCellKey ? -1 : algo::CellKeyLevel(key);
    for (int l = 0; l < keys.levels; ++l) {
      const unsigned of_level = __ballot_sync(kFullWarp, level == l);
      if (of_level == 0) continue;
      int place = 0;
      if (lane == 0) place = atomicAdd(&memory->counts[l], __popc(of_level));
      place = __shfl_sync(kFullWarp, place, 0) + __popc(of_level & ((1u << lane) - 1));
      if (level == l) {
        frame_keys[keys.offset[l] + place] =
            algo::CellKeyRank(grid, key, cell, winners.cells.scale[l]);
      }
    }
  }
  __syncthreads();  // lists and counts are complete
}

// Finds the bin in which the number of keys reaches `wanted`, at least 1; the last one where there
// are fewer keys. Makes of the histogram where each bin begins in the order of all keys. Returns
// true in all threads if a bin up to that one is crowded.
__device__ __forceinline__ bool FindBin(int wanted, BlockMemory* memory) {
  static_assert(kBinsPerThread == 4);
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int lane = thread % kWarpLanes;
  auto* const bins = reinterpret_cast<uint4*>(memory->histogram) + thread;
  const uint4 number = *bins;
  const uint32_t own = number.x + number.y + number.z + number.w;
  const uint32_t end_in_warp = SumUpToLane(own, lane);
  if (lane == kWarpLanes - 1) memory->warp_sums[warp] = end_in_warp;
  __syncthreads();  // the sums of all warps are there
  const uint32_t of_warp = memory->warp_sums[lane];
  const uint32_t warp_end = SumUpToLane(of_warp, lane);
  const uint32_t total = __shfl_sync(kFullWarp, warp_end, kWarpLanes - 1);
  const uint32_t before = __shfl_sync(kFullWarp, warp_end - of_warp, warp) + end_in_warp - own;
  const uint32_t begin[kBinsPerThread] = {before, before + number.x, before + number.x + number.y,
                                          before + own - number.w};
  const uint32_t in_bin[kBinsPerThread] = {number.x, number.y, number.z, number.w};
  *bins = make_uint4(begin[0], begin[1], begin[2], begin[3]);
  const auto target = static_cast<uint32_t>(wanted);
  bool crowded = false;
#pragma unroll
  for (int i = 0; i < kBinsPerThread; ++i) {
    crowded = crowded || (begin[i] < target && in_bin[i] > kMaxOfBin);
    const int bin = thread * kBinsPerThread + i;
    const bool reaches = begin[i] < target && target <= begin[i] + in_bin[i];
    if (reaches || (total < target && bin == kBins - 1)) {  // one thread
      memory->bin = bin;
      memory->before_bin = static_cast<int>(begin[i]);
      memory->in_bin = static_cast<int>(in_bin[i]);
    }
  }
  return __syncthreads_or(crowded ? 1 : 0) != 0;  // the bin is found
}

// Shortens the list of level `l` to the keys whose order, without its lowest `shift` bits, is at
// most `last`.
__device__ void Shorten(uint64_t* list, int l, int shift, uint32_t last, BlockMemory* memory) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  const int count = memory->counts[l];
  if (thread == 0) memory->kept = 0;
  for (int begin = 0; begin < count; begin += kThreads * kKeysInFlight) {
    uint64_t key[kKeysInFlight];
#pragma unroll
    for (int i = 0; i < kKeysInFlight; ++i) {
      const int place = begin + i * kThreads + thread;
      key[i] = place < count ? list[place] : kLastKey;
    }
    __syncthreads();  // all threads have read theirs: places up to here may be written
#pragma unroll
    for (int i = 0; i < kKeysInFlight; ++i) {
      const bool stays =
          begin + i * kThreads + thread < count && (algo::ResponseOrder(key[i]) >> shift) <= last;
      const unsigned staying = __ballot_sync(kFullWarp, stays);
      if (staying == 0) continue;
      int place = 0;
      if (lane == 0) place = atomicAdd(&memory->kept, __popc(staying));
      place = __shfl_sync(kFullWarp, place, 0);
      if (stays) list[place + __popc(staying & ((1u << lane) - 1))] = key[i];
    }
  }
  __syncthreads();  // the list is complete
  if (thread == 0) memory->counts[l] = memory->kept;
  __syncthreads();  // and counted
}

// Cuts the keys of levels [first, last_level] to those that can be among the first `wanted` of
// them, as closely as a list of `room` keys needs.
__device__ void CutLevels(const KeyLists& keys, uint64_t* frame_keys, int first, int last_level,
                          int wanted, int room, BlockMemory* memory) {
  const int thread = static_cast<int>(threadIdx.x);
  int total = 0;
  for (int l = first; l <= last_level; ++l) total += memory->counts[l];
  if (total <= wanted) return;
  uint32_t last = 0;  // upper bits of the order up to which keys stay
  int shift = kOrderBits;
  int rest = wanted;  // of the keys that begin with `last`
  if (wanted > 0) {
    bool fits = false;
    do {
      const int digit_bits = Min(kDigitBits, shift);
      const int decided = shift;  // bits below those that `last` has
      shift -= digit_bits;
      for (int i = thread; i < kBins; i += kThreads) memory->histogram[i] = 0;
      __syncthreads();  // the histogram is empty
      const uint32_t mask = (1u << digit_bits) - 1;
      for (int l = first; l <= last_level; ++l) {
        const uint64_t* const list = frame_keys + keys.offset[l];
        const int count = memory->counts[l];
        for (int begin = 0; begin < count; begin += kThreads * kKeysInFlight) {
          uint64_t key[kKeysInFlight];
#pragma unroll
          for (int i = 0; i < kKeysInFlight; ++i) {
            const int place = begin + i * kThreads + thread;
            key[i] = place < count ? list[place] : kLastKey;
          }
#pragma unroll
          for (int i = 0; i < kKeysInFlight; ++i) {
            const uint32_t order = algo::ResponseOrder(key[i]);
            const bool counts = begin + i * kThreads + thread < count &&
                                (decided == kOrderBits || order >> decided == last);
            if (counts) atomicAdd(&memory->histogram[order >> shift & mask], 1u);
          }
        }
      }
      __syncthreads();  // the histogram is complete
      FindBin(rest, memory);
      rest -= memory->before_bin;
      last = last << digit_bits | static_cast<uint32_t>(memory->bin);
      fits = wanted - rest + memory->in_bin <= room;
    } while (!fits && shift > 0);
  }
  for (int l = first; l <= last_level; ++l) {
    if (wanted > 0) {
      Shorten(frame_keys + keys.offset[l], l, shift, last, memory);
    } else {
      __syncthreads();  // all threads have added up the counts
      if (thread == 0) memory->counts[l] = 0;
      __syncthreads();  // the list is empty
    }
  }
}

// A rank key with its level, ordered as keypoints of a frame are (algo::FramePrecedes): response
// order, level, and place in a level that is as wide as level 0.
constexpr int kLevelShift = 28;
static_assert(kMaxLevels <= 1 << (kOrderBits - kLevelShift));
constexpr int64_t kMaxPixels = int64_t{1} << kLevelShift;

__device__ __forceinline__ uint64_t FrameKey(uint64_t key, int level, int width_px) {
  const auto place = static_cast<uint32_t>(algo::RankKeyY(key) * width_px + algo::RankKeyX(key));
  return key >> kOrderBits << kOrderBits | static_cast<uint32_t>(level) << kLevelShift | place;
}
__device__ __forceinline__ int LevelOfFrameKey(uint64_t key) {
  return static_cast<int>(static_cast<uint32_t>(key) >> kLevelShift);
}
__device__ __forceinline__ uint64_t RankKeyOfFrameKey(uint64_t key, int width_px) {
  const uint32_t place = static_cast<uint32_t>(key) & ((1u << kLevelShift) - 1);
  const auto width = static_cast<uint32_t>(width_px);
  return key >> kOrderBits << kOrderBits | place / width << 16 | place % width;
}

// Calls visit(is_key, frame_key) for all keys of a frame, by whole warps.
template <typename Visit>
__device__ __forceinline__ void VisitFrameKeys(const KeySurvivorParams& params, int frame_index,
                                               const int* counts, const Visit& visit) {
  const int thread = static_cast<int>(threadIdx.x);
  if (params.winners.key != nullptr) {
    const algo::CellGrid& grid = params.winners.cells.grid;
    const int cells = grid.count();
    const uint64_t* __restrict__ of_frame =
        params.winners.key + static_cast<int64_t>(frame_index) * cells;
    for (int begin = 0; begin < cells; begin += kThreads * kKeysInFlight) {
      uint64_t key[kKeysInFlight];
#pragma unroll
      for (int i = 0; i < kKeysInFlight; ++i) {
        const int cell = begin + i * kThreads + thread;
        key[i] = cell < cells ? of_frame[cell] : algo::kNoCellKey;
      }
#pragma unroll
      for (int i = 0; i < kKeysInFlight; ++i) {
        if (begin + i * kThreads >= cells) break;
        const bool is_key = key[i] != algo::kNoCellKey;
        if (is_key) {
          const int level = algo::CellKeyLevel(key[i]);
          const uint64_t rank_key = algo::CellKeyRank(grid, key[i], begin + i * kThreads + thread,
                                                      params.winners.cells.scale[level]);
          key[i] = FrameKey(rank_key, level, params.width_px);
        }
        visit(is_key, key[i]);
      }
    }
    return;
  }
  for (int l = 0; l < params.keys.levels; ++l) {
    const int count = counts[l];
    const uint64_t* __restrict__ list =
        params.keys.key + frame_index * params.keys.stride + params.keys.offset[l];
    for (int begin = 0; begin < count; begin += kThreads * kKeysInFlight) {
      uint64_t key[kKeysInFlight];
#pragma unroll
      for (int i = 0; i < kKeysInFlight; ++i) {
        const int place = begin + i * kThreads + thread;
        key[i] = place < count ? list[place] : kLastKey;
      }
#pragma unroll
      for (int i = 0; i < kKeysInFlight; ++i) {
        if (begin + i * kThreads >= count) break;
        visit(begin + i * kThreads + thread < count, FrameKey(key[i], l, params.width_px));
      }
    }
  }
}

// Gathers the first `wanted` of a frame's keys, 1..kFewKeys, and perhaps more, in
// memory->sorted[0], in any order. Returns their number. FindBin() has looked at the first digits.
__device__ int GatherFew(const KeySurvivorParams& params, int frame_index, const int* counts,
                         int wanted, BlockMemory* memory) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  uint64_t last = memory->bin;  // upper bits up to which keys stay
  int shift = kBinShift;
  int rest = wanted - memory->before_bin;  // of the keys that begin with `last`
  while (wanted - rest + memory->in_bin > kFewKeys && shift > 0) {
    const int digit_bits = Min(kDigitBits, shift);
    const int decided = shift;  // bits below those that `last` has
    shift -= digit_bits;
    for (int i = thread; i < kBins; i += kThreads) memory->histogram[i] = 0;
    __syncthreads();  // the histogram is empty
    const uint64_t mask = (uint64_t{1} << digit_bits) - 1;
    VisitFrameKeys(params, frame_index, counts, [&](bool is_key, uint64_t key) {
      if (is_key && key >> decided == last) {
        atomicAdd(&memory->histogram[key >> shift & mask], 1u);
      }
    });
    __syncthreads();  // the histogram is complete
    FindBin(rest, memory);
    rest -= memory->before_bin;
    last = last << digit_bits | static_cast<uint64_t>(memory->bin);
  }
  if (thread == 0) memory->kept = 0;
  __syncthreads();  // no key is counted yet
  VisitFrameKeys(params, frame_index, counts, [&](bool is_key, uint64_t key) {
    const bool stays = is_key && key >> shift <= last;
    const unsigned staying = __ballot_sync(kFullWarp, stays);
    if (staying == 0) return;
    int place = 0;
    if (lane == 0) place = atomicAdd(&memory->kept, __popc(staying));
    place = __shfl_sync(kFullWarp, place, 0);
    if (stays) memory->sorted[0][place + __popc(staying & ((1u << lane) - 1))] = key;
  });
  __syncthreads();  // the keys are there
  return memory->kept;
}

// Sorts the `count` keys of memory->sorted[0] and returns that of the thread's number; kLastKey
// beyond the last. Bitonic: keys of other lanes come by shuffles, those of other warps through
// shared memory, two halves of it in turn.
__device__ uint64_t SortFew(int count, BlockMemory* memory) {
  const int thread = static_cast<int>(threadIdx.x);
  int size = kWarpLanes;
  while (size < count) size *= 2;
  const bool takes_part = thread < size;  // the whole warp
  uint64_t key = thread < count ? memory->sorted[0][thread] : kLastKey;
  int half = 0;
  for (int width = 2; width <= size; width *= 2) {
    for (int distance = width / 2; distance > 0; distance /= 2) {
      uint64_t other = 0;
      if (distance >= kWarpLanes) {
        half ^= 1;
        if (takes_part) memory->sorted[half][thread] = key;
        __syncthreads();  // the keys of this round are there
        if (takes_part) other = memory->sorted[half][thread ^ distance];
      } else if (takes_part) {
        other = __shfl_xor_sync(kFullWarp, key, distance);
      }
      const bool keeps_smaller = ((thread & width) == 0) == ((thread & distance) == 0);
      if (takes_part && (other < key) == keeps_smaller) key = other;
    }
  }
  return key;
}

// The key of a thread, in order, and the number of all; kLastKey beyond the last.
struct OrderedKey {
  uint64_t key;
  int count;
};

// Keys of which more tie than lists have room for, or of crowded bins.
__device__ __noinline__ OrderedKey OrderCrowded(const KeySurvivorParams& params, int frame_index,
                                                int wanted, BlockMemory* memory) {
  const int count = GatherFew(params, frame_index, memory->counts, wanted, memory);
  return {SortFew(count, memory), count};
}

// One list of a frame's keys, as steps before have left it: the winners of all cells, or the
// corners of a level.
struct RawList {
  const uint64_t* keys;
  int count;
};

__device__ __forceinline__ RawList ListOf(const KeySurvivorParams& params, int frame_index, int l,
                                          const int* counts) {
  if (params.winners.key != nullptr) {
    const int cells = params.winners.cells.grid.count();
    return {params.winners.key + static_cast<int64_t>(frame_index) * cells, cells};
  }
  return {params.keys.key + frame_index * params.keys.stride + params.keys.offset[l], counts[l]};
}

__device__ __forceinline__ void LoadRound(const RawList& list, int begin,
                                          uint64_t (&key)[kKeysHeld]) {
#pragma unroll
  for (int i = 0; i < kKeysHeld; ++i) {
    const int place = begin + i * kThreads + static_cast<int>(threadIdx.x);
    key[i] = place < list.count ? list.keys[place] : kLastKey;
  }
}

// Moves the keys of the bins up to memory->bin to memory->sorted[0], bin by bin, and ranks them.
// `held`: the first keys of the first list.
__device__ __forceinline__ OrderedKey OrderByBins(const KeySurvivorParams& params, int frame_index,
                                                  int lists, uint64_t (&held)[kKeysHeld],
                                                  BlockMemory* memory) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool has_cells = params.winners.key != nullptr;
  const auto last_bin = static_cast<uint32_t>(memory->bin);
  const int count = memory->before_bin + memory->in_bin;
  for (int l = 0; l < lists; ++l) {
    const RawList list = ListOf(params, frame_index, l, memory->counts);
    for (int begin = 0; begin < list.count; begin += kRoundKeys) {
      if (l > 0 || begin > 0) LoadRound(list, begin, held);
#pragma unroll
      for (int i = 0; i < kKeysHeld; ++i) {
        if (begin + i * kThreads >= list.count) break;
        const auto bin = static_cast<uint32_t>(held[i] >> kBinShift);
        if (held[i] != kLastKey && bin <= last_bin) {
          const uint32_t place = atomicAdd(&memory->histogram[bin], 1u);
          memory->sorted[0][place] = held[i];
          memory->source[place] = has_cells ? begin + i * kThreads + thread : l;
        }
      }
    }
  }
  __syncthreads();  // keys lie in the places of their bins, and bins begin where they ended
  uint64_t key = kLastKey;
  int begin = 0;
  int end = 0;
  if (thread < count) {
    key = memory->sorted[0][thread];
    const auto bin = static_cast<uint32_t>(key >> kBinShift);
    begin = bin > 0 ? static_cast<int>(memory->histogram[bin - 1]) : 0;
    end = static_cast<int>(memory->histogram[bin]);
    int level = memory->source[thread];
    if (has_cells) {
      const int cell = level;
      level = algo::CellKeyLevel(key);
      key = algo::CellKeyRank(params.winners.cells.grid, key, cell,
                              params.winners.cells.scale[level]);
    }
    key = FrameKey(key, level, params.width_px);
    memory->sorted[0][thread] = key;
  }
  __syncthreads();  // the order of the frame is in all keys
  if (thread < count) {
    int rank = begin;
#pragma unroll 4
    for (int i = begin; i < end; ++i) rank += memory->sorted[0][i] < key ? 1 : 0;
    memory->sorted[1][rank] = key;  // keys differ, and so do their ranks
  }
  __syncthreads();  // all keys are in order
  return {thread < count ? memory->sorted[1][thread] : kLastKey, count};
}

// Ranks the first keys of a frame by BEST. Returns false if it has no room for lists, which were
// given up as memory was short.
__device__ __forceinline__ bool RankFew(const KeySurvivorParams& params, int frame_index,
                                        BlockMemory* memory) {
  const FrameParams& frame = params.frames.params[frame_index];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int lane = thread % kWarpLanes;
  const int levels = params.keys.levels;
  // Read together, ahead of the first use of any.
  const int first_keys = frame.first_keys;
  const int second_cut = frame.second_cut[0];
  const int most_room = lane < levels ? frame.ranked_room[lane].count : 0;
  const int survivor_room = lane < levels ? frame.survivor_room[lane].count : 0;

  const int lists = params.winners.key != nullptr ? 1 : levels;
  uint64_t held[kKeysHeld];
  for (int l = lists - 1; l >= 0; --l) {
    const RawList list = ListOf(params, frame_index, l, memory->counts);
    // From the last to the first, so that those stay in registers.
    for (int begin = (DivUp(list.count, kRoundKeys) - 1) * kRoundKeys; begin >= 0;
         begin -= kRoundKeys) {
      LoadRound(list, begin, held);
#pragma unroll
      for (int i = 0; i < kKeysHeld; ++i) {
        if (begin + i * kThreads >= list.count) break;
        if (held[i] != kLastKey) atomicAdd(&memory->histogram[held[i] >> kBinShift], 1u);
      }
    }
  }
  if (__ballot_sync(kFullWarp, most_room > 0) == 0) return false;
  __syncthreads();  // the histogram is complete
  const int wanted = Max(first_keys, 1);
  const bool crowded = FindBin(wanted, memory);
  const bool sorts = crowded || memory->before_bin + memory->in_bin > kFewKeys;
  const OrderedKey ordered = sorts ? OrderCrowded(params, frame_index, wanted, memory)
                                   : OrderByBins(params, frame_index, lists, held, memory);
  const uint64_t key = ordered.key;
  const int count = ordered.count;
  const int limit = Min(count, second_cut);
  const int level = thread < count ? LevelOfFrameKey(key) : -1;
  int place = 0;  // among the keys of the level in the warp
  for (int l = 0; l < levels; ++l) {
    const unsigned of_level = __ballot_sync(kFullWarp, level == l);
    const unsigned kept = __ballot_sync(kFullWarp, level == l && thread < limit);
    if (lane == 0) memory->of_level[warp][l] = __popc(of_level) << 16 | __popc(kept);
    if (level == l) place = __popc(of_level & ((1u << lane) - 1));
  }
  __syncthreads();  // all warps have counted
  for (int l = warp; l < levels; l += kWarps) {
    const uint32_t own = memory->of_level[lane][l];
    const uint32_t end = SumUpToLane(own, lane);
    memory->of_level[lane][l] = end - own;
    if (lane == kWarpLanes - 1) memory->of_level[kWarps][l] = end;
  }
  __syncthreads();  // and added up
  uint64_t rank_key = 0;
  if (thread < limit) {
    place += static_cast<int>(memory->of_level[warp][level] & 0xffff);
    const ListRoom room = frame.ranked_room[level];
    rank_key = RankKeyOfFrameKey(key, params.width_px);
    if (place < room.count) frame.ranked[room.begin + place] = rank_key;
  }
  FrameCounters& counters = params.frames.counters[frame_index];
  const uint32_t sums = lane < levels ? memory->of_level[kWarps][lane] : 0;
  const auto survivors = static_cast<int32_t>(sums >> 16);
  const auto kept = static_cast<int32_t>(sums & 0xffff);
  if (thread < levels) {
    counters.survivors[thread] = survivors;
    counters.kept[thread] = kept;
  }
  if (!params.writes_records) return true;

  const FrameList list = ListOfKept(kept, 0, survivors > survivor_room || kept > most_room);
  const int records = list.CountFor(frame);
  const int record = __shfl_sync(kFullWarp, list.begin, Max(level, 0)) + place;
  if (thread < limit && record < records) {
    WriteRecord(frame, record,
                {algo::RankKeyX(rank_key), algo::RankKeyY(rank_key), level, -1.0f,
                 algo::RankKeyResponse(rank_key)});
  }
  // A lane reads the counters that it has written itself.
  if (warp == 0) WriteReport(levels, frame, counters, list, records);
  return true;
}

template <bool kFew>
__global__ __launch_bounds__(kThreads) void KeySurvivorsKernel(
    const __grid_constant__ KeySurvivorParams params) {
  __shared__ BlockMemory memory;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.x);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  const KeyLists& keys = params.keys;
  const int thread = static_cast<int>(threadIdx.x);
  const bool has_cells = params.winners.key != nullptr;
  // Read together, ahead of the first use of any.
  const FrameMode mode = frame.mode;
  const int corners = has_cells || thread >= keys.levels ? 0 : counters.corners[thread];
  if (mode != FrameMode::kDetect) return;
  if (thread < kMaxLevels) memory.counts[thread] = corners;
  if constexpr (kFew) {
    reinterpret_cast<uint4*>(memory.histogram)[thread] = make_uint4(0, 0, 0, 0);
  }
  __syncthreads();  // the counts are there, and the histogram is empty
  if constexpr (kFew) {
    if (RankFew(params, frame_index, &memory)) return;
    __syncthreads();  // the histogram is no longer written
  }
  uint64_t* const frame_keys = keys.key + frame_index * keys.stride;
  if (has_cells) GatherWinners(params.winners, frame_index, keys, frame_keys, &memory);

  if (params.cut == KeyCut::kFrame) {
    // A level with less room than another has room for all of its corners.
    int room = 0;
    for (int l = 0; l < keys.levels; ++l) room = Max(room, frame.survivor_room[l].count);
    CutLevels(keys, frame_keys, 0, keys.levels - 1, frame.first_keys, room, &memory);
  } else if (params.cut == KeyCut::kEachLevel) {
    for (int l = 0; l < keys.levels; ++l) {
      CutLevels(keys, frame_keys, l, l, frame.second_cut[l], frame.survivor_room[l].count, &memory);
    }
  }
  if (thread < keys.levels) {
    counters.corners[thread] = memory.counts[thread];
    counters.survivors[thread] = memory.counts[thread];
  }
  if constexpr (kFew) {
    // Nothing is ranked: the report sends the frame to the slow path. A lane reads the counters
    // that it has written itself.
    if (params.writes_records && thread < kWarpLanes) {
      const FrameList list = FindFeatures(keys.levels, frame, counters);
      WriteReport(keys.levels, frame, counters, list, list.CountFor(frame));
    }
  }
}

KeyCut CutOf(const CompiledPipeline& pipeline) {
  switch (pipeline.spec.pipeline.select.selection) {
    case Selection::kLevelQuota:
      return KeyCut::kEachLevel;
    case Selection::kBest:
      return KeyCut::kFrame;
    case Selection::kCell:
    case Selection::kQuadtree:
    case Selection::kOrbSlam3:
      break;
  }
  return KeyCut::kNone;
}

}  // namespace

bool ChoosesFewKeys(const CompiledPipeline& pipeline, int first_keys) {
  const PlanSpec& spec = pipeline.spec;
  return CornerListOf(spec.pipeline) == CornerList::kKeyed && CutOf(pipeline) == KeyCut::kFrame &&
         first_keys <= kFewKeys && int64_t{spec.width_px} * spec.height_px <= kMaxPixels;
}

bool FewKeysAreRecords(const PipelineOptions& options) {
  return options.describe.descriptor == Descriptor::kNone &&
         options.describe.orientation == Orientation::kNone;
}

absl::Status LaunchKeySurvivors(const KeySurvivorParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  KeySurvivorsKernel<false><<<params.frames.count, kThreads, 0, stream>>>(params);
  return CheckLaunch("KeySurvivorsKernel");
}

absl::Status LaunchFewKeys(const KeySurvivorParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  KeySurvivorsKernel<true><<<params.frames.count, kThreads, 0, stream>>>(params);
  return CheckLaunch("KeySurvivorsKernel");
}

KeySurvivorsStep::KeySurvivorsStep(const CompiledPipeline& pipeline, const KeyListBuffers& keys,
                                   const std::optional<CellWinnerBuffers>& winners)
    : keys_(keys),
      winners_(winners),
      cut_(CutOf(pipeline)),
      width_px_(pipeline.spec.width_px),
      writes_records_(FewKeysAreRecords(pipeline.spec.pipeline)),
      has_work_(winners.has_value() ||
                pipeline.spec.pipeline.select.selection != Selection::kQuadtree) {}

absl::Status KeySurvivorsStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (!has_work_) return absl::OkStatus();
  KeySurvivorParams params = {context.frames, keys_.At(context), {},
                              cut_,           width_px_,         writes_records_};
  if (winners_.has_value()) params.winners = winners_->At(context);
  return context.kind.few_keys ? LaunchFewKeys(params, stream) : LaunchKeySurvivors(params, stream);
}

}  // namespace orbserve::gpu
