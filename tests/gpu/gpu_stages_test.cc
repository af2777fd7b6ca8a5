// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The graphs of a plan, the times of its stages, and the memory that the backend reports.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/backend.h"
#include "gpu/plan.h"
#include "gpu/runtime/kernel_image.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "tests/gpu/gpu_test_support.h"

namespace orbserve::gpu {
namespace {

class GpuStagesTest : public GpuTest {};

// Kernels by the name in their mangled symbol.
std::string NameOf(cudaGraphNode_t node) {
  cudaGraphNodeType type;
  if (cudaGraphNodeGetType(node, &type) != cudaSuccess) return "?";
  if (type == cudaGraphNodeTypeMemset) return "memset";
  if (type == cudaGraphNodeTypeEventRecord) return "event";
  if (type != cudaGraphNodeTypeKernel) return absl::StrCat("type ", static_cast<int>(type));
  cudaKernelNodeParams params;
  const char* symbol = nullptr;
  if (cudaGraphKernelNodeGetParams(node, &params) != cudaSuccess ||
      cudaFuncGetName(&symbol, params.func) != cudaSuccess) {
    return "kernel";
  }
  for (const char* name : {"ResizeKernel", "FastCornersKernel", "FastKeysKernel",
                           "ClearFramesKernel", "KeySurvivorsKernel", "SurvivorsKernel",
                           "RankKernel", "DescribeKernel", "OrientKernel", "TrackPyramidKernel"}) {
    if (std::string(symbol).find(name) != std::string::npos) return name;
  }
  return symbol;
}

// "RankKernel < SurvivorsKernel": every node with those that it waits for, sorted; "~" where it may
// begin before that one ends. Nodes of one name are numbered in the order of their dependencies.
std::vector<std::string> DescribeGraph(cudaGraph_t graph) {
  size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  std::map<cudaGraphNode_t, std::vector<cudaGraphNode_t>> waits_for;
  std::set<std::pair<cudaGraphNode_t, cudaGraphNode_t>> overlapping;
  for (cudaGraphNode_t node : nodes) {
    size_t edges = 0;
#if CUDART_VERSION >= 13000
    EXPECT_EQ(cudaGraphNodeGetDependencies(node, nullptr, nullptr, &edges), cudaSuccess);
    std::vector<cudaGraphNode_t> from(edges);
    std::vector<cudaGraphEdgeData> data(edges);
    EXPECT_EQ(cudaGraphNodeGetDependencies(node, from.data(), data.data(), &edges), cudaSuccess);
    for (size_t i = 0; i < edges; ++i) {
      if (data[i].type == cudaGraphDependencyTypeProgrammatic) overlapping.emplace(node, from[i]);
    }
#else
    EXPECT_EQ(cudaGraphNodeGetDependencies(node, nullptr, &edges), cudaSuccess);
    std::vector<cudaGraphNode_t> from(edges);
    EXPECT_EQ(cudaGraphNodeGetDependencies(node, from.data(), &edges), cudaSuccess);
#endif
    waits_for[node] = from;
  }
  std::map<cudaGraphNode_t, std::string> names;
  std::map<std::string, int> seen;
  while (names.size() < nodes.size()) {
    const size_t before = names.size();
    // Roots and nodes whose dependencies have names; memsets first, so that numbers are stable.
    std::vector<std::pair<std::string, cudaGraphNode_t>> ready;
    for (cudaGraphNode_t node : nodes) {
      const auto& from = waits_for[node];
      if (names.count(node) == 0 && std::all_of(from.begin(), from.end(), [&](auto other) {
            return names.count(other) != 0;
          })) {
        std::string key;
        for (auto other : from) absl::StrAppend(&key, names[other], " ");
        ready.emplace_back(NameOf(node) + " " + key, node);
      }
    }
    std::sort(ready.begin(), ready.end());
    for (const auto& [key, node] : ready) {
      const std::string name = NameOf(node);
      names[node] = absl::StrCat(name, " ", ++seen[name]);
    }
    if (names.size() == before) break;
  }
  std::vector<std::string> lines;
  for (const auto& [node, name] : names) {
    std::vector<std::string> from;
    for (auto other : waits_for[node]) {
      const bool overlaps = overlapping.count({node, other}) != 0;
      from.push_back(absl::StrCat(overlaps ? " ~ " : " < ", names[other]));
    }
    std::sort(from.begin(), from.end());
    std::string line = name;
    for (const std::string& other : from) line += other;
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

PipelineOptions OrbOfThreeLevels() {
  PipelineOptions options;
  options.pyramid.levels = 3;
  return options;
}

std::vector<std::string> CaptureAndDescribe(const GraphKind& kind,
                                            const PipelineOptions& options = OrbOfThreeLevels(),
                                            int track_levels = 0, bool overlaps_kernels = false) {
  GpuPlan::Limits limits;
  limits.devices = {0};
  limits.budgets = {nullptr};
  limits.max_batch_frames = 4;
  limits.arena_bytes = size_t{1} << 32;
  const auto plan = GpuPlan::Create({640, 480, options, track_levels}, limits);
  EXPECT_TRUE(plan.ok()) << plan.status();
  auto arena = DeviceBuffer::Create(0, (*plan)->LargestArenaBytes(kind), nullptr);
  EXPECT_TRUE(arena.ok()) << arena.status();
  auto main = Stream::Create();
  auto side = Stream::Create();
  std::vector<Event> events;
  BranchStreams branches;
  branches.main = main->get();
  branches.side = side->get();
  for (cudaEvent_t& order : branches.order) {
    events.push_back(*Event::Create(Event::Timing::kOff));
    order = events.back().get();
  }
  for (cudaEvent_t& end : branches.stage_end) {
    events.push_back(*Event::Create(Event::Timing::kOn));
    end = events.back().get();
  }
  DeviceTables tables;
  tables.overlaps_kernels = overlaps_kernels;
  EXPECT_EQ(cudaStreamBeginCapture(main->get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_TRUE(
      (*plan)->steps().Enqueue((*plan)->ContextFor(kind, 0, tables, arena->data()), branches).ok());
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(main->get(), &graph), cudaSuccess);
  const std::vector<std::string> lines = DescribeGraph(graph);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return lines;
}

// The launches of `orb`, and nothing beside them. A change here changes latency: measure it.
TEST_F(GpuStagesTest, LaunchesOfOrb) {
  EXPECT_EQ(CaptureAndDescribe({2}),
            (std::vector<std::string>{
                "DescribeKernel 1 < RankKernel 1",
                "FastCornersKernel 1 < memset 1",
                "FastCornersKernel 2 < ResizeKernel 2 < memset 1",
                "RankKernel 1 < SurvivorsKernel 1",
                "ResizeKernel 1",
                "ResizeKernel 2 < ResizeKernel 1",
                "SurvivorsKernel 1 < FastCornersKernel 1 < FastCornersKernel 2",
                "memset 1",
            }));
}

#if CUDART_VERSION >= 13000
// Those of a frame that is alone. Larger batches and timed ones have the graphs of a device without
// overlap.
TEST_F(GpuStagesTest, KernelsOfALonelyFrameOverlap) {
  cudaDeviceProp device;
  ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
  if (*KernelArchitecture(device.major, device.minor) < 90) GTEST_SKIP() << "no overlap before 9.0";
  const PipelineOptions orb = OrbOfThreeLevels();
  EXPECT_EQ(CaptureAndDescribe({0}, orb, 0, true),
            (std::vector<std::string>{
                "DescribeKernel 1 ~ RankKernel 1",
                "FastCornersKernel 1 < memset 1",
                "FastCornersKernel 2 < ResizeKernel 2 < memset 1",
                "RankKernel 1 ~ SurvivorsKernel 1",
                "ResizeKernel 1",
                "ResizeKernel 2 ~ ResizeKernel 1",
                "SurvivorsKernel 1 < FastCornersKernel 1 < FastCornersKernel 2",
                "memset 1",
            }));
  GraphKind timed = {0};
  timed.timed = true;
  for (const GraphKind& kind : {GraphKind{1}, timed}) {
    EXPECT_EQ(CaptureAndDescribe(kind, orb, 0, true), CaptureAndDescribe(kind));
  }
}
#endif

// Corners go straight to their cells, and one block ranks the few that are wanted and writes their
// records.
TEST_F(GpuStagesTest, LaunchesOfVio) {
  GraphKind kind = {2};
  kind.few_keys = true;
  EXPECT_EQ(CaptureAndDescribe(kind, (*FindPreset("vio"))->pipeline),
            (std::vector<std::string>{
                "ClearFramesKernel 1",
                "FastKeysKernel 1 < ClearFramesKernel 1",
                "FastKeysKernel 2 < ClearFramesKernel 1 < ResizeKernel 1",
                "KeySurvivorsKernel 1 < FastKeysKernel 1 < FastKeysKernel 2",
                "ResizeKernel 1",
            }));
}

// Five levels are one launch beside the selection; more take another.
TEST_F(GpuStagesTest, LaunchesOfVioThatKeepsPyramids) {
  GraphKind kind = {2};
  kind.few_keys = true;
  kind.pyramids = true;
  std::vector<std::string> expected = {
      "ClearFramesKernel 1",
      "FastKeysKernel 1 < ClearFramesKernel 1",
      "FastKeysKernel 2 < ClearFramesKernel 1 < ResizeKernel 1",
      "KeySurvivorsKernel 1 < FastKeysKernel 1 < FastKeysKernel 2",
      "ResizeKernel 1",
      "TrackPyramidKernel 1 < FastKeysKernel 1",
  };
  const PipelineOptions& vio = (*FindPreset("vio"))->pipeline;
  EXPECT_EQ(CaptureAndDescribe(kind, vio, 5), expected);
  expected.push_back("TrackPyramidKernel 2 < TrackPyramidKernel 1");
  EXPECT_EQ(CaptureAndDescribe(kind, vio, 8), expected);
}

TEST_F(GpuStagesTest, ATimedGraphHasAnEventAtEachBoundary) {
  GraphKind kind = {2};
  kind.timed = true;
  EXPECT_EQ(CaptureAndDescribe(kind), (std::vector<std::string>{
                                          "DescribeKernel 1 < event 3",
                                          "FastCornersKernel 1 < memset 1",
                                          "FastCornersKernel 2 < event 1 < memset 1",
                                          "RankKernel 1 < SurvivorsKernel 1",
                                          "ResizeKernel 1",
                                          "ResizeKernel 2 < ResizeKernel 1",
                                          "SurvivorsKernel 1 < event 2",
                                          "event 1 < ResizeKernel 2",
                                          "event 2 < FastCornersKernel 1 < FastCornersKernel 2",
                                          "event 3 < RankKernel 1",
                                          "memset 1",
                                      }));
}

TEST_F(GpuStagesTest, OneBatchInManyIsTimed) {
  GpuBackendOptions options;
  options.lanes = 1;
  options.stage_sampling = 4;
  const auto own = MakeGpu(options);
  ASSERT_NE(own, nullptr);
  const PlanSpec spec = {640, 480, {}};
  const auto plan = own->MakePlan(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::mt19937 random(47);
  const TestFrame frame = {MakeImage(Content::kShapes, 640, 480, &random), {}, {500, 20}};
  std::shared_ptr<const Features> first;
  for (int i = 1; i <= 12; ++i) {
    const FrameBatchAnswer answer = Compute(*own, *plan, {frame, frame, frame});
    ASSERT_EQ(answer.frames.size(), 3u);
    for (const FrameAnswer& got : answer.frames) {
      ASSERT_TRUE(got.status.ok()) << got.status;
      if (first == nullptr) first = got.features;
      EXPECT_TRUE(SameFeatures(*first, *got.features));
      if (i % 4 != 0) {
        EXPECT_TRUE(got.stages.empty()) << "batch " << i;
        continue;
      }
      EXPECT_TRUE(got.stages.sampled);
      std::vector<std::string> names;
      int64_t sum_ns = 0;
      for (const StageTime& time : got.stages.entries()) {
        names.push_back(time.stages.Name());
        EXPECT_GT(time.duration_ns, 0) << names.back();
        sum_ns += time.duration_ns;
      }
      EXPECT_EQ(names, (std::vector<std::string>{"pyramid", "detect+suppress", "select",
                                                 "orient+describe"}));
      // The stages of the critical path are the whole.
      const auto compute_ns = static_cast<double>(answer.cost.timings.compute_ns);
      EXPECT_NEAR(static_cast<double>(sum_ns), compute_ns, 0.1 * compute_ns);
    }
  }
}

TEST_F(GpuStagesTest, NoBatchIsTimedWithoutSampling) {
  GpuBackendOptions options;
  options.lanes = 1;
  options.stage_sampling = 0;
  const auto own = MakeGpu(options);
  ASSERT_NE(own, nullptr);
  const auto plan = own->MakePlan({320, 240, {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::mt19937 random(53);
  const TestFrame frame = {MakeImage(Content::kShapes, 320, 240, &random), {}, {500, 20}};
  for (int i = 0; i < 70; ++i) {
    const FrameBatchAnswer answer = Compute(*own, *plan, {frame});
    ASSERT_TRUE(answer.frames[0].status.ok());
    EXPECT_TRUE(answer.frames[0].stages.empty());
  }
}

TEST_F(GpuStagesTest, MemoryHasAnEntryForEachKindAndDevice) {
  GpuBackendOptions options;
  options.devices = {0};
  const auto own = MakeGpu(options);
  ASSERT_NE(own, nullptr);
  const auto bytes_of = [&](absl::string_view kind, absl::string_view device) {
    for (const MemoryUse& use : own->memory()) {
      if (use.kind == kind && use.device == device) return use.bytes;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(bytes_of("inputs", "host"), 0);
  EXPECT_EQ(bytes_of("states", "cuda:0"), 0);
  EXPECT_GT(bytes_of("pinned", "host"), 0);
  const int64_t tables = bytes_of("plans", "cuda:0");
  EXPECT_GT(tables, 0);  // of the device
  const int64_t arenas = bytes_of("arenas", "cuda:0");
  auto plan = own->MakePlan({640, 480, {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(bytes_of("arenas", "cuda:0"), arenas);
  EXPECT_GT(bytes_of("plans", "cuda:0"), tables);
  EXPECT_GT(bytes_of("plans", "host"), 0);
  // Its graphs are counted.
  EXPECT_GT((*plan)->size_bytes(), size_t{100'000});

  std::mt19937 random(59);
  TestFrame frame = {MakeImage(Content::kShapes, 640, 480, &random), {}, {500, 20}};
  frame.keep_state = KeepState::kFeatures;
  {
    const FrameBatchAnswer answer = Compute(*own, *plan, {frame});
    ASSERT_TRUE(answer.frames[0].status.ok());
    // 512 descriptors.
    EXPECT_EQ(bytes_of("states", "cuda:0"), 512 * 32);
    EXPECT_GT(bytes_of("inputs", "host"), 640 * 480);
  }
  // The next plan drops the graphs of the one that is gone; its tables went with it.
  const int64_t with_plan = bytes_of("plans", "cuda:0");
  EXPECT_GT(with_plan, tables + 10 * GraphMeter::kDeviceBytesPerNode);
  plan->reset();
  const auto next = own->MakePlan({320, 240, {}});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_LE(bytes_of("plans", "cuda:0"), with_plan);
}

}  // namespace
}  // namespace orbserve::gpu
