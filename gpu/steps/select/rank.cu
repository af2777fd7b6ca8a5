// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: survivors of each (frame, level) as rank keys (features/algo/order.h) in any order. Out: the
// best `second_cut` of them and those whose response equals the last one's, in rank order; or, with
// one cut for all levels, exactly the first `second_cut` by response, level, y and x.
//
// Keys differ from each other, so the place of a key is the number of smaller ones, and a key is
// kept exactly if fewer than `second_cut` responses are greater (with one cut for all levels: if
// fewer than `second_cut` keypoints precede it). Counting gives cut, ties and order
// at once, in one launch, for any order of arrival. The count is quadratic, but the lists are
// short: 2,000 features of 8 levels have 2.4 million comparisons, half a microsecond of an H200,
// where a sort of so few keys in shared memory takes ten. A block has 16 keys, four per warp; the
// list passes through shared memory (16 KiB at a time, nearly always all of it), and each warp
// walks over it with its lanes. The slow path sorts longer lists with CUB.
//
// Keyed corners may be tens of thousands. Frames with more than kMaxCompared of them are ranked
// from runs that are sorted beforehand (gpu/steps/select/sorted_runs.cuh), by counting, too.

#include "gpu/steps/select/rank.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <cub/device/device_radix_sort.cuh>

#include "features/host_device.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/global_pointer.cuh"
#include "gpu/steps/level_share.cuh"
#include "gpu/steps/select/sorted_runs.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kKeysPerWarp = 4;
constexpr int kKeysPerBlock = kWarps * kKeysPerWarp;
constexpr int kChunkKeys = 2048;
constexpr int kOrderShift = 32;  // the upper half of a key orders responses
// Both counts of a key are below 2^16 within a level.
static_assert(kMaxRanked < 1 << 16);
constexpr uint32_t kBetterOne = 1u << 16;
// Keyed corners of a frame up to which all are compared with all: 16 million comparisons take about
// as long as to sort runs and search them.
constexpr int kMaxCompared = 4096;
static_assert(kWarps == kMergeWarps);
// Runs that a warp searches at a time. Each search is a chain of reads.
constexpr int kSearchesAtOnce = 4;

// Copies `count` keys, at most kChunkKeys, two per load; of an odd number the last comes with
// whatever lies behind it. `keys` is aligned to 16 bytes.
__device__ __forceinline__ void LoadChunk(const uint64_t* __restrict__ keys, int count,
                                          uint64_t* __restrict__ chunk) {
  const auto* from = reinterpret_cast<const ulonglong2*>(keys);
  auto* to = reinterpret_cast<ulonglong2*>(chunk);
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); 2 * i < count; i += kThreads) to[i] = from[i];
}

// The lists of a frame that are ranked; lane l knows level l.
template <RankSource kSource>
struct RankLists {
  // Places of keyed corners may need 64 bits.
  using Place = std::conditional_t<kSource == RankSource::kKeys, int64_t, int>;

  const uint64_t* keys;  // of the frame
  uint64_t* runs;        // of the frame, where long lists are sorted in runs
  Place begin;
  int runs_begin;
  int count;
  bool overflowed;  // any list of the frame

  __device__ RankLists(const RankParams& params, const FrameParams& frame, int frame_index,
                       const FrameCounters& counters) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const bool has_level = lane < params.levels;
    const int survivors = has_level ? counters.survivors[lane] : 0;
    const int room = has_level ? frame.survivor_room[lane].count : 0;
    runs_begin = has_level ? frame.survivor_room[lane].begin : 0;
    if constexpr (kSource == RankSource::kKeys) {
      keys = params.keys.key + frame_index * params.keys.stride;
      begin = has_level ? params.keys.offset[lane] : 0;
      runs = Global(frame.survivors);
    } else {
      keys = Global(frame.survivors);
      begin = runs_begin;
      runs = Global(frame.spare);
    }
    count = survivors;
    if constexpr (kSource == RankSource::kChosen) count = has_level ? counters.chosen[lane] : 0;
    overflowed = __ballot_sync(kFullWarp, survivors > room) != 0;
  }
};

// Keypoints of the lane's level that the answer has, where selection has chosen some of each level.
__device__ __forceinline__ int ChosenCut(const FrameParams& frame, int chosen) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int wanted = lane < kMaxLevels ? Min(chosen, frame.second_cut[lane]) : 0;
  return Clamp(frame.answer_limit - (SumUpToLane(wanted, lane) - wanted), 0, wanted);
}

// Sorts the lists of frames with more than kMaxCompared keys in runs.
template <RankSource kSource>
__global__ __launch_bounds__(kSortThreads) void SortRunsKernel(
    const __grid_constant__ RankParams params) {
  __shared__ uint64_t run[kRunKeys];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const RankLists<kSource> lists(params, frame, frame_index, params.frames.counters[frame_index]);
  if (lists.overflowed || WarpSum(lists.count) <= kMaxCompared) return;
  const LevelShare share = ShareOfLevel(DivUp(lists.count, kRunKeys));
  for (int i = static_cast<int>(blockIdx.x); i < share.total; i += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, i);
    const int count = __shfl_sync(kFullWarp, lists.count, l);
    const int begin = (i - __shfl_sync(kFullWarp, share.begin, l)) * kRunKeys;
    const uint64_t* const keys = lists.keys + __shfl_sync(kFullWarp, lists.begin, l) + begin;
    SortRun(
        Min(count - begin, kRunKeys), [keys](int k) { return keys[k]; }, run,
        lists.runs + __shfl_sync(kFullWarp, lists.runs_begin, l) + begin);
  }
}

// Ranks a frame whose lists are sorted in runs. A block takes 32 keys of a run, one a lane; its
// warps share the runs to search.
template <RankSource kSource>
__device__ void RankSortedRuns(const RankParams& params, const FrameParams& frame,
                               const RankLists<kSource>& lists, FrameCounters* counters) {
  __shared__ int parts[kMergeWarps][kWarpLanes];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const bool has_level = lane < params.levels;
  const int ranked_begin = has_level ? frame.ranked_room[lane].begin : 0;
  const int ranked_count = has_level ? frame.ranked_room[lane].count : 0;
  const int chosen_cut = kSource == RankSource::kChosen ? ChosenCut(frame, lists.count) : 0;
  uint64_t* const __restrict__ ranked_lists = Global(frame.ranked);
  const LevelShare share = ShareOfLevel(DivUp(lists.count, kWarpLanes));
  const LevelShare runs = ShareOfLevel(DivUp(lists.count, kRunKeys));
  for (int group = static_cast<int>(blockIdx.x); group < share.total;
       group += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, group);
    const int count = __shfl_sync(kFullWarp, lists.count, l);
    const int mine = (group - __shfl_sync(kFullWarp, share.begin, l)) * kWarpLanes + lane;
    const uint64_t* const own = lists.runs + __shfl_sync(kFullWarp, lists.runs_begin, l);
    const uint64_t key = mine < count ? own[mine] : kLastKey;
    const uint64_t order = key >> kOrderShift << kOrderShift;
    int smaller = 0;    // keys of the level
    int preceding = 0;  // what the cut counts: greater responses of the level, or keypoints of the
                        // frame that precede
    const int first_run = params.all_levels ? 0 : __shfl_sync(kFullWarp, runs.begin, l);
    const int last_run = params.all_levels ? runs.total : __shfl_sync(kFullWarp, runs.end, l);
    // A cut of the level counts responses, so each run is searched for the order, too.
    const int searches_per_run = kSource == RankSource::kKeys && !params.all_levels ? 2 : 1;
    const int searches = (last_run - first_run) * searches_per_run;
    for (int first = warp; first < searches; first += kMergeWarps * kSearchesAtOnce) {
      const uint64_t* run[kSearchesAtOnce];
      int keys[kSearchesAtOnce];
      uint64_t limit[kSearchesAtOnce];
      bool counts_smaller[kSearchesAtOnce];
#pragma unroll
      for (int s = 0; s < kSearchesAtOnce; ++s) {
        const int search = first + s * kMergeWarps;
        const bool exists = search < searches;
        const int r = first_run + (exists ? search : 0) / searches_per_run;
        const int m = LevelOf(runs, r);
        const int begin = (r - __shfl_sync(kFullWarp, runs.begin, m)) * kRunKeys;
        const int others = __shfl_sync(kFullWarp, lists.count, m);
        run[s] = lists.runs + __shfl_sync(kFullWarp, lists.runs_begin, m) + begin;
        keys[s] = exists ? Min(others - begin, kRunKeys) : 0;
        counts_smaller[s] = m == l && search % searches_per_run == 0;
        // Lower levels come first among equal responses. No response has the last order.
        limit[s] = counts_smaller[s] ? key : order + (m < l ? uint64_t{1} << kOrderShift : 0);
      }
      int below[kSearchesAtOnce];
      CountBelowInRuns<kSearchesAtOnce>(run, keys, limit, below);
#pragma unroll
      for (int s = 0; s < kSearchesAtOnce; ++s) {
        if (counts_smaller[s]) {
          smaller += below[s];
        } else {
          preceding += below[s];
        }
      }
    }
    smaller = SumOverWarps(smaller, parts);
    preceding = SumOverWarps(preceding, parts);
    int before = preceding;
    int cut = frame.second_cut[params.all_levels ? 0 : l];
    if (kSource == RankSource::kChosen) {
      before = smaller;
      cut = __shfl_sync(kFullWarp, chosen_cut, l);
    } else if (params.all_levels) {
      before += smaller;
    }
    const bool stays = mine < count && before < cut;
    const unsigned staying = __ballot_sync(kFullWarp, stays);
    uint64_t* const __restrict__ ranked = ranked_lists + __shfl_sync(kFullWarp, ranked_begin, l);
    const int room = __shfl_sync(kFullWarp, ranked_count, l);
    if (warp != 0) continue;
    if (stays && smaller < room) ranked[smaller] = key;
    // Sums of integers do not depend on their order.
    if (lane == 0 && staying != 0) atomicAdd(&counters->kept[l], __popc(staying));
  }
}

template <RankSource kSource>
__global__ __launch_bounds__(kThreads) void RankKernel(const __grid_constant__ RankParams params) {
  alignas(16) __shared__ uint64_t chunk[kChunkKeys];
  BeginNextKernel();
  AwaitKernelBefore();
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  // Lane l knows level l.
  const bool has_level = lane < params.levels;
  const RankLists<kSource> source(params, frame, frame_index, counters);
  // One list that is too long sends the whole frame to the slow path, which ranks every level.
  if (source.overflowed) return;
  if constexpr (kSource != RankSource::kSurvivors) {
    if (WarpSum(source.count) > kMaxCompared) {
      RankSortedRuns(params, frame, source, &counters);
      return;
    }
  }
  const int survivors = source.count;
  const typename RankLists<kSource>::Place list_begin = source.begin;
  const int ranked_begin = has_level ? frame.ranked_room[lane].begin : 0;
  const int ranked_count = has_level ? frame.ranked_room[lane].count : 0;
  const int chosen_cut = kSource == RankSource::kChosen ? ChosenCut(frame, survivors) : 0;
  const uint64_t* const __restrict__ lists = source.keys;
  uint64_t* const __restrict__ ranked_lists = Global(frame.ranked);
  const LevelShare share = ShareOfLevel(DivUp(survivors, kKeysPerBlock));
  for (int group = static_cast<int>(blockIdx.x); group < share.total;
       group += static_cast<int>(gridDim.x)) {
    const int l = LevelOf(share, group);
    const int count = __shfl_sync(kFullWarp, survivors, l);
    const int begin =
        (group - __shfl_sync(kFullWarp, share.begin, l)) * kKeysPerBlock + warp * kKeysPerWarp;
    const uint64_t* const __restrict__ own = lists + __shfl_sync(kFullWarp, list_begin, l);
    uint64_t mine[kKeysPerWarp];
#pragma unroll
    for (int k = 0; k < kKeysPerWarp; ++k) mine[k] = begin + k < count ? own[begin + k] : 0;
    uint32_t better[kKeysPerWarp] = {};     // responses greater than mine, times kBetterOne, plus
                                            // keys smaller than mine
    uint32_t elsewhere[kKeysPerWarp] = {};  // keypoints of other levels that precede mine
    const int first_level = params.all_levels ? 0 : l;
    const int last_level = params.all_levels ? params.levels - 1 : l;
    for (int m = first_level; m <= last_level; ++m) {
      const int others = __shfl_sync(kFullWarp, survivors, m);
      const uint64_t* __restrict__ list = lists + __shfl_sync(kFullWarp, list_begin, m);
      for (int chunk_begin = 0; chunk_begin < others; chunk_begin += kChunkKeys) {
        const int chunk_count = Min(others - chunk_begin, kChunkKeys);
        __syncthreads();  // all warps are done with the last chunk
        LoadChunk(list + chunk_begin, chunk_count, chunk);
        __syncthreads();  // this chunk is complete
        if (m == l) {
#pragma unroll 4
          for (int i = lane; i < chunk_count; i += kWarpLanes) {
            const uint64_t other = chunk[i];
#pragma unroll
            for (int k = 0; k < kKeysPerWarp; ++k) {
              better[k] += other < mine[k] ? 1u : 0u;
              better[k] += (other >> kOrderShift) < (mine[k] >> kOrderShift) ? kBetterOne : 0u;
            }
          }
        } else {
          // Of equal responses, those of lower levels come first.
          const uint64_t equal_precedes = m < l ? 1 : 0;
          for (int i = lane; i < chunk_count; i += kWarpLanes) {
            const uint64_t order = chunk[i] >> kOrderShift;
#pragma unroll
            for (int k = 0; k < kKeysPerWarp; ++k) {
              elsewhere[k] += order < (mine[k] >> kOrderShift) + equal_precedes ? 1u : 0u;
            }
          }
        }
      }
    }
    const auto cut = static_cast<uint32_t>(kSource == RankSource::kChosen
                                               ? __shfl_sync(kFullWarp, chosen_cut, l)
                                               : frame.second_cut[params.all_levels ? 0 : l]);
    uint64_t* const __restrict__ ranked = ranked_lists + __shfl_sync(kFullWarp, ranked_begin, l);
    const int room = __shfl_sync(kFullWarp, ranked_count, l);
    int kept = 0;
#pragma unroll
    for (int k = 0; k < kKeysPerWarp; ++k) {
      const uint32_t counts = WarpSum(better[k]);
      const uint32_t before = params.all_levels ? counts % kBetterOne + WarpSum(elsewhere[k])
                              : kSource == RankSource::kChosen ? counts % kBetterOne
                                                               : counts / kBetterOne;
      if (begin + k < count && before < cut) {
        const auto place = static_cast<int>(counts % kBetterOne);
        if (lane == 0 && place < room) ranked[place] = mine[k];
        ++kept;
      }
    }
    // Sums of integers do not depend on their order.
    if (lane == 0 && kept > 0) atomicAdd(&counters.kept[l], kept);
  }
}

// Number of sorted keys whose order is at most `last`.
__device__ int CountUpTo(const uint64_t* sorted, int count, uint32_t last) {
  int low = 0;
  int high = count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (static_cast<uint32_t>(sorted[middle] >> kOrderShift) <= last) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The slow path: one frame, lists sorted over their whole length.
struct SortedLists {
  const uint64_t* sorted[kMaxLevels];
  int32_t count[kMaxLevels];
  int32_t second_cut[kMaxLevels];
  int32_t levels;
  bool all_levels;
  int32_t* kept;  // device, [kMaxLevels]
};

// One warp, a level per lane.
__global__ void CutSortedKernel(const __grid_constant__ SortedLists params) {
  const int l = static_cast<int>(threadIdx.x);
  const int count = l < params.levels ? params.count[l] : 0;
  const uint64_t* sorted = l < params.levels ? params.sorted[l] : nullptr;
  int kept = count;
  if (params.all_levels) {
    const int64_t wanted = params.second_cut[0];
    const auto up_to = [&](uint32_t last) {
      int64_t sum = CountUpTo(sorted, count, last);
      for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(kFullWarp, sum, distance);
      }
      return sum;
    };
    // The smallest order up to which there are at least `wanted`.
    uint32_t low = 0;
    uint32_t high = 0xffffffffu;
    if (wanted <= 0) {
      kept = 0;
    } else {
      while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (up_to(middle) >= wanted) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      // Of the keys with this order, the first levels give theirs until `wanted` are kept.
      const int less = low > 0 ? CountUpTo(sorted, count, low - 1) : 0;
      const int equal = CountUpTo(sorted, count, low) - less;
      const int64_t all_less = low > 0 ? up_to(low - 1) : 0;
      const int end = SumUpToLane(equal, l);
      const int64_t left = wanted - all_less - (end - equal);
      kept = less + static_cast<int>(Clamp<int64_t>(left, 0, equal));
    }
  } else if (l < params.levels) {
    const int wanted = params.second_cut[l];
    if (wanted <= 0) {
      kept = 0;
    } else if (count > wanted) {
      kept = CountUpTo(sorted, count, static_cast<uint32_t>(sorted[wanted - 1] >> kOrderShift));
    }
  }
  if (l < kMaxLevels) params.kept[l] = kept;
}

RankSource SourceOf(const CompiledPipeline& pipeline) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  if (CornerListOf(options) == CornerList::kScored) return RankSource::kSurvivors;
  return options.select.selection == Selection::kQuadtree ? RankSource::kChosen : RankSource::kKeys;
}

template <RankSource kSource>
absl::Status LaunchRankOfKeys(const RankParams& params, dim3 grid, cudaStream_t stream) {
  // A block a multiprocessor. Frames of a large batch get 16, for 16,384 keys.
  const dim3 run_grid(Max(params.multiprocessors / params.frames.count, 16), params.frames.count);
  SortRunsKernel<kSource><<<run_grid, kSortThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("SortRunsKernel"));
  RankKernel<kSource><<<grid, kThreads, 0, stream>>>(params);
  return CheckLaunch("RankKernel");
}

}  // namespace

absl::Status LaunchRank(const RankParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0) return absl::OkStatus();
  // Four blocks a multiprocessor, all at once; the loop takes the rest. Frames of a large batch get
  // at least half a block per multiprocessor.
  const int blocks = Max(4 * params.multiprocessors / frames, DivUp(params.multiprocessors, 2));
  const dim3 grid(blocks, frames);
  switch (params.source) {
    case RankSource::kSurvivors:
      break;
    case RankSource::kKeys:
      return LaunchRankOfKeys<RankSource::kKeys>(params, grid, stream);
    case RankSource::kChosen:
      return LaunchRankOfKeys<RankSource::kChosen>(params, grid, stream);
  }
  return LaunchKernel(RankKernel<RankSource::kSurvivors>, "RankKernel", grid, kThreads,
                      params.overlaps, params, stream);
}

RankStep::RankStep(const CompiledPipeline& pipeline, const std::optional<KeyListBuffers>& keys)
    : keys_(keys),
      source_(SourceOf(pipeline)),
      levels_(pipeline.pyramid.detecting_levels),
      all_levels_(CutsAllLevels(pipeline.spec.pipeline)) {}

RankParams RankStep::ParamsFor(const StepContext& context) const {
  return {context.frames,
          keys_.has_value() ? keys_->At(context) : KeyLists{},
          source_,
          levels_,
          context.tables->multiprocessors,
          all_levels_,
          context.follows};
}

absl::Status RankStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  // Step `key_survivors` has ranked the few keys that each frame wants.
  if (context.kind.few_keys) return absl::OkStatus();
  return LaunchRank(ParamsFor(context), stream);
}

absl::Status RankStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  FrameParams& params = *frame->params;
  int32_t* const kept = context.frames.counters[context.frames.first].kept;
  if (source_ == RankSource::kChosen) {
    // Selection has made the lists long enough.
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cudaMemsetAsync(kept, 0, kMaxLevels * sizeof(int32_t), frame->stream));
    return Enqueue(context, frame->stream);
  }
  const KeyLists keys = keys_.has_value() ? keys_->At(context) : KeyLists{};
  int64_t entries = 0;
  size_t scratch_bytes = 0;
  for (int l = 0; l < levels_; ++l) {
    const int count = frame->report.survivors[l];
    entries += RoundUp(count, kListAlignment);
    size_t bytes = 0;
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cub::DeviceRadixSort::SortKeys(nullptr, bytes, static_cast<const uint64_t*>(nullptr),
                                       static_cast<uint64_t*>(nullptr), count));
    scratch_bytes = std::max(scratch_bytes, bytes);
  }
  ORBSERVE_ASSIGN_OR_RETURN(uint8_t* const lists,
                            frame->scratch->Take(static_cast<size_t>(entries) * sizeof(uint64_t)));
  ORBSERVE_ASSIGN_OR_RETURN(uint8_t* const scratch, frame->scratch->Take(scratch_bytes));

  params.ranked = reinterpret_cast<uint64_t*>(lists);
  SortedLists sorted = {};
  sorted.levels = levels_;
  sorted.all_levels = all_levels_;
  sorted.kept = kept;
  int begin = 0;
  for (int l = 0; l < levels_; ++l) {
    const int count = frame->report.survivors[l];
    params.ranked_room[l] = {begin, count};
    // Keyed corners have lists of their own, however long: none of them is too long any more.
    if (source_ == RankSource::kKeys) params.survivor_room[l] = params.ranked_room[l];
    uint64_t* const list = params.ranked + begin;
    begin += RoundUp(count, kListAlignment);
    sorted.sorted[l] = list;
    sorted.count[l] = count;
    sorted.second_cut[l] = params.second_cut[l];
    if (count == 0) continue;
    const uint64_t* const source =
        source_ == RankSource::kKeys
            ? keys.key + context.frames.first * keys.stride + keys.offset[l]
            : params.survivors + params.survivor_room[l].begin;
    size_t bytes = scratch_bytes;
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cub::DeviceRadixSort::SortKeys(scratch, bytes, source, list, count, 0, 64, frame->stream));
  }
  CutSortedKernel<<<1, kWarpLanes, 0, frame->stream>>>(sorted);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("CutSortedKernel"));
  return frame->Upload();
}

}  // namespace orbserve::gpu
