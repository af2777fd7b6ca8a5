// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Compares SIFT on a CUDA device with the CPU's: every field, every byte and the order. Where they
// differ it prints the first stage that does. Not a unit test: a program with a count of what it
// compared and an exit code (0 = no byte differs, 1 = some do, 2 = usage, 77 = no device; 1 instead
// of 77 where ORBSERVE_EXPECT_GPU is set, and not to 0). Files are JPEG or grey PNG.
//
//   gpu_sift_parity [--synthetic] [--stages] [--full] [--time] [--target NAME] [FOLDER_OR_FILE...]
//
// --synthetic: images made by rule, under all option sets, alone and in batches. Each file is
// compared under three of the option sets, or with --full under all. --stages compares all stages
// even of equal answers. --time measures a synthetic image, and the middle of the first file that
// is large enough.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/kernels/sift_kernels.h"
#include "decode/image_decoder.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/stream.h"
#include "tests/gpu/sift_comparison.h"
#include "tests/gpu/sift_run.h"
#include "tests/support/golden_files.h"
#include "tests/support/image_files.h"
#include "tests/support/image_makers.h"
#include "tests/support/sift_settings.h"

namespace orbserve::testing {
namespace {

constexpr int kSkipped = 77;

struct Arguments {
  bool synthetic = false;
  bool stages = false;
  bool full = false;
  bool time = false;
  std::string target;
  std::vector<std::string> paths;
};

struct NamedImage {
  std::string name;
  TestImage image;
};

// A JPEG, or a grey PNG.
absl::StatusOr<TestImage> LoadGrey(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  constexpr char kPngBegin[] = "\x89PNG";
  if (bytes.compare(0, 4, kPngBegin) == 0) return ReadGreyPng(path);
  EncodedImage encoded;
  encoded.bytes = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  ORBSERVE_ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(encoded, {}));
  TestImage image(header.width_px, header.height_px);
  ORBSERVE_RETURN_IF_ERROR(DecodeToGrey(encoded, header, {}, image.view()));
  return image;
}

bool GpuIsExpected() {
  const char* const expected = std::getenv("ORBSERVE_EXPECT_GPU");
  return expected != nullptr && std::string_view(expected) != "0";
}

// The part of `image` that begins at (x, y).
TestImage Crop(const TestImage& image, int x, int y, int width_px, int height_px) {
  TestImage part(width_px, height_px);
  for (int v = 0; v < height_px; ++v) {
    std::memcpy(part.view().Row(v), image.view().Row(y + v) + x, static_cast<size_t>(width_px));
  }
  return part;
}

// Soft spots of all sizes: many features.
TestImage SpotImage(int width_px, int height_px, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> sum(static_cast<size_t>(width_px) * height_px, 128.0f);
  const int spots = width_px * height_px / 120;
  for (int i = 0; i < spots; ++i) {
    const int x = static_cast<int>(random() % static_cast<uint32_t>(width_px));
    const int y = static_cast<int>(random() % static_cast<uint32_t>(height_px));
    const int radius = 2 + static_cast<int>(random() % 24) * static_cast<int>(random() % 24) / 24;
    const float height = static_cast<float>(static_cast<int>(random() % 161)) - 80.0f;
    for (int v = std::max(0, y - radius); v <= std::min(height_px - 1, y + radius); ++v) {
      for (int u = std::max(0, x - radius); u <= std::min(width_px - 1, x + radius); ++u) {
        const auto square = static_cast<float>((u - x) * (u - x) + (v - y) * (v - y));
        const float part = 1.0f - square / static_cast<float>(radius * radius);
        if (part > 0.0f) sum[static_cast<size_t>(v) * width_px + u] += height * part * part;
      }
    }
  }
  TestImage image(width_px, height_px);
  for (int v = 0; v < height_px; ++v) {
    for (int u = 0; u < width_px; ++u) {
      image.At(u, v) = static_cast<uint8_t>(
          std::clamp(sum[static_cast<size_t>(v) * width_px + u], 0.0f, 255.0f));
    }
  }
  return image;
}

// ---- Time ----

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

// Times `count` frames of one image in a batch: the whole sequence as a graph, and its stages one
// after the other.
absl::Status TimeSift(const std::string& name, const TestImage& image, int count,
                      const SiftSettings& settings) {
  const int width = image.width_px();
  const int height = image.height_px();
  SiftRun run(std::vector<ImageView>(static_cast<size_t>(count), image.view()), settings,
              std::max(4096, width * height / 16));
  ORBSERVE_ASSIGN_OR_RETURN(const gpu::Stream stream, gpu::Stream::Create());
  ORBSERVE_ASSIGN_OR_RETURN(const gpu::Graph graph,
                            gpu::Graph::Capture(stream.get(), [&](cudaStream_t capture) {
                              run.Enqueue(capture, [](const std::string&) {});
                              return absl::OkStatus();
                            }));
  ORBSERVE_ASSIGN_OR_RETURN(const gpu::Event begin, gpu::Event::Create(gpu::Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(const gpu::Event end, gpu::Event::Create(gpu::Event::Timing::kOn));
  constexpr int kWarmUps = 10;
  constexpr int kRuns = 60;
  std::vector<double> milliseconds;
  for (int i = 0; i < kWarmUps + kRuns; ++i) {
    ORBSERVE_RETURN_IF_ERROR(begin.Record(stream.get()));
    ORBSERVE_RETURN_IF_ERROR(graph.Launch(stream.get()));
    ORBSERVE_RETURN_IF_ERROR(end.Record(stream.get()));
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream.get()));
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t nanoseconds, end.ElapsedSince(begin));
    if (i >= kWarmUps) milliseconds.push_back(1e-6 * static_cast<double>(nanoseconds));
  }
  const double median = Median(milliseconds);
  std::printf(
      "TIME %s %d x %d, batch %d: %.4f ms (%.4f to %.4f), %.1f us a frame, %.0f frames/s; "
      "%d extrema, %d oriented, %d kept, %zu graph nodes\n",
      name.c_str(), width, height, count, median,
      *std::min_element(milliseconds.begin(), milliseconds.end()),
      *std::max_element(milliseconds.begin(), milliseconds.end()), 1e3 * median / count,
      1e3 * count / median, run.report(0).sift_points, run.report(0).sift_features,
      run.report(0).written, graph.nodes());

  std::vector<std::pair<std::string, std::vector<double>>> stages;
  for (int i = 0; i < kWarmUps + kRuns; ++i) {
    std::vector<std::pair<std::string, gpu::Event>> events;
    absl::Status status;
    const auto record = [&](const std::string& stage) {
      absl::StatusOr<gpu::Event> event = gpu::Event::Create(gpu::Event::Timing::kOn);
      status.Update(event.ok() ? event->Record(stream.get()) : event.status());
      if (event.ok()) events.emplace_back(stage, *std::move(event));
    };
    record("begin");
    run.Enqueue(stream.get(), record);
    ORBSERVE_RETURN_IF_ERROR(status);
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream.get()));
    if (i < kWarmUps) continue;
    for (size_t k = 1; k < events.size(); ++k) {
      ORBSERVE_ASSIGN_OR_RETURN(const int64_t nanoseconds,
                                events[k].second.ElapsedSince(events[k - 1].second));
      if (stages.size() < k) stages.emplace_back(events[k].first, std::vector<double>());
      stages[k - 1].second.push_back(1e-3 * static_cast<double>(nanoseconds));
    }
  }
  std::printf("  launched one by one, us:");
  for (const auto& [stage, times] : stages) std::printf("  %s %.1f", stage.c_str(), Median(times));
  std::printf("\n");
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status TimeAll(const std::vector<NamedImage>& files) {
  struct Size {
    int width_px;
    int height_px;
    std::vector<int> counts;
  };
  const Size sizes[] = {{752, 480, {1, 16, 32}}, {640, 480, {1, 16, 32, 64}}, {1920, 1080, {1, 8}}};
  for (const Size& size : sizes) {
    std::vector<NamedImage> images;
    images.push_back({"spots", SpotImage(size.width_px, size.height_px, 1)});
    for (const NamedImage& file : files) {
      const TestImage& image = file.image;
      if (image.width_px() < size.width_px || image.height_px() < size.height_px) continue;
      images.push_back({file.name, Crop(image, (image.width_px() - size.width_px) / 2,
                                        (image.height_px() - size.height_px) / 2, size.width_px,
                                        size.height_px)});
      break;
    }
    for (const NamedImage& image : images) {
      for (const int count : size.counts) {
        ORBSERVE_RETURN_IF_ERROR(TimeSift(image.name, image.image, count, {.max_features = 2000}));
      }
    }
  }
  return absl::OkStatus();
}

// ---- The program ----

bool ParseArguments(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--synthetic") {
      arguments->synthetic = true;
    } else if (argument == "--stages") {
      arguments->stages = true;
    } else if (argument == "--full") {
      arguments->full = true;
    } else if (argument == "--time") {
      arguments->time = true;
    } else if (argument == "--target" && i + 1 < argc) {
      arguments->target = argv[++i];
    } else if (argument.empty() || argument[0] == '-') {
      return false;
    } else {
      arguments->paths.push_back(argument);
    }
  }
  return true;
}

const cpu::SiftKernels* KernelsOf(const std::string& name) {
  if (name == "reference") return &cpu::ReferenceSiftKernels();
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) {
    if (name.empty() || target.name == name) return &cpu::SiftKernelsFor(target);
  }
  return name.empty() ? &cpu::ReferenceSiftKernels() : nullptr;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  const cpu::SiftKernels* kernels = nullptr;
  if (!ParseArguments(argc, argv, &arguments) ||
      (kernels = KernelsOf(arguments.target)) == nullptr) {
    std::fprintf(stderr, "gpu_sift_parity: wrong usage, see the head of gpu_sift_parity.cc\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: no CUDA device\n");
    return GpuIsExpected() ? 1 : kSkipped;
  }
  std::vector<NamedImage> files;
  int unreadable = 0;
  for (const std::string& path : ImageFilesOf(arguments.paths)) {
    absl::StatusOr<TestImage> image = LoadGrey(path);
    if (!image.ok()) {
      std::printf("UNREADABLE %s: %s\n", path.c_str(), image.status().ToString().c_str());
      ++unreadable;
      continue;
    }
    files.push_back({path, *std::move(image)});
  }
  SiftTotals totals;
  if (arguments.synthetic) {
    CompareSyntheticSift(*kernels, arguments.stages, &totals);
    for (const int features : {0, 500, 2000}) {
      const TestImage spots = SpotImage(752, 480, 2);
      CompareSift("spots", {&spots}, {.max_features = features}, *kernels, arguments.stages,
                  &totals);
    }
    const TestImage odd = SpotImage(1283, 717, 3);
    CompareSift("spots", {&odd}, {.max_features = 3000, .contrast_threshold = 0.01}, *kernels,
                arguments.stages, &totals);
    std::fflush(stdout);
  }
  const std::vector<SiftSettings> sets = SiftSettingSets();
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < sets.size(); ++j) {
      // Every file under the defaults and a cut, and one more set.
      const bool chosen =
          arguments.full || j == 0 || sets[j].max_features == 2000 || j == i * 7 % sets.size();
      if (!chosen) continue;
      CompareSift(files[i].name, {&files[i].image}, sets[j], *kernels, arguments.stages, &totals);
    }
    std::fflush(stdout);
  }
  std::printf(
      "frames %ld, features %ld, differing bytes %ld, differing frames %ld, unreadable %d\n",
      static_cast<long>(totals.frames), static_cast<long>(totals.features),
      static_cast<long>(totals.differing_bytes), static_cast<long>(totals.differing_frames),
      unreadable);
  std::fflush(stdout);
  if (arguments.time) {
    const absl::Status status = TimeAll(files);
    if (!status.ok()) {
      std::printf("FAILED: %s\n", status.ToString().c_str());
      return 1;
    }
  }
  const bool compared = totals.frames > 0 || arguments.time;
  return totals.differing_bytes == 0 && unreadable == 0 && compared ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::testing

int main(int argc, char** argv) { return orbserve::testing::Main(argc, argv); }
