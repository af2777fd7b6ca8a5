// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// One frame in flight through a backend, for benchmarks on machines that have little but a GPU.

#ifndef ORBSERVE_BENCH_FRAME_LATENCY_H_
#define ORBSERVE_BENCH_FRAME_LATENCY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/backend.h"

namespace orbserve::bench {

struct GreyImage {
  std::string name;  // of the file, without its folder
  int width_px = 0;
  int height_px = 0;
  std::vector<uint8_t> pixels;  // [height][width]; empty: not an image of 8 bits
  // A file that backends may take instead of the pixels.
  std::vector<uint8_t> file = {};
  std::shared_ptr<const FileDecoder> decoder = nullptr;
};

GreyImage ReadPgm(const std::string& path);

// A slot of the backend with the image in it; null when it cannot be had.
std::shared_ptr<InputSlot> SlotWith(FeatureBackend& backend, const GreyImage& image);

double MicrosecondsSince(std::chrono::steady_clock::time_point begin);

// The sample below which `share` of all lie. `samples` must not be empty.
double Percentile(std::vector<double> samples, double share);

// From the submission of a frame to its features on the host.
struct Latency {
  double median_us = 0;  // 0 = failed
  double p10_us = 0;
  double p90_us = 0;
  double upload_us = 0;  // medians of what the backend says
  double compute_us = 0;
  // Medians of the stages, in order, over the frames whose stages were timed.
  std::vector<std::pair<std::string, double>> stages_us = {};
  size_t features = 0;
};

// Submits the frame in `slot` `repeats` times, after a tenth as many that are not counted. Prints
// the first failure to stderr.
Latency MeasureLatency(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                       const std::shared_ptr<InputSlot>& slot, const FrameParameters& parameters,
                       int repeats);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_FRAME_LATENCY_H_
