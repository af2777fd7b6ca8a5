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
// a place that every thread has read. 16 KiB of shared memory.

#include "gpu/steps/select/key_survivors.h"

#include "features/algo/cell.h"
#include "features/algo/frame_order.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/level_share.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarpLanes;
static_assert(kWarps == kWarpLanes, "one warp scans the sums of all warps");
constexpr int kKeysInFlight = 8;  // of a thread: a block has 64 KiB under way
constexpr int kOrderBits = 32;
constexpr int kDigitBits = 12;
constexpr int kBins = 1 << kDigitBits;
constexpr int kBinsPerThread = kBins / kThreads;

struct BlockMemory {
  union {
    uint32_t histogram[kBins];
    uint64_t sorted[2][kFewKeys];  // of the few that are ranked
  };
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

// Finds the bin in which the number of keys reaches `wanted`, 1 .. all keys of the histogram.
__device__ void FindBin(int wanted, BlockMemory* memory) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int first_bin = static_cast<int>(threadIdx.x) * kBinsPerThread;
  uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kBinsPerThread; ++i) own += memory->histogram[first_bin + i];
  const auto scan = [lane](uint32_t value) {
#pragma unroll
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
      const uint32_t other = __shfl_up_sync(kFullWarp, value, distance);
      if (lane >= distance) value += other;
    }
    return value;
  };
  uint32_t end = scan(own);
  if (lane == kWarpLanes - 1) memory->warp_sums[warp] = end;
  __syncthreads();  // the sums of all warps are there
  if (warp == 0) memory->warp_sums[lane] = scan(memory->warp_sums[lane]);
  __syncthreads();  // and summed up
  if (warp > 0) end += memory->warp_sums[warp - 1];
  const auto target = static_cast<uint32_t>(wanted);
  uint32_t before = end - own;
  if (before < target && target <= end) {  // one thread
    int bin = first_bin;
    while (before + memory->histogram[bin] < target) before += memory->histogram[bin++];
    memory->bin = bin;
    memory->before_bin = static_cast<int>(before);
    memory->in_bin = static_cast<int>(memory->histogram[bin]);
  }
  __syncthreads();  // the bin is found
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
constexpr int64_t kMostPixels = int64_t{1} << kLevelShift;

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
// memory->sorted[0], in any order. `most`: there are no more keys than that. Returns their number.
__device__ int GatherFew(const KeySurvivorParams& params, int frame_index, const int* counts,
                         int most, int wanted, BlockMemory* memory) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  constexpr int kKeyBits = 64;
  uint64_t last = kLastKey;  // upper bits up to which keys stay
  int shift = 0;
  if (most > kFewKeys) {
    shift = kKeyBits;
    last = 0;
    int rest = wanted;  // of the keys that begin with `last`
    bool fits = false;
    while (!fits && shift > 0) {
      const int digit_bits = Min(kDigitBits, shift);
      const int decided = shift;  // bits below those that `last` has
      shift -= digit_bits;
      for (int i = thread; i < kBins; i += kThreads) memory->histogram[i] = 0;
      __syncthreads();  // the histogram is empty
      const uint64_t mask = (uint64_t{1} << digit_bits) - 1;
      VisitFrameKeys(params, frame_index, counts, [&](bool is_key, uint64_t key) {
        if (is_key && (decided == kKeyBits || key >> decided == last)) {
          atomicAdd(&memory->histogram[key >> shift & mask], 1u);
        }
      });
      __syncthreads();  // the histogram is complete
      FindBin(rest, memory);
      if (decided == kKeyBits && memory->warp_sums[kWarps - 1] <= static_cast<uint32_t>(wanted)) {
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

// Ranks the first keys of a frame by BEST.
__device__ void RankFew(const KeySurvivorParams& params, int frame_index, const int* counts,
                        int most, BlockMemory* memory) {
  const FrameParams& frame = params.frames.params[frame_index];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpLanes;
  const int lane = thread % kWarpLanes;
  const int count = GatherFew(params, frame_index, counts, most, Max(frame.first_keys, 1), memory);
  const uint64_t key = SortFew(count, memory);
  const int limit = Min(count, frame.second_cut[0]);
  const int level = thread < count ? LevelOfFrameKey(key) : -1;
  const int levels = params.keys.levels;
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
    uint32_t end = own;
#pragma unroll
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
      const uint32_t other = __shfl_up_sync(kFullWarp, end, distance);
      if (lane >= distance) end += other;
    }
    memory->of_level[lane][l] = end - own;
    if (lane == kWarpLanes - 1) memory->of_level[kWarps][l] = end;
  }
  __syncthreads();  // and added up
  if (thread < limit) {
    place += static_cast<int>(memory->of_level[warp][level] & 0xffff);
    const ListRoom room = frame.ranked_room[level];
    if (place < room.count) {
      frame.ranked[room.begin + place] = RankKeyOfFrameKey(key, params.width_px);
    }
  }
  if (thread < levels) {
    FrameCounters& counters = params.frames.counters[frame_index];
    const uint32_t sums = memory->of_level[kWarps][thread];
    counters.survivors[thread] = static_cast<int32_t>(sums >> 16);
    counters.kept[thread] = static_cast<int32_t>(sums & 0xffff);
  }
}

template <bool kFew>
__global__ __launch_bounds__(kThreads) void KeySurvivorsKernel(
    const __grid_constant__ KeySurvivorParams params) {
  __shared__ BlockMemory memory;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.x);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const KeyLists& keys = params.keys;
  const int thread = static_cast<int>(threadIdx.x);
  const bool has_cells = params.winners.key != nullptr;
  if (thread < kMaxLevels) {
    memory.counts[thread] = has_cells || thread >= keys.levels ? 0 : counters.corners[thread];
  }
  __syncthreads();  // the counts are there
  if constexpr (kFew) {
    int most = has_cells ? params.winners.cells.grid.count() : 0;
    bool has_room = false;  // else the frame's lists were given up, as memory was short
    for (int l = 0; l < keys.levels; ++l) {
      if (!has_cells) most += memory.counts[l];
      has_room = has_room || frame.ranked_room[l].count > 0;
    }
    if (has_room) {
      RankFew(params, frame_index, memory.counts, most, &memory);
      return;
    }
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
}

KeyCut CutOf(const CompiledPipeline& pipeline) {
  switch (pipeline.spec.pipeline.select.selection) {
    case Selection::kLevelQuota:
      return KeyCut::kEachLevel;
    case Selection::kBest:
      return KeyCut::kFrame;
    case Selection::kCell:
    case Selection::kQuadtree:
      break;
  }
  return KeyCut::kNone;
}

}  // namespace

bool ChoosesFewKeys(const CompiledPipeline& pipeline, int first_keys) {
  const PlanSpec& spec = pipeline.spec;
  return CornerListOf(spec.pipeline) == CornerList::kKeyed && CutOf(pipeline) == KeyCut::kFrame &&
         first_keys <= kFewKeys && int64_t{spec.width_px} * spec.height_px <= kMostPixels;
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
      has_work_(winners.has_value() ||
                pipeline.spec.pipeline.select.selection != Selection::kQuadtree) {}

absl::Status KeySurvivorsStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (!has_work_) return absl::OkStatus();
  KeySurvivorParams params = {context.frames, keys_.At(context), {}, cut_, width_px_};
  if (winners_.has_value()) params.winners = winners_->At(context);
  return context.kind.few_keys ? LaunchFewKeys(params, stream) : LaunchKeySurvivors(params, stream);
}

}  // namespace orbserve::gpu
