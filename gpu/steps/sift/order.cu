// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: [frame] features in any order. Out: [frame] those of the answer in the order of
// features/algo/sift_order.h, which is cv::KeyPointsFilter's with libstdc++.
//
// One block per frame. Features are counted into columns of a pixel, and ranked among those of
// their column by comparing all with all. The cut must leave the order of libstdc++'s
// std::nth_element. Its division of a range at a pivot can be done by all threads at once: the k-th
// entry from the left that is no more than the pivot is exchanged with the k-th from the right that
// is no less, as long as the one lies left of the other. Short rests are left to one warp.

#include "gpu/steps/sift/order.h"

#include <algorithm>
#include <climits>
#include <cstdint>

#include "features/algo/sift_order.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/select/block_scan.cuh"
#include "gpu/steps/sift/sift_data.h"

namespace orbserve::gpu {
namespace {

constexpr int kWarpRange = 512;  // entries that one warp divides sooner than a block

extern __shared__ __align__(16) uint8_t order_memory[];

// Shared memory: columns, or later the two lists of a division; then ranks.
ORBSERVE_HOST_DEVICE inline int FirstPart(int width_px, int shared_entries) {
  return RoundUp(Max(static_cast<int>(sizeof(int32_t)) * (width_px + 1),
                     2 * static_cast<int>(sizeof(uint16_t)) * shared_entries),
                 16);
}
ORBSERVE_HOST_DEVICE inline int SharedBytes(int width_px, int shared_entries) {
  return FirstPart(width_px, shared_entries) + static_cast<int>(sizeof(SiftRank)) * shared_entries;
}

// Two counts in one word: entries for the left list, and for the right one.
constexpr int kRightShift = 16;

// Threads that divide a range together: the block, or a warp of it.
struct BlockScope {
  static constexpr int kThreads = kScanThreads;
  int* warp_counts;  // shared, kScanWarps entries

  __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ void Meet() const { __syncthreads(); }
  // Threads for which `flag` is set. They meet.
  __device__ __forceinline__ int Count(bool flag) const { return __syncthreads_count(flag); }

  // Entries for either list in the threads before this one; `total`: of all.
  __device__ __forceinline__ int CountPairsBefore(bool left, bool right, int* total) const {
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const unsigned lefts = __ballot_sync(kFullWarp, left);
    const unsigned rights = __ballot_sync(kFullWarp, right);
    if (lane == 0) warp_counts[warp] = __popc(lefts) | __popc(rights) << kRightShift;
    __syncthreads();  // the counts of all warps are there
    const int end = SumUpToLane(warp_counts[lane], lane);
    *total = __shfl_sync(kFullWarp, end, kWarpLanes - 1);
    const int before = warp > 0 ? __shfl_sync(kFullWarp, end, warp - 1) : 0;
    __syncthreads();  // all warps have read the counts
    const unsigned lower = (1u << lane) - 1;
    return before + (__popc(lefts & lower) | __popc(rights & lower) << kRightShift);
  }
};

struct WarpScope {
  static constexpr int kThreads = kWarpLanes;

  __device__ __forceinline__ int thread() const {
    return static_cast<int>(threadIdx.x) % kWarpLanes;
  }
  __device__ __forceinline__ void Meet() const { __syncwarp(); }
  __device__ __forceinline__ int Count(bool flag) const {
    return __popc(__ballot_sync(kFullWarp, flag));
  }
  __device__ __forceinline__ int CountPairsBefore(bool left, bool right, int* total) const {
    const unsigned lefts = __ballot_sync(kFullWarp, left);
    const unsigned rights = __ballot_sync(kFullWarp, right);
    *total = __popc(lefts) | __popc(rights) << kRightShift;
    const unsigned lower = (1u << thread()) - 1;
    return __popc(lefts & lower) | __popc(rights & lower) << kRightShift;
  }
};

constexpr int kTieBits = 64;

// True if entry `j` comes before entry `i`, which has the same x. Of equal features any may come
// first.
__device__ __forceinline__ bool PrecedesInTie(const algo::SiftFeature* features,
                                              const SiftRank* ranks, int j, int i) {
  const algo::SiftFeature a = features[ranks[j].index];
  const algo::SiftFeature b = features[ranks[i].index];
  return algo::SiftPrecedes(a, b) || (j < i && !algo::SiftPrecedes(b, a));
}

// Fills `sorted` with the x and the indices of `count` features in order. `columns`: `width_px` + 1
// counters.
__device__ __forceinline__ void SortFeatures(const algo::SiftFeature* features, int count,
                                             int width_px, int32_t* columns, SiftRank* ranks,
                                             SiftRank* sorted, int* warp_sums) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto column_of = [&](float x) { return Clamp(static_cast<int>(x), 0, width_px - 1); };
  for (int i = thread; i <= width_px; i += kScanThreads) columns[i] = 0;
  __syncthreads();  // the counters are zero
#pragma unroll 4
  for (int i = thread; i < count; i += kScanThreads) {
    atomicAdd(&columns[column_of(__ldg(&features[i].x))], 1);
  }
  __syncthreads();  // all are counted
  const int per_thread = DivUp(width_px, kScanThreads);
  const int begin = Min(thread * per_thread, width_px);
  const int end = Min(begin + per_thread, width_px);
  int sum = 0;
  for (int i = begin; i < end; ++i) sum += columns[i];
  int total = 0;
  int before = SumBefore(sum, warp_sums, &total);
  for (int i = begin; i < end; ++i) {
    const int entries = columns[i];
    columns[i] = before;
    before += entries;
  }
  __syncthreads();  // every column knows its first place
#pragma unroll 4
  for (int i = thread; i < count; i += kScanThreads) {
    const float x = __ldg(&features[i].x);
    ranks[atomicAdd(&columns[column_of(x)], 1)] = {x, i};
  }
  __syncthreads();  // a column's counter is now its end
  for (int i = thread; i < count; i += kScanThreads) {
    const SiftRank rank = ranks[i];
    const int column = column_of(rank.response);
    const int first = column > 0 ? columns[column - 1] : 0;
    const int last = columns[column];
    int place = first;
    // Entries of the same x are compared afterwards: few, and their features are far.
    uint64_t ties = 0;
    for (int j = first; j < last; ++j) {
      const float x = ranks[j].response;
      place += x < rank.response ? 1 : 0;
      if (x == rank.response && j != i) {
        if (j - first < kTieBits) {
          ties |= uint64_t{1} << (j - first);
        } else {
          place += PrecedesInTie(features, ranks, j, i) ? 1 : 0;
        }
      }
    }
    for (; ties != 0; ties &= ties - 1) {
      const int j = first + __ffsll(static_cast<long long>(ties)) - 1;
      place += PrecedesInTie(features, ranks, j, i) ? 1 : 0;
    }
    sorted[place] = rank;
  }
  __syncthreads();  // all are sorted
}

// Fills `ranks` with the features in order, but for duplicates; returns how many there are.
// Features are far: no more than their responses are read where the one before has another x.
__device__ __forceinline__ int RankFeatures(const algo::SiftFeature* features, int count,
                                            const SiftRank* sorted, SiftRank* ranks,
                                            int* warp_counts) {
  const int thread = static_cast<int>(threadIdx.x);
  int total = 0;
  for (int begin = 0; begin < count; begin += kScanThreads) {
    const int i = begin + thread;
    bool kept = false;
    SiftRank rank = {};
    if (i < count) {
      rank = sorted[i];
      const SiftRank before = sorted[Max(i - 1, 0)];
      kept = i == 0 || before.response != rank.response ||
             !algo::IsSiftDuplicate(features[before.index], features[rank.index]);
      rank.response = features[rank.index].response;
    }
    int chunk = 0;
    const int place = total + CountBefore(kept, warp_counts, &chunk);
    if (kept) ranks[place] = rank;
    total += chunk;
  }
  __syncthreads();  // all ranks are there
  return total;
}

// What a division has still to divide: entries [first, last), so many times at most.
struct Division {
  int first;
  int last;
  int left;
};

// Divides as algo::DivideSiftRange() until no more than `shortest` entries remain.
template <typename Scope, typename Index>
__device__ __forceinline__ void DivideRanks(const Scope& scope, SiftRank* ranks, int shortest,
                                            int nth, Index* left, Index* right,
                                            Division* division) {
  const int thread = scope.thread();
  while (division->last - division->first > shortest && division->left > 0) {
    --division->left;
    const int first = division->first;
    const int last = division->last;
    if (thread == 0) algo::MoveSiftMedian(ranks, first, last);
    scope.Meet();  // the pivot is in front
    const float pivot = ranks[first].response;
    int left_count = 0;
    int right_count = 0;
    for (int begin = first + 1; begin < last; begin += Scope::kThreads) {
      const int i = begin + thread;
      const bool inside = i < last;
      const float response = inside ? ranks[i].response : 0.0f;
      const bool is_left = inside && response <= pivot;
      const bool is_right = inside && response >= pivot;
      int total = 0;
      const int before = scope.CountPairsBefore(is_left, is_right, &total);
      constexpr int kLeftMask = (1 << kRightShift) - 1;
      if (is_left) left[left_count + (before & kLeftMask)] = static_cast<Index>(i);
      if (is_right) right[right_count + (before >> kRightShift)] = static_cast<Index>(i);
      left_count += total & kLeftMask;
      right_count += total >> kRightShift;
    }
    scope.Meet();  // the lists are there
    // The right list is read from its end.
    const int pairs = Min(left_count, right_count);
    int swaps = 0;
    for (int begin = 0; begin < pairs; begin += Scope::kThreads) {
      const int k = begin + thread;
      const bool swap = k < pairs && left[k] < right[right_count - 1 - k];
      if (swap) algo::SwapSiftFeatures(ranks + left[k], ranks + right[right_count - 1 - k]);
      const int swapped = scope.Count(swap);
      swaps += swapped;
      if (swapped < Scope::kThreads) break;  // the lists have crossed
    }
    // Here the search from the left stops.
    int cut = INT_MAX;
    if (swaps < left_count) cut = static_cast<int>(left[swaps]);
    if (swaps > 0) cut = Min(cut, static_cast<int>(right[right_count - swaps]));
    scope.Meet();  // all have read the lists, and the ranks are in their places
    if (cut <= nth) {
      division->first = cut;
    } else {
      division->last = cut;
    }
  }
}

// algo::KeepBestSiftFeatures() by all threads.
template <typename Index>
__device__ __forceinline__ int KeepBestRanks(SiftRank* ranks, int count, int wanted, Index* left,
                                             Index* right, int* warp_counts) {
  if (wanted <= 0 || count <= wanted) return count;
  const int thread = static_cast<int>(threadIdx.x);
  Division division = {0, count, algo::SiftDivisions(count)};
  DivideRanks(BlockScope{warp_counts}, ranks, kWarpRange, wanted - 1, left, right, &division);
  if (thread < kWarpLanes) {
    constexpr int kInserted = 3;
    DivideRanks(WarpScope{}, ranks, kInserted, wanted - 1, left, right, &division);
    if (thread == 0) {
      algo::DivideSiftRange(ranks, division.first, division.last, wanted - 1, division.left);
    }
  }
  __syncthreads();  // the one at the cut is in its place
  const float least = ranks[wanted - 1].response;
  // Entries behind the cut that tie with it.
  int ties = 0;
  for (int begin = wanted; begin < count; begin += kScanThreads) {
    const int i = begin + thread;
    const bool tie = i < count && ranks[i].response >= least;
    int chunk = 0;
    const int place = ties + CountBefore(tie, warp_counts, &chunk);
    if (tie) right[place] = static_cast<Index>(i);
    ties += chunk;
  }
  const int end = wanted + ties;
  // Those beyond the new end fill the gaps before it, the last one first.
  int gaps = 0;
  for (int begin = wanted; begin < end; begin += kScanThreads) {
    const int i = begin + thread;
    const bool gap = i < end && ranks[i].response < least;
    int chunk = 0;
    const int place = gaps + CountBefore(gap, warp_counts, &chunk);
    if (gap) left[place] = static_cast<Index>(i);
    gaps += chunk;
  }
  __syncthreads();  // the lists are there
  for (int k = thread; k < gaps; k += kScanThreads) ranks[left[k]] = ranks[right[ties - 1 - k]];
  __syncthreads();  // the gaps are filled
  return end;
}

// Memory of a frame's order; the lists of a division may share theirs with the columns.
template <typename Index>
struct OrderMemory {
  int32_t* columns;
  SiftRank* ranks;
  Index* left;
  Index* right;
};

template <typename Index>
__device__ __forceinline__ void OrderFeatures(const SiftOrderParams& params,
                                              const FrameParams& frame, const SiftLists& lists,
                                              const SiftCounts& counts, int found,
                                              const OrderMemory<Index>& memory, int* warp_counts) {
  const algo::SiftFeature* const features = lists.features;
  SiftRank* const sorted = lists.sorted_ranks;
  SortFeatures(features, found, params.width_px, memory.columns, memory.ranks, sorted, warp_counts);
  const int unique = RankFeatures(features, found, sorted, memory.ranks, warp_counts);
  const int kept = KeepBestRanks(memory.ranks, unique, frame.answer_limit, memory.left,
                                 memory.right, warp_counts);
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kept; i += kScanThreads) lists.sorted[i] = memory.ranks[i].index;
  if (thread == 0) {
    counts.found = unique;
    counts.kept = kept;
  }
}

__global__ __launch_bounds__(kScanThreads) void SiftOrderKernel(
    const __grid_constant__ SiftOrderParams params) {
  BeginNextKernel();
  AwaitKernelBefore();
  __shared__ int warp_counts[kScanWarps];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.x);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode == FrameMode::kIdle) return;
  const SiftLists lists = SiftListsOf(frame);
  const SiftCounts counts = SiftCountsOf(params.frames.counters[frame_index]);
  const int found = Min(counts.features, lists.capacity);
  int32_t* const columns = reinterpret_cast<int32_t*>(order_memory);
  if (found <= params.shared_entries) {
    auto* const short_lists = reinterpret_cast<uint16_t*>(order_memory);
    auto* const ranks = reinterpret_cast<SiftRank*>(
        order_memory + FirstPart(params.width_px, params.shared_entries));
    OrderFeatures<uint16_t>(params, frame, lists, counts, found,
                            {columns, ranks, short_lists, short_lists + params.shared_entries},
                            warp_counts);
  } else {
    OrderFeatures<int32_t>(params, frame, lists, counts, found,
                           {columns, lists.ranks, lists.left, lists.right}, warp_counts);
  }
}

}  // namespace

absl::Status AllowSiftSharedEntries(int width_px, int32_t* shared_entries) {
  int device = 0;
  int bytes = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaGetDevice(&device));
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  constexpr int kStaticBytes = 1024;
  constexpr int kMostEntries = 18432;
  int entries = kMostEntries;
  while (entries > 0 && SharedBytes(width_px, entries) > bytes - kStaticBytes) entries -= 64;
  *shared_entries = Max(entries, 0);
  // The same for all plans.
  return StatusFromCuda(
      cudaFuncSetAttribute(SiftOrderKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           bytes - kStaticBytes),
      "cudaFuncSetAttribute");
}

absl::Status LaunchSiftOrder(const SiftOrderParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  return LaunchKernel(SiftOrderKernel, "SiftOrderKernel", dim3(params.frames.count), kScanThreads,
                      params.follows, params, stream,
                      static_cast<size_t>(SharedBytes(params.width_px, params.shared_entries)));
}

absl::Status SiftOrderStep::AddDevice(int /*device*/,
                                      const std::shared_ptr<MemoryBudget>& /*budget*/) {
  shared_entries_.push_back(0);
  return AllowSiftSharedEntries(buffers_.geometry().width_px, &shared_entries_.back());
}

absl::Status SiftOrderStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchSiftOrder({context.frames, buffers_.geometry().width_px,
                          shared_entries_[context.device_index], context.follows},
                         stream);
}

absl::Status SiftOrderStep::FinishLarge(const StepContext& context, LargeFrame* frame) const {
  return Enqueue(context, frame->stream);
}

}  // namespace orbserve::gpu
