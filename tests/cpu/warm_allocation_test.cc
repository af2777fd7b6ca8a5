// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A warm plan allocates nothing for a frame. What a batch costs besides is the interface's own: its
// two vectors, its bookkeeping and the callback.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/notification.h"
#include "cpu/cpu_backend.h"
#include "tests/support/backend_runner.h"
#include "tests/support/image_makers.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

void* Allocate(std::size_t size, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size > 0 ? size : 1)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void* AllocateOrThrow(std::size_t size, std::size_t alignment) {
  void* p = Allocate(size, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t size) { return AllocateOrThrow(size, 1); }
void* operator new[](std::size_t size) { return AllocateOrThrow(size, 1); }
void* operator new(std::size_t size, std::align_val_t a) {
  return AllocateOrThrow(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return AllocateOrThrow(size, static_cast<std::size_t>(a));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::MakeJob;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

// Number of threads and name of the preset.
class WarmAllocationTest : public ::testing::TestWithParam<std::tuple<int, const char*>> {};

// Allocations of the whole way of `frames` frames: slots, batch, answer, and letting go of it.
int64_t AllocationsOf(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                      const TestImage& image, ImageView mask, size_t frames,
                      KeepState keep_state = KeepState::kFeatures) {
  std::vector<FrameJob> jobs;
  jobs.reserve(frames);
  allocations = 0;
  counting = true;
  for (size_t i = 0; i < frames; ++i) {
    jobs.push_back(*MakeJob(backend, {.image = image.view(), .mask = mask}));
    jobs.back().keep_state = keep_state;
  }
  {
    FrameBatchAnswer answer = testing::RunBatch(backend, plan, std::move(jobs));
    counting = false;
    for (const FrameAnswer& frame : answer.frames) EXPECT_TRUE(frame.status.ok());
  }
  return allocations;
}

// The least that `frames` frames allocate, of a few tries: where the machine is busy, a thread may
// compute its first frame late, and gets its memory then.
int64_t LeastAllocations(const std::function<int64_t(size_t)>& allocations_of, size_t frames) {
  int64_t least = allocations_of(frames);
  for (int i = 0; i < 5; ++i) least = std::min(least, allocations_of(frames));
  return least;
}

TEST_P(WarmAllocationTest, FramesOfAWarmPlanAllocateNothing) {
  const auto [threads, preset] = GetParam();
  auto backend = *CreateCpuBackend({.threads = threads});
  const TestImage image = SceneImage(320, 240, 1);
  const TestImage mask = RandomMask(320, 240, 2);
  const PipelineOptions& pipeline = (*FindPreset(preset))->pipeline;
  const bool takes_masks = pipeline.select.selection != Selection::kOrbSlam3 &&
                           pipeline.detect.detector != Detector::kSift;
  const auto plan = *backend->MakePlan({320, 240, pipeline});
  const auto allocations_of = [&](size_t frames) {
    return AllocationsOf(*backend, plan, image, takes_masks ? mask.view() : ImageView(), frames);
  };
  for (int i = 0; i < 30; ++i) allocations_of(8);
  // A thread takes its memory with its first frame, which may come late where the machine is busy:
  // from now on the plan grows once for each of the other threads at most.
  size_t bytes = plan->size_bytes();
  int growths = 0;
  const auto allocations_and_growths_of = [&](size_t frames) {
    const int64_t count = allocations_of(frames);
    growths += plan->size_bytes() == bytes ? 0 : 1;
    bytes = plan->size_bytes();
    return count;
  };
  const int64_t one = LeastAllocations(allocations_and_growths_of, 1);
  const int64_t eight = LeastAllocations(allocations_and_growths_of, 8);
  EXPECT_LE(one, 4);
  // A large frame is a task that the threads for these take.
  EXPECT_EQ(eight, one + (plan->is_large() ? 7 : 0));
  EXPECT_LT(growths, threads);
}

// Number of threads.
class WarmPyramidTest : public ::testing::TestWithParam<int> {};

TEST_P(WarmPyramidTest, PyramidsOfAWarmPlanAllocateNothing) {
  auto backend = *CreateCpuBackend({.threads = GetParam()});
  const TestImage image = SceneImage(320, 240, 1);
  const TestImage mask = RandomMask(320, 240, 2);
  const auto plan = *backend->MakePlan({320, 240, (*FindPreset("vio"))->pipeline, 5});
  const auto allocations_of = [&](size_t frames) {
    return AllocationsOf(*backend, plan, image, mask.view(), frames, KeepState::kPyramid);
  };
  for (int i = 0; i < 30; ++i) allocations_of(8);
  const int64_t one = LeastAllocations(allocations_of, 1);
  EXPECT_LE(one, 4);
  EXPECT_EQ(LeastAllocations(allocations_of, 8), one);
}

INSTANTIATE_TEST_SUITE_P(Threads, WarmPyramidTest, ::testing::Values(1, 2));

std::string NameOf(const ::testing::TestParamInfo<std::tuple<int, const char*>>& test) {
  const std::string preset = absl::StrReplaceAll(std::get<1>(test.param), {{"-", "_"}});
  return absl::StrCat(std::get<0>(test.param), "_", preset);
}

INSTANTIATE_TEST_SUITE_P(ThreadsAndPresets, WarmAllocationTest,
                         ::testing::Combine(::testing::Values(1, 2),
                                            ::testing::Values("orb", "bfrost", "orb-32", "orb-slam",
                                                              "orb-slam3", "oriented-fast", "sift",
                                                              "harris-corners", "klt-corners")),
                         &NameOf);

}  // namespace
}  // namespace orbserve::cpu
