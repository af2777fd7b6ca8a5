// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gpu/sift_comparison.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cpu/kernels/sift_extractor.h"
#include "features/algo/sift_descriptor.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "tests/gpu/sift_run.h"
#include "tests/support/sift_settings.h"

namespace orbserve::testing {
namespace {

// Room for the lists of images with many features.
int CapacityOf(int width_px, int height_px) { return std::max(4096, width_px * height_px / 16); }

// ---- The CPU's stages ----

struct Stages {
  struct Octave {
    int width_px = 0;
    int height_px = 0;
    ptrdiff_t pitch = 0;
    std::vector<std::vector<float>> images;
  };
  std::vector<Octave> octaves;
  std::vector<gpu::SiftPoint> points;
  std::vector<algo::SiftFeature> features;
};

cpu::SiftBlur BlurOf(double sigma) {
  cpu::SiftBlur blur;
  blur.radius = algo::SiftBlurRadius(sigma);
  algo::MakeSiftTaps(sigma, blur.taps);
  return blur;
}

Stages StagesOf(const ImageView& grey, const SiftOptions& options,
                const cpu::SiftKernels& kernels) {
  Stages stages;
  cpu::SiftScratch scratch;
  const int layers = options.octave_layers;
  const int images = layers + algo::kSiftExtraImages;
  cpu::SiftBlur blurs[algo::kSiftMaxLayers + algo::kSiftExtraImages];
  for (int i = 1; i < images; ++i) blurs[i] = BlurOf(algo::SiftSigma(options.sigma, layers, i));
  const int scale = options.first_octave < 0 ? 2 : 1;
  int width = scale * grey.width_px;
  int height = scale * grey.height_px;
  const int count = algo::SiftOctaves(width, height, options.first_octave);
  for (int o = 0; o < count; ++o) {
    Stages::Octave octave;
    octave.width_px = width;
    octave.height_px = height;
    octave.pitch = cpu::SiftPitch(width);
    for (int i = 0; i < images; ++i) {
      octave.images.emplace_back(static_cast<size_t>(octave.pitch) * height + 64);
    }
    if (o == 0) {
      kernels.first_image(grey, options.first_octave < 0,
                          BlurOf(algo::SiftFirstSigma(options.sigma, options.first_octave)),
                          octave.images[0].data(), octave.pitch, /*bands=*/nullptr, &scratch);
    } else {
      const Stages::Octave& before = stages.octaves.back();
      kernels.halve(before.images[static_cast<size_t>(layers)].data(), before.pitch, width, height,
                    octave.images[0].data(), octave.pitch);
    }
    cpu::SiftOctaveTask task;
    for (int i = 0; i < images; ++i) task.images[i] = octave.images[static_cast<size_t>(i)].data();
    task.pitch = octave.pitch;
    task.width_px = width;
    task.height_px = height;
    task.layers = layers;
    task.blurs = blurs;
    task.least_difference = algo::SiftLeastDifference(options.contrast_threshold, layers);
    std::vector<cpu::SiftCandidate> candidates;
    kernels.octave(task, &scratch, &candidates);
    algo::SiftOctaveView view;
    std::copy(std::begin(task.images), std::end(task.images), std::begin(view.images));
    view.pitch = task.pitch;
    view.width_px = width;
    view.height_px = height;
    const algo::SiftThresholds thresholds = {layers, static_cast<float>(options.contrast_threshold),
                                             static_cast<float>(options.edge_threshold)};
    const float pixel = std::ldexp(1.0f, o + options.first_octave);
    for (const cpu::SiftCandidate& candidate : candidates) {
      algo::SiftExtremum extremum = {candidate.x, candidate.y, candidate.layer};
      if (!kernels.refine(view, thresholds, &extremum)) continue;
      stages.points.push_back({static_cast<int16_t>(extremum.x), static_cast<int16_t>(extremum.y),
                               static_cast<int16_t>(extremum.layer), static_cast<int16_t>(o),
                               extremum.offset_x, extremum.offset_y, extremum.offset_layer,
                               extremum.response});
      const float size = algo::SiftScale(extremum, layers, static_cast<float>(options.sigma));
      cpu::SiftDirectionTask directions = {
          task.images[extremum.layer], task.pitch,
          algo::SiftOrientationWindowOf(extremum.x, extremum.y, size, width, height)};
      kernels.directions(&directions, 1, &scratch);
      float smoothed[algo::kSiftDirections];
      float most = 0.0f;
      for (int i = 0; i < algo::kSiftDirections; ++i) {
        smoothed[i] = algo::SmoothedSiftDirection(directions.histogram, i);
        most = std::max(most, smoothed[i]);
      }
      for (int i = 0; i < algo::kSiftDirections; ++i) {
        const float angle = algo::SiftPeakAngle(smoothed, i, most * algo::kSiftPeakShare);
        if (angle < 0.0f) continue;
        stages.features.push_back({(static_cast<float>(extremum.x) + extremum.offset_x) * pixel,
                                   (static_cast<float>(extremum.y) + extremum.offset_y) * pixel,
                                   size * pixel * 2.0f, angle, extremum.response,
                                   algo::PackSiftOctave(o, extremum)});
      }
    }
    stages.octaves.push_back(std::move(octave));
    width /= 2;
    height /= 2;
  }
  return stages;
}

// ---- Comparison ----

uint32_t Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

auto KeyOf(const gpu::SiftPoint& p) {
  return std::make_tuple(p.octave, p.layer, p.y, p.x, Bits(p.offset_x), Bits(p.offset_y),
                         Bits(p.offset_layer), Bits(p.response));
}
auto KeyOf(const algo::SiftFeature& f) {
  return std::make_tuple(f.octave & 0xffff, Bits(f.y), Bits(f.x), Bits(f.size), Bits(f.angle_deg),
                         Bits(f.response), f.octave);
}
std::string NameOf(const gpu::SiftPoint& p) {
  return absl::StrCat("octave ", p.octave, " layer ", p.layer, " (", p.x, ", ", p.y, ") offsets ",
                      p.offset_x, " ", p.offset_y, " ", p.offset_layer, " response ", p.response);
}
std::string NameOf(const algo::SiftFeature& f) {
  return absl::StrCat("octave ", f.octave & 0xff, " layer ", f.octave >> 8 & 0xff, " (", f.x, ", ",
                      f.y, ") size ", f.size, " angle ", f.angle_deg, " response ", f.response,
                      " packed ", f.octave);
}

// Compares two lists in any order; prints how many entries only one of them has, and the first.
template <typename T>
int64_t CompareLists(const char* stage, std::vector<T> here, std::vector<T> there) {
  const auto precedes = [](const T& a, const T& b) { return KeyOf(a) < KeyOf(b); };
  std::sort(here.begin(), here.end(), precedes);
  std::sort(there.begin(), there.end(), precedes);
  std::vector<T> missing;
  std::vector<T> extra;
  std::set_difference(here.begin(), here.end(), there.begin(), there.end(),
                      std::back_inserter(missing), precedes);
  std::set_difference(there.begin(), there.end(), here.begin(), here.end(),
                      std::back_inserter(extra), precedes);
  std::printf("  %s: %zu on the CPU, %zu on the device, %zu missing, %zu extra%s\n", stage,
              here.size(), there.size(), missing.size(), extra.size(),
              missing.empty() && extra.empty() ? "" : " <-- DIFFERS");
  for (size_t i = 0; i < std::min<size_t>(3, missing.size()); ++i) {
    std::printf("    missing: %s\n", NameOf(missing[i]).c_str());
  }
  for (size_t i = 0; i < std::min<size_t>(3, extra.size()); ++i) {
    std::printf("    extra:   %s\n", NameOf(extra[i]).c_str());
  }
  return static_cast<int64_t>(missing.size() + extra.size());
}

int64_t CompareImages(const Stages& stages, const SiftRun& run, int frame) {
  int64_t differing = 0;
  // A device leaves out the last octaves, which have no pixel within the border.
  for (size_t o = 0; o < static_cast<size_t>(run.geometry().space.octaves); ++o) {
    const Stages::Octave& octave = stages.octaves[o];
    const gpu::SiftOctaveShape& shape = run.geometry().space.octave[o];
    for (size_t i = 0; i < octave.images.size(); ++i) {
      const std::vector<float> there = run.Image(frame, static_cast<int>(o), static_cast<int>(i));
      int64_t pixels = 0;
      std::string first;
      for (int y = 0; y < octave.height_px; ++y) {
        for (int x = 0; x < octave.width_px; ++x) {
          const float a = octave.images[i][static_cast<size_t>(y * octave.pitch + x)];
          const float b = there[static_cast<size_t>(y) * shape.pitch + x];
          if (Bits(a) == Bits(b)) continue;
          if (pixels++ == 0) first = absl::StrCat("(", x, ", ", y, "): ", a, ", here ", b);
        }
      }
      differing += pixels;
      if (pixels > 0) {
        std::printf("  octave %zu (%d x %d) image %zu: %ld pixels differ, first %s <-- DIFFERS\n",
                    o, octave.width_px, octave.height_px, i, static_cast<long>(pixels),
                    first.c_str());
      }
    }
  }
  if (differing == 0) std::printf("  images: equal\n");
  return differing;
}

}  // namespace

void CompareSift(const std::string& name, const std::vector<const TestImage*>& images,
                 const SiftSettings& settings, const cpu::SiftKernels& kernels, bool stages,
                 SiftTotals* totals, algo::SiftNorm norm) {
  const SiftOptions options = settings.options();
  const int width = images[0]->width_px();
  const int height = images[0]->height_px();
  const int count = static_cast<int>(images.size());
  std::vector<ImageView> views;
  for (const TestImage* image : images) views.push_back(image->view());
  int capacity = CapacityOf(width, height);
  // Lists without room are made longer.
  for (int attempt = 0; attempt < 3; ++attempt) {
    SiftRun run(views, settings, capacity, norm);
    run.Enqueue(nullptr, [](const std::string&) {});
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
      std::printf("FAILED: %s\n", gpu::StatusFromCuda(error, "kernels").ToString().c_str());
      std::exit(1);
    }
    int most = 0;
    for (int i = 0; i < count; ++i) {
      most = std::max({most, run.report(i).sift_points, run.report(i).sift_features});
    }
    if (most > capacity) {
      std::printf("%s: %d entries in lists of %d, again\n", name.c_str(), most, capacity);
      capacity = 2 * most;
      continue;
    }
    for (int i = 0; i < count; ++i) {
      const cpu::SiftExtractor extractor(width, height, options, kernels, norm);
      cpu::SiftMemory here;
      here.scratch.resize(1);
      std::vector<float> memory(extractor.image_floats());
      extractor.Detect(views[static_cast<size_t>(i)], nullptr, settings.max_features, nullptr,
                       memory.data(), &here);
      extractor.PrepareDescriptors(memory.data(), &here);
      extractor.Describe(here.tasks.data(), static_cast<int>(here.tasks.size()), &here.scratch[0]);
      const std::vector<algo::SiftFeature> features = run.Records(i);
      const uint8_t* const descriptors = run.descriptors(i);
      const size_t kept = features.size();
      constexpr size_t kEntryBytes = sizeof(algo::SiftFeature) + algo::kSiftDescriptorBytes;
      const size_t both = std::min(kept, here.keypoints.size());
      auto differing =
          static_cast<int64_t>(kEntryBytes * (std::max(kept, here.keypoints.size()) - both));
      int64_t differing_keypoints = 0;
      int64_t differing_descriptors = 0;
      std::string first_difference;
      for (size_t j = 0; j < both; ++j) {
        const auto bytes_differ = [](const void* a, const void* b, size_t bytes) {
          int64_t differ = 0;
          for (size_t k = 0; k < bytes; ++k) {
            differ += static_cast<const uint8_t*>(a)[k] != static_cast<const uint8_t*>(b)[k];
          }
          return differ;
        };
        const int64_t keypoint =
            bytes_differ(&here.keypoints[j], &features[j], sizeof(algo::SiftFeature));
        const int64_t descriptor =
            bytes_differ(here.descriptors.data() + j * algo::kSiftDescriptorBytes,
                         descriptors + j * algo::kSiftDescriptorBytes, algo::kSiftDescriptorBytes);
        if (keypoint + descriptor > 0 && first_difference.empty()) {
          first_difference =
              absl::StrCat("row ", j, keypoint > 0 ? " (keypoint) " : " (descriptor) ",
                           NameOf(here.keypoints[j]), ", on the device ", NameOf(features[j]));
        }
        differing_keypoints += keypoint > 0;
        differing_descriptors += descriptor > 0;
        differing += keypoint + descriptor;
      }
      ++totals->frames;
      totals->features += static_cast<int64_t>(here.keypoints.size());
      totals->differing_bytes += differing;
      if (differing > 0) ++totals->differing_frames;
      if (differing == 0 && !stages) continue;
      std::printf(
          "%s%s frame %d of %d, %d x %d, layers %d sigma %g contrast %g features %d first "
          "octave %d: %ld differing bytes, %zu features (device %zu), %ld keypoints and "
          "%ld descriptors differ%s%s\n",
          differing > 0 ? "DIFFERS " : "", name.c_str(), i, count, width, height,
          options.octave_layers, options.sigma, options.contrast_threshold, settings.max_features,
          options.first_octave, static_cast<long>(differing), here.keypoints.size(), kept,
          static_cast<long>(differing_keypoints), static_cast<long>(differing_descriptors),
          first_difference.empty() ? "" : ", ", first_difference.c_str());
      const Stages reference = StagesOf(views[static_cast<size_t>(i)], options, kernels);
      int64_t stage_differences = CompareImages(reference, run, i);
      stage_differences += CompareLists("extrema", reference.points, run.Points(i));
      stage_differences += CompareLists("oriented", reference.features, run.Features(i));
      if (stage_differences > 0 && differing == 0) {
        totals->differing_bytes += stage_differences;
        ++totals->differing_frames;
      }
    }
    return;
  }
}

void CompareSyntheticSift(const cpu::SiftKernels& kernels, bool stages, SiftTotals* totals) {
  const auto compare = [&](const char* name, const std::vector<TestImage>& images,
                           const SiftSettings& settings,
                           algo::SiftNorm norm = algo::SiftNorm::kL2) {
    std::vector<const TestImage*> pointers;
    for (const TestImage& image : images) pointers.push_back(&image);
    CompareSift(name, pointers, settings, kernels, stages, totals, norm);
  };
  const std::vector<SiftSettings> sets = SiftSettingSets();
  const std::vector<TestImage> scenes = {SceneImage(161, 120, 1)};
  const std::vector<TestImage> small = {SceneImage(81, 59, 2), NoiseImage(81, 59, 3),
                                        DotLattice(81, 59, 9)};
  for (size_t i = 0; i < sets.size(); ++i) {
    compare("scene", scenes, sets[i]);
    compare("small", small, sets[i]);
  }
  compare("noise", {NoiseImage(240, 200, 4)}, {.max_features = 300});
  compare("noise", {NoiseImage(240, 200, 4)}, {.contrast_threshold = 0.0});
  compare("lattice", {DotLattice(200, 160, 9)}, {.max_features = 20});
  compare("root", scenes, {}, algo::SiftNorm::kRoot);
  compare("L1 root", scenes, {}, algo::SiftNorm::kL1Root);
  compare("root", {Checkerboard(90, 70)}, {}, algo::SiftNorm::kRoot);
  compare("checkerboard", {Checkerboard(90, 70)}, {});
  compare("narrow", {NoiseImage(11, 40, 4), NoiseImage(11, 40, 5)}, {});
  compare("tiny", {NoiseImage(5, 3, 5)}, {});
  compare("pixel", {NoiseImage(1, 1, 6)}, {});
}

}  // namespace orbserve::testing
