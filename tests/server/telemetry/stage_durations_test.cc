// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/stage_durations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

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
std::vector<std::string> SeriesOf(const StageDurations& durations) {
  std::vector<prometheus::MetricFamily> families;
  durations.Collect(families);
  std::vector<std::string> series;
  for (const prometheus::MetricFamily& family : families) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::string text;
      for (const auto& label : metric.label) text += (text.empty() ? "" : "/") + label.value;
      series.push_back(text + " " + std::to_string(metric.histogram.sample_count));
    }
  }
  return series;
}

TEST(StageDurationsTest, OnlyWhatHappenedHasASeries) {
  const MetricDevices devices({{"cuda", "cuda:0"}, {"cpu", "cpu"}});
  StageDurations durations(&devices);
  EXPECT_TRUE(SeriesOf(durations).empty());
  durations.ObserveHost(FramePhase::kEncode, 0.1);
  durations.ObservePhase(FramePhase::kUpload, 0, 0.1);
  durations.ObserveStages(kDetectSuppress, 0, 0.1);
  durations.ObserveStages(Stage::kDetect, 1, 0.1);
  durations.ObserveStages(Stage::kDetect, 1, 0.2);
  durations.ObserveStages(Stage::kTrack, devices.other(), 0.1);
  durations.ObserveStages(StageSet(), 1, 0.1);
  EXPECT_EQ(SeriesOf(durations),
            (std::vector<std::string>{"encode/host/host 1", "upload/cuda/cuda:0 1",
                                      "detect+suppress/cuda/cuda:0 1", "detect/cpu/cpu 2",
                                      "track/other/other 1"}));
}

TEST(StageDurationsTest, EverySetOfStagesHasASeriesOfItsOwn) {
  const MetricDevices devices(std::vector<MetricDevice>{{"cpu", "cpu"}});
  StageDurations durations(&devices);
  for (int bits = 0; bits < 1 << kStageCount; ++bits) {
    durations.ObserveStages(StageSet::FromBits(static_cast<uint16_t>(bits)), 0, 1e-3);
  }
  const std::vector<std::string> series = SeriesOf(durations);
  ASSERT_EQ(series.size(), (1u << kStageCount) - 1);  // the empty set is none
  EXPECT_EQ(series.front(), "decode/cpu/cpu 1");
  EXPECT_EQ(series.back(),
            "decode+pyramid+detect+suppress+select+orient+describe+match+track/cpu/cpu 1");
}

TEST(StageDurationsTest, OnlyTheFirstObservationOfASetAllocates) {
  const MetricDevices devices({{"cuda", "cuda:0"}, {"cpu", "cpu"}});
  StageDurations durations(&devices);
  const int64_t before = allocations;
  durations.ObserveStages(kDetectSuppress, 0, 0.1);
  EXPECT_EQ(allocations - before, 1);
  for (int i = 0; i < 100; ++i) {
    durations.ObserveStages(kDetectSuppress, 0, 0.1);
    durations.ObservePhase(FramePhase::kCompute, 1, 0.1);
    durations.ObserveHost(FramePhase::kDecode, 0.1);
  }
  EXPECT_EQ(allocations - before, 1);
  durations.ObserveStages(kDetectSuppress, 1, 0.1);  // on another device
  EXPECT_EQ(allocations - before, 2);
}

TEST(StageDurationsTest, ThreadsThatBeginASeriesTogetherLoseNothing) {
  const MetricDevices devices(std::vector<MetricDevice>{{"cpu", "cpu"}});
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    StageDurations durations(&devices);
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        durations.ObserveStages(Stage::kSelect, 0, 0.1);
        durations.ObserveStages(Stage::kSelect, 0, 0.1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(SeriesOf(durations), std::vector<std::string>{"select/cpu/cpu 8"});
  }
}

}  // namespace
}  // namespace orbserve
