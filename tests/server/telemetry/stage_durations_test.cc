// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Series of orbserve_stage_duration_seconds.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/telemetry/metrics.h"

namespace {

std::atomic<int64_t> allocations = 0;

void* Allocate(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace orbserve {
namespace {

constexpr StageSet kDetectSuppress = {Stage::kDetect, Stage::kSuppress};

// Series of the family as "stage/backend/device count", in the order of the page.
std::vector<std::string> SeriesOf(const Metrics& metrics) {
  std::vector<std::string> series;
  const std::string page = metrics.Render();
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::StartsWith(line, "orbserve_stage_duration_seconds_count{")) continue;
    // NAME{stage="a",backend="b",device="c"} 1
    const std::vector<absl::string_view> parts = absl::StrSplit(line, '"');
    series.push_back(absl::StrCat(parts[1], "/", parts[3], "/", parts[5], parts[6].substr(1)));
  }
  return series;
}

MetricsOptions Devices(std::vector<MetricDevice> devices) {
  return {.version = "1", .devices = std::move(devices)};
}

void ObservePhase(Metrics& metrics, FramePhase phase, const char* backend, const char* device) {
  FrameTimes times;
  const FrameTimes::Time begin(std::chrono::seconds(1));
  times.Begin(begin);
  times.backend = backend;
  times.device = device;
  times.Spend(phase, std::chrono::milliseconds(100), begin + std::chrono::milliseconds(100));
  metrics.ObservePhases(times);
}

TEST(StageDurationsTest, OnlyWhatHappenedHasASeries) {
  Metrics metrics(Devices({{"cuda", "cuda:0"}, {"cpu", "cpu"}}));
  EXPECT_TRUE(SeriesOf(metrics).empty());
  ObservePhase(metrics, FramePhase::kEncode, "", "");
  ObservePhase(metrics, FramePhase::kUpload, "cuda", "cuda:0");
  metrics.ObserveStages(kDetectSuppress, "cuda", "cuda:0", 0.1);
  metrics.ObserveStages(Stage::kDetect, "cpu", "cpu", 0.1);
  metrics.ObserveStages(Stage::kDetect, "cpu", "cpu", 0.2);
  metrics.ObserveStages(Stage::kTrack, "cpu", "cuda:0", 0.1);  // no such pair
  metrics.ObserveStages(StageSet(), "cpu", "cpu", 0.1);
  EXPECT_EQ(SeriesOf(metrics),
            (std::vector<std::string>{"encode/host/host 1", "upload/cuda/cuda:0 1",
                                      "detect+suppress/cuda/cuda:0 1", "detect/cpu/cpu 2",
                                      "track/other/other 1"}));
}

TEST(StageDurationsTest, EverySetOfStagesHasASeriesOfItsOwn) {
  Metrics metrics(Devices({{"cpu", "cpu"}}));
  for (int bits = 0; bits < 1 << kStageCount; ++bits) {
    metrics.ObserveStages(StageSet::FromBits(static_cast<uint16_t>(bits)), "cpu", "cpu", 1e-3);
  }
  const std::vector<std::string> series = SeriesOf(metrics);
  ASSERT_EQ(series.size(), (1u << kStageCount) - 1);  // the empty set is none
  EXPECT_EQ(series.front(), "decode/cpu/cpu 1");
  EXPECT_EQ(series.back(),
            "decode+pyramid+detect+suppress+select+orient+describe+match+track/cpu/cpu 1");
}

TEST(StageDurationsTest, OnlyTheFirstObservationOfASetAllocates) {
  Metrics metrics(Devices({{"cuda", "cuda:0"}, {"cpu", "cpu"}}));
  const int64_t before = allocations;
  metrics.ObserveStages(kDetectSuppress, "cuda", "cuda:0", 0.1);
  EXPECT_EQ(allocations - before, 1);
  for (int i = 0; i < 100; ++i) {
    metrics.ObserveStages(kDetectSuppress, "cuda", "cuda:0", 0.1);
    ObservePhase(metrics, FramePhase::kCompute, "cpu", "cpu");
    ObservePhase(metrics, FramePhase::kDecode, "", "");
  }
  EXPECT_EQ(allocations - before, 1);
  metrics.ObserveStages(kDetectSuppress, "cpu", "cpu", 0.1);  // on another device
  EXPECT_EQ(allocations - before, 2);
}

TEST(StageDurationsTest, ThreadsThatBeginASeriesTogetherLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    Metrics metrics(Devices({{"cpu", "cpu"}}));
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        metrics.ObserveStages(Stage::kSelect, "cpu", "cpu", 0.1);
        metrics.ObserveStages(Stage::kSelect, "cpu", "cpu", 0.1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(SeriesOf(metrics), std::vector<std::string>{"select/cpu/cpu 8"});
  }
}

}  // namespace
}  // namespace orbserve
