// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/papers/ablation.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "absl/strings/str_format.h"
#include "bench/frame_latency.h"
#include "features/errors.h"
#include "gpu/runtime/stream.h"

namespace orbserve::bench {

absl::Status AblationRun::TimeAll(const std::string& what, const std::vector<Variant>& variants) {
  std::vector<std::vector<double>> samples(variants.size());
  for (int round = 0; round < settings_.rounds; ++round) {
    for (size_t i = 0; i < variants.size(); ++i) {
      ORBSERVE_ASSIGN_OR_RETURN(const std::vector<double> own,
                                timer_.Time(variants[i].launch, variants[i].reset));
      samples[i].insert(samples[i].end(), own.begin(), own.end());
    }
  }
  for (size_t i = 0; i < variants.size(); ++i) Print(what, variants[i].name, samples[i]);
  return absl::OkStatus();
}

absl::Status AblationRun::Energy(const std::string& what, const Variant& variant) {
  if (settings_.seconds <= 0 || power_.readers.empty()) return absl::OkStatus();
  ORBSERVE_ASSIGN_OR_RETURN(
      const gpu::Graph graph,
      gpu::Graph::Capture(timer_.stream(), [&](cudaStream_t stream) -> absl::Status {
        for (int i = 0; i < settings_.launches; ++i) {
          if (variant.reset != nullptr) ORBSERVE_RETURN_IF_ERROR(variant.reset(stream));
          ORBSERVE_RETURN_IF_ERROR(variant.launch(stream));
        }
        return absl::OkStatus();
      }));
  std::atomic<bool> stop{false};
  std::atomic<int64_t> frames{0};
  absl::Status status;
  const auto begin = std::chrono::steady_clock::now();
  std::thread worker([&] {
    status = gpu::StatusFromCuda(cudaSetDevice(0), "cudaSetDevice");
    while (status.ok() && !stop) {
      for (int i = 0; i < 8 && status.ok(); ++i) status = graph.Launch(timer_.stream());
      status.Update(
          gpu::StatusFromCuda(cudaStreamSynchronize(timer_.stream()), "cudaStreamSynchronize"));
      frames += 8 * settings_.launches;
    }
  });
  const std::optional<double> watts =
      MeanWatts(power_, std::chrono::duration<double>(settings_.seconds));
  stop = true;
  worker.join();
  ORBSERVE_RETURN_IF_ERROR(status);
  const double rate = static_cast<double>(frames) / (MicrosecondsSince(begin) * 1e-6);
  if (!watts.has_value()) return absl::OkStatus();
  std::printf("  %-44s %8.1f W %10.0f frames/s %8.3f mJ/frame %8.1f frames/s/W\n",
              variant.name.c_str(), *watts, rate, *watts / rate * 1e3, rate / *watts);
  json_.Append(
      absl::StrFormat("{%s, \"variant\": \"%s\", \"watts\": %.1f, \"frames_per_second\": "
                      "%.0f, \"joules_per_frame\": %.7f}",
                      what, variant.name, *watts, rate, *watts / rate));
  return absl::OkStatus();
}

void AblationRun::Print(const std::string& what, const std::string& name,
                        const std::vector<double>& samples) {
  const double median = Percentile(samples, 0.5);
  const double p10 = Percentile(samples, 0.1);
  const double p90 = Percentile(samples, 0.9);
  std::printf("  %-60s %8.2f us (%.2f to %.2f)\n", name.c_str(), median, p10, p90);
  std::fflush(stdout);
  json_.Append(absl::StrFormat(
      "{%s, \"variant\": \"%s\", \"median_us\": %.3f, \"p10_us\": %.3f, \"p90_us\": %.3f}", what,
      name, median, p10, p90));
}

}  // namespace orbserve::bench
