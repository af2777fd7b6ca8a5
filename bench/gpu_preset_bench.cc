// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every preset on the CUDA backend: latency of one frame from its submission (grey pixels in a
// pinned slot) to its features on the host, and batches of `orb-32` that are matched with a
// reference as soon as they are answered.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "bench/frame_latency.h"
#include "features/backend.h"
#include "features/options.h"
#include "gpu/gpu_backend.h"

namespace orbserve::bench {
namespace {

constexpr int kReferenceVectors = 128;

struct Settings {
  std::vector<std::string> images;
  std::string filter;
  int repeats = 1000;
  int batch_images = 1000;  // of one round
  int rounds = 11;
  int batch = 64;
  int in_flight = 4;  // batches at a time
  bool stages = false;
  int max_features = 0;  // wanted by every preset; 0 = its own number
  std::vector<int> devices;
  std::string json;
};

// The image shifted with wrapping, so that the frames of a batch differ.
GreyImage Rolled(const GreyImage& image, int dx, int dy) {
  GreyImage rolled = image;
  const auto width = static_cast<size_t>(image.width_px);
  for (int y = 0; y < image.height_px; ++y) {
    const auto row = image.pixels.begin() + static_cast<ptrdiff_t>(width) * y;
    const int to = (y + dy) % image.height_px;
    std::rotate_copy(row, row + dx % image.width_px, row + static_cast<ptrdiff_t>(width),
                     rolled.pixels.begin() + static_cast<ptrdiff_t>(width) * to);
  }
  return rolled;
}

FrameBatchAnswer Compute(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                         std::vector<FrameJob> jobs) {
  std::binary_semaphore done(0);
  FrameBatchAnswer answer;
  backend.Submit(plan, std::move(jobs), [&](FrameBatchAnswer given) {
    answer = std::move(given);
    done.release();
  });
  done.acquire();
  return answer;
}

MatchBatchAnswer Match(FeatureBackend& backend, std::vector<MatchJob> jobs) {
  std::binary_semaphore done(0);
  MatchBatchAnswer answer;
  backend.SubmitMatches(std::move(jobs), [&](MatchBatchAnswer given) {
    answer = std::move(given);
    done.release();
  });
  done.acquire();
  return answer;
}

// Microseconds of one round over all images, and what came out of it.
struct Round {
  double wall_us = 0;
  double upload_us = 0;  // of the device
  double extract_us = 0;
  double download_us = 0;
  double match_us = 0;
  size_t features = 0;
  size_t matches = 0;

  void Add(const Round& other) {
    upload_us += other.upload_us;
    extract_us += other.extract_us;
    download_us += other.download_us;
    match_us += other.match_us;
    features += other.features;
    matches += other.matches;
  }
};

// Batches of frames, each matched with a reference when it is answered.
class ReferenceBatches {
 public:
  static absl::StatusOr<std::unique_ptr<ReferenceBatches>> Create(FeatureBackend& backend,
                                                                  const Preset& preset,
                                                                  const GreyImage& image,
                                                                  int batch) {
    std::unique_ptr<ReferenceBatches> batches(new ReferenceBatches(backend, preset));
    ORBSERVE_ASSIGN_OR_RETURN(batches->plan_,
                              backend.MakePlan({image.width_px, image.height_px, preset.pipeline}));
    batches->batch_ = std::min(batch, batches->plan_->max_batch_frames());
    for (int i = 0; i < batches->batch_; ++i) {
      batches->slots_.push_back(SlotWith(backend, Rolled(image, 7 * i, 5 * i)));
    }
    // The reference is the first frame, as if it had come from a client.
    FrameParameters parameters = preset.frame;
    parameters.max_features = kReferenceVectors;
    std::vector<FrameJob> first(1);
    first[0].input = batches->slots_[0];
    first[0].parameters = parameters;
    const FrameBatchAnswer answer = Compute(backend, batches->plan_, std::move(first));
    ORBSERVE_RETURN_IF_ERROR(answer.frames[0].status);
    ORBSERVE_ASSIGN_OR_RETURN(batches->reference_, backend.ImportState(answer.frames[0].features));
    return batches;
  }

  int batch() const { return batch_; }
  size_t reference_vectors() const { return reference_->feature_count(); }

  // A round over `images` images, with up to `in_flight` batches at a time.
  absl::StatusOr<Round> Run(int images, int in_flight) {
    Round round;
    std::atomic<int> next = 0;
    std::mutex mutex;
    absl::Status status;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < in_flight; ++i) {
      threads.emplace_back([&] {
        Round own;
        absl::Status failure;
        for (int first; failure.ok() && (first = next.fetch_add(batch_)) < images;) {
          failure = RunBatch(std::min(batch_, images - first), &own);
        }
        const std::lock_guard lock(mutex);
        round.Add(own);
        status.Update(failure);
      });
    }
    for (std::thread& thread : threads) thread.join();
    round.wall_us = MicrosecondsSince(begin);
    ORBSERVE_RETURN_IF_ERROR(status);
    return round;
  }

 private:
  ReferenceBatches(FeatureBackend& backend, const Preset& preset)
      : backend_(backend), preset_(preset) {}

  absl::Status RunBatch(int images, Round* round) const {
    std::vector<FrameJob> frames(static_cast<size_t>(images));
    for (size_t i = 0; i < frames.size(); ++i) {
      frames[i].input = slots_[i];
      frames[i].parameters = preset_.frame;
      frames[i].keep_state = KeepState::kFeatures;
    }
    const FrameBatchAnswer answer = Compute(backend_, plan_, std::move(frames));
    std::vector<MatchJob> pairs;
    pairs.reserve(answer.frames.size());
    for (const FrameAnswer& frame : answer.frames) {
      ORBSERVE_RETURN_IF_ERROR(frame.status);
      round->features += frame.features->count();
      pairs.push_back({frame.state, reference_, preset_.match});
    }
    const MatchBatchAnswer matched = Match(backend_, std::move(pairs));
    for (const MatchAnswer& pair : matched.pairs) {
      ORBSERVE_RETURN_IF_ERROR(pair.status);
      round->matches += pair.matches.count();
    }
    round->upload_us += static_cast<double>(answer.cost.timings.upload_ns) * 1e-3;
    round->extract_us += static_cast<double>(answer.cost.timings.compute_ns) * 1e-3;
    round->download_us += static_cast<double>(answer.cost.timings.download_ns) * 1e-3;
    round->match_us += static_cast<double>(matched.cost.timings.compute_ns) * 1e-3;
    return absl::OkStatus();
  }

  FeatureBackend& backend_;
  const Preset& preset_;
  int batch_ = 0;
  std::shared_ptr<FeaturePlan> plan_;
  std::vector<std::shared_ptr<InputSlot>> slots_;
  std::shared_ptr<const FrameState> reference_;
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
    if (!orb32.ok() || !Wants(**orb32)) return true;
    for (const GreyImage& image : images) {
      if (const absl::Status status = MeasureBatches(**orb32, image); !status.ok()) {
        std::fprintf(stderr, "%s\n", status.ToString().c_str());
        return false;
      }
    }
    return true;
  }

  bool WriteJson() const {
    if (settings_.json.empty()) return true;
    std::ofstream out(settings_.json);
    out << "[" << json_ << "\n]\n";
    return static_cast<bool>(out);
  }

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
    const auto plan = backend_.MakePlan({image.width_px, image.height_px, preset.pipeline});
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
    Append(
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
      Round last;
      for (int i = -1; i < settings_.rounds; ++i) {
        ORBSERVE_ASSIGN_OR_RETURN(last, batches->Run(settings_.batch_images, in_flight));
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
      Append(absl::StrFormat(
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

  void Append(const std::string& entry) { json_ += (json_.empty() ? "\n " : ",\n ") + entry; }

  FeatureBackend& backend_;
  const Settings& settings_;
  std::string json_;
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
  for (const DeviceDescription& device : (*backend)->devices()) {
    std::printf("%s: %s, %s\n", device.device.c_str(), device.name.c_str(), device.details.c_str());
  }
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
  app.add_option("--max-features", settings.max_features,
                 "Features that every preset is asked for; default: its own number")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--batch", settings.batch, "Frames of a batch")->check(CLI::Range(1, 64));
  app.add_option("--devices", settings.devices, "CUDA ordinals")->delimiter(',');
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
