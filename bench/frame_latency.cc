// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/frame_latency.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "bench/spin_calls.h"

namespace orbserve::bench {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double Percentile(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<size_t>(share * static_cast<double>(samples.size() - 1))];
}

GreyImage ReadPgm(const std::string& path) {
  GreyImage image;
  std::ifstream in(path, std::ios::binary);
  std::string magic;
  int maximum = 0;
  in >> magic >> image.width_px >> image.height_px >> maximum;
  in.get();
  if (!in || magic != "P5" || maximum != 255) return image;
  image.name = std::filesystem::path(path).filename().string();
  image.pixels.resize(static_cast<size_t>(image.width_px) * static_cast<size_t>(image.height_px));
  in.read(reinterpret_cast<char*>(image.pixels.data()),
          static_cast<std::streamsize>(image.pixels.size()));
  return image;
}

std::shared_ptr<InputSlot> SlotWith(FeatureBackend& backend, const GreyImage& image) {
  auto slot = backend.LeaseInput(image.width_px, image.height_px, false);
  if (!slot.ok()) return nullptr;
  if (!image.file.empty() && (*slot)->TakeFile(image.file, image.decoder)) return *std::move(slot);
  for (int y = 0; y < image.height_px; ++y) {
    std::memcpy((*slot)->image.Row(y),
                image.pixels.data() + static_cast<size_t>(y) * static_cast<size_t>(image.width_px),
                static_cast<size_t>(image.width_px));
  }
  return *std::move(slot);
}

Latency MeasureLatency(FeatureBackend& backend, const std::shared_ptr<FeaturePlan>& plan,
                       const std::shared_ptr<InputSlot>& slot, const FrameParameters& parameters,
                       int repeats) {
  Latency latency;
  std::vector<double> samples;
  std::vector<double> upload;
  std::vector<double> compute;
  std::vector<std::vector<double>> stages;  // [stage]
  for (int i = -repeats / 10 - 3; i < repeats; ++i) {
    FrameJob job;
    job.input = slot;
    job.parameters = parameters;
    std::vector<FrameJob> jobs;
    jobs.push_back(std::move(job));
    const auto begin = Clock::now();
    const FrameBatchAnswer answer = Extract(backend, plan, std::move(jobs));
    const double microseconds = MicrosecondsSince(begin);
    if (!answer.frames[0].status.ok()) {
      std::fprintf(stderr, "%s\n", answer.frames[0].status.ToString().c_str());
      return latency;
    }
    latency.features = answer.frames[0].features->count();
    if (i < 0) continue;
    samples.push_back(microseconds);
    upload.push_back(static_cast<double>(answer.cost.timings.upload_ns) * 1e-3);
    compute.push_back(static_cast<double>(answer.cost.timings.compute_ns) * 1e-3);
    const auto times = answer.frames[0].stages.entries();
    if (times.empty()) continue;
    stages.resize(times.size());
    latency.stages_us.resize(times.size());
    for (size_t stage = 0; stage < times.size(); ++stage) {
      stages[stage].push_back(static_cast<double>(times[stage].duration_ns) * 1e-3);
      latency.stages_us[stage].first = times[stage].stages.Name();
    }
  }
  latency.median_us = Percentile(samples, 0.5);
  latency.p10_us = Percentile(samples, 0.1);
  latency.p90_us = Percentile(samples, 0.9);
  latency.upload_us = Percentile(upload, 0.5);
  latency.compute_us = Percentile(compute, 0.5);
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    latency.stages_us[stage].second = Percentile(stages[stage], 0.5);
  }
  return latency;
}

}  // namespace orbserve::bench
