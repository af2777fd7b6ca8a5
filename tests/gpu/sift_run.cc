// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gpu/sift_run.h"

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "absl/status/status.h"
#include "features/algo/sift_descriptor.h"
#include "features/algo/sift_extremum.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/sift/descriptors.h"
#include "gpu/steps/sift/directions.h"
#include "gpu/steps/sift/extrema.h"
#include "gpu/steps/sift/order.h"
#include "gpu/steps/sift/scale_space.h"

namespace orbserve::testing {
namespace {

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::printf("FAILED: %s\n", status.ToString().c_str());
  std::exit(1);
}
void CheckCuda(cudaError_t result, const char* call) { Check(gpu::StatusFromCuda(result, call)); }

void Send(void* to, const void* from, size_t bytes) {
  CheckCuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

template <typename T>
std::vector<T> Fetch(const T* from, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  if (count > 0) {
    CheckCuda(cudaMemcpy(values.data(), from, sizeof(T) * values.size(), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
  }
  return values;
}

}  // namespace

SiftRun::SiftRun(const std::vector<ImageView>& images, const SiftSettings& settings, int capacity,
                 algo::SiftNorm norm)
    : norm_(norm),
      frames_(static_cast<int>(images.size())),
      capacity_(capacity),
      geometry_(
          gpu::SiftGeometry::For(images[0].width_px, images[0].height_px, settings.options())) {
  const auto count = static_cast<size_t>(frames_);
  const auto width = static_cast<size_t>(geometry_.width_px);
  const size_t image_bytes = width * static_cast<size_t>(geometry_.height_px);
  const auto entries = static_cast<size_t>(capacity);
  input_ = Take(count * image_bytes);
  lists_ =
      reinterpret_cast<uint64_t*>(Take(count * entries * gpu::kSiftListWords * sizeof(uint64_t)));
  images_ = reinterpret_cast<float*>(Take(count * geometry_.image_bytes()));
  rows_ = reinterpret_cast<float*>(Take(count * geometry_.row_bytes()));
  params_ = reinterpret_cast<gpu::FrameParams*>(Take(count * sizeof(gpu::FrameParams)));
  counters_ = reinterpret_cast<gpu::FrameCounters*>(Take(count * sizeof(gpu::FrameCounters)));
  reports_ = reinterpret_cast<gpu::FrameReport*>(TakePinned(count * sizeof(gpu::FrameReport)));
  records_ =
      reinterpret_cast<algo::SiftFeature*>(TakePinned(count * entries * sizeof(algo::SiftFeature)));
  descriptors_ = TakePinned(count * entries * algo::kSiftDescriptorBytes);
  std::vector<gpu::FrameParams> params(count);
  for (size_t i = 0; i < count; ++i) {
    for (int y = 0; y < geometry_.height_px; ++y) {
      Send(input_ + i * image_bytes + static_cast<size_t>(y) * width, images[i].Row(y), width);
    }
    params[i].mode = gpu::FrameMode::kDetect;
    params[i].answer_limit =
        settings.max_features > 0 ? settings.max_features : std::numeric_limits<int32_t>::max();
    params[i].image_offset = static_cast<int64_t>(i * image_bytes);
    params[i].mask_offset = -1;
    params[i].survivors = lists_ + i * entries * gpu::kSiftListWords;
    params[i].survivor_room[0] = {0, capacity};
    params[i].records = reinterpret_cast<gpu::FeatureRecord*>(records_ + i * entries);
    params[i].descriptors = descriptors_ + i * entries * algo::kSiftDescriptorBytes;
    params[i].report = reports_ + i;
    params[i].record_capacity = capacity;
  }
  Send(params_, params.data(), count * sizeof(gpu::FrameParams));
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
  int major = 0;
  CheckCuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
            "cudaDeviceGetAttribute");
  constexpr int kOverlapsFrom = 9;
  overlaps_ = frames_ == 1 && major >= kOverlapsFrom;
  Check(gpu::AllowSiftSharedEntries(geometry_.width_px, &shared_entries_));
}

SiftRun::~SiftRun() {
  for (void* memory : device_memory_) (void)cudaFree(memory);
  for (void* memory : pinned_memory_) (void)cudaFreeHost(memory);
}

uint8_t* SiftRun::Take(size_t bytes) {
  void* memory = nullptr;
  CheckCuda(cudaMalloc(&memory, bytes + 256), "cudaMalloc");
  CheckCuda(cudaMemset(memory, 0xcd, bytes + 256), "cudaMemset");
  device_memory_.push_back(memory);
  return static_cast<uint8_t*>(memory);
}

uint8_t* SiftRun::TakePinned(size_t bytes) {
  void* memory = nullptr;
  CheckCuda(cudaMallocHost(&memory, bytes + 256), "cudaMallocHost");
  pinned_memory_.push_back(memory);
  return static_cast<uint8_t*>(memory);
}

void SiftRun::Enqueue(cudaStream_t stream,
                      absl::FunctionRef<void(const std::string& stage)> after) {
  const SiftOptions& options = geometry_.options;
  const int layers = options.octave_layers;
  const gpu::Frames frames = {params_, counters_, 0, frames_};
  gpu::SiftScaleSpace space = geometry_.space;
  space.memory = images_;
  CheckCuda(cudaMemsetAsync(counters_, 0, sizeof(gpu::FrameCounters) * static_cast<size_t>(frames_),
                            stream),
            "cudaMemsetAsync");
  Check(gpu::LaunchSiftScaleSpace({frames, input_, geometry_.width_px, &geometry_, images_, rows_,
                                   multiprocessors_, overlaps_, false},
                                  stream));
  after("scale space");
  Check(gpu::LaunchSiftExtrema({frames,
                                space,
                                {layers, static_cast<float>(options.contrast_threshold),
                                 static_cast<float>(options.edge_threshold)},
                                algo::SiftLeastDifference(options.contrast_threshold, layers),
                                multiprocessors_,
                                overlaps_,
                                overlaps_},
                               stream));
  after("extrema");
  Check(gpu::LaunchSiftDirections({frames, multiprocessors_, space, layers, options.first_octave,
                                   static_cast<float>(options.sigma), overlaps_},
                                  stream));
  after("directions");
  Check(gpu::LaunchSiftOrder({frames, geometry_.width_px, shared_entries_, overlaps_}, stream));
  after("order");
  Check(gpu::LaunchSiftDescriptors(
      {frames, multiprocessors_, space, options.first_octave, /*describes=*/true, norm_, overlaps_},
      stream));
  after("descriptors");
}

gpu::SiftLists SiftRun::Lists(int frame) const {
  return gpu::SiftListsAt(lists_ + static_cast<int64_t>(frame) * capacity_ * gpu::kSiftListWords,
                          capacity_);
}

std::vector<algo::SiftFeature> SiftRun::Records(int frame) const {
  const algo::SiftFeature* const first = records_ + static_cast<int64_t>(frame) * capacity_;
  return {first, first + reports_[frame].written};
}

const uint8_t* SiftRun::descriptors(int frame) const {
  return descriptors_ + static_cast<int64_t>(frame) * capacity_ * algo::kSiftDescriptorBytes;
}

std::vector<gpu::SiftPoint> SiftRun::Points(int frame) const {
  return Fetch(Lists(frame).points, Min(reports_[frame].sift_points, capacity_));
}

std::vector<algo::SiftFeature> SiftRun::Features(int frame) const {
  return Fetch(Lists(frame).features, Min(reports_[frame].sift_features, capacity_));
}

std::vector<float> SiftRun::Image(int frame, int octave, int image) const {
  const gpu::SiftOctaveShape& shape = geometry_.space.octave[octave];
  return Fetch(images_ + frame * geometry_.space.stride + shape.offset + image * shape.plane,
               shape.plane);
}

}  // namespace orbserve::testing
