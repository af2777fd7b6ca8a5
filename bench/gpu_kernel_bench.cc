// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every kernel of the CUDA backend on its own, and every step of the presets: a CUDA graph of many
// launches, divided by their number. A copy on the device restores before each launch the data that
// it changes; the time of that copy, measured in the same way, is subtracted.

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu_workload.h"
#include "bench/json_list.h"
#include "gpu/frame/pinned_side.h"
#include "gpu/matching/match_kernel.h"
#include "gpu/plan.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/steps/detect/corner_map.h"
#include "gpu/steps/detect/fast.h"
#include "gpu/steps/pyramid.h"
#include "gpu/steps/select/rank.h"
#include "gpu/steps/select/survivors.h"
#include "gpu/steps/suppress/distance_tiles.h"
#include "gpu/steps/suppress/minimum_distance.h"

namespace orbserve::gpu {
namespace {

struct Settings {
  std::string image;
  int launches = 200;  // of a graph
  int repeats = 21;    // graphs timed
  int frames = 1;
  int max_features = 2000;
  int threshold_grey = 20;
  int levels = 8;
  float scale = 1.2f;
  int tile_rows = 0;  // of FAST; 0 = as the plan chooses
  std::string json;
};

using Launch = bench::GpuLaunch;

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {}

  absl::Status Run() {
    ORBSERVE_ASSIGN_OR_RETURN(timer_,
                              bench::KernelTimer::Create(settings_.launches, settings_.repeats));
    ORBSERVE_ASSIGN_OR_RETURN(side_, Stream::Create());
    for (Event& event : order_) {
      ORBSERVE_ASSIGN_OR_RETURN(event, Event::Create(Event::Timing::kOff));
    }
    cudaDeviceProp properties;
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, 0));
    multiprocessors_ = properties.multiProcessorCount;
    std::printf("%-44s %10s %10s %10s\n", "kernel", "median us", "p10", "p90");
    ORBSERVE_RETURN_IF_ERROR(Matching());
    if (!settings_.image.empty()) {
      image_ = bench::ReadPgm(settings_.image);
      if (image_.pixels.empty()) {
        return absl::InvalidArgumentError(settings_.image + ": not a PGM image of 8 bits");
      }
      ORBSERVE_RETURN_IF_ERROR(Pipeline());
      ORBSERVE_RETURN_IF_ERROR(CornerMaps());
      ORBSERVE_RETURN_IF_ERROR(StepsOfPresets());
    }
    if (!json_.WriteTo(settings_.json)) {
      return absl::UnknownError("cannot write " + settings_.json);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Report(const std::string& name, const Launch& launch,
                      const Launch& reset = nullptr) {
    ORBSERVE_ASSIGN_OR_RETURN(const std::vector<double> samples, timer_->Time(launch, reset));
    const auto at = [&](double share) {
      return samples[static_cast<size_t>(share * static_cast<double>(samples.size() - 1))];
    };
    std::printf("%-44s %10.2f %10.2f %10.2f\n", name.c_str(), at(0.5), at(0.1), at(0.9));
    std::fflush(stdout);
    char line[256];
    std::snprintf(line, sizeof(line),
                  "{\"kernel\": \"%s\", \"median_us\": %.3f, \"p10_us\": %.3f, "
                  "\"p90_us\": %.3f}",
                  name.c_str(), at(0.5), at(0.1), at(0.9));
    json_.Append(line);
    return absl::OkStatus();
  }

  absl::Status Matching() {
    std::mt19937 random(3);
    for (const int count : {500, 1000, 2000, 4000}) {
      const size_t bytes = static_cast<size_t>(count) * 128;  // descriptors have 32, 64 or 128
      std::vector<uint8_t> host(2 * bytes);
      for (uint8_t& byte : host) byte = static_cast<uint8_t>(random());
      ORBSERVE_ASSIGN_OR_RETURN(const DeviceBuffer results,
                                DeviceBuffer::Create(0, static_cast<size_t>(count) * 64, nullptr));
      ORBSERVE_ASSIGN_OR_RETURN(
          const DeviceBuffer scratch,
          DeviceBuffer::Create(0, MatchScratchBytes(multiprocessors_), nullptr));
      ORBSERVE_ASSIGN_OR_RETURN(
          const DeviceBuffer tickets,
          DeviceBuffer::Create(0, MatchTicketBytes(multiprocessors_), nullptr));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemset(results.data(), 0xff, results.size_bytes()));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemset(tickets.data(), 0, tickets.size_bytes()));
      ORBSERVE_ASSIGN_OR_RETURN(const DeviceBuffer sets,
                                DeviceBuffer::CreateCopyOf(0, host, nullptr));
      MatchParams params = {};
      params.pairs = 1;
      params.k = 2;
      params.descriptor_bytes = 32;
      params.tensor_cores = true;
      params.multiprocessors = multiprocessors_;
      auto* const nearest = reinterpret_cast<PackedNeighbour*>(results.data());
      params.split_trains = true;
      params.scratch = scratch.data();
      params.tickets = reinterpret_cast<uint32_t*>(tickets.data());
      params.pair[0] = {sets.data(), sets.data() + bytes, count, count, nearest, nullptr};
      const std::string size = std::to_string(count) + "x" + std::to_string(count);
      ORBSERVE_RETURN_IF_ERROR(Report("match two best " + size, [&](cudaStream_t stream) {
        return LaunchMatch(params, stream);
      }));
      params.pair[0].reverse = nearest + 4 * count;
      ORBSERVE_RETURN_IF_ERROR(
          Report("match two best, cross-check " + size,
                 [&](cudaStream_t stream) { return LaunchMatch(params, stream); }));
      params.tensor_cores = false;
      params.pair[0].reverse = nullptr;
      ORBSERVE_RETURN_IF_ERROR(
          Report("match two best, bit counts " + size,
                 [&](cudaStream_t stream) { return LaunchMatch(params, stream); }));
      params.descriptor_bytes = 64;
      ORBSERVE_RETURN_IF_ERROR(Report("match two best, 64 bytes " + size, [&](cudaStream_t stream) {
        return LaunchMatch(params, stream);
      }));
      params.descriptor_bytes = 128;
      params.tensor_cores = true;
      ORBSERVE_RETURN_IF_ERROR(Report("match two best, vectors " + size, [&](cudaStream_t stream) {
        return LaunchMatch(params, stream);
      }));
      params.pair[0].reverse = nearest + 4 * count;
      ORBSERVE_RETURN_IF_ERROR(
          Report("match two best, vectors, cross-check " + size,
                 [&](cudaStream_t stream) { return LaunchMatch(params, stream); }));
      params.pair[0].reverse = nullptr;
      params.tensor_cores = false;
      params.descriptor_bytes = 32;
      ORBSERVE_RETURN_IF_ERROR(MatchingInWindow(params, &random));
    }
    ORBSERVE_RETURN_IF_ERROR(MatchingTogether(kMaxMatchPairs, 1000, 1000));
    return MatchingTogether(1, multiprocessors_ * kMaxBlockQueries, 20'000);
  }

  // The pair of `params` with keypoints spread evenly over a frame of 1920x1080.
  absl::Status MatchingInWindow(const MatchParams& params, std::mt19937* random) {
    const int count = params.pair[0].query_count;
    const auto floats = static_cast<size_t>(count) * 4;
    std::vector<float> host(floats);  // x and y of one side, then of the other
    for (size_t i = 0; i < floats; ++i) {
      const bool is_x = i / static_cast<size_t>(count) % 2 == 0;
      host[i] = static_cast<float>((*random)() % (is_x ? 1920 : 1080));
    }
    ORBSERVE_ASSIGN_OR_RETURN(
        const DeviceBuffer places,
        DeviceBuffer::CreateCopyOf(
            0, {reinterpret_cast<const uint8_t*>(host.data()), floats * sizeof(float)}, nullptr));
    const auto* const x = reinterpret_cast<const float*>(places.data());
    MatchWindows windows = {};
    windows.pair[0].query = {x, x + count, 0, 0};
    windows.pair[0].train = {x + 2 * count, x + 3 * count, 0, 0};
    windows.pair[0].half_side_px = 50.0f;
    return Report(
        "match two best, window 50 " + std::to_string(count) + "x" + std::to_string(count),
        [&](cudaStream_t stream) { return LaunchWindowMatch(params, windows, stream); });
  }

  // Many small pairs in one launch, or a slice of a large one.
  absl::Status MatchingTogether(int pairs, int queries, int trains) {
    std::mt19937 random(5);
    const size_t rows = static_cast<size_t>(queries) + static_cast<size_t>(trains);
    const auto count = static_cast<size_t>(pairs);
    std::vector<uint8_t> host(count * rows * 32);
    for (uint8_t& byte : host) byte = static_cast<uint8_t>(random());
    ORBSERVE_ASSIGN_OR_RETURN(
        const DeviceBuffer results,
        DeviceBuffer::Create(0, count * static_cast<size_t>(queries) * 2 * sizeof(PackedNeighbour),
                             nullptr));
    ORBSERVE_ASSIGN_OR_RETURN(
        const DeviceBuffer scratch,
        DeviceBuffer::Create(0, MatchScratchBytes(multiprocessors_), nullptr));
    ORBSERVE_ASSIGN_OR_RETURN(const DeviceBuffer tickets,
                              DeviceBuffer::Create(0, MatchTicketBytes(multiprocessors_), nullptr));
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemset(tickets.data(), 0, tickets.size_bytes()));
    ORBSERVE_ASSIGN_OR_RETURN(const DeviceBuffer sets,
                              DeviceBuffer::CreateCopyOf(0, host, nullptr));
    MatchParams params = {};
    params.pairs = pairs;
    params.k = 2;
    params.descriptor_bytes = 32;
    params.tensor_cores = true;
    params.multiprocessors = multiprocessors_;
    params.split_trains = true;
    params.scratch = scratch.data();
    params.tickets = reinterpret_cast<uint32_t*>(tickets.data());
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* const query = sets.data() + i * rows * 32;
      params.pair[i] = {
          query,
          query + static_cast<size_t>(queries) * 32,
          queries,
          trains,
          reinterpret_cast<PackedNeighbour*>(results.data()) + i * static_cast<size_t>(queries) * 2,
          nullptr};
    }
    return Report("match two best, " + std::to_string(pairs) + " x " + std::to_string(queries) +
                      "x" + std::to_string(trains),
                  [&](cudaStream_t stream) { return LaunchMatch(params, stream); });
  }

  absl::Status Prepare(const PipelineOptions& options, const FrameParameters& parameters,
                       bench::GpuWorkload* workload) {
    return workload->Prepare(image_, options, parameters, settings_.frames);
  }

  static size_t CounterBytes(const StepContext& context) {
    return static_cast<size_t>(context.frames.count) * sizeof(FrameCounters);
  }
  static absl::Status ClearCounters(const StepContext& context, cudaStream_t stream) {
    return StatusFromCuda(
        cudaMemsetAsync(context.frames.counters, 0, CounterBytes(context), stream),
        "cudaMemsetAsync");
  }

  // The map of a corner preset and its minimum distance, which begins with a new map each time.
  absl::Status CornerMaps() {
    for (const char* preset : {"harris-corners", "klt-corners"}) {
      for (const int distance : {5, 11, 21}) {
        for (const bool is_compressed : {false, true}) {
          ORBSERVE_ASSIGN_OR_RETURN(const Preset* const found, FindPreset(preset));
          PipelineOptions options = found->pipeline;
          options.suppress.minimum_distance_px = distance;
          options.suppress.cornerness_compression = is_compressed;
          bench::GpuWorkload workload;
          ORBSERVE_RETURN_IF_ERROR(Prepare(options, found->frame, &workload));
          const StepContext& context = workload.context;
          const auto* const map = workload.Find<CornerMapStep>();
          const auto* const distances = workload.Find<MinimumDistanceStep>();
          if (map == nullptr || distances == nullptr) {
            return MakeError(ErrorReason::kInternal, "the image is too small for keypoints");
          }
          const Launch clear = [&](cudaStream_t stream) { return ClearCounters(context, stream); };
          const Launch make_map = [&](cudaStream_t stream) -> absl::Status {
            ORBSERVE_RETURN_IF_ERROR(clear(stream));
            return map->Enqueue(context, stream);
          };
          const std::string name = std::string(preset) + ", distance " + std::to_string(distance) +
                                   (is_compressed ? ", compressed" : "");
          if (distance == 5 && !is_compressed) {
            ORBSERVE_RETURN_IF_ERROR(Report(
                std::string(preset) + ", map",
                [&](cudaStream_t stream) { return map->Enqueue(context, stream); }, clear));
          }
          const DistanceParams params = distances->ParamsFor(context);
          FrameCounters counters;
          const auto read_counters = [&] {
            return StatusFromCuda(cudaMemcpy(&counters, context.frames.counters, sizeof(counters),
                                             cudaMemcpyDeviceToHost),
                                  "cudaMemcpy");
          };
          if (params.in_tiles) {
            ORBSERVE_RETURN_IF_ERROR(Report(
                name + ", tiles",
                [&](cudaStream_t stream) { return LaunchTilePasses(params, stream); }, make_map));
            ORBSERVE_RETURN_IF_ERROR(read_counters());
            std::printf("  undecided cells %d\n", counters.undecided_cells[0][0]);
          }
          ORBSERVE_RETURN_IF_ERROR(Report(
              name, [&](cudaStream_t stream) { return distances->Enqueue(context, stream); },
              make_map));
          ORBSERVE_RETURN_IF_ERROR(read_counters());
          std::printf("  corners %d, passes %d\n", counters.corners[0],
                      counters.suppression_passes[0]);
        }
      }
    }
    return absl::OkStatus();
  }

  // The steps of every other preset, each on its own. Before each launch the parts of the arena
  // that the step changes are as the steps before have left them.
  absl::Status StepsOfPresets() {
    for (const Preset& preset : Presets()) {
      if (preset.name == "orb" || preset.name == "sift") continue;  // the CPU alone has sift
      const std::string name(preset.name);
      ORBSERVE_RETURN_IF_ERROR(Steps(name, preset.pipeline, preset.frame));
      if (preset.name != "vio") continue;
      PipelineOptions options = preset.pipeline;
      options.pyramid.levels = 1;
      ORBSERVE_RETURN_IF_ERROR(Steps(name + " of one level", options, preset.frame));
    }
    return absl::OkStatus();
  }

  absl::Status Steps(const std::string& name, const PipelineOptions& options,
                     const FrameParameters& parameters) {
    bench::GpuWorkload workload;
    ORBSERVE_RETURN_IF_ERROR(Prepare(options, parameters, &workload));
    const StepContext& context = workload.context;
    const size_t bytes = workload.arena.size_bytes();
    ORBSERVE_ASSIGN_OR_RETURN(const DeviceBuffer saved, DeviceBuffer::Create(0, bytes, nullptr));
    std::vector<uint8_t> before(bytes);
    std::vector<uint8_t> after(bytes);
    for (const StepList::PlacedStep& placed : workload.plan->steps().steps()) {
      const Step& step = *placed.step;
      const Launch launch = [&](cudaStream_t stream) { return step.Enqueue(context, stream); };
      ORBSERVE_ASSIGN_OR_RETURN(const Graph graph, Graph::Capture(timer_->stream(), launch));
      if (graph.nodes() == 0) continue;  // another step does its work
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaMemcpy(saved.data(), workload.arena.data(), bytes, cudaMemcpyDeviceToDevice));
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaMemcpy(before.data(), workload.arena.data(), bytes, cudaMemcpyDeviceToHost));
      ORBSERVE_RETURN_IF_ERROR(launch(timer_->stream()));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(timer_->stream()));
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaMemcpy(after.data(), workload.arena.data(), bytes, cudaMemcpyDeviceToHost));
      const std::vector<Range> changed = ChangedRanges(context, before, after);
      const Launch restore = [&](cudaStream_t stream) -> absl::Status {
        for (const Range& range : changed) {
          ORBSERVE_CUDA_RETURN_IF_ERROR(
              cudaMemcpyAsync(workload.arena.data() + range.begin, saved.data() + range.begin,
                              range.end - range.begin, cudaMemcpyDeviceToDevice, stream));
        }
        return absl::OkStatus();
      };
      ORBSERVE_RETURN_IF_ERROR(Report(name + ": " + std::string(step.name()), launch,
                                      changed.empty() ? Launch() : restore));
    }
    std::printf("  features %d\n", workload.side.reports()[0].total);
    return absl::OkStatus();
  }

  struct Range {
    size_t begin;
    size_t end;
  };
  // The part of each buffer of an arena that differs between two states of it.
  static std::vector<Range> ChangedRanges(const StepContext& context,
                                          const std::vector<uint8_t>& before,
                                          const std::vector<uint8_t>& after) {
    std::vector<size_t> begins;
    for (size_t i = 0; i < context.layout->buffers().size(); ++i) {
      begins.push_back(context.layout->Offset(BufferId(i), context.kind));
    }
    begins.push_back(context.layout->Bytes(context.kind));  // the lists
    begins.push_back(before.size());
    std::vector<Range> ranges;
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      size_t begin = begins[i];
      size_t end = begins[i + 1];
      while (begin < end && before[begin] == after[begin]) ++begin;
      while (begin < end && before[end - 1] == after[end - 1]) --end;
      if (begin < end) ranges.push_back({begin, end});
    }
    return ranges;
  }

  absl::Status Pipeline() {
    PipelineOptions options;
    options.pyramid.levels = settings_.levels;
    options.pyramid.scale_factor = settings_.scale;
    FrameParameters parameters;
    parameters.max_features = settings_.max_features;
    parameters.fast_threshold_grey = settings_.threshold_grey;
    bench::GpuWorkload workload;
    ORBSERVE_RETURN_IF_ERROR(Prepare(options, parameters, &workload));
    const std::shared_ptr<GpuPlan>& plan = workload.plan;
    const CompiledPipeline& pipeline = plan->pipeline();
    const StepContext& context = workload.context;
    const PinnedSide& side = workload.side;
    const int frames = context.frames.count;
    FrameCounters* const counters = context.frames.counters;
    const size_t counter_bytes = CounterBytes(context);
    const Launch clear = [&](cudaStream_t stream) { return ClearCounters(context, stream); };
    const Launch whole = [&](cudaStream_t stream) {
      BranchStreams branches;
      branches.main = stream;
      branches.side = side_.get();
      for (int i = 0; i < kMaxBranchEvents; ++i) branches.order[i] = order_[i].get();
      return plan->steps().Enqueue(context, branches);
    };
    char name[128];
    std::snprintf(name, sizeof(name), "whole graph, %d frames", frames);
    ORBSERVE_RETURN_IF_ERROR(Report(name, whole));
    std::printf("  features %d of level 0 %d, survivors of level 0 %d\n", side.reports()[0].total,
                side.reports()[0].kept[0], side.reports()[0].survivors[0]);

    // The plan's steps, on their own and over all levels.
    const auto* const pyramid = workload.Find<PyramidStep>();
    const auto* const fast_step = workload.Find<FastStep>();
    const auto* const survivors = workload.Find<SurvivorsStep>();
    const auto* const rank = workload.Find<RankStep>();
    if (fast_step == nullptr || survivors == nullptr || rank == nullptr) {
      return MakeError(ErrorReason::kInternal, "the image is too small for keypoints");
    }
    const int detecting_levels = pipeline.pyramid.detecting_levels;
    for (int l = 1; l < detecting_levels && pyramid != nullptr; ++l) {
      const ResizeParams resize = pyramid->ParamsFor(context, l, l, false);
      ORBSERVE_RETURN_IF_ERROR(
          Report("resize to level " + std::to_string(l),
                 [&](cudaStream_t stream) { return LaunchResize(resize, stream); }));
    }
    FastParams fast = fast_step->ParamsFor(context);
    if (settings_.tile_rows > 0) fast.tiles = FastTiles::With(settings_.tile_rows, pipeline);
    std::printf("  tiles of %d rows\n", fast.tiles.rows);
    for (const auto& [test, test_name] : std::vector<std::pair<CornerTest, std::string>>{
             {CornerTest::kArcExtremes, "arc extremes"},
             {CornerTest::kBinaryEncoding, "binary encoding"},
             {CornerTest::kBitTable, "bit table"}}) {
      fast.test = test;
      fast.first_level = 0;
      fast.last_level = 0;
      const auto launch = [&](cudaStream_t stream) { return LaunchFastCorners(fast, stream); };
      ORBSERVE_RETURN_IF_ERROR(Report("FAST level 0, " + test_name, launch, clear));
      fast.last_level = detecting_levels - 1;
      ORBSERVE_RETURN_IF_ERROR(Report("FAST all levels, " + test_name, launch, clear));
    }

    // Later stages start from what the ones before left.
    ORBSERVE_ASSIGN_OR_RETURN(const DeviceBuffer saved,
                              DeviceBuffer::Create(0, counter_bytes, nullptr));
    const auto run_up_to = [&](int stage) -> absl::Status {
      ORBSERVE_RETURN_IF_ERROR(clear(timer_->stream()));
      fast.test = CornerTest::kArcExtremes;
      ORBSERVE_RETURN_IF_ERROR(LaunchFastCorners(fast, timer_->stream()));
      if (stage > 1) ORBSERVE_RETURN_IF_ERROR(survivors->Enqueue(context, timer_->stream()));
      if (stage > 2) ORBSERVE_RETURN_IF_ERROR(rank->Enqueue(context, timer_->stream()));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(saved.data(), counters, counter_bytes,
                                                    cudaMemcpyDeviceToDevice, timer_->stream()));
      return StatusFromCuda(cudaStreamSynchronize(timer_->stream()), "cudaStreamSynchronize");
    };
    const Launch restore = [&](cudaStream_t stream) {
      return StatusFromCuda(
          cudaMemcpyAsync(counters, saved.data(), counter_bytes, cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpyAsync");
    };
    ORBSERVE_RETURN_IF_ERROR(run_up_to(1));
    ORBSERVE_RETURN_IF_ERROR(Report(
        "survivors and Harris",
        [&](cudaStream_t stream) { return survivors->Enqueue(context, stream); }, restore));
    ORBSERVE_RETURN_IF_ERROR(run_up_to(2));
    ORBSERVE_RETURN_IF_ERROR(Report(
        "rank", [&](cudaStream_t stream) { return rank->Enqueue(context, stream); }, restore));
    ORBSERVE_RETURN_IF_ERROR(run_up_to(3));
    return Report("orient, smooth, describe", [&](cudaStream_t stream) {
      return plan->steps().last().Enqueue(context, stream);
    });
  }

  const Settings settings_;
  std::optional<bench::KernelTimer> timer_;
  Stream side_;
  Event order_[kMaxBranchEvents];
  int multiprocessors_ = 1;
  bench::GreyImage image_;
  bench::JsonList json_;
};

}  // namespace
}  // namespace orbserve::gpu

int main(int argc, char** argv) {
  orbserve::gpu::Settings settings;
  CLI::App app{"Durations of the CUDA backend's kernels"};
  app.add_option("image", settings.image, "PGM file; without it only matching is timed");
  app.add_option("--launches", settings.launches, "Launches of a graph");
  app.add_option("--repeats", settings.repeats, "Graphs timed");
  app.add_option("--frames", settings.frames, "Frames of a batch")->check(CLI::Range(1, 64));
  app.add_option("--max-features", settings.max_features, "Wanted features");
  app.add_option("--threshold", settings.threshold_grey, "FAST threshold");
  app.add_option("--levels", settings.levels, "Levels of the pyramid");
  app.add_option("--scale", settings.scale, "Scale factor of the pyramid");
  app.add_option("--tile-rows", settings.tile_rows, "Rows of a FAST tile")
      ->check(CLI::Range(2, orbserve::gpu::FastTiles::kMaxRows));
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = orbserve::gpu::Bench(settings).Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
