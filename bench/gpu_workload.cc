// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu_workload.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "features/algo/fast.h"
#include "features/algo/rbrief32.h"
#include "features/algo/rbrief_pattern.h"
#include "gpu/frame/frame_room.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/select/key_survivors.h"

namespace orbserve::bench {
namespace {

// Tables that do not depend on plans.
struct Tables {
  algo::RBriefPair pattern[algo::kRBriefPairs];
  algo::RBriefPair pattern_32[algo::kRBrief32Pairs];
  uint32_t bits[4][algo::kFastBitTableWords];  // of arc lengths 9..12
};

}  // namespace

absl::Status GpuWorkload::Prepare(const GreyImage& image, const PipelineOptions& options,
                                  const FrameParameters& parameters, int frames) {
  int multiprocessors = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  gpu::GpuPlan::Limits limits;
  limits.devices = {0};
  limits.budgets = {nullptr};
  limits.max_batch_frames = frames;
  limits.arena_bytes = size_t{16} << 30;
  ORBSERVE_ASSIGN_OR_RETURN(
      plan, gpu::GpuPlan::Create({image.width_px, image.height_px, options}, limits));
  const CompiledPipeline& pipeline = plan->pipeline();
  const Cuts cuts = pipeline.CutsFor(parameters);
  const gpu::FrameRoom room = gpu::FrameRoom::ForDetection(pipeline, parameters, cuts);
  gpu::GraphKind kind = {gpu::ClassOfFrames(frames)};
  kind.low_threshold = parameters.fast_threshold_low_grey > 0;
  kind.few_keys = gpu::ChoosesFewKeys(pipeline, gpu::FirstKeys(cuts));
  const auto places = static_cast<size_t>(kind.frames());
  const size_t arena_bytes = plan->ArenaBytesFor(kind, places * room.list_bytes());
  ORBSERVE_ASSIGN_OR_RETURN(arena, gpu::DeviceBuffer::Create(0, arena_bytes, nullptr));
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemset(arena.data(), 0, arena_bytes));

  ORBSERVE_RETURN_IF_ERROR(
      side.Create(kind.frames(),
                  places * gpu::PinnedSide::RowBytes(room.rows, gpu::RecordBytes(pipeline),
                                                     pipeline.descriptor_bytes, false),
                  nullptr));
  const gpu::SlotLayout& slot = plan->slot();
  std::vector<uint8_t> input(slot.image_bytes);
  for (int y = 0; y < image.height_px; ++y) {
    const auto width = static_cast<size_t>(image.width_px);
    std::memcpy(input.data() + kImagePaddingBytes +
                    static_cast<size_t>(y) * static_cast<size_t>(slot.pitch_bytes),
                image.pixels.data() + static_cast<size_t>(y) * width, width);
  }
  for (size_t i = 0; i < places; ++i) {
    gpu::FrameParams& frame = side.params()[i];
    frame = {};
    frame.mode = gpu::FrameMode::kDetect;
    frame.threshold_grey = parameters.detection_threshold_grey();
    if (kind.low_threshold) frame.strong_threshold_grey = parameters.fast_threshold_grey;
    frame.quality_level = parameters.quality_level;
    std::copy(cuts.by_score.begin(), cuts.by_score.end(), frame.first_cut);
    std::copy(cuts.by_response.begin(), cuts.by_response.end(), frame.second_cut);
    frame.answer_limit = std::min(cuts.wanted, cuts.capacity);
    frame.first_keys = gpu::FirstKeys(cuts);
    frame.image_offset = static_cast<int64_t>(i * slot.image_bytes) + kImagePaddingBytes;
    frame.mask_offset = -1;
    frame.survivors =
        reinterpret_cast<uint64_t*>(arena.data() + plan->ListsOffset(kind) + i * room.list_bytes());
    frame.ranked = frame.survivors + room.survivor_entries;
    frame.spare = frame.ranked + room.ranked_entries;
    std::copy(room.survivors.begin(), room.survivors.end(), frame.survivor_room);
    std::copy(room.ranked.begin(), room.ranked.end(), frame.ranked_room);
    frame.record_capacity = room.rows;
    side.PlaceRows(static_cast<int>(i), room.rows, gpu::RecordBytes(pipeline),
                   pipeline.descriptor_bytes, false);
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cudaMemcpy(arena.data() + plan->InputOffset(kind) + i * slot.image_bytes, input.data(),
                   slot.image_bytes, cudaMemcpyHostToDevice));
  }
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpy(arena.data() + plan->ParamsOffset(kind), side.params(),
                                           places * sizeof(gpu::FrameParams),
                                           cudaMemcpyHostToDevice));
  const auto host_tables = std::make_unique<Tables>();
  std::memcpy(host_tables->pattern, algo::kRBriefPattern, sizeof(host_tables->pattern));
  std::memcpy(host_tables->pattern_32, algo::kRBrief32Pattern, sizeof(host_tables->pattern_32));
  algo::FillFastBitTable<9>(host_tables->bits[0]);
  algo::FillFastBitTable<10>(host_tables->bits[1]);
  algo::FillFastBitTable<11>(host_tables->bits[2]);
  algo::FillFastBitTable<12>(host_tables->bits[3]);
  ORBSERVE_ASSIGN_OR_RETURN(
      tables,
      gpu::DeviceBuffer::CreateCopyOf(
          0, {reinterpret_cast<const uint8_t*>(host_tables.get()), sizeof(Tables)}, nullptr));
  const auto* const there = reinterpret_cast<const Tables*>(tables.data());
  device_tables.multiprocessors = multiprocessors;
  device_tables.pattern = there->pattern;
  device_tables.pattern_32 = there->pattern_32;
  device_tables.bit_tables = there->bits[0];
  context = plan->ContextFor(kind, 0, device_tables, arena.data());
  return absl::OkStatus();
}

absl::StatusOr<WorkloadGraph> WorkloadGraph::Capture(const GpuWorkload& workload,
                                                     cudaStream_t stream) {
  WorkloadGraph made(stream);
  ORBSERVE_ASSIGN_OR_RETURN(made.side_, gpu::Stream::Create());
  gpu::BranchStreams branches;
  branches.side = made.side_.get();
  for (size_t i = 0; i < made.order_.size(); ++i) {
    ORBSERVE_ASSIGN_OR_RETURN(made.order_[i], gpu::Event::Create(gpu::Event::Timing::kOff));
    branches.order[i] = made.order_[i].get();
  }
  ORBSERVE_ASSIGN_OR_RETURN(made.graph_, gpu::Graph::Capture(stream, [&](cudaStream_t captured) {
                              branches.main = captured;
                              return workload.plan->steps().Enqueue(workload.context, branches);
                            }));
  return made;
}

absl::Status WorkloadGraph::Run() const {
  ORBSERVE_RETURN_IF_ERROR(graph_.Launch(stream_));
  return gpu::StatusFromCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

absl::StatusOr<KernelTimer> KernelTimer::Create(int launches, int repeats) {
  KernelTimer timer(launches, repeats);
  ORBSERVE_ASSIGN_OR_RETURN(timer.stream_, gpu::Stream::Create());
  ORBSERVE_ASSIGN_OR_RETURN(timer.begin_, gpu::Event::Create(gpu::Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(timer.end_, gpu::Event::Create(gpu::Event::Timing::kOn));
  return timer;
}

absl::StatusOr<std::vector<double>> KernelTimer::Time(const GpuLaunch& launch,
                                                      const GpuLaunch& reset) const {
  double offset = 0;
  if (reset != nullptr) {
    ORBSERVE_ASSIGN_OR_RETURN(const std::vector<double> own, Time(reset));
    offset = own[own.size() / 2];
  }
  ORBSERVE_ASSIGN_OR_RETURN(
      const gpu::Graph graph,
      gpu::Graph::Capture(stream_.get(), [&](cudaStream_t stream) -> absl::Status {
        for (int i = 0; i < launches_; ++i) {
          if (reset != nullptr) ORBSERVE_RETURN_IF_ERROR(reset(stream));
          ORBSERVE_RETURN_IF_ERROR(launch(stream));
        }
        return absl::OkStatus();
      }));
  std::vector<double> samples;
  for (int i = -2; i < repeats_; ++i) {
    ORBSERVE_RETURN_IF_ERROR(begin_.Record(stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(graph.Launch(stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(end_.Record(stream_.get()));
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t elapsed, end_.ElapsedSince(begin_));
    if (i >= 0) samples.push_back(static_cast<double>(elapsed) * 1e-3 / launches_ - offset);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

}  // namespace orbserve::bench
