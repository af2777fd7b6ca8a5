// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tracks on the CUDA backend, between two frames of a sequence: durations of the kernels, latency
// of a whole frame of the preset `vio` with its tracks, and frames a second of many robots.

#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/frame_latency.h"
#include "bench/json_list.h"
#include "bench/print_devices.h"
#include "bench/spin_calls.h"
#include "features/algo/lucas_kanade.h"
#include "features/backend.h"
#include "features/errors.h"
#include "features/options.h"
#include "gpu/frame_state.h"
#include "gpu/gpu_backend.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/tracking/track_kernel.h"

namespace orbserve::bench {
namespace {

using gpu::DeviceBuffer;
using gpu::Event;
using gpu::GpuFrameState;
using gpu::Graph;
using gpu::PinnedBuffer;
using gpu::Stream;

struct Settings {
  std::string first;
  std::string second;
  int launches = 100;  // of a graph
  int repeats = 21;    // graphs
  int frames = 1000;   // of a latency
  int robots = 64;
  int rounds = 400;  // frames of each robot
  int levels = 5;
  int coarse_patch_px = 16;
  int iterations = 30;
  bool with_light = false;
  bool template_first = false;
  std::string json;
};

using Clock = std::chrono::steady_clock;
using State = std::shared_ptr<const FrameState>;
using Points = std::shared_ptr<const TrackPoints>;

class TrackBench {
 public:
  TrackBench(FeatureBackend& backend, const Settings& settings)
      : backend_(backend), settings_(settings), vio_(**FindPreset("vio")) {
    options_ = vio_.track;
    options_.levels = settings.levels;
    options_.coarse_patch_px = settings.coarse_patch_px;
    options_.iterations = settings.iterations;
    if (settings.with_light) options_.illumination = Illumination::kBoth;
    if (settings.template_first) options_.track_template = TrackTemplate::kFirst;
  }

  absl::Status Run() {
    ORBSERVE_RETURN_IF_ERROR(options_.Validate());
    for (const std::string& path : {settings_.first, settings_.second}) {
      images_.push_back(ReadPgm(path));
      if (images_.back().pixels.empty()) {
        return MakeError(ErrorReason::kBadImage, path + ": not a PGM image of 8 bits");
      }
    }
    PlanSpec spec = {images_[0].width_px, images_[0].height_px, vio_.pipeline, options_.levels};
    if (images_[1].width_px != spec.width_px || images_[1].height_px != spec.height_px) {
      return MakeError(ErrorReason::kBadImage, "the two images have different sizes");
    }
    ORBSERVE_ASSIGN_OR_RETURN(plan_, backend_.MakePlan(spec));
    spec.track_levels = 0;
    ORBSERVE_ASSIGN_OR_RETURN(plain_plan_, backend_.MakePlan(spec));
    for (const GreyImage& image : images_) slots_.push_back(SlotWith(backend_, image));
    const FrameBatchAnswer answer = Extract(backend_, plan_, {JobOf(0), JobOf(1)});
    for (const FrameAnswer& frame : answer.frames) {
      ORBSERVE_RETURN_IF_ERROR(frame.status);
      states_.push_back(frame.state);
      features_.push_back(frame.features);
    }
    std::printf("%s to %s, %dx%d, %d levels, %zu and %zu features\n", images_[0].name.c_str(),
                images_[1].name.c_str(), spec.width_px, spec.height_px,
                states_[0]->pyramid_levels(), features_[0]->count(), features_[1]->count());
    ORBSERVE_RETURN_IF_ERROR(Kernels());
    ORBSERVE_RETURN_IF_ERROR(Frames());
    for (const int batch : {8, 16, 32}) ORBSERVE_RETURN_IF_ERROR(Robots(batch));
    return absl::OkStatus();
  }

  bool WriteJson() const { return json_.WriteTo(settings_.json); }

 private:
  FrameJob JobOf(size_t image) const {
    FrameJob job;
    job.input = slots_[image];
    job.parameters = vio_.frame;
    job.keep_state = KeepState::kPyramid;
    return job;
  }

  // Features of an image; more than those lie a few pixels beside them.
  Points PointsOf(size_t image, int count) const {
    auto points = std::make_shared<TrackPoints>();
    const Features& features = *features_[image];
    for (int i = 0; i < count && features.count() > 0; ++i) {
      const auto row = static_cast<size_t>(i) % features.count();
      const auto lap = static_cast<float>(static_cast<size_t>(i) / features.count());
      points->x.push_back(algo::TrackPlace(features.x[row] + 1.5f * lap));
      points->y.push_back(algo::TrackPlace(features.y[row] - 0.75f * lap));
    }
    points->gain.resize(points->count());
    points->offset.resize(points->count());
    if (options_.track_template == TrackTemplate::kFirst) {
      points->patch_row.assign(points->count(), -1);
      points->template_x = points->x;
      points->template_y = points->y;
    }
    return points;
  }

  void Print(const std::string& name, std::vector<double> samples, const char* unit,
             const std::string& more = "") {
    std::printf("%-44s %10.1f %s (p10 %.1f, p90 %.1f)%s\n", name.c_str(), Percentile(samples, 0.5),
                unit, Percentile(samples, 0.1), Percentile(samples, 0.9), more.c_str());
    std::fflush(stdout);
    json_.Append(absl::StrFormat(
        "{\"name\": \"%s\", \"unit\": \"%s\", \"median\": %.2f, \"p10\": %.2f, \"p90\": %.2f}",
        name, unit, Percentile(samples, 0.5), Percentile(samples, 0.1), Percentile(samples, 0.9)));
  }

  // Time of one launch, from graphs of many in a row.
  template <typename Launch>
  absl::Status TimeKernel(const std::string& name, const Launch& launch) {
    ORBSERVE_RETURN_IF_ERROR(gpu::UseDevice(0));
    ORBSERVE_ASSIGN_OR_RETURN(const Stream stream, Stream::Create());
    ORBSERVE_ASSIGN_OR_RETURN(const Event begin, Event::Create(Event::Timing::kOn));
    ORBSERVE_ASSIGN_OR_RETURN(const Event end, Event::Create(Event::Timing::kOn));
    ORBSERVE_ASSIGN_OR_RETURN(
        const Graph graph, Graph::Capture(stream.get(), [&](cudaStream_t captured) -> absl::Status {
          for (int i = 0; i < settings_.launches; ++i) ORBSERVE_RETURN_IF_ERROR(launch(captured));
          return absl::OkStatus();
        }));
    std::vector<double> samples;
    for (int i = -3; i < settings_.repeats; ++i) {
      ORBSERVE_RETURN_IF_ERROR(begin.Record(stream.get()));
      ORBSERVE_RETURN_IF_ERROR(graph.Launch(stream.get()));
      ORBSERVE_RETURN_IF_ERROR(end.Record(stream.get()));
      ORBSERVE_RETURN_IF_ERROR(
          end.Wait(Clock::now() + std::chrono::seconds(60), std::chrono::microseconds(0)));
      ORBSERVE_ASSIGN_OR_RETURN(const int64_t elapsed, end.ElapsedSince(begin));
      if (i >= 0) samples.push_back(static_cast<double>(elapsed) * 1e-3 / settings_.launches);
    }
    Print(name, std::move(samples), "us");
    return absl::OkStatus();
  }

  absl::Status Kernels() {
    const auto& from = dynamic_cast<const GpuFrameState&>(*states_[0]);
    const auto& to = dynamic_cast<const GpuFrameState&>(*states_[1]);
    const auto from_there = from.OnDevice(0, gpu::StatePart::kPyramid);
    const auto to_there = to.OnDevice(0, gpu::StatePart::kPyramid);
    if (from_there == nullptr || to_there == nullptr) {
      return MakeError(ErrorReason::kInternal, "the pyramids are not on the first device");
    }
    const gpu::TrackPyramid layout = from.pyramid();
    {
      ORBSERVE_ASSIGN_OR_RETURN(const DeviceBuffer copy,
                                DeviceBuffer::Create(0, layout.bytes(), nullptr));
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaMemcpy(copy.data(), from_there->data(), layout.bytes(), cudaMemcpyDeviceToDevice));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(nullptr));
      gpu::TrackPyramidParams params = {};
      params.pyramid = layout;
      params.alone = copy.data();
      ORBSERVE_RETURN_IF_ERROR(TimeKernel("kernel: levels of a pyramid", [&](cudaStream_t stream) {
        return gpu::LaunchTrackPyramid(params, stream);
      }));
    }
    const std::pair<Illumination, const char*> illuminations[] = {
        {Illumination::kNone, ""},
        {Illumination::kOffset, ", offset"},
        {Illumination::kGain, ", gain"},
        {Illumination::kBoth, ", gain and offset"}};
    for (const auto& [illumination, model] : illuminations) {
      TrackOptions options = options_;
      options.illumination = illumination;
      const auto parameters = algo::TrackParameters::Of(options, layout.levels);
      const gpu::TrackJobParams job =
          gpu::TrackJobParams::Of(parameters, layout, from_there->data(), to_there->data());
      for (const int count : {1, 50, 100, 150, 200, 2000, 20000}) {
        const Points points = PointsOf(0, count);
        std::vector<gpu::TrackPointParams> rows;
        for (size_t i = 0; i < points->count(); ++i) {
          rows.push_back({algo::TrackStartOf(*points, i), 0, nullptr, nullptr});
        }
        const size_t row_bytes = rows.size() * sizeof(rows[0]);
        ORBSERVE_ASSIGN_OR_RETURN(
            const DeviceBuffer device_job,
            DeviceBuffer::CreateCopyOf(0, {reinterpret_cast<const uint8_t*>(&job), sizeof(job)},
                                       nullptr));
        ORBSERVE_ASSIGN_OR_RETURN(
            const DeviceBuffer device_rows,
            DeviceBuffer::CreateCopyOf(
                0, {reinterpret_cast<const uint8_t*>(rows.data()), row_bytes}, nullptr));
        ORBSERVE_ASSIGN_OR_RETURN(
            const PinnedBuffer records,
            PinnedBuffer::Create(rows.size() * sizeof(gpu::TrackRecord), nullptr));
        gpu::TrackParams params = {};
        params.jobs = reinterpret_cast<const gpu::TrackJobParams*>(device_job.data());
        params.points = reinterpret_cast<const gpu::TrackPointParams*>(device_rows.data());
        params.records = reinterpret_cast<gpu::TrackRecord*>(records.data());
        params.count = static_cast<int32_t>(rows.size());
        ORBSERVE_RETURN_IF_ERROR(
            TimeKernel(absl::StrFormat("kernel: %d points%s", params.count, model),
                       [&](cudaStream_t stream) { return gpu::LaunchTrack(params, stream); }));
      }
    }
    return absl::OkStatus();
  }

  // A frame that is extracted, then tracked from the one before, and its parts alone.
  absl::Status Frames() {
    std::vector<double> plain;
    std::vector<double> extract;
    std::vector<double> track;
    std::vector<double> whole;
    std::vector<double> track_device;
    size_t ok = 0;
    State before = states_[0];
    const Points points[] = {PointsOf(0, vio_.frame.max_features),
                             PointsOf(1, vio_.frame.max_features)};
    for (int i = -settings_.frames / 10 - 3; i < settings_.frames; ++i) {
      const size_t from = i % 2 == 0 ? 0 : 1;  // the frame before
      const size_t to = 1 - from;
      if (i % 2 == 0) before = states_[0];
      FrameJob without = JobOf(to);
      without.keep_state = KeepState::kNone;
      auto begin = Clock::now();
      ORBSERVE_RETURN_IF_ERROR(Extract(backend_, plain_plan_, {without}).frames[0].status);
      const double plain_us = MicrosecondsSince(begin);
      begin = Clock::now();
      const FrameBatchAnswer frame = Extract(backend_, plan_, {JobOf(to)});
      const double extract_us = MicrosecondsSince(begin);
      ORBSERVE_RETURN_IF_ERROR(frame.frames[0].status);
      const TrackBatchAnswer tracks =
          Track(backend_, {{before, frame.frames[0].state, points[from], options_}});
      const double whole_us = MicrosecondsSince(begin);
      ORBSERVE_RETURN_IF_ERROR(tracks.jobs[0].status);
      before = frame.frames[0].state;
      ok = static_cast<size_t>(std::count(tracks.jobs[0].tracked.status.begin(),
                                          tracks.jobs[0].tracked.status.end(), TrackStatus::kOk));
      if (i < 0) continue;
      plain.push_back(plain_us);
      extract.push_back(extract_us);
      track.push_back(whole_us - extract_us);
      whole.push_back(whole_us);
      track_device.push_back(static_cast<double>(tracks.cost.timings.compute_ns) * 1e-3);
    }
    Print("frame without a state", std::move(plain), "us");
    Print("frame with its pyramid", std::move(extract), "us");
    Print("tracks", std::move(track), "us",
          absl::StrFormat(", %zu of %zu points ok", ok, points[0]->count()));
    Print("tracks, on the device", std::move(track_device), "us");
    Print("frame and tracks", std::move(whole), "us");
    return absl::OkStatus();
  }

  // Robots in groups whose frames make a batch and whose tracks make another; groups overlap.
  absl::Status Robots(int batch) {
    const int groups = std::max(settings_.robots / batch, 1);
    const int robots = groups * batch;
    std::vector<double> rates;
    const Points points[] = {PointsOf(0, vio_.frame.max_features),
                             PointsOf(1, vio_.frame.max_features)};
    std::vector<std::vector<std::shared_ptr<InputSlot>>> slots(2);
    for (size_t image = 0; image < 2; ++image) {
      for (int i = 0; i < robots; ++i) {
        slots[image].push_back(SlotWith(backend_, images_[image]));
        if (slots[image].back() == nullptr) {
          return MakeError(ErrorReason::kOutOfMemory, "no slots for all robots");
        }
      }
    }
    for (int round = -1; round < 5; ++round) {
      std::vector<absl::Status> failures(static_cast<size_t>(groups));
      std::vector<std::thread> threads;
      const auto begin = Clock::now();
      for (int group = 0; group < groups; ++group) {
        threads.emplace_back([&, group] {
          failures[static_cast<size_t>(group)] = RunGroup(group * batch, batch, slots, points);
        });
      }
      for (std::thread& thread : threads) thread.join();
      const double seconds = MicrosecondsSince(begin) * 1e-6;
      for (const absl::Status& failure : failures) ORBSERVE_RETURN_IF_ERROR(failure);
      if (round >= 0) rates.push_back(robots * settings_.rounds / seconds);
    }
    Print(absl::StrFormat("%d robots, batches of %d", robots, batch), std::move(rates),
          "tracked frames/s");
    return absl::OkStatus();
  }

  absl::Status RunGroup(int first, int count,
                        const std::vector<std::vector<std::shared_ptr<InputSlot>>>& slots,
                        const Points (&points)[2]) {
    std::vector<State> before(static_cast<size_t>(count), states_[0]);
    for (int frame = 0; frame < settings_.rounds; ++frame) {
      const size_t to = frame % 2 == 0 ? 1 : 0;
      std::vector<FrameJob> jobs;
      for (int i = 0; i < count; ++i) {
        jobs.push_back(JobOf(to));
        jobs.back().input = slots[to][static_cast<size_t>(first + i)];
      }
      const FrameBatchAnswer extracted = Extract(backend_, plan_, std::move(jobs));
      std::vector<TrackJob> tracks;
      for (size_t i = 0; i < before.size(); ++i) {
        ORBSERVE_RETURN_IF_ERROR(extracted.frames[i].status);
        const State& state = extracted.frames[i].state;
        tracks.push_back({std::exchange(before[i], state), state, points[1 - to], options_});
      }
      for (const TrackAnswer& answer : Track(backend_, std::move(tracks)).jobs) {
        ORBSERVE_RETURN_IF_ERROR(answer.status);
      }
    }
    return absl::OkStatus();
  }

  FeatureBackend& backend_;
  const Settings& settings_;
  const Preset& vio_;
  TrackOptions options_;
  std::vector<GreyImage> images_;
  std::shared_ptr<FeaturePlan> plan_;
  std::shared_ptr<FeaturePlan> plain_plan_;  // keeps no pyramids
  std::vector<std::shared_ptr<InputSlot>> slots_;
  std::vector<State> states_;
  std::vector<std::shared_ptr<const Features>> features_;
  JsonList json_;
};

int Run(const Settings& settings) {
  gpu::GpuBackendOptions options;
  options.devices = {0};
  options.lanes = 8;
  const auto backend = gpu::CreateGpuBackend(options);
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().ToString().c_str());
    return 1;
  }
  bench::PrintDevices(**backend);
  TrackBench bench(**backend, settings);
  const absl::Status status = bench.Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return bench.WriteJson() && status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"Tracks on the CUDA backend, from one frame to the next"};
  app.add_option("first", settings.first, "PGM file")->required();
  app.add_option("second", settings.second, "PGM file of the same size")->required();
  app.add_option("--launches", settings.launches, "Launches of a graph")
      ->check(CLI::Range(1, 1000));
  app.add_option("--repeats", settings.repeats, "Graphs timed")->check(CLI::Range(1, 10'000));
  app.add_option("--frames", settings.frames, "Frames of a latency")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--robots", settings.robots, "Robots at once")->check(CLI::Range(1, 4096));
  app.add_option("--rounds", settings.rounds, "Frames of each robot")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--levels", settings.levels, "Levels of the pyramid")->check(CLI::Range(1, 11));
  app.add_option("--coarse-patch", settings.coarse_patch_px, "Side of patches above level 2")
      ->check(CLI::IsMember({8, 16}));
  app.add_option("--iterations", settings.iterations, "Most of a level")->check(CLI::Range(1, 100));
  app.add_flag("--light", settings.with_light, "Frames and robots follow gain and offset, too");
  app.add_flag("--template-first", settings.template_first,
               "Frames and robots begin all points anew and answer their patches");
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
