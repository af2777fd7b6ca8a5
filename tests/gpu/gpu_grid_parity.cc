// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Compares the CUDA backend with the CPU backend over real images and many settings, with random
// masks and given keypoints. Every frame is computed alone and again in random batches, many
// batches in flight at once. Not a unit test: a program with a count of what it compared and an
// exit code (0 = no byte differs, 1 = some do, 2 = usage, 77 = no device; 1 instead of 77 where
// ORBSERVE_EXPECT_GPU is set, and not to 0).
//
//   gpu_grid_parity [--synthetic] [--presets] [--sets N] [--orb-slam3 N] [--every N]
//                   [--devices 0,1] [FOLDER_OR_FILE...]
//
// The settings are a grid of the pipeline `orb`: 500, 1000, 2000, 5000 features; 1, 4, 8 levels of
// 1.2 and 2.0; Harris and FAST scores. --presets takes every preset instead, --sets N so many
// random pipelines, --orb-slam3 N so many random settings of that preset for each image, without
// masks and given keypoints, which it refuses; or several of them. --synthetic adds images made by
// rule. --every N takes every N-th setting for each image, another one for each. That cv::ORB gives
// the CPU backend's answers is what orb_parity shows, with the same grid.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/images/image_file.h"
#include "cpu/cpu_backend.h"
#include "decode/image_decoder.h"
#include "features/backend.h"
#include "features/errors.h"
#include "features/pipeline/compiled.h"
#include "gpu/gpu_backend.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_files.h"
#include "tests/support/image_makers.h"
#include "tests/support/random_options.h"

namespace orbserve::testing {
namespace {

constexpr int kSkipped = 77;
constexpr int kFeatureCounts[] = {500, 1000, 2000, 5000};
constexpr int kMaskedFeatures = 1000;

struct Settings {
  std::string name;
  PipelineOptions pipeline;
  std::vector<FrameParameters> frames;  // of a frame each
  FrameParameters masked;               // of one more frame, under a mask
  bool plain = false;                   // neither masks nor given keypoints
};

FrameParameters Wanting(int max_features, FrameParameters parameters = {}) {
  parameters.max_features = max_features;
  return parameters;
}

std::vector<Settings> Grid() {
  std::vector<Settings> grid;
  for (const int levels : {1, 4, 8}) {
    for (const float scale_factor : {1.2f, 2.0f}) {
      for (const Score score : {Score::kHarris, Score::kFast}) {
        Settings settings;
        settings.name = absl::StrCat("levels ", levels, " scale ", scale_factor,
                                     score == Score::kHarris ? " Harris" : " FAST");
        settings.pipeline.pyramid.levels = levels;
        settings.pipeline.pyramid.scale_factor = scale_factor;
        settings.pipeline.detect.score = score;
        for (const int count : kFeatureCounts) settings.frames.push_back(Wanting(count));
        settings.masked = Wanting(kMaskedFeatures);
        grid.push_back(std::move(settings));
      }
    }
  }
  return grid;
}

std::vector<Settings> PresetSettings() {
  std::vector<Settings> all;
  for (const Preset& preset : Presets()) {
    // It refuses masks and given keypoints; --orb-slam3 compares it.
    if (preset.pipeline.select.selection == Selection::kOrbSlam3) continue;
    if (preset.pipeline.detect.detector == Detector::kSift) continue;  // of the CPU alone
    all.push_back({std::string(preset.name),
                   preset.pipeline,
                   {preset.frame, Wanting(20, preset.frame), Wanting(20'000, preset.frame)},
                   preset.frame});
  }
  return all;
}

std::vector<Settings> RandomSettings(int count) {
  std::mt19937 random(20265);
  std::vector<Settings> all;
  for (int i = 0; i < count; ++i) {
    Settings settings;
    settings.pipeline = RandomPipeline(random);
    settings.name = absl::StrCat("set ", i, " ", Printed(settings.pipeline));
    settings.frames = {RandomParameters(settings.pipeline, random)};
    settings.masked = RandomParameters(settings.pipeline, random);
    all.push_back(std::move(settings));
  }
  return all;
}

// With as many levels as `image` has an answer for; none where there is no answer at all.
std::vector<Settings> OrbSlam3Settings(int count, const TestImage& image, uint32_t seed) {
  std::mt19937 random(seed);
  const auto between = [&random](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  };
  const Preset& preset = **FindPreset("orb-slam3");
  std::vector<Settings> all;
  for (int i = 0; i < count; ++i) {
    Settings settings;
    settings.plain = true;
    settings.pipeline = preset.pipeline;
    PyramidOptions& pyramid = settings.pipeline.pyramid;
    if (i > 0) {
      pyramid.scale_factor = 1.05f + static_cast<float>(between(0, 120)) / 100.0f;
      pyramid.levels = between(1, 12);
    }
    const auto has_answer = [&] {
      return CompilePipeline({image.width_px(), image.height_px(), settings.pipeline}).ok();
    };
    while (pyramid.levels > 1 && !has_answer()) --pyramid.levels;
    if (!has_answer()) continue;
    settings.name = absl::StrCat("orb-slam3 ", i, " ", Printed(settings.pipeline));
    settings.frames = {preset.frame};
    for (int frame = 0; frame < 4; ++frame) {
      FrameParameters parameters = Wanting(between(1, frame == 0 ? 20 : 5000), preset.frame);
      parameters.fast_threshold_grey = between(5, 60);
      parameters.fast_threshold_low_grey = between(0, parameters.fast_threshold_grey);
      if (frame % 2 == 0) {
        parameters.lapping_begin_px = between(0, image.width_px());
        parameters.lapping_end_px = between(0, image.width_px());
      }
      settings.frames.push_back(parameters);
    }
    all.push_back(std::move(settings));
  }
  return all;
}

struct Totals {
  int64_t images = 0;
  int64_t runs = 0;  // frames computed by CUDA
  int64_t batches = 0;
  int64_t features = 0;
  int64_t differing_runs = 0;
  int64_t differing_bytes = 0;
};

struct Backends {
  std::unique_ptr<FeatureBackend> cpu;
  std::unique_ptr<FeatureBackend> cuda;
};

bool GpuIsExpected() {
  const char* const expected = std::getenv("ORBSERVE_EXPECT_GPU");
  return expected != nullptr && std::string_view(expected) != "0";
}

struct NamedImage {
  std::string name;
  TestImage image;
};

std::vector<NamedImage> SyntheticImages() {
  std::vector<NamedImage> images;
  images.push_back({"scene 640x480", SceneImage(640, 480, 1)});
  images.push_back({"scene 1283x719", SceneImage(1283, 719, 2)});
  images.push_back({"noise 517x389", NoiseImage(517, 389, 3)});
  images.push_back({"dots 640x480", DotLattice(640, 480, 8)});
  images.push_back({"checkerboard 320x240", Checkerboard(320, 240)});
  return images;
}

absl::StatusOr<TestImage> LoadGrey(const std::string& path) {
  ORBSERVE_ASSIGN_OR_RETURN(const v1::Frame frame, cli::LoadFrame(path, {}));
  EncodedImage encoded;
  encoded.format =
      frame.format() == v1::PIXEL_FORMAT_GRAY8 ? PixelFormat::kGray8 : PixelFormat::kJpeg;
  encoded.width_px = frame.width_px();
  encoded.height_px = frame.height_px();
  encoded.bytes = {reinterpret_cast<const uint8_t*>(frame.pixels().data()), frame.pixels().size()};
  ORBSERVE_ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(encoded, {}));
  TestImage image(header.width_px, header.height_px);
  ORBSERVE_RETURN_IF_ERROR(DecodeToGrey(encoded, header, {}, image.view()));
  return image;
}

// Keypoints that a caller could give: detected ones and others, some at the edge or outside, angles
// of -1 among them, octaves mixed.
std::shared_ptr<const GivenKeypoints> MakeGiven(const Features& detected, int levels,
                                                const TestImage& image, std::mt19937& random) {
  auto given = std::make_shared<GivenKeypoints>();
  given->x = detected.x;
  given->y = detected.y;
  given->size = detected.size;
  given->angle_deg = detected.angle_deg;
  given->response = detected.response;
  given->octave = detected.octave;
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  for (int i = 0; i < 200; ++i) {
    given->x.push_back(unit(random) * static_cast<float>(image.width_px() + 20) - 10.0f);
    given->y.push_back(unit(random) * static_cast<float>(image.height_px() + 20) - 10.0f);
    if (i % 7 == 0) given->x.back() = 30.5f + static_cast<float>(i % 3) * 0.5f;
    if (i % 11 == 0) given->y.back() = static_cast<float>(image.height_px()) - 31.5f;
    given->size.push_back(31.0f);
    given->angle_deg.push_back(i % 5 == 0 ? -1.0f : unit(random) * 360.0f);
    given->response.push_back(0.5f);
    given->octave.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(levels)));
  }
  return given;
}

std::vector<FrameJob> MakeJobs(FeatureBackend& backend, const std::vector<FrameInput>& frames,
                               const std::vector<size_t>& chosen) {
  std::vector<FrameJob> jobs;
  for (const size_t c : chosen) {
    auto job = MakeJob(backend, frames[c]);
    if (!job.ok()) {
      std::printf("FAILED: %s\n", job.status().ToString().c_str());
      return {};
    }
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

void Compare(const std::string& what, const FrameAnswer& expected, const FrameAnswer& actual,
             Totals* totals) {
  ++totals->runs;
  if (!expected.status.ok() || !actual.status.ok()) {
    std::printf("FAILED %s: CPU %s, CUDA %s\n", what.c_str(), expected.status.ToString().c_str(),
                actual.status.ToString().c_str());
    ++totals->differing_runs;
    return;
  }
  totals->features += static_cast<int64_t>(expected.features->count());
  const std::string difference = FirstDifference(*expected.features, *actual.features);
  if (difference.empty()) return;
  ++totals->differing_runs;
  totals->differing_bytes += std::max<int64_t>(
      1, static_cast<int64_t>(DifferingBytes(*expected.features, *actual.features)));
  std::printf("DIFFERS %s: %s\n", what.c_str(), difference.c_str());
}

// All frames alone and once more in random batches, everything in flight at the same time.
void CompareFrames(const std::string& what, Backends& backends,
                   const std::shared_ptr<FeaturePlan>& cuda_plan,
                   const std::vector<FrameInput>& frames, const std::vector<FrameAnswer>& expected,
                   std::mt19937& random, Totals* totals) {
  std::vector<std::vector<size_t>> batches;
  for (size_t i = 0; i < frames.size(); ++i) batches.push_back({i});
  std::vector<size_t> order(frames.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  for (size_t next = 0; next < order.size();) {
    const size_t most =
        std::min(order.size() - next, static_cast<size_t>(cuda_plan->max_batch_frames()));
    const size_t count = 1 + random() % most;
    batches.emplace_back(order.begin() + static_cast<ptrdiff_t>(next),
                         order.begin() + static_cast<ptrdiff_t>(next + count));
    next += count;
  }
  std::shuffle(batches.begin(), batches.end(), random);

  std::vector<std::promise<FrameBatchAnswer>> answers(batches.size());
  for (size_t b = 0; b < batches.size(); ++b) {
    std::vector<FrameJob> jobs = MakeJobs(*backends.cuda, frames, batches[b]);
    if (jobs.empty()) {
      ++totals->differing_runs;
      answers[b].set_value({});
      continue;
    }
    backends.cuda->Submit(cuda_plan, std::move(jobs), [&answers, b](FrameBatchAnswer answer) {
      answers[b].set_value(std::move(answer));
    });
  }
  for (size_t b = 0; b < batches.size(); ++b) {
    const FrameBatchAnswer answer = answers[b].get_future().get();
    ++totals->batches;
    for (size_t i = 0; i < answer.frames.size(); ++i) {
      Compare(what + " frame " + std::to_string(batches[b][i]) + " in a batch of " +
                  std::to_string(batches[b].size()),
              expected[batches[b][i]], answer.frames[i], totals);
    }
  }
}

// The plan of the last image is kept: images of one size follow each other.
class Plans {
 public:
  explicit Plans(Backends* backends) : backends_(*backends) {}

  struct Pair {
    std::shared_ptr<FeaturePlan> cpu;
    std::shared_ptr<FeaturePlan> cuda;
  };
  void Clear() { pairs_.clear(); }
  absl::StatusOr<Pair> Get(const PlanSpec& spec) {
    for (const Pair& pair : pairs_) {
      if (pair.cpu->spec() == spec) return pair;
    }
    if (!pairs_.empty() && (pairs_[0].cpu->spec().width_px != spec.width_px ||
                            pairs_[0].cpu->spec().height_px != spec.height_px)) {
      pairs_.clear();
    }
    Pair pair;
    ORBSERVE_ASSIGN_OR_RETURN(pair.cpu, backends_.cpu->MakePlan(spec));
    ORBSERVE_ASSIGN_OR_RETURN(pair.cuda, backends_.cuda->MakePlan(spec));
    pairs_.push_back(pair);
    return pair;
  }

 private:
  Backends& backends_;
  std::vector<Pair> pairs_;
};

void CompareImage(const std::string& name, const TestImage& image, size_t number,
                  const std::vector<Settings>& all_settings, int every, Backends& backends,
                  Plans& plans, Totals* totals) {
  ++totals->images;
  for (size_t s = 0; s < all_settings.size(); ++s) {
    if ((s + number) % static_cast<size_t>(every) != 0) continue;
    const Settings& settings = all_settings[s];
    const auto seed = static_cast<uint32_t>(number * 1000 + s);
    std::mt19937 random(seed);
    const PlanSpec spec = {image.width_px(), image.height_px(), settings.pipeline};
    const std::string what = absl::StrCat(name, " ", settings.name, " seed ", seed);
    const auto pair = plans.Get(spec);
    if (!pair.ok()) {
      std::printf("FAILED %s: %s\n", what.c_str(), pair.status().ToString().c_str());
      ++totals->differing_runs;
      continue;
    }
    std::vector<FrameInput> frames;
    for (const FrameParameters& parameters : settings.frames) {
      frames.push_back({.image = image.view(), .parameters = parameters});
    }
    const TestImage mask = RandomMask(image.width_px(), image.height_px(), seed);
    if (!settings.plain) {
      frames.push_back({.image = image.view(), .mask = mask.view(), .parameters = settings.masked});
    }

    std::vector<size_t> all(frames.size());
    std::iota(all.begin(), all.end(), size_t{0});
    FrameBatchAnswer expected =
        RunBatch(*backends.cpu, pair->cpu, MakeJobs(*backends.cpu, frames, all));
    if (expected.frames.size() != frames.size() || !expected.frames[0].status.ok()) {
      std::printf("FAILED %s on the CPU\n", what.c_str());
      ++totals->differing_runs;
      continue;
    }
    if (!settings.plain) {
      // Levels that the image is too small for do not exist, and keypoints there are refused; those
      // that have features do.
      const Features& detected = *expected.frames[0].features;
      const int levels = detected.count() == 0 ? 1 : 1 + detected.octave.back();
      frames.push_back({.image = image.view(), .parameters = settings.frames[0]});
      frames.back().given_keypoints = MakeGiven(detected, levels, image, random);
      FrameBatchAnswer given =
          RunBatch(*backends.cpu, pair->cpu, MakeJobs(*backends.cpu, frames, {frames.size() - 1}));
      expected.frames.push_back(std::move(given.frames[0]));
    }
    CompareFrames(what, backends, pair->cuda, frames, expected.frames, random, totals);
  }
}

int Main(int argc, char** argv) {
  CLI::App app{"CUDA backend against CPU backend over real images", "gpu_grid_parity"};
  std::vector<std::string> paths;
  bool synthetic = false;
  bool presets = false;
  int sets = 0;
  int orb_slam3 = 0;
  int every = 1;
  gpu::GpuBackendOptions options;
  app.add_option("images", paths, "Folders or files");
  app.add_flag("--synthetic", synthetic, "Images made by rule, too");
  app.add_flag("--presets", presets, "Every preset instead of the grid");
  app.add_option("--sets", sets, "So many random pipelines instead of the grid")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--orb-slam3", orb_slam3, "So many random settings of orb-slam3 for each image")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--every", every, "Take every N-th setting")->check(CLI::Range(1, 1000));
  app.add_option("--devices", options.devices, "CUDA ordinals")->delimiter(',');
  bool in_place = false;
  app.add_flag("--read-in-place", in_place, "Kernels read the frames in their pinned slots");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::vector<std::string> files = ImageFilesOf(paths);
  if (files.empty() && !synthetic) {
    std::printf("no image; give folders or files, or --synthetic\n");
    return 2;
  }

  if (in_place) options.input_reads = gpu::InputReads::kInPlace;
  Backends backends;
  auto cuda = gpu::CreateGpuBackend(options);
  if (!cuda.ok()) {
    std::printf("%s: %s\n", GpuIsExpected() ? "FAILED, a GPU is expected here" : "SKIPPED",
                cuda.status().ToString().c_str());
    return GpuIsExpected() ? 1 : kSkipped;
  }
  backends.cuda = *std::move(cuda);
  auto cpu = cpu::CreateCpuBackend({});
  if (!cpu.ok()) {
    std::printf("%s\n", cpu.status().ToString().c_str());
    return 1;
  }
  backends.cpu = *std::move(cpu);
  for (const FeatureBackend* backend : {backends.cuda.get(), backends.cpu.get()}) {
    for (const DeviceDescription& device : backend->devices()) {
      std::printf("%s: %s, %s\n", device.device.c_str(), device.name.c_str(),
                  device.details.c_str());
    }
  }

  std::vector<Settings> settings = presets ? PresetSettings() : std::vector<Settings>();
  for (Settings& random : RandomSettings(sets)) settings.push_back(std::move(random));
  if (settings.empty() && orb_slam3 == 0) settings = Grid();

  const auto begin = std::chrono::steady_clock::now();
  Totals totals;
  Plans plans(&backends);
  const auto compare = [&](const std::string& name, const TestImage& image, size_t number) {
    std::vector<Settings> own = settings;
    const auto seed = static_cast<uint32_t>(number + 20266);
    for (Settings& random : OrbSlam3Settings(orb_slam3, image, seed)) own.push_back(random);
    if (orb_slam3 > 0) plans.Clear();  // no other image has these
    CompareImage(name, image, number, own, every, backends, plans, &totals);
  };
  for (size_t f = 0; f < files.size(); ++f) {
    const auto image = LoadGrey(files[f]);
    if (!image.ok()) {
      std::printf("FAILED %s: %s\n", files[f].c_str(), image.status().ToString().c_str());
      ++totals.differing_runs;
      continue;
    }
    compare(files[f], *image, f);
    if (totals.differing_runs > 20) break;
  }
  if (synthetic) {
    const std::vector<NamedImage> images = SyntheticImages();
    for (size_t i = 0; i < images.size(); ++i) {
      compare(images[i].name, images[i].image, files.size() + i);
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf(
      "images %lld, settings %zu and %d of orb-slam3, frames %lld in %lld batches, features %lld, "
      "differing frames "
      "%lld, "
      "differing bytes %lld; %.0f s\n",
      static_cast<long long>(totals.images), settings.size(), orb_slam3,
      static_cast<long long>(totals.runs), static_cast<long long>(totals.batches),
      static_cast<long long>(totals.features), static_cast<long long>(totals.differing_runs),
      static_cast<long long>(totals.differing_bytes), time.count());
  return totals.differing_runs == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::testing

int main(int argc, char** argv) { return orbserve::testing::Main(argc, argv); }
