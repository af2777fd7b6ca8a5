// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Ablations of papers share this: a variant of a piece of work, and the run that times variants
// beside each other and collects the results.

#ifndef ORBSERVE_BENCH_PAPERS_ABLATION_H_
#define ORBSERVE_BENCH_PAPERS_ABLATION_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/device_power.h"
#include "bench/gpu_workload.h"
#include "bench/json_list.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/memory.h"

namespace orbserve::bench {

struct AblationSettings {
  std::vector<std::string> images;
  std::vector<int> papers = {1, 2};
  int launches = 20;   // of a graph
  int repeats = 7;     // graphs timed in a round
  int rounds = 3;      // over all variants
  int calls = 200;     // timed by the host's clock
  double seconds = 0;  // of each measurement of power; 0 = none
  std::string json;
};

// A kernel, or a few, that is timed among others.
struct Variant {
  std::string name;
  GpuLaunch launch;
  GpuLaunch reset;
};

template <typename T>
absl::StatusOr<std::vector<T>> Download(const gpu::DeviceBuffer& from, size_t count) {
  std::vector<T> values(count);
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemcpy(values.data(), from.data(), count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

template <typename T>
absl::StatusOr<gpu::DeviceBuffer> Upload(const std::vector<T>& values) {
  return gpu::DeviceBuffer::CreateCopyOf(
      0, {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}, nullptr);
}

// Times variants on device 0, prints the results, and keeps them. `what`: members of a JSON object
// that say what was measured.
class AblationRun {
 public:
  // All parameters must outlive the run.
  AblationRun(const AblationSettings& settings, const PowerReaders& power, const KernelTimer& timer)
      : settings_(settings), power_(power), timer_(timer) {}

  const AblationSettings& settings() const { return settings_; }
  cudaStream_t stream() const { return timer_.stream(); }
  bool WriteJson() const { return json_.WriteTo(settings_.json); }

  // Times all variants in turn, again and again.
  absl::Status TimeAll(const std::string& what, const std::vector<Variant>& variants);
  // Measures what a frame of a variant takes, where the device tells its power.
  absl::Status Energy(const std::string& what, const Variant& variant);
  void Print(const std::string& what, const std::string& name, const std::vector<double>& samples);

 private:
  const AblationSettings& settings_;
  const PowerReaders& power_;
  const KernelTimer& timer_;
  JsonList json_;
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PAPERS_ABLATION_H_
