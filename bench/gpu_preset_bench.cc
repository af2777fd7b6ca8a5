// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every preset on the CUDA backend: latency of one frame from its submission (grey pixels in a
// pinned slot) to its features on the host, and batches of `orb-32` that are matched with a
// reference as soon as they are answered.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
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
#include "features/options.h"
#include "gpu/gpu_backend.h"

namespace orbserve::bench {
namespace {

struct Settings {
  std::vector<std::string> images;
  std::string filter;
  int repeats = 1000;
  int batch_images = 1000;  // of one round
  int rounds = 11;
  int batch = 64;
  int in_flight = 4;  // batches at a time
  bool stages = false;
  int max_features = 0;    // wanted by every preset; 0 = its own number
  std::string descriptor;  // of every preset, such as TEBLID_512; empty = its own
  std::vector<int> devices;
  std::string json;
};

class PresetBench {
 public:
  PresetBench(FeatureBackend& backend, const Settings& settings)
      : backend_(backend), settings_(settings) {}

  // False when something failed, which was printed.
  bool Run(const std::vector<GreyImage>& images) {
    std::printf("%-16s %-28s %10s %8s %8s %8s %8s %8s %10s\n", "preset", "image", "size", "median",
                "p10", "p90", "upload", "compute", "features");
    for (const Preset& preset : Presets()) {
      if (!Wants(preset)) continue;
      for (const GreyImage& image : images) {
        if (!MeasureOne(preset, image)) return false;
      }
    }
    const auto orb32 = FindPreset("orb-32");
    if (!settings_.descriptor.empty()) return true;
    if (!orb32.ok() || !Wants(**orb32)) return true;
    for (const GreyImage& image : images) {
      if (const absl::Status status = MeasureBatches(**orb32, image); !status.ok()) {
        std::fprintf(stderr, "%s\n", status.ToString().c_str());
        return false;
      }
    }
    return true;
  }

  bool WriteJson() const { return json_.WriteTo(settings_.json); }

 private:
  // Says so once where a wanted preset is not in this build.
  bool Wants(const Preset& preset) const {
    if (!settings_.filter.empty() && settings_.filter != preset.name) return false;
    const auto found = FindPreset(preset.name);
    if (!found.ok()) {
      std::printf("left out: %s\n", std::string(found.status().message()).c_str());
    }
    return found.ok();
  }

  bool MeasureOne(const Preset& preset, const GreyImage& image) {
    PipelineOptions pipeline = preset.pipeline;
    if (!settings_.descriptor.empty()) {
      const auto& names = kEnumNames<Descriptor>;
      const auto name = std::find(names.begin(), names.end(), settings_.descriptor);
      if (name == names.end()) {
        std::fprintf(stderr, "no descriptor %s\n", settings_.descriptor.c_str());
        return false;
      }
      pipeline.describe.descriptor = static_cast<Descriptor>(name - names.begin());
    }
    const auto plan = backend_.MakePlan({image.width_px, image.height_px, pipeline});
    if (!plan.ok()) {
      std::fprintf(stderr, "%s\n", plan.status().ToString().c_str());
      return false;
    }
    FrameParameters parameters = preset.frame;
    if (settings_.max_features > 0) parameters.max_features = settings_.max_features;
    const Latency latency =
        MeasureLatency(backend_, *plan, SlotWith(backend_, image), parameters, settings_.repeats);
    if (latency.median_us == 0) return false;
    std::printf("%-16s %-28s %10s %8.1f %8.1f %8.1f %8.1f %8.1f %10zu\n",
                std::string(preset.name).c_str(), image.name.substr(0, 28).c_str(),
                absl::StrFormat("%dx%d", image.width_px, image.height_px).c_str(),
                latency.median_us, latency.p10_us, latency.p90_us, latency.upload_us,
                latency.compute_us, latency.features);
    if (settings_.stages) PrintStages(*plan, image, parameters);
    std::fflush(stdout);
    json_.Append(
        absl::StrFormat("{\"preset\": \"%s\", \"image\": \"%s\", \"width\": %d, \"height\": %d, "
                        "\"repeats\": %d, \"median_us\": %.2f, \"p10_us\": %.2f, \"p90_us\": %.2f, "
                        "\"upload_us\": %.2f, \"compute_us\": %.2f, \"features\": %zu}",
                        preset.name, image.name, image.width_px, image.height_px, settings_.repeats,
                        latency.median_us, latency.p10_us, latency.p90_us, latency.upload_us,
                        latency.compute_us, latency.features));
    return true;
  }

  // Median time of each stage on the device, over frames of which each is timed.
  void PrintStages(const std::shared_ptr<FeaturePlan>& plan, const GreyImage& image,
                   const FrameParameters& parameters) {
    constexpr int kFrames = 101;
    std::vector<std::pair<std::string, std::vector<double>>> times;
    const std::shared_ptr<InputSlot> slot = SlotWith(backend_, image);
    for (int i = 0; i < kFrames; ++i) {
      std::vector<FrameJob> jobs(1);
      jobs[0].input = slot;
      jobs[0].parameters = parameters;
      const FrameBatchAnswer answer = Compute(backend_, plan, std::move(jobs));
      const absl::Span<const StageTime> stages = answer.frames[0].stages.entries();
      times.resize(std::max(times.size(), stages.size()));
      for (size_t s = 0; s < stages.size(); ++s) {
        times[s].first = stages[s].stages.Name();
        times[s].second.push_back(static_cast<double>(stages[s].duration_ns) * 1e-3);
      }
    }
    for (const auto& [name, samples] : times) {
      std::printf("  %s %.1f", name.c_str(), Percentile(samples, 0.5));
    }
    std::printf("\n");
  }

  // One batch at a time shows the work of the device, several at a time the throughput.
  absl::Status MeasureBatches(const Preset& preset, const GreyImage& image) {
    ORBSERVE_ASSIGN_OR_RETURN(const auto batches,
                              ReferenceBatches::Create(backend_, preset, image, settings_.batch));
    for (const int in_flight : {1, settings_.in_flight}) {
      std::vector<double> wall;
      std::vector<double> extract;
      std::vector<double> match;
      ReferenceBatches::Round last;
      for (int i = -1; i < settings_.rounds; ++i) {
        ORBSERVE_ASSIGN_OR_RETURN(
            last, batches->Run(settings_.batch_images, in_flight, /*matches=*/true));
        if (i < 0) continue;
        wall.push_back(last.wall_us * 1e-3);
        extract.push_back(last.extract_us * 1e-3);
        match.push_back(last.match_us * 1e-3);
      }
      std::printf(
          "%s, %s, %d images in batches of %d, %d at a time, each matched with %zu vectors: wall "
          "%.2f ms (p10 %.2f, p90 %.2f); batches took %.2f ms to extract and %.2f ms to match; "
          "%zu features, %zu matches\n",
          std::string(preset.name).c_str(), image.name.c_str(), settings_.batch_images,
          batches->batch(), in_flight, batches->reference_vectors(), Percentile(wall, 0.5),
          Percentile(wall, 0.1), Percentile(wall, 0.9), Percentile(extract, 0.5),
          Percentile(match, 0.5), last.features, last.matches);
      std::fflush(stdout);
      json_.Append(absl::StrFormat(
          "{\"preset\": \"%s\", \"image\": \"%s\", \"width\": %d, \"height\": %d, "
          "\"images\": %d, \"batch\": %d, \"in_flight\": %d, \"reference_vectors\": %zu, "
          "\"rounds\": %d, \"wall_ms\": %.3f, \"wall_p10_ms\": %.3f, \"wall_p90_ms\": %.3f, "
          "\"extract_ms\": %.3f, \"match_ms\": %.3f, \"features\": %zu, \"matches\": %zu}",
          preset.name, image.name, image.width_px, image.height_px, settings_.batch_images,
          batches->batch(), in_flight, batches->reference_vectors(), settings_.rounds,
          Percentile(wall, 0.5), Percentile(wall, 0.1), Percentile(wall, 0.9),
          Percentile(extract, 0.5), Percentile(match, 0.5), last.features, last.matches));
    }
    return absl::OkStatus();
  }

  FeatureBackend& backend_;
  const Settings& settings_;
  JsonList json_;
};

int Run(const Settings& settings) {
  gpu::GpuBackendOptions options;
  options.devices = settings.devices;
  options.max_batch_frames = settings.batch;
  if (settings.stages) options.stage_sampling = 1;
  const auto backend = gpu::CreateGpuBackend(options);
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().ToString().c_str());
    return 1;
  }
  bench::PrintDevices(**backend);
  std::vector<GreyImage> images;
  for (const std::string& path : settings.images) {
    images.push_back(ReadPgm(path));
    if (images.back().pixels.empty()) {
      std::fprintf(stderr, "%s: not a PGM image of 8 bits\n", path.c_str());
      return 1;
    }
  }
  PresetBench bench(**backend, settings);
  const bool done = bench.Run(images);
  return bench.WriteJson() && done ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"Latency of every preset on the CUDA backend, and batches of `orb-32`"};
  app.add_option("images", settings.images, "PGM files")->required();
  std::vector<std::string> names;
  for (const orbserve::Preset& preset : orbserve::Presets()) names.emplace_back(preset.name);
  app.add_option("--preset", settings.filter, "This preset only")->check(CLI::IsMember(names));
  app.add_option("--repeats", settings.repeats, "Frames of a latency measurement")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--batch-images", settings.batch_images, "Images of a round of batches")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--rounds", settings.rounds, "Rounds of batches")->check(CLI::Range(1, 10'000));
  app.add_option("--in-flight", settings.in_flight, "Batches at a time")->check(CLI::Range(1, 16));
  app.add_flag("--stages", settings.stages, "Time every stage, which makes frames somewhat slower");
  app.add_option("--descriptor", settings.descriptor, "of every preset, such as TEBLID_512");
  app.add_option("--max-features", settings.max_features,
                 "Features that every preset is asked for; default: its own number")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--batch", settings.batch, "Frames of a batch")->check(CLI::Range(1, 64));
  app.add_option("--devices", settings.devices, "CUDA ordinals")->delimiter(',');
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
