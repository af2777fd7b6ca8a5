// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The whole pipeline on the CUDA backend, beside the CPU backend: latency of one frame from its
// submission (grey pixels or a JPEG file in a pinned slot) to its features on the host, and
// throughput of batches kept in flight, with the power of the boards meanwhile and what of it a
// frame took. The whole board counts, also what it takes at rest, which is said too.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/device_power.h"
#include "bench/frame_latency.h"
#include "bench/print_devices.h"
#include "cpu/cpu_backend.h"
#include "decode/image_decoder.h"
#include "features/backend.h"
#include "gpu/gpu_backend.h"
#include "server/telemetry/power/power_reader.h"

namespace orbserve::bench {
namespace {

struct Case {
  std::string name;
  PipelineOptions pipeline;
  FrameParameters parameters;
};

struct Settings {
  std::vector<std::string> images;
  std::vector<std::string> presets;  // empty = `orb` with several numbers
  std::string descriptor;            // of the presets, empty = their own
  int max_features = 0;              // of the presets, 0 = their own
  int repeats = 1000;
  int cpu_repeats = 15;
  int threshold_grey = 20;
  double seconds = 2.0;  // of each measurement of throughput and of power
  int batch = 32;
  int in_flight = 8;
  bool quick = false;
  bool cpu = false;
  std::vector<int> devices;
  int lanes = 4;
  std::string input_reads = "auto";
  int stage_sampling = gpu::GpuBackendOptions{}.stage_sampling;
  std::string json;
};

struct Throughput {
  double frames_per_second = 0;  // 0 = failed
  std::optional<double> watts;   // of all boards together

  std::optional<double> joules_per_frame() const {
    if (!watts.has_value() || frames_per_second <= 0) return std::nullopt;
    return *watts / frames_per_second;
  }
};

// A JPEG image, which the backend may decode itself.
GreyImage ReadJpeg(const std::string& path) {
  GreyImage image;
  std::ifstream in(path, std::ios::binary);
  image.file.assign(std::istreambuf_iterator<char>(in), {});
  EncodedImage encoded;
  encoded.bytes = image.file;
  const auto header = ReadImageHeader(encoded, {});
  if (!header.ok()) return image;
  image.name = std::filesystem::path(path).filename().string();
  image.width_px = header->width_px;
  image.height_px = header->height_px;
  image.decoder = std::make_shared<const FileDecoder>(
      [](absl::Span<const uint8_t> file, const MutableImageView& out) -> absl::Status {
        EncodedImage bytes;
        bytes.bytes = file;
        ORBSERVE_ASSIGN_OR_RETURN(const ImageHeader own, ReadImageHeader(bytes, {}));
        return DecodeToGrey(bytes, own, {}, out);
      });
  const auto width = static_cast<size_t>(image.width_px);
  std::vector<uint8_t> pixels(width * static_cast<size_t>(image.height_px));
  const MutableImageView view = {pixels.data(), image.width_px, image.height_px, image.width_px};
  if ((*image.decoder)(image.file, view).ok()) image.pixels = std::move(pixels);
  return image;
}

// With `in_flight` batches of `batch` frames at any time.
Throughput MeasureThroughput(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                             const GreyImage& image, const FrameParameters& parameters, int batch,
                             int in_flight, double seconds, const PowerReaders& power) {
  batch = std::min(batch, plan->max_batch_frames());
  std::vector<std::vector<std::shared_ptr<InputSlot>>> slots(static_cast<size_t>(in_flight));
  for (auto& set : slots) {
    for (int i = 0; i < batch; ++i) {
      set.push_back(SlotWith(backend, image));
      if (set.back() == nullptr) return {};
    }
  }
  std::mutex mutex;
  std::condition_variable idle;
  int running = 0;
  int64_t frames = 0;
  bool stop = false;
  bool failed = false;
  std::function<void(size_t)> submit = [&](size_t set) {
    std::vector<FrameJob> jobs(static_cast<size_t>(batch));
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].input = slots[set][i];
      jobs[i].parameters = parameters;
    }
    backend.Submit(plan, std::move(jobs), [&, set](FrameBatchAnswer answer) {
      bool again = false;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        for (const FrameAnswer& frame : answer.frames) failed = failed || !frame.status.ok();
        frames += static_cast<int64_t>(answer.frames.size());
        again = !stop && !failed;
        if (!again && --running == 0) idle.notify_one();
      }
      if (again) submit(set);
    });
  };
  {
    const std::lock_guard<std::mutex> lock(mutex);
    running = in_flight;
  }
  for (size_t set = 0; set < slots.size(); ++set) submit(set);
  const auto frames_now = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return frames;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // warm-up
  const int64_t first = frames_now();
  const auto begin = std::chrono::steady_clock::now();
  Throughput throughput;
  throughput.watts = MeanWatts(power, std::chrono::duration<double>(seconds));
  const int64_t last = frames_now();
  const double elapsed_s = MicrosecondsSince(begin) * 1e-6;
  std::unique_lock<std::mutex> lock(mutex);
  stop = true;
  idle.wait(lock, [&] { return running == 0; });
  if (failed) return {};
  throughput.frames_per_second = static_cast<double>(last - first) / elapsed_s;
  return throughput;
}

// A figure, or `absent` where there is none.
std::string Text(const std::optional<double>& value, int decimals, const char* absent) {
  return value.has_value() ? absl::StrFormat("%.*f", decimals, *value) : absent;
}

// Empty where a name is unknown, which was printed.
std::vector<Case> CasesOf(const Settings& settings) {
  std::vector<Case> cases;
  for (const std::string& name : settings.presets) {
    const auto preset = FindPreset(name);
    if (!preset.ok()) {
      std::fprintf(stderr, "%s\n", preset.status().ToString().c_str());
      return {};
    }
    Case one = {name, (*preset)->pipeline, (*preset)->frame};
    if (settings.max_features > 0) one.parameters.max_features = settings.max_features;
    if (!settings.descriptor.empty()) {
      const auto& names = kEnumNames<Descriptor>;
      const auto descriptor = std::find(names.begin(), names.end(), settings.descriptor);
      if (descriptor == names.end()) {
        std::fprintf(stderr, "no descriptor has the name %s\n", settings.descriptor.c_str());
        return {};
      }
      one.pipeline.describe.descriptor = static_cast<Descriptor>(descriptor - names.begin());
      absl::StrAppend(&one.name, " ", settings.descriptor);
    }
    cases.push_back(std::move(one));
  }
  if (!cases.empty()) return cases;
  struct Numbers {
    int max_features;
    int levels;
    float scale;
  };
  for (const Numbers& n :
       {Numbers{1000, 8, 1.2f}, Numbers{2000, 8, 1.2f}, Numbers{2000, 4, 2.0f}}) {
    if (settings.quick && n.max_features != 1000) continue;
    Case one = {"orb", {}, {n.max_features, settings.threshold_grey}};
    one.pipeline.pyramid.levels = n.levels;
    one.pipeline.pyramid.scale_factor = n.scale;
    cases.push_back(std::move(one));
  }
  return cases;
}

int Run(const Settings& settings) {
  const std::vector<Case> cases = CasesOf(settings);
  if (cases.empty()) return 2;
  gpu::GpuBackendOptions options;
  options.devices = settings.devices;
  options.lanes = settings.lanes;
  options.max_batch_frames = std::max(32, settings.batch);
  options.stage_sampling = settings.stage_sampling;
  if (settings.input_reads == "in-place") options.input_reads = gpu::InputReads::kInPlace;
  if (settings.input_reads == "copied") options.input_reads = gpu::InputReads::kCopied;
  auto gpu = gpu::CreateGpuBackend(options);
  if (!gpu.ok()) {
    std::fprintf(stderr, "%s\n", gpu.status().ToString().c_str());
    return 1;
  }
  auto cpu = cpu::CreateCpuBackend({});
  bench::PrintDevices(**gpu);
  const PowerReaders power = FindPowerReaders((*gpu)->devices());
  const PowerReaders no_power;
  for (const auto& reader : power.readers) {
    const PowerRail& rail = reader.rail;
    std::printf("%s: power of the %s by %s %s, energy is %s\n", rail.rail.c_str(),
                rail.scope.c_str(), rail.source.c_str(), rail.driver.c_str(),
                rail.counts_energy ? "counted" : "integrated");
  }
  for (const std::string& failure : power.failures) {
    std::printf("no power: %s\n", failure.c_str());
  }
  const std::optional<double> rest_watts =
      MeanWatts(power, std::chrono::duration<double>(power.readers.empty() ? 0 : settings.seconds));
  if (rest_watts.has_value()) std::printf("at rest: %.1f W\n", *rest_watts);
  std::printf("%-50s %6s %12s %8s %8s %8s %8s %8s %10s %10s %8s %9s\n", "image", "n", "levels",
              "median", "p10", "p90", "upload", "compute", "features", "frames/s", "watts",
              "mJ/frame");
  std::string json = "[";
  for (const std::string& path : settings.images) {
    const bool is_jpeg = std::filesystem::path(path).extension() == ".jpg";
    const GreyImage image = is_jpeg ? ReadJpeg(path) : ReadPgm(path);
    if (image.pixels.empty()) {
      std::fprintf(stderr, "%s: neither a PGM image of 8 bits nor a JPEG image\n", path.c_str());
      return 1;
    }
    for (const Case& c : cases) {
      const PlanSpec spec = {image.width_px, image.height_px, c.pipeline};
      const PyramidOptions& pyramid = c.pipeline.pyramid;
      for (FeatureBackend* backend : {gpu->get(), settings.cpu ? cpu->get() : nullptr}) {
        if (backend == nullptr) continue;
        const bool is_gpu = backend == gpu->get();
        auto plan = backend->MakePlan(spec);
        if (!plan.ok()) {
          std::fprintf(stderr, "%s\n", plan.status().ToString().c_str());
          return 1;
        }
        const Latency latency =
            MeasureLatency(*backend, *plan, SlotWith(*backend, image), c.parameters,
                           is_gpu ? settings.repeats : settings.cpu_repeats);
        const Throughput throughput = MeasureThroughput(
            *backend, *plan, image, c.parameters, settings.batch, is_gpu ? settings.in_flight : 2,
            settings.seconds, is_gpu ? power : no_power);
        const std::optional<double> joules = throughput.joules_per_frame();
        const std::optional<double> millijoules =
            joules.has_value() ? std::optional<double>(*joules * 1e3) : std::nullopt;
        const std::string name =
            absl::StrCat(backend->name(), " ", c.name, " ", image.name.substr(0, 28));
        std::printf("%-50s %6d %5d x %-4.2f %8.1f %8.1f %8.1f %8.1f %8.1f %10zu %10.0f %8s %9s\n",
                    name.c_str(), c.parameters.max_features, pyramid.levels,
                    static_cast<double>(pyramid.scale_factor), latency.median_us, latency.p10_us,
                    latency.p90_us, latency.upload_us, latency.compute_us, latency.features,
                    throughput.frames_per_second, Text(throughput.watts, 1, "-").c_str(),
                    Text(millijoules, 3, "-").c_str());
        for (const auto& [stage, stage_us] : latency.stages_us) {
          std::printf("  %s %.1f", stage.c_str(), stage_us);
        }
        if (!latency.stages_us.empty()) std::printf("\n");
        std::fflush(stdout);
        absl::StrAppendFormat(
            &json,
            "%s\n {\"backend\": \"%s\", \"preset\": \"%s\", \"image\": \"%s\", \"width\": %d, "
            "\"height\": %d, "
            "\"max_features\": %d, \"levels\": %d, \"scale\": %.2f, \"median_us\": %.2f, "
            "\"p10_us\": %.2f, \"p90_us\": %.2f, \"upload_us\": %.2f, "
            "\"compute_us\": %.2f, \"features\": %zu, \"frames_per_second\": %.0f, "
            "\"watts\": %s, \"rest_watts\": %s, \"joules_per_frame\": %s}",
            json.size() > 1 ? "," : "", backend->name(), c.name, image.name, image.width_px,
            image.height_px, c.parameters.max_features, pyramid.levels,
            static_cast<double>(pyramid.scale_factor), latency.median_us, latency.p10_us,
            latency.p90_us, latency.upload_us, latency.compute_us, latency.features,
            throughput.frames_per_second, Text(throughput.watts, 2, "null"),
            is_gpu ? Text(rest_watts, 2, "null") : std::string("null"), Text(joules, 7, "null"));
      }
    }
  }
  json += "\n]\n";
  if (!settings.json.empty()) {
    std::ofstream out(settings.json);
    out << json;
    if (!out) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"Latency, throughput and energy of `orb` or other presets on the CUDA backend"};
  app.add_option("images", settings.images, "PGM or JPEG files")->required();
  app.add_option("--preset", settings.presets, "Presets, comma-separated, instead of `orb`")
      ->delimiter(',');
  app.add_option("--descriptor", settings.descriptor, "Of the presets, such as TEBLID_512");
  app.add_option("--max-features", settings.max_features, "Of the presets; default: their own");
  app.add_option("--repeats", settings.repeats, "Frames of a latency measurement");
  app.add_option("--seconds", settings.seconds, "Length of a measurement of throughput and power");
  app.add_option("--batch", settings.batch, "Frames of a batch")->check(CLI::Range(1, 64));
  app.add_option("--in-flight", settings.in_flight, "Batches in flight");
  app.add_option("--lanes", settings.lanes, "Lanes of the device");
  app.add_option("--stage-sampling", settings.stage_sampling,
                 "One batch in this many is timed stage by stage; 0 = none");
  app.add_option("--threshold", settings.threshold_grey, "FAST threshold");
  app.add_option("--devices", settings.devices, "CUDA ordinals")->delimiter(',');
  app.add_option("--input-reads", settings.input_reads,
                 "Whether kernels read the frames in their pinned slots")
      ->check(CLI::IsMember({"auto", "in-place", "copied"}));
  app.add_flag("--quick", settings.quick, "1,000 features only");
  app.add_flag("--cpu", settings.cpu, "The CPU backend beside it");
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
