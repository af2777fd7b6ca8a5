// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The slow path of a lane: frames that need more than the fixed sizes of the fast one. The same
// kernels, one frame at a time, records fetched in several rounds; lists that are too long to be
// ranked by comparing all with all are sorted. It may allocate and waits for the device.

#include <algorithm>
#include <cstring>
#include <utility>

#include "features/algo/rbrief.h"
#include "features/errors.h"
#include "gpu/kernels/describe.h"
#include "gpu/kernels/rank.h"
#include "gpu/lane.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {
namespace {

constexpr size_t kAlignment = 256;

// Device memory at the head of Lane::large_.
struct LargeHead {
  FrameParams params;
  const uint64_t* sorted[kMaxLevels];
  int32_t kept[kMaxLevels];
};
constexpr size_t kHeadBytes = RoundUp(sizeof(LargeHead), kAlignment);

// The view of a batch that holds only its frame number `place`.
BatchView OnlyFrame(BatchView view, int place, const FrameParams* params) {
  view.params = params;
  view.counters += place;
  view.pyramid += place * view.pyramid_stride;
  view.corner_position += place * view.corner_stride;
  view.corner_score += place * view.corner_stride;
  view.survivors += place * view.corner_stride;
  view.ranked += static_cast<int64_t>(place) * kMaxLevels * kMaxRanked;
  view.mask_pyramid = nullptr;
  view.frame_count = 1;
  return view;
}

}  // namespace

absl::Status Lane::WaitForStream() {
  ORBSERVE_RETURN_IF_ERROR(end_.Record(stream_.get()));
  return end_.Wait(std::chrono::steady_clock::now() + context_.deadline,
                   std::chrono::microseconds(100));
}

absl::Status Lane::RankLarge(bool all_levels, const BatchView& frame_view,
                             const FrameParams& params, const FrameReport& report) {
  const int levels = frame_view.levels;
  size_t sorted_bytes = 0;
  size_t scratch_bytes = 0;
  for (int l = 0; l < levels; ++l) {
    sorted_bytes +=
        RoundUp(static_cast<size_t>(report.survivors[l]) * sizeof(uint64_t), kAlignment);
    ORBSERVE_ASSIGN_OR_RETURN(const size_t bytes, LargeRankScratchBytes(report.survivors[l]));
    scratch_bytes = std::max(scratch_bytes, bytes);
  }
  const size_t needed = kHeadBytes + sorted_bytes + scratch_bytes;
  if (large_.size_bytes() < needed) {
    ORBSERVE_RETURN_IF_ERROR(Enlarge(&large_, needed));
  }
  auto* const head = reinterpret_cast<LargeHead*>(large_.data());
  LargeRankParams rank = {};
  rank.levels = levels;
  rank.all_levels = all_levels;
  rank.kept = head->kept;
  uint8_t* next = large_.data() + kHeadBytes;
  for (int l = 0; l < levels; ++l) {
    rank.survivors[l] = frame_view.survivors + frame_view.level[l].corner_offset;
    rank.survivor_count[l] = report.survivors[l];
    rank.sorted[l] = reinterpret_cast<uint64_t*>(next);
    next += RoundUp(static_cast<size_t>(report.survivors[l]) * sizeof(uint64_t), kAlignment);
  }
  rank.scratch = next;
  rank.scratch_bytes = scratch_bytes;
  std::copy_n(params.second_cut, kMaxLevels, rank.second_cut);
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(head->sorted, rank.sorted, sizeof(rank.sorted),
                                                cudaMemcpyHostToDevice, stream_.get()));
  return LaunchLargeRank(rank, stream_.get());
}

absl::Status Lane::FinishLarge(FrameBatch* batch, size_t job_index) {
  const TraceRange trace("slow path");
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context_.device));
  FrameWork& work = batch->works[job_index];
  Side& side = sides_[batch->side];
  FrameParams& params = side.params[work.place];
  FrameReport& report = side.reports[work.place];
  const size_t rows = static_cast<size_t>(work.place) * kNormalRecords;
  const uint8_t* const descriptors = side.descriptors + rows * algo::kRBriefBytes;
  const int capacity = batch->plan->spec().pipeline.select.capacity;
  Features& features = work.result->features;
  const bool given = batch->jobs[job_index].given_keypoints != nullptr;

  const BatchView whole = batch->plan->View(batch->kind, context_.device_index, arena_.data());
  if (large_.size_bytes() < kHeadBytes) {
    ORBSERVE_RETURN_IF_ERROR(Enlarge(&large_, kHeadBytes));
  }
  BatchView view = OnlyFrame(whole, work.place, nullptr);
  const bool unranked = report.unranked != 0;
  if (unranked) {
    ORBSERVE_RETURN_IF_ERROR(RankLarge(!batch->plan->selects_by_level(), view, params, report));
  }
  auto* const head = reinterpret_cast<LargeHead*>(large_.data());
  view.params = &head->params;

  DescribeParams describe = {};
  describe.batch = view;
  describe.pattern = context_.tables.pattern;
  describe.orient = batch->plan->orients();
  describe.describe = batch->plan->descriptor_bytes() > 0;
  if (unranked) {
    describe.large_ranked = head->sorted;
    describe.large_kept = head->kept;
  }
  params.state_descriptors = nullptr;  // the state's copy is made when it is first needed

  // Round by round; what the fast path wrote is taken first where it was right.
  int done = unranked ? 0 : report.written;
  int wanted = given ? static_cast<int>(work.given.size()) : std::min(report.total, capacity);
  if (!unranked && !given) {
    features.truncated = report.total > capacity;
    features.Resize(static_cast<size_t>(wanted));
    CopyRecords(*batch->plan, side.records + rows, descriptors, 0, done, &features);
  } else if (given) {
    std::memcpy(features.descriptors.data(), descriptors,
                static_cast<size_t>(done) * algo::kRBriefBytes);
  }
  bool sized = !unranked;
  while (!sized || done < wanted) {
    if (given) {
      // A round has its own list, from its first row on.
      params.first_record = 0;
      params.given_count = std::min(wanted - done, kNormalRecords);
      std::memcpy(side.given + rows, work.given.data() + done,
                  static_cast<size_t>(params.given_count) * sizeof(GivenEntry));
    } else {
      params.first_record = done;
    }
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(&head->params, &params, sizeof(params),
                                                  cudaMemcpyHostToDevice, stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(LaunchDescribe(describe, stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(WaitForStream());
    if (!sized) {
      wanted = std::min(report.total, capacity);
      features.truncated = report.total > capacity;
      features.Resize(static_cast<size_t>(wanted));
      sized = true;
    }
    const int count = std::min(report.written, wanted - done);
    if (count <= 0 && done < wanted) {
      return MakeError(ErrorReason::kInternal, "the slow path made no progress");
    }
    if (given) {
      std::memcpy(features.descriptors.data() + static_cast<size_t>(done) * algo::kRBriefBytes,
                  descriptors, static_cast<size_t>(count) * algo::kRBriefBytes);
    } else {
      CopyRecords(*batch->plan, side.records + rows, descriptors, done, count, &features);
    }
    done += count;
  }
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
