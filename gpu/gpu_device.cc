// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/gpu_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/fast.h"
#include "features/algo/rbrief32.h"
#include "features/algo/rbrief_pattern.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/guarded.h"
#include "gpu/runtime/kernel_image.h"

namespace orbserve::gpu {
namespace {

// Memory that is free at start and is left to the driver and to other programs.
constexpr int64_t kReserveBytes = int64_t{512} << 20;
// A lane's arena: more would not make batches faster.
constexpr int64_t kLargestArenaBytes = int64_t{4} << 30;

}  // namespace

absl::StatusOr<std::unique_ptr<GpuDevice>> GpuDevice::Create(
    int ordinal, size_t index, size_t count, const GpuBackendOptions& options,
    std::shared_ptr<InputPool> inputs, std::shared_ptr<RecyclingPool<FrameResult>> results,
    std::shared_ptr<MemoryBudget> pinned_budget, Health* health) {
  std::unique_ptr<GpuDevice> device(new GpuDevice(health));
  ORBSERVE_RETURN_IF_ERROR(device->Start(ordinal, index, count, options, std::move(inputs),
                                         std::move(results), std::move(pinned_budget)));
  return device;
}

absl::Status GpuDevice::Start(int ordinal, size_t index, size_t count,
                              const GpuBackendOptions& options, std::shared_ptr<InputPool> inputs,
                              std::shared_ptr<RecyclingPool<FrameResult>> results,
                              std::shared_ptr<MemoryBudget> pinned_budget) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(ordinal));
  cudaDeviceProp properties;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, ordinal));
  ORBSERVE_ASSIGN_OR_RETURN(const int architecture,
                            KernelArchitecture(properties.major, properties.minor));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
  const int64_t limit =
      options.memory_limit_bytes > 0
          ? options.memory_limit_bytes
          : std::max(static_cast<int64_t>(free_bytes) / 10 * 9 - kReserveBytes, int64_t{1});

  name_ = absl::StrCat("cuda:", ordinal);
  hardware_name_ = properties.name;
  details_ = absl::StrCat("compute capability ", properties.major, ".", properties.minor, ", ",
                          properties.multiProcessorCount, " multiprocessors, ", total_bytes >> 20,
                          " MiB", properties.integrated != 0 ? " shared with the processor" : "",
                          ", limit ", limit >> 20, " MiB, ", options.lanes, " lanes");
  // A device of CUDA is function 0 of its PCI device.
  pci_bus_id_ = absl::StrCat(absl::Hex(properties.pciDomainID, absl::kZeroPad4), ":",
                             absl::Hex(properties.pciBusID, absl::kZeroPad2), ":",
                             absl::Hex(properties.pciDeviceID, absl::kZeroPad2), ".0");
  context_.device = ordinal;
  context_.device_index = index;
  context_.device_count = count;
  context_.device_name = name_;
  context_.max_batch_frames = options.max_batch_frames;
  context_.deadline = std::chrono::milliseconds(options.deadline_ms);
  context_.stage_sampling = options.stage_sampling;
  context_.overlaps_kernels = architecture >= 90;
  context_.budget = std::make_shared<MemoryBudget>(limit);
  context_.arena_budget = MemoryBudget::PartOf(context_.budget);
  context_.pinned_budget = std::move(pinned_budget);
  context_.graph_meter = std::make_shared<GraphMeter>();
  table_budget_ = MemoryBudget::PartOf(context_.budget);
  state_budget_ = MemoryBudget::PartOf(context_.budget);
  context_.inputs = std::move(inputs);
  context_.results = std::move(results);
  context_.state_buffers = std::make_shared<DeviceBufferPool>(ordinal, state_budget_);
  context_.tables.multiprocessors = properties.multiProcessorCount;
  // Graphs keep such launches apart from others since CUDA 12.3.
  int driver = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaDriverGetVersion(&driver));
  context_.tables.overlaps_kernels = context_.overlaps_kernels && driver >= 12030;
  // Packed 3-input minima are one instruction from 9.0 on, where they measured faster. That the bit
  // test is the cheaper way before is an estimate: nothing older was measured.
  context_.tables.default_test =
      architecture >= 90 ? CornerTest::kArcExtremes : CornerTest::kBinaryEncoding;
  // A tenth is left for tables of plans, states and the slow path.
  context_.arena_bytes = static_cast<size_t>(
      std::min(limit / 10 * 9 / (options.lanes + options.large_lanes), kLargestArenaBytes));
  ORBSERVE_RETURN_IF_ERROR(MakeTables());

  for (int i = 0; i < options.lanes + options.large_lanes; ++i) {
    auto lane = std::make_unique<LaneThread>();
    lane->for_large = i >= options.lanes;
    ORBSERVE_ASSIGN_OR_RETURN(lane->lane, Lane::Create(context_, i, lane->for_large));
    lanes_.push_back(std::move(lane));
  }
  ORBSERVE_ASSIGN_OR_RETURN(
      matcher_, Matcher::Create(context_, {architecture >= 80, properties.multiProcessorCount},
                                &batches_, health_));
  ORBSERVE_ASSIGN_OR_RETURN(tracker_, Tracker::Create(context_, health_));
  for (auto& lane : lanes_) {
    lane->thread = std::thread([this, self = lane.get()] { Run(self); });
  }
  return absl::OkStatus();
}

absl::Status GpuDevice::MakeTables() {
  struct Tables {
    algo::RBriefPair pattern[algo::kRBriefPairs];
    algo::RBriefPair pattern_32[algo::kRBrief32Pairs];
    uint32_t bits[4][algo::kFastBitTableWords];  // of arc lengths 9..12
  };
  const auto host = std::make_unique<Tables>();
  std::memcpy(host->pattern, algo::kRBriefPattern, sizeof(host->pattern));
  std::memcpy(host->pattern_32, algo::kRBrief32Pattern, sizeof(host->pattern_32));
  algo::FillFastBitTable<9>(host->bits[0]);
  algo::FillFastBitTable<10>(host->bits[1]);
  algo::FillFastBitTable<11>(host->bits[2]);
  algo::FillFastBitTable<12>(host->bits[3]);
  ORBSERVE_ASSIGN_OR_RETURN(
      tables_, DeviceBuffer::CreateCopyOf(
                   context_.device, {reinterpret_cast<const uint8_t*>(host.get()), sizeof(Tables)},
                   table_budget_));
  const auto* const there = reinterpret_cast<const Tables*>(tables_.data());
  context_.tables.pattern = there->pattern;
  context_.tables.pattern_32 = there->pattern_32;
  context_.tables.bit_tables = there->bits[0];
  return absl::OkStatus();
}

void GpuDevice::AppendMemory(std::vector<MemoryUse>* uses) const {
  uses->push_back({"arenas", name_, context_.arena_budget->used_bytes()});
  uses->push_back(
      {"plans", name_, table_budget_->used_bytes() + context_.graph_meter->device_bytes()});
  uses->push_back({"states", name_, state_budget_->used_bytes()});
}

GpuDevice::~GpuDevice() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  for (auto& lane : lanes_) {
    lane->wake.notify_one();
    if (lane->thread.joinable()) lane->thread.join();
  }
}

DeviceDescription GpuDevice::Describe() const {
  return {name_, hardware_name_, details_, pci_bus_id_};
}

absl::Status GpuDevice::Prepare(const std::shared_ptr<GpuPlan>& plan) {
  std::mutex mutex;
  std::condition_variable done;
  const bool is_large = plan->is_large();
  const auto works_for_it = [is_large](const std::unique_ptr<LaneThread>& lane) {
    return lane->for_large == is_large;
  };
  auto remaining = std::count_if(lanes_.begin(), lanes_.end(), works_for_it);
  absl::Status first_error;
  const auto ends = [&](const absl::Status& status) {
    const std::lock_guard<std::mutex> done_lock(mutex);
    if (first_error.ok()) first_error = status;
    // Under the lock: the waiting thread's variables end once it has seen 0.
    if (--remaining == 0) done.notify_one();
  };
  for (auto& lane : lanes_) {
    if (!works_for_it(lane)) continue;
    const absl::Status posted = Guarded([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      lane->tasks.push_back([this, &plan, &ends](Lane* own) {
        // On a device that hangs, freeing the memory that a larger arena replaces never returns.
        const absl::Status status =
            health_->lost()
                ? MakeError(ErrorReason::kDeviceLost, "the device does not answer any more")
                : Guarded([&] { return own->Prepare(plan); });
        health_->Note(status);
        ends(status);
      });
      return absl::OkStatus();
    });
    if (!posted.ok()) ends(posted);  // the other lanes use this call's variables
    lane->wake.notify_one();
  }
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [&] { return remaining == 0; });
  return first_error;
}

void GpuDevice::Submit(std::unique_ptr<FrameBatch> batch) {
  LaneThread* idle = nullptr;
  const bool is_large = batch->plan != nullptr && batch->plan->is_large();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& lane : lanes_) {
      // The thread of an idle lane ends first. What comes then is computed again, and the thread
      // that submits it looks at the queue next.
      if (stopping_) break;
      if (lane->for_large == is_large && !lane->busy && lane->tasks.empty()) {
        idle = lane.get();
        break;
      }
    }
    if (idle == nullptr) {
      queues_[is_large ? 1 : 0].push_back(std::move(batch));
    } else {
      idle->busy = true;
    }
    batches_.fetch_add(1, std::memory_order_relaxed);
  }
  if (idle == nullptr) return;
  Launch(idle->lane.get(), batch.get());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle->handed = std::move(batch);
  }
  idle->wake.notify_one();
}

void GpuDevice::Launch(Lane* lane, FrameBatch* batch) {
  const auto frames = static_cast<int>(batch->jobs.size());
  if (batch->plan == nullptr || frames > batch->plan->max_batch_frames()) {
    batch->status = MakeError(ErrorReason::kInternal,
                              "a batch without a plan of this backend, or larger than its plan");
  } else if (health_->lost()) {
    batch->status = MakeError(ErrorReason::kDeviceLost, "the device does not answer any more");
  }
  if (!batch->status.ok()) {
    batch->answer.cost.backend = kBackendName;
    batch->answer.cost.device = name_;
    batch->answer.cost.busy_begin = std::chrono::steady_clock::now();
    return;
  }
  lane->Launch(batch);
  health_->Note(batch->status);
}

void GpuDevice::Run(LaneThread* self) {
  Lane* const lane = self->lane.get();
  std::deque<std::unique_ptr<FrameBatch>>& queue = queues_[self->for_large ? 1 : 0];
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    self->wake.wait(lock, [&] {
      return self->handed != nullptr || (!self->busy && (!self->tasks.empty() || stopping_));
    });
    std::unique_ptr<FrameBatch> current = std::move(self->handed);
    self->busy = true;
    while (true) {
      if (current != nullptr) {
        lock.unlock();
        lane->Wait(current.get(), batches_.load(std::memory_order_relaxed) <= 1);
        health_->Note(current->status);
        lock.lock();
      }
      // Nothing of this lane is on the device now.
      while (!self->tasks.empty()) {
        const auto task = std::move(self->tasks.front());
        self->tasks.pop_front();
        lock.unlock();
        task(lane);
        lock.lock();
      }
      std::unique_ptr<FrameBatch> next;
      if (!queue.empty()) {
        next = std::move(queue.front());
        queue.pop_front();
      }
      if (next == nullptr && current == nullptr) break;
      lock.unlock();
      if (next != nullptr) Launch(lane, next.get());
      if (current != nullptr) Answer(lane, std::move(current));
      lock.lock();
      current = std::move(next);
    }
    self->busy = false;
    if (stopping_ && self->handed == nullptr) return;
  }
}

void GpuDevice::Answer(Lane* lane, std::unique_ptr<FrameBatch> batch) {
  lane->Finish(batch.get());
  if (ComputeAgain(batch.get())) {
    batches_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  FrameBatchAnswer answer = std::move(batch->answer);
  FrameBatchDone done = std::move(batch->done);
  batch.reset();
  // First: `done` may submit the next batch, and this device has room for it now.
  batches_.fetch_sub(1, std::memory_order_relaxed);
  std::move(done)(std::move(answer));
}

bool GpuDevice::ComputeAgain(FrameBatch* batch) {
  if (!batch->status.ok()) return false;
  std::vector<size_t> again;
  for (size_t i = 0; i < batch->jobs.size(); ++i) {
    if (!batch->works[i].undecided) continue;
    absl::Status& status = batch->answer.frames[i].status;
    status = Guarded([&] { return batch->jobs[i].input->EnsurePixels(); });
    batch->answer.frames[i].decoded_on_host = true;
    health_->NoteProgress();
    if (status.ok()) again.push_back(i);
  }
  if (again.empty()) return false;
  auto next = std::make_unique<FrameBatch>();
  next->plan = batch->plan;
  for (const size_t i : again) next->jobs.push_back(std::move(batch->jobs[i]));
  next->works.resize(again.size());
  next->answer.frames.resize(again.size());
  next->done = [again = std::move(again), answer = std::move(batch->answer),
                done = std::move(batch->done)](FrameBatchAnswer redone) mutable {
    for (size_t i = 0; i < again.size(); ++i) {
      answer.frames[again[i]] = std::move(redone.frames[i]);
      answer.frames[again[i]].decoded_on_host = true;
    }
    answer.cost.busy_end = redone.cost.busy_end;
    std::move(done)(std::move(answer));
  };
  Submit(std::move(next));
  return true;
}

}  // namespace orbserve::gpu
