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
#include "gpu/steps/select/few_keys.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 1024;
constexpr int kKeysInFlight = 8;  // of a thread: a block has 64 KiB under way
constexpr int kOrderBits = 32;
constexpr int kDigitBits = FewKeyMemory<kThreads>::kDigitBits;
constexpr int kBins = FewKeyMemory<kThreads>::kBins;

struct BlockMemory : FewKeyMemory<kThreads> {
  int counts[kMaxLevels];  // keys of each list
};

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
      FindBin<kThreads>(rest, memory);
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

// Ranks the first keys of a frame by BEST.
__device__ void RankFew(const KeySurvivorParams& params, int frame_index, const int* counts,
                        int most, BlockMemory* memory) {
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  const int count = GatherFew<kThreads>(
      [&](const auto& visit) { VisitFrameKeys(params, frame_index, counts, visit); }, most,
      Max(frame.first_keys, 1), memory);
  SortFew<kThreads>(count, memory);
  const int levels = params.keys.levels;
  if (params.writes_records) {
    WriteFew<kThreads>(levels, params.width_px, frame, counters, count, memory);
    return;
  }
  const int limit = Min(count, frame.second_cut[0]);
  const LevelShare kept = PlaceFew<kThreads>(
      levels, count, limit, memory, [&](uint64_t key, int level, int place, int /*first*/) {
        const ListRoom room = frame.ranked_room[level];
        if (place < room.count) {
          frame.ranked[room.begin + place] = RankKeyOfFrameKey(key, params.width_px);
        }
      });
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < levels) {
    counters.survivors[lane] = memory->survivors[lane];
    counters.kept[lane] = kept.end - kept.begin;
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
    // Else the frame's lists were given up, as memory was short. Records need none.
    bool has_room = params.writes_records;
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
         first_keys <= kFewKeys && int64_t{spec.width_px} * spec.height_px <= kMostFrameKeyPixels;
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
                pipeline.spec.pipeline.select.selection != Selection::kQuadtree),
      fusion_(SearchFusion::Of(pipeline)) {}

absl::Status KeySurvivorsStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (!has_work_ || fusion_.SearchSelects(context.kind)) return absl::OkStatus();
  KeySurvivorParams params = {
      context.frames, keys_.At(context), {},
      cut_,           width_px_,         fusion_.SelectionWritesRecords(context.kind)};
  if (winners_.has_value()) params.winners = winners_->At(context);
  return context.kind.few_keys ? LaunchFewKeys(params, stream) : LaunchKeySurvivors(params, stream);
}

}  // namespace orbserve::gpu
