// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Computes pairs on a device: a stream and memory of fixed size, so that matching allocates
// nothing but room on the device for descriptors that are not there yet.

#ifndef ORBSERVE_GPU_MATCHING_MATCH_LANE_H_
#define ORBSERVE_GPU_MATCHING_MATCH_LANE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/backend.h"
#include "gpu/frame_state.h"
#include "gpu/lane.h"
#include "gpu/matching/match_kernel.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"

namespace orbserve::gpu {

// A pair on its way through a lane. `job` and `matches` are the caller's.
struct MatchWork {
  const MatchJob* job = nullptr;
  Matches* matches = nullptr;
  absl::Status status;
  int64_t compute_ns = 0;  // of the device

  // The rest is the lane's.
  std::shared_ptr<const DeviceBuffer> query;
  std::shared_ptr<const DeviceBuffer> train;
  std::shared_ptr<const DeviceBuffer> query_places;  // null without rules of places
  std::shared_ptr<const DeviceBuffer> train_places;
  int queries = 0;
  int trains = 0;
  int descriptor_bytes = 0;
  int k = 0;           // neighbours to find; 0 = there is nothing to compare
  size_t nearest = 0;  // places in the lane's results
  size_t reverse = 0;

  // Frees the memory before the answer is given, as its receiver may need it.
  void FreeMemory() {
    query.reset();
    train.reset();
    query_places.reset();
    train_places.reset();
  }
  bool has_window() const { return query_places != nullptr; }  // or other rules of places
  bool has_band() const;
  // The rules of places of a pair that has them.
  WindowPair window() const;
};

// Not thread-safe: one thread at a time works for a lane. None of its calls throws.
class MatchLane {
 public:
  struct Device {
    bool tensor_cores = false;
    int multiprocessors = 1;
  };

  // `context` must outlive the lane.
  static absl::StatusOr<std::unique_ptr<MatchLane>> Create(const LaneContext& context,
                                                           const Device& device,
                                                           Stream::Priority priority);

  // Entries of kMaxResults that the results of a pair take: two a neighbour of vectors.
  static size_t ResultsOf(const MatchJob& job);
  static constexpr size_t kMaxResults = size_t{1} << 19;

  // Computes pairs together, whose results are kMaxResults in sum at most: one upload for each set
  // that is not on the device, a launch for up to kMaxMatchPairs of a kind, one wait. What fails
  // for one pair fails that pair; what fails for the device all of them. `answered` is called for
  // each in turn, as soon as its matches or its status are there.
  void Compute(std::vector<MatchWork>* works, absl::FunctionRef<void(MatchWork&)> answered);

  // Computes one pair of any size in slices of about a millisecond. Before each `before_slice` is
  // asked: an error ends the pair with it; otherwise it says whether others work on the device,
  // which then is not filled. The deadline of the device holds for each slice.
  void ComputeInSlices(MatchWork* work, absl::FunctionRef<absl::StatusOr<bool>()> before_slice);

 private:
  // A part of a set on its way to the device.
  struct Upload {
    const GpuFrameState* state;  // null: part of it failed to go up
    StatePart part;
    std::shared_ptr<const DeviceBuffer> buffer;
  };
  // One direction of a match in slices.
  struct Pass {
    const uint8_t* query;  // device
    const uint8_t* train;
    int queries;
    int trains;
    int descriptor_bytes;
    int k;
    const WindowPair* window;  // null = none
  };
  // Takes the neighbours of queries `first`..`first + count`, [count][k], of vectors as two units
  // each.
  using TakeSlice = absl::FunctionRef<void(int first, int count, const PackedNeighbour* nearest)>;

  MatchLane(const LaneContext& context, const Device& device)
      : context_(context), device_(device) {}

  absl::Status Check(MatchWork* work);
  absl::StatusOr<std::shared_ptr<const DeviceBuffer>> OnDevice(const GpuFrameState& state,
                                                               StatePart part);
  // Before anything is enqueued for the pairs: their time on the device begins.
  absl::Status BeginTime();
  // Enqueues a copy of `bytes` from host memory of any kind.
  absl::Status Send(const void* source, size_t bytes, uint8_t* device);
  // Others may use what went up. After the device was waited for.
  void PublishUploads();
  MatchParams Params() const;
  absl::Status Launch(std::vector<MatchWork>* works);
  absl::Status Wait(std::chrono::microseconds spin);
  void Finish(double ns_per_distance, MatchWork* work) const;
  absl::Status RunSlices(const Pass& pass, absl::FunctionRef<absl::StatusOr<bool>()> before_slice,
                         int64_t* compute_ns, TakeSlice take);
  absl::Status Slices(MatchWork* work, absl::FunctionRef<absl::StatusOr<bool>()> before_slice);

  const LaneContext& context_;
  const Device device_;
  Stream stream_;
  Event begin_;
  Event end_;
  PinnedBuffer memory_;
  PackedNeighbour* results_ = nullptr;  // [kMaxResults], pinned
  uint8_t* staging_ = nullptr;          // pinned
  size_t staged_bytes_ = 0;
  bool time_begun_ = false;
  DeviceBuffer scratch_;
  DeviceBuffer tickets_;
  std::vector<Upload> uploads_;
  std::vector<MatchWork*> order_;  // of the launches
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MATCHING_MATCH_LANE_H_
