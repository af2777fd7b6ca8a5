// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/gpu_backend.h"

#include <cuda_runtime_api.h>
#include <algorithm>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/input_limits.h"
#include "features/options.h"
#include "gpu/device_request.h"
#include "gpu/frame_state.h"
#include "gpu/gpu_device.h"
#include "gpu/health.h"
#include "gpu/matching/matcher.h"
#include "gpu/memory/input_pool.h"
#include "gpu/runtime/check.h"
#include "gpu/tracking/tracker.h"

namespace orbserve::gpu {
namespace {

static_assert(kMaxFramesInBatch == FramesOfClass(kBatchClasses - 1));
constexpr int kMaxDeadlineMs = 600'000;
constexpr int kMaxStageSampling = 1 << 20;

// True for a device that has no memory of its own.
bool IsIntegrated(int ordinal) {
  int integrated = 0;
  return cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, ordinal) == cudaSuccess &&
         integrated != 0;
}

class GpuBackend final : public FeatureBackend {
 public:
  GpuBackend(const GpuBackendOptions& options, const std::vector<int>& ordinals)
      : options_(options),
        reads_in_place_(options_.input_reads == InputReads::kInPlace ||
                        (options_.input_reads == InputReads::kAuto &&
                         std::all_of(ordinals.begin(), ordinals.end(), &IsIntegrated))),
        inputs_(std::make_shared<InputPool>(ordinals[0],
                                            InputBudgetBytes(options.input_budget_bytes),
                                            options.decodes_jpeg && !reads_in_place_)),
        results_(std::make_shared<RecyclingPool<FrameResult>>(kMaxIdleResultBytes)) {}

  absl::Status Start(const std::vector<int>& ordinals) {
    for (size_t i = 0; i < ordinals.size(); ++i) {
      ORBSERVE_ASSIGN_OR_RETURN(
          auto device, GpuDevice::Create(ordinals[i], i, ordinals.size(), options_, inputs_,
                                         results_, pinned_, &health_));
      devices_.push_back(std::move(device));
    }
    return absl::OkStatus();
  }

  absl::string_view name() const override { return kBackendName; }

  std::vector<DeviceDescription> devices() const override {
    std::vector<DeviceDescription> descriptions;
    for (const auto& device : devices_) {
      descriptions.push_back(device->Describe());
      descriptions.back().no_jpeg_reason = NoJpegReason();
    }
    return descriptions;
  }

  BackendState state() const override {
    return health_.lost() ? BackendState::kLost : BackendState::kOk;
  }

  uint64_t progress() const override { return health_.progress(); }

  std::vector<MemoryUse> memory() const override {
    std::vector<MemoryUse> uses;
    int64_t graph_bytes = 0;
    for (const auto& device : devices_) {
      device->AppendMemory(&uses);
      graph_bytes += device->graph_host_bytes();
    }
    uses.push_back({"plans", "host", graph_bytes});
    uses.push_back({"pinned", "host", pinned_->used_bytes()});
    uses.push_back({"inputs", "host", inputs_->used_bytes()});
    return uses;
  }

  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    if (health_.lost()) {
      return MakeError(ErrorReason::kDeviceLost, "the device does not answer any more");
    }
    try {
      GpuPlan::Limits limits = PlanLimits();
      while (true) {
        auto plan = GpuPlan::Create(spec, limits);
        if (!plan.ok()) {
          health_.Note(plan.status());
          return plan.status();
        }
        absl::Status status;
        for (const auto& device : devices_) {
          if (status.ok()) status = device->Prepare(*plan);
        }
        if (status.ok()) return std::shared_ptr<FeaturePlan>(*std::move(plan));
        // Memory that others hold: a smaller batch may do.
        const int frames = (*plan)->max_batch_frames();
        if (ReasonOf(status) != ErrorReason::kOutOfMemory || frames == 1) return status;
        limits.max_batch_frames = frames / 2;
      }
    } catch (const std::bad_alloc&) {
      return MakeError(ErrorReason::kOutOfMemory, "no memory for the tables of the plan");
    }
  }

  int64_t MaxFramePixels(int64_t most) const override {
    const GpuPlan::Limits limits = PlanLimits();
    most = MostFramePixels(most, inputs_->budget_bytes(), [](const PlanSpec& spec) {
      return SlotLayout::For(spec.width_px, spec.height_px).image_bytes;
    });
    return MostFramePixels(
        most, static_cast<int64_t>(limits.arena_bytes),
        [&](const PlanSpec& spec) { return GpuPlan::FrameBytesOf(spec, limits); });
  }

  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) override {
    try {
      return inputs_->Lease(width_px, height_px, with_mask);
    } catch (const std::bad_alloc&) {
      return MakeError(ErrorReason::kOutOfMemory, "no memory for an input slot");
    }
  }

  void FreeIdle() override {
    results_->FreeIdle();
    // Freeing never returns on a device that hangs.
    if (!health_.lost()) inputs_->FreeIdle();
  }

  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    auto batch = std::make_unique<FrameBatch>();
    batch->works.resize(jobs.size());
    batch->answer.frames.resize(jobs.size());
    batch->plan = std::dynamic_pointer_cast<GpuPlan>(std::move(plan));
    batch->jobs = std::move(jobs);
    batch->done = std::move(done);
    LeastLoaded().Submit(std::move(batch));
  }

  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    Spread(
        std::make_shared<MatchRequest>(std::move(jobs), std::move(done)), &Matcher::LoadOf,
        [this](const MatchJob& job, const std::vector<int64_t>& load) {
          return DeviceFor(job.query, job.train, StatePart::kDescriptors, load);
        },
        &GpuDevice::SubmitMatches);
  }

  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    Spread(
        std::make_shared<TrackRequest>(std::move(jobs), std::move(done)), &Tracker::LoadOf,
        [this](const TrackJob& job, const std::vector<int64_t>& load) {
          return DeviceFor(job.to, job.from, StatePart::kPyramid, load);
        },
        &GpuDevice::SubmitTracks);
  }

  // A device makes the pyramid when it is first needed.
  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) override {
    std::shared_ptr<InputSlot> input = state.input();
    if (input == nullptr || state.pyramid_levels() == 0) {
      return MakeError(ErrorReason::kInternal, "RebuildPyramid was given a state without pyramid");
    }
    return std::make_shared<const GpuFrameState>(std::make_shared<const Features>(),
                                                 devices_.size(), std::move(input),
                                                 state.pyramid_levels());
  }

  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    if (features == nullptr) {
      return MakeError(ErrorReason::kInternal, "ImportState was given no features");
    }
    return std::make_shared<const GpuFrameState>(std::move(features), devices_.size());
  }

  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    const auto* const own = dynamic_cast<const GpuFrameState*>(&state);
    if (own == nullptr) {
      return MakeError(ErrorReason::kInternal, "ExportState was given another backend's state");
    }
    return own->features();
  }

 private:
  GpuPlan::Limits PlanLimits() const {
    GpuPlan::Limits limits;
    limits.max_batch_frames = options_.max_batch_frames;
    limits.reads_in_place = reads_in_place_;
    limits.arena_bytes = devices_[0]->arena_bytes();
    limits.multiprocessors = devices_[0]->multiprocessors();
    for (const auto& device : devices_) {
      limits.devices.push_back(device->ordinal());
      limits.budgets.push_back(device->table_budget());
      limits.multiprocessors = std::min(limits.multiprocessors, device->multiprocessors());
      limits.arena_bytes = std::min(limits.arena_bytes, device->arena_bytes());
    }
    return limits;
  }

  // Returns what DeviceDescription tells as the reason; empty if there is none.
  std::string NoJpegReason() const {
    if (!options_.decodes_jpeg) return "backend.jpeg is \"host\"";
    return reads_in_place_ ? "it reads frames in place, where pixels must be" : "";
  }

  GpuDevice& LeastLoaded() {
    GpuDevice* chosen = devices_[0].get();
    for (const auto& device : devices_) {
      if (device->load() < chosen->load()) chosen = device.get();
    }
    return *chosen;
  }

  // Gives each job of a request to the device that `device_for` chooses by the loads of devices.
  template <typename Request, typename LoadOf, typename DeviceFor>
  void Spread(const std::shared_ptr<Request>& request, LoadOf load_of, DeviceFor device_for,
              void (GpuDevice::*submit)(const std::shared_ptr<Request>&,
                                        const std::vector<size_t>&)) {
    if (request->size() == 0) {
      (devices_[0].get()->*submit)(request, {0});
      return;
    }
    std::vector<std::vector<size_t>> jobs(devices_.size());
    std::vector<int64_t> load;
    for (const auto& device : devices_) load.push_back(device->load());
    for (size_t i = 0; i < request->size(); ++i) {
      const size_t device = device_for(request->job(i), load);
      load[device] += load_of(request->job(i));
      jobs[device].push_back(i);
    }
    for (size_t device = 0; device < devices_.size(); ++device) {
      if (!jobs[device].empty()) (devices_[device].get()->*submit)(request, jobs[device]);
    }
  }

  // The device that has the part of both states, else of the first, else of the second; among equal
  // ones that with the least `load`, [device].
  size_t DeviceFor(const std::shared_ptr<const FrameState>& first,
                   const std::shared_ptr<const FrameState>& second, StatePart part,
                   const std::vector<int64_t>& load) const {
    const auto* const own_first = dynamic_cast<const GpuFrameState*>(first.get());
    const auto* const own_second = dynamic_cast<const GpuFrameState*>(second.get());
    const auto there = [&](size_t device) {
      return (own_first != nullptr && own_first->OnDevice(device, part) != nullptr ? 2 : 0) +
             (own_second != nullptr && own_second->OnDevice(device, part) != nullptr ? 1 : 0);
    };
    if (devices_.size() == 1) return 0;
    size_t chosen = 0;
    int most = there(0);
    for (size_t device = 1; device < devices_.size(); ++device) {
      const int own = there(device);
      if (own > most || (own == most && load[device] < load[chosen])) {
        chosen = device;
        most = own;
      }
    }
    return chosen;
  }

  GpuBackendOptions options_;  // as they are in effect once Start() has been called
  const bool reads_in_place_;
  Health health_;
  const std::shared_ptr<InputPool> inputs_;
  const std::shared_ptr<MemoryBudget> pinned_ = MemoryBudget::Unlimited();
  const std::shared_ptr<RecyclingPool<FrameResult>> results_;
  std::vector<std::unique_ptr<GpuDevice>> devices_;
};

// IntRange is too narrow for bytes.
absl::Status CheckBytes(absl::string_view name, int64_t bytes) {
  constexpr int64_t kMax = int64_t{1} << 50;
  if (bytes >= 0 && bytes <= kMax) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(name, " must be in [0, ", kMax, "]; got ", bytes));
}

absl::StatusOr<std::vector<int>> ChooseDevices(const std::vector<int>& wanted) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    return MakeError(
        ErrorReason::kDeviceLost,
        absl::StrCat("no CUDA device answers: ",
                     result == cudaSuccess ? "none found" : cudaGetErrorString(result)));
  }
  std::vector<int> ordinals = wanted;
  if (ordinals.empty()) {
    for (int i = 0; i < count; ++i) ordinals.push_back(i);
  }
  std::set<int> seen;
  for (const int ordinal : ordinals) {
    ORBSERVE_RETURN_IF_ERROR(CheckRange("devices", ordinal, {0, count - 1}));
    if (!seen.insert(ordinal).second) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("devices must name each device once; got ", ordinal, " twice"));
    }
  }
  return ordinals;
}

}  // namespace

bool IsBuiltIn() { return true; }

bool SharesHostMemory(const std::vector<int>& devices) {
  const absl::StatusOr<std::vector<int>> ordinals = ChooseDevices(devices);
  return ordinals.ok() && std::any_of(ordinals->begin(), ordinals->end(), &IsIntegrated);
}

absl::StatusOr<std::unique_ptr<FeatureBackend>> CreateGpuBackend(const GpuBackendOptions& options) {
  ORBSERVE_RETURN_IF_ERROR(CheckRange("lanes", options.lanes, {1, kMaxLanes}));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("large_lanes", options.large_lanes, {1, kMaxLanes}));
  ORBSERVE_RETURN_IF_ERROR(
      CheckRange("max_batch_frames", options.max_batch_frames, {1, kMaxFramesInBatch}));
  ORBSERVE_RETURN_IF_ERROR(CheckRange("deadline_ms", options.deadline_ms, {1, kMaxDeadlineMs}));
  ORBSERVE_RETURN_IF_ERROR(
      CheckRange("stage_sampling", options.stage_sampling, {0, kMaxStageSampling}));
  ORBSERVE_RETURN_IF_ERROR(CheckBytes("memory_limit_bytes", options.memory_limit_bytes));
  ORBSERVE_RETURN_IF_ERROR(CheckBytes("input_budget_bytes", options.input_budget_bytes));
  ORBSERVE_ASSIGN_OR_RETURN(const std::vector<int> ordinals, ChooseDevices(options.devices));
  auto backend = std::make_unique<GpuBackend>(options, ordinals);
  ORBSERVE_RETURN_IF_ERROR(backend->Start(ordinals));
  return backend;
}

}  // namespace orbserve::gpu
