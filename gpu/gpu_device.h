// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One CUDA device: its lanes, the queue in front of them and their threads.

#ifndef ORBSERVE_GPU_GPU_DEVICE_H_
#define ORBSERVE_GPU_GPU_DEVICE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/backend.h"
#include "gpu/device_request.h"
#include "gpu/frame_batch.h"
#include "gpu/gpu_backend.h"
#include "gpu/health.h"
#include "gpu/lane.h"
#include "gpu/matching/matcher.h"
#include "gpu/tracking/tracker.h"

namespace orbserve::gpu {

// Thread-safe.
//
// Threads: a lane belongs to one thread at a time. Submit() launches a batch itself on an idle lane
// (so that no thread has to wake up first) and hands it to the lane's thread, which waits for the
// device, launches the next batch of the queue, then fills in the answers of the first while the
// device works.
//
// Batches of large plans have lanes and a queue of their own, so that they never hold the lanes of
// others.
class GpuDevice {
 public:
  // `ordinal`: CUDA's number; `index`, `count`: among the backend's devices.
  static absl::StatusOr<std::unique_ptr<GpuDevice>> Create(
      int ordinal, size_t index, size_t count, const GpuBackendOptions& options,
      std::shared_ptr<InputPool> inputs, std::shared_ptr<RecyclingPool<FrameResult>> results,
      std::shared_ptr<MemoryBudget> pinned_budget, Health* health);
  // Waits for what is in flight.
  ~GpuDevice();

  const std::string& name() const { return name_; }
  DeviceDescription Describe() const;
  // Part of the device's memory for tables.
  const std::shared_ptr<MemoryBudget>& table_budget() const { return table_budget_; }
  int multiprocessors() const { return context_.tables.multiprocessors; }
  // Appends the memory that the device's lanes, plans and states hold there.
  void AppendMemory(std::vector<MemoryUse>* uses) const;
  // Bytes that the graphs of the device's lanes take on the host.
  int64_t graph_host_bytes() const { return context_.graph_meter->host_bytes(); }
  size_t arena_bytes() const { return context_.arena_bytes; }
  int ordinal() const { return context_.device; }
  // Work that was submitted and is not yet answered, in the units of Matcher::LoadOf().
  int64_t load() const {
    constexpr int64_t kLoadOfBatch = 16;
    return kLoadOfBatch * batches_.load(std::memory_order_relaxed) + matcher_->load() +
           tracker_->load();
  }

  // Makes the plan ready on every lane that its batches use. Waits for batches in flight there.
  absl::Status Prepare(const std::shared_ptr<GpuPlan>& plan);
  void Submit(std::unique_ptr<FrameBatch> batch);
  // See Matcher::Submit.
  void SubmitMatches(const std::shared_ptr<MatchRequest>& request,
                     const std::vector<size_t>& indexes) {
    matcher_->Submit(request, indexes);
  }
  // See Tracker::Submit.
  void SubmitTracks(const std::shared_ptr<TrackRequest>& request,
                    const std::vector<size_t>& indexes) {
    tracker_->Submit(request, indexes);
  }

 private:
  struct LaneThread {
    std::unique_ptr<Lane> lane;
    bool for_large = false;
    std::condition_variable wake;
    bool busy = false;                             // a thread works for the lane
    std::unique_ptr<FrameBatch> handed;            // launched, to be waited for
    std::deque<std::function<void(Lane*)>> tasks;  // to be done when nothing is in flight
    std::thread thread;
  };

  GpuDevice(Health* health) : health_(health) {}

  absl::Status Start(int ordinal, size_t index, size_t count, const GpuBackendOptions& options,
                     std::shared_ptr<InputPool> inputs,
                     std::shared_ptr<RecyclingPool<FrameResult>> results,
                     std::shared_ptr<MemoryBudget> pinned_budget);
  absl::Status MakeTables();
  void Run(LaneThread* self);
  // Launches unless the devices are lost already.
  void Launch(Lane* lane, FrameBatch* batch);
  void Answer(Lane* lane, std::unique_ptr<FrameBatch> batch);
  // Decodes files that a device left to the host, and computes their frames again. The answer to
  // the batch comes when they are done. False: there are none.
  bool ComputeAgain(FrameBatch* batch);

  Health* const health_;
  std::string name_;
  std::string hardware_name_;
  std::string details_;
  std::string pci_bus_id_;
  LaneContext context_;
  std::shared_ptr<MemoryBudget> table_budget_;
  std::shared_ptr<MemoryBudget> state_budget_;
  DeviceBuffer tables_;
  std::atomic<int> batches_{0};  // submitted and not yet answered

  std::mutex mutex_;
  bool stopping_ = false;  // guarded by mutex_
  // [of large plans]; guarded by mutex_
  std::deque<std::unique_ptr<FrameBatch>> queues_[2];
  std::vector<std::unique_ptr<LaneThread>> lanes_;
  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<Tracker> tracker_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_GPU_DEVICE_H_
