// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The experiments of papers 2 to 5 that measure whole calls, on the CUDA backend:
//
//   2   detection with each score (table V), and its parts (figure 6)
//   3   detection with orientation (table I): one call, and many at a time
//   4   1,000 images end to end, the share of each stage, and images of a batch (figure 4)
//   5   phases over resolutions (figure 5), and distances with and without the compression of the
//       cornerness map (table 1)
//
// Latencies count from the submission of an image in pinned memory to its features on the host.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
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
#include "bench/reference_batches.h"
#include "features/backend.h"
#include "features/errors.h"
#include "features/options.h"
#include "gpu/gpu_backend.h"

namespace orbserve::bench {
namespace {

struct Settings {
  std::vector<std::string> images;
  int paper = 0;
  int repeats = 1000;
  int rounds = 11;
  std::string json;
};

constexpr int kBatch = 64;
constexpr int kInFlight = 4;

class PapersBench {
 public:
  // `staged`: a backend that times the stages of every batch.
  PapersBench(const Settings& settings, FeatureBackend& backend, FeatureBackend& staged)
      : settings_(settings), backend_(backend), staged_(staged) {}

  absl::Status Run(const GreyImage& image) {
    switch (settings_.paper) {
      case 2:
        return Scores(image);
      case 3:
        return OrientedDetection(image);
      case 4:
        return ManyImages(image);
      default:
        return MinimumDistances(image);
    }
  }

  bool WriteJson() const { return json_.WriteTo(settings_.json); }

 private:
  absl::Status Scores(const GreyImage& image) {
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const vio, FindPreset("vio"));
    const std::pair<Score, const char*> scores[] = {
        {Score::kSadCircle, "SAD_CIRCLE"}, {Score::kSadArc, "SAD_ARC"}, {Score::kFast, "FAST"}};
    for (const auto& [score, name] : scores) {
      PipelineOptions options = vio->pipeline;
      options.detect.score = score;
      ORBSERVE_RETURN_IF_ERROR(
          MeasureCall(absl::StrFormat("\"score\": \"%s\"", name), image, options, vio->frame));
    }
    return absl::OkStatus();
  }

  absl::Status OrientedDetection(const GreyImage& image) {
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const bfrost, FindPreset("bfrost"));
    PipelineOptions options = bfrost->pipeline;
    options.describe.descriptor = Descriptor::kNone;
    options.select.border_px = 3;
    FrameParameters parameters = bfrost->frame;
    parameters.fast_threshold_grey = 40;
    parameters.max_features = kMaxFeatures;
    ORBSERVE_RETURN_IF_ERROR(MeasureCall("\"threshold\": 40", image, options, parameters));
    return MeasureThroughput(image, options, parameters);
  }

  absl::Status ManyImages(const GreyImage& image) {
    constexpr int kImages = 1000;
    ORBSERVE_ASSIGN_OR_RETURN(const Preset* const orb32, FindPreset("orb-32"));
    for (int batch = 1; batch <= kBatch; batch *= 2) {
      ORBSERVE_ASSIGN_OR_RETURN(const auto batches,
                                ReferenceBatches::Create(backend_, *orb32, image, batch));
      for (const bool matches : {false, true}) {
        std::vector<double> wall;
        ReferenceBatches::Round last;
        for (int i = -1; i < settings_.rounds; ++i) {
          ORBSERVE_ASSIGN_OR_RETURN(last, batches->Run(kImages, kInFlight, matches));
          if (i >= 0) wall.push_back(last.wall_us * 1e-3);
        }
        Row(absl::StrFormat(
            "%s, \"images\": %d, \"batch\": %d, \"in_flight\": %d, \"matches\": "
            "%s, \"wall_ms\": %.3f, \"p10_ms\": %.3f, \"p90_ms\": %.3f",
            Name(image), kImages, batches->batch(), kInFlight, matches ? "true" : "false",
            Percentile(wall, 0.5), Percentile(wall, 0.1), Percentile(wall, 0.9)));
      }
    }
    // One batch at a time shows what the device does.
    ORBSERVE_ASSIGN_OR_RETURN(const auto batches,
                              ReferenceBatches::Create(backend_, *orb32, image, kBatch));
    std::vector<double> upload;
    std::vector<double> extract;
    std::vector<double> match;
    std::vector<double> wall;
    for (int i = 0; i < settings_.rounds; ++i) {
      ORBSERVE_ASSIGN_OR_RETURN(const ReferenceBatches::Round round,
                                batches->Run(kImages, 1, true));
      upload.push_back(round.upload_us * 1e-3);
      extract.push_back(round.extract_us * 1e-3);
      match.push_back(round.match_us * 1e-3);
      wall.push_back(round.wall_us * 1e-3);
    }
    Row(
        absl::StrFormat("%s, \"images\": %d, \"batch\": %d, \"in_flight\": 1, \"wall_ms\": %.3f, "
                        "\"upload_ms\": %.3f, \"extract_ms\": %.3f, \"match_ms\": %.3f",
                        Name(image), kImages, batches->batch(), Percentile(wall, 0.5),
                        Percentile(upload, 0.5), Percentile(extract, 0.5), Percentile(match, 0.5)));
    return MeasureStages("\"what\": \"stages of a batch\"", image, orb32->pipeline, orb32->frame,
                         kBatch);
  }

  absl::Status MinimumDistances(const GreyImage& image) {
    constexpr std::pair<int, int> kSizes[] = {
        {320, 240}, {512, 384}, {640, 480}, {800, 600}, {1024, 768}};
    for (const char* const name : {"harris-corners", "klt-corners"}) {
      ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset(name));
      for (const auto& [width, height] : kSizes) {
        if (width > image.width_px || height > image.height_px) continue;
        const GreyImage part = Crop(image, width, height);
        for (const bool compressed : {false, true}) {
          for (const int distance : {3, 5, 7, 9, 11}) {
            if (distance != 5 && width != 640) continue;
            PipelineOptions options = preset->pipeline;
            options.suppress.minimum_distance_px = distance;
            options.suppress.cornerness_compression = compressed;
            ORBSERVE_ASSIGN_OR_RETURN(const FrameParameters parameters,
                                      ParametersFor500(part, options, preset->frame));
            ORBSERVE_RETURN_IF_ERROR(MeasureCall(
                absl::StrFormat("\"preset\": \"%s\", \"distance\": %d, \"compressed\": %s, "
                                "\"quality_level\": %.5f",
                                name, distance, compressed ? "true" : "false",
                                static_cast<double>(parameters.quality_level)),
                part, options, parameters));
          }
        }
      }
    }
    return absl::OkStatus();
  }

  // The middle of an image.
  static GreyImage Crop(const GreyImage& image, int width, int height) {
    GreyImage part = {image.name, width, height, {}};
    const int left = (image.width_px - width) / 2;
    const int top = (image.height_px - height) / 2;
    for (int y = 0; y < height; ++y) {
      const auto row =
          image.pixels.begin() + static_cast<ptrdiff_t>(top + y) * image.width_px + left;
      part.pixels.insert(part.pixels.end(), row, row + width);
    }
    return part;
  }

  // The highest quality level at which 500 corners or more come out.
  absl::StatusOr<FrameParameters> ParametersFor500(const GreyImage& image,
                                                   const PipelineOptions& options,
                                                   FrameParameters parameters) {
    constexpr size_t kCorners = 500;
    constexpr int kSteps = 20;
    ORBSERVE_ASSIGN_OR_RETURN(const auto plan,
                              backend_.MakePlan({image.width_px, image.height_px, options}));
    const auto slot = SlotWith(backend_, image);
    parameters.max_features = kMaxFeatures;
    float low = 1e-6f;
    float high = 0.9f;
    for (int i = 0; i < kSteps; ++i) {
      parameters.quality_level = 0.5f * (low + high);
      std::vector<FrameJob> jobs(1);
      jobs[0].input = slot;
      jobs[0].parameters = parameters;
      const FrameBatchAnswer answer = Compute(backend_, plan, std::move(jobs));
      ORBSERVE_RETURN_IF_ERROR(answer.frames[0].status);
      (answer.frames[0].features->count() >= kCorners ? low : high) = parameters.quality_level;
    }
    parameters.quality_level = low;
    parameters.max_features = static_cast<int>(kCorners);
    return parameters;
  }

  // Latency of a call, then the times of its stages.
  absl::Status MeasureCall(const std::string& what, const GreyImage& image,
                           const PipelineOptions& options, const FrameParameters& parameters) {
    ORBSERVE_ASSIGN_OR_RETURN(const auto plan,
                              backend_.MakePlan({image.width_px, image.height_px, options}));
    const Latency latency =
        MeasureLatency(backend_, plan, SlotWith(backend_, image), parameters, settings_.repeats);
    if (latency.median_us == 0) return MakeError(ErrorReason::kInternal, "a call failed");
    Row(
        absl::StrFormat("%s, %s, \"features\": %d, \"median_us\": %.2f, \"p10_us\": %.2f, "
                        "\"p90_us\": %.2f, \"upload_us\": %.2f, \"compute_us\": %.2f",
                        Name(image), what, latency.features, latency.median_us, latency.p10_us,
                        latency.p90_us, latency.upload_us, latency.compute_us));
    return MeasureStages(what, image, options, parameters, 1);
  }

  // Medians of the stages of batches of `frames`, one at a time.
  absl::Status MeasureStages(const std::string& what, const GreyImage& image,
                             const PipelineOptions& options, const FrameParameters& parameters,
                             int frames) {
    constexpr int kBatches = 101;
    ORBSERVE_ASSIGN_OR_RETURN(const auto plan,
                              staged_.MakePlan({image.width_px, image.height_px, options}));
    std::vector<std::shared_ptr<InputSlot>> slots;
    for (int i = 0; i < frames; ++i) slots.push_back(SlotWith(staged_, image));
    std::vector<std::pair<std::string, std::vector<double>>> times;
    const auto add = [&](const std::string& name, int64_t ns) {
      const auto found =
          std::find_if(times.begin(), times.end(), [&](const auto& t) { return t.first == name; });
      auto& entry = found == times.end() ? times.emplace_back(name, std::vector<double>()) : *found;
      entry.second.push_back(static_cast<double>(ns) * 1e-3);
    };
    for (int i = 0; i < kBatches; ++i) {
      std::vector<FrameJob> jobs(slots.size());
      for (size_t n = 0; n < jobs.size(); ++n) {
        jobs[n].input = slots[n];
        jobs[n].parameters = parameters;
      }
      const FrameBatchAnswer answer = Compute(staged_, plan, std::move(jobs));
      ORBSERVE_RETURN_IF_ERROR(answer.frames[0].status);
      add("upload", answer.cost.timings.upload_ns);
      for (const StageTime& stage : answer.frames[0].stages.entries()) {
        add(std::string(stage.stages.Name()), stage.duration_ns);
      }
      add("download", answer.cost.timings.download_ns);
    }
    std::string text;
    for (const auto& [name, samples] : times) {
      absl::StrAppendFormat(&text, "%s\"%s\": %.2f", text.empty() ? "" : ", ", name,
                            Percentile(samples, 0.5));
    }
    Row(absl::StrFormat("%s, %s, \"frames\": %d, \"stages_us\": {%s}", Name(image), what, frames,
                        text));
    return absl::OkStatus();
  }

  // Calls of kBatch frames, several at a time.
  absl::Status MeasureThroughput(const GreyImage& image, const PipelineOptions& options,
                                 const FrameParameters& parameters) {
    constexpr int kCallsOfThread = 40;
    ORBSERVE_ASSIGN_OR_RETURN(const auto plan,
                              backend_.MakePlan({image.width_px, image.height_px, options}));
    const int batch = std::min(kBatch, plan->max_batch_frames());
    std::vector<std::shared_ptr<InputSlot>> slots;
    for (int i = 0; i < kInFlight * batch; ++i) slots.push_back(SlotWith(backend_, image));
    std::vector<double> rates;
    for (int round = -1; round < settings_.rounds; ++round) {
      std::atomic<bool> failed{false};
      std::vector<std::thread> threads;
      const auto begin = std::chrono::steady_clock::now();
      for (int t = 0; t < kInFlight; ++t) {
        threads.emplace_back([&, t] {
          for (int call = 0; call < kCallsOfThread && !failed; ++call) {
            std::vector<FrameJob> jobs(static_cast<size_t>(batch));
            for (size_t i = 0; i < jobs.size(); ++i) {
              jobs[i].input = slots[static_cast<size_t>(t * batch) + i];
              jobs[i].parameters = parameters;
            }
            const FrameBatchAnswer answer = Compute(backend_, plan, std::move(jobs));
            if (!answer.frames[0].status.ok()) failed = true;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      if (failed) return MakeError(ErrorReason::kInternal, "a batch failed");
      if (round < 0) continue;
      rates.push_back(kInFlight * kCallsOfThread * batch / (MicrosecondsSince(begin) * 1e-6));
    }
    Row(
        absl::StrFormat("%s, \"batch\": %d, \"in_flight\": %d, \"frames_per_second\": %.0f, "
                        "\"p10_frames_per_second\": %.0f, \"p90_frames_per_second\": %.0f",
                        Name(image), batch, kInFlight, Percentile(rates, 0.5),
                        Percentile(rates, 0.1), Percentile(rates, 0.9)));
    return absl::OkStatus();
  }

  std::string Name(const GreyImage& image) const {
    return absl::StrFormat("\"paper\": %d, \"image\": \"%s\", \"width\": %d, \"height\": %d",
                           settings_.paper, image.name, image.width_px, image.height_px);
  }
  void Row(const std::string& row) {
    std::printf("{%s}\n", row.c_str());
    std::fflush(stdout);
    json_.Append("{" + row + "}");
  }

  const Settings& settings_;
  FeatureBackend& backend_;
  FeatureBackend& staged_;
  JsonList json_;
};

int Run(const Settings& settings) {
  gpu::GpuBackendOptions options;
  options.devices = {0};
  options.max_batch_frames = kBatch;
  const auto backend = gpu::CreateGpuBackend(options);
  options.stage_sampling = 1;
  const auto staged = gpu::CreateGpuBackend(options);
  for (const auto* const made : {&backend, &staged}) {
    if (made->ok()) continue;
    std::fprintf(stderr, "%s\n", made->status().ToString().c_str());
    return 1;
  }
  bench::PrintDevices(**backend);
  PapersBench bench(settings, **backend, **staged);
  absl::Status status;
  for (const std::string& path : settings.images) {
    const GreyImage image = ReadPgm(path);
    if (image.pixels.empty()) {
      std::fprintf(stderr, "%s: not a PGM image of 8 bits\n", path.c_str());
      return 1;
    }
    status = bench.Run(image);
    if (!status.ok()) break;
  }
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return bench.WriteJson() && status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"Whole calls of the experiments of papers 2 to 5 on the CUDA backend"};
  app.add_option("--paper", settings.paper, "The paper")->required()->check(CLI::Range(2, 5));
  app.add_option("images", settings.images, "PGM files")->required();
  app.add_option("--repeats", settings.repeats, "Frames of a latency measurement")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--rounds", settings.rounds, "Rounds of batches")->check(CLI::Range(1, 10'000));
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
