// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A program of its own: what it asks about is of the whole process.

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <future>
#include <memory>
#include <optional>

#include "gpu/gpu_backend.h"
#include "gtest/gtest.h"
#include "tests/support/backend_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::gpu {
namespace {

// True if this process has a context on the device; no value where the driver cannot be asked.
std::optional<bool> HasContext(int device) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return std::nullopt;
  using GetState = int (*)(int device, unsigned* flags, int* active);
  const auto get = reinterpret_cast<GetState>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
  unsigned flags = 0;
  int active = 0;
  if (get == nullptr || get(device, &flags, &active) != 0) return std::nullopt;
  return active != 0;
}

TEST(DeviceChoiceTest, DevicesThatWereNotNamedAreLeftAlone) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    GTEST_SKIP() << "two CUDA devices are needed; here are " << devices;
  }
  GpuBackendOptions options;
  options.devices = {1};
  auto created = CreateGpuBackend(options);
  ASSERT_TRUE(created.ok()) << created.status();
  std::unique_ptr<FeatureBackend> backend = *std::move(created);
  // Everything once, on threads whose device is 0.
  std::async(std::launch::async, [&] {
    const testing::TestImage image = testing::SceneImage(640, 480, 1);
    const auto plan = backend->MakePlan({640, 480, {}});
    ASSERT_TRUE(plan.ok()) << plan.status();
    auto job = testing::MakeJob(*backend, {.image = image.view()});
    ASSERT_TRUE(job.ok()) << job.status();
    job->keep_state = KeepState::kFeatures;
    std::vector<FrameJob> jobs;
    jobs.push_back(*std::move(job));
    const FrameBatchAnswer answer = testing::RunBatch(*backend, *plan, std::move(jobs));
    ASSERT_TRUE(answer.frames[0].status.ok()) << answer.frames[0].status;
    const auto& state = answer.frames[0].state;
    const MatchBatchAnswer matches = testing::RunMatches(*backend, {{state, state, {}}});
    EXPECT_TRUE(matches.pairs[0].status.ok()) << matches.pairs[0].status;
  }).get();
  std::async(std::launch::async, [&] { backend.reset(); }).get();
  const auto other = HasContext(0);
  const auto chosen = HasContext(1);
  ASSERT_TRUE(other.has_value() && chosen.has_value());
  EXPECT_TRUE(*chosen);
  EXPECT_FALSE(*other);
}

}  // namespace
}  // namespace orbserve::gpu
