// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Papers 1 and 2 kernel by kernel: each step of their ablations beside the one before it, on one
// device in one run. Every variant's answers are compared before it is timed. Exit code 1 where
// they differ.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/device_power.h"
#include "bench/frame_latency.h"
#include "bench/gpu_workload.h"
#include "bench/papers/ablation.h"
#include "bench/papers/oriented_fast_ablation.h"
#include "bench/papers/vio_front_end_ablation.h"
#include "bench/print_devices.h"
#include "gpu/gpu_backend.h"

namespace orbserve::bench {
namespace {

int Run(const AblationSettings& settings) {
  gpu::GpuBackendOptions options;
  options.devices = {0};
  const auto backend = gpu::CreateGpuBackend(options);
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().ToString().c_str());
    return 1;
  }
  bench::PrintDevices(**backend);
  const PowerReaders power = FindPowerReaders((*backend)->devices());
  std::vector<GreyImage> images;
  for (const std::string& path : settings.images) {
    images.push_back(ReadPgm(path));
    if (images.back().pixels.empty()) {
      std::fprintf(stderr, "%s: not a PGM image of 8 bits\n", path.c_str());
      return 1;
    }
  }
  const auto timer = KernelTimer::Create(settings.launches, settings.repeats);
  if (!timer.ok()) {
    std::fprintf(stderr, "%s\n", timer.status().ToString().c_str());
    return 1;
  }
  AblationRun results(settings, power, *timer);
  absl::Status status;
  for (const int paper : settings.papers) {
    if (!status.ok()) break;
    status = paper == 1 ? RunOrientedFastAblation(images, results)
                        : RunVioFrontEndAblation(images, results);
  }
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return results.WriteJson() && status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::AblationSettings settings;
  CLI::App app{"The ablations of papers 1 and 2 on the CUDA backend's device"};
  app.add_option("images", settings.images, "PGM files");
  app.add_option("--papers", settings.papers, "1, 2 or both")
      ->delimiter(',')
      ->check(CLI::Range(1, 2));
  app.add_option("--launches", settings.launches, "Launches of a graph")
      ->check(CLI::Range(1, 1000));
  app.add_option("--repeats", settings.repeats, "Graphs timed in a round")
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", settings.rounds, "Rounds over all variants")
      ->check(CLI::Range(1, 1000));
  app.add_option("--calls", settings.calls, "Calls timed by the host's clock")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--seconds", settings.seconds,
                 "Length of each measurement of power, on the last image; 0 = none");
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
