// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include "tests/features/algo/device_values.h"

namespace orbserve::testing {
namespace {

constexpr int kThreads = 128;

__global__ void ValuesKernel(const AlgoInputs inputs, AlgoValues* __restrict__ values) {
  const int columns = inputs.width_px - 2 * kAlgoMarginPx;
  const int rows = inputs.height_px - 2 * kAlgoMarginPx;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= columns * rows) return;
  values[i] = AlgoValuesAt(inputs, kAlgoMarginPx + i % columns, kAlgoMarginPx + i / columns);
}

// A copy of a vector on the device, as long as the object lives.
template <typename T>
class DeviceCopy {
 public:
  DeviceCopy(const T* host, size_t count) {
    result_ = cudaMalloc(&memory_, count * sizeof(T));
    if (result_ == cudaSuccess) {
      result_ = cudaMemcpy(memory_, host, count * sizeof(T), cudaMemcpyHostToDevice);
    }
  }
  explicit DeviceCopy(const std::vector<T>& host) : DeviceCopy(host.data(), host.size()) {}
  ~DeviceCopy() { cudaFree(memory_); }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  T* get() const { return static_cast<T*>(memory_); }
  cudaError_t result() const { return result_; }

 private:
  void* memory_ = nullptr;
  cudaError_t result_ = cudaSuccess;
};

}  // namespace

int DeviceCount() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string ComputeOnDevice(const AlgoData& data, std::vector<AlgoValues>* values) {
  const DeviceCopy<uint8_t> image(data.image);
  const DeviceCopy<uint32_t> integral(data.integral);
  const DeviceCopy<uint64_t> keys(data.keys);
  const DeviceCopy<float> map(data.map);
  const DeviceCopy<uint32_t> arc_table(data.arc_table);
  const DeviceCopy<uint8_t> arc_directions(data.arc_directions);
  const DeviceCopy<algo::RBriefPair> pattern(algo::kRBrief32Pattern, algo::kRBrief32Pairs);
  const DeviceCopy<AlgoValues> out(*values);
  for (const cudaError_t result :
       {image.result(), integral.result(), keys.result(), map.result(), arc_table.result(),
        arc_directions.result(), pattern.result(), out.result()}) {
    if (result != cudaSuccess) return cudaGetErrorString(result);
  }
  const AlgoInputs inputs = {image.get(),   integral.get(),  keys.get(),
                             map.get(),     arc_table.get(), arc_directions.get(),
                             pattern.get(), data.width_px,   data.height_px};
  const int blocks = DivUp(static_cast<int>(values->size()), kThreads);
  ValuesKernel<<<blocks, kThreads>>>(inputs, out.get());
  cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) {
    result = cudaMemcpy(values->data(), out.get(), values->size() * sizeof(AlgoValues),
                        cudaMemcpyDeviceToHost);
  }
  return result == cudaSuccess ? "" : cudaGetErrorString(result);
}

}  // namespace orbserve::testing
