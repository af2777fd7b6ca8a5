// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// JPEG files to grey on a device, in batches of 1 to 32: microseconds of the device from the first
// copy to the last pixel, and of the host for the preparation of a file. For one file also what
// each kernel adds to that time.
// All files must have the size of the first.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "bench/frame_latency.h"
#include "decode/image_decoder.h"
#include "features/host_device.h"
#include "gpu/jpeg/jpeg_room.h"
#include "gpu/jpeg/jpeg_upload.h"
#include "gpu/runtime/kernel_image.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"

namespace orbserve::bench {
namespace {

using gpu::DeviceBuffer;
using gpu::Event;
using gpu::JpegDecoding;
using gpu::PinnedBuffer;

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "gpu_jpeg_bench: %s\n", value.status().ToString().c_str());
  std::exit(1);
}
void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "gpu_jpeg_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

struct File {
  std::vector<uint8_t> bytes;
  PinnedBuffer upload;
  DeviceBuffer image;
  JpegDecoding decoding;
  double prepare_us = 0;
};

File ReadFile(const std::string& path, int* width_px, int* height_px) {
  File file;
  std::ifstream from(path, std::ios::binary);
  file.bytes.assign(std::istreambuf_iterator<char>(from), {});
  EncodedImage image;
  image.bytes = file.bytes;
  const ImageHeader header = Must(ReadImageHeader(image, {}));
  if (*width_px == 0) *width_px = header.width_px;
  if (*height_px == 0) *height_px = header.height_px;
  file.upload = Must(PinnedBuffer::Create((size_t{64} << 10) + 2 * file.bytes.size(), nullptr));
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    file.decoding.upload =
        gpu::MakeJpegUpload(file.bytes, *width_px, *height_px,
                            absl::MakeSpan(file.upload.data(), file.upload.size_bytes()));
    const double us = MicrosecondsSince(begin);
    if (i == 0 || us < file.prepare_us) file.prepare_us = us;
  }
  if (file.decoding.upload == nullptr) {
    std::fprintf(stderr, "gpu_jpeg_bench: %s is not decoded on a device, or has another size\n",
                 path.c_str());
    std::exit(1);
  }
  file.decoding.pitch_bytes = RoundUp(*width_px, 64);
  file.image = Must(DeviceBuffer::Create(
      0, static_cast<size_t>(file.decoding.pitch_bytes * *height_px), nullptr));
  file.decoding.image = file.image.data();
  return file;
}

int Run(int argc, char** argv) {
  CLI::App app("JPEG files to grey on a device");
  std::vector<std::string> paths;
  int repeats = 200;
  app.add_option("files", paths, "JPEG files of one size")->required();
  app.add_option("--repeats", repeats, "of each batch");
  int starts = 0;
  app.add_option("--starts", starts, "walks that begin in a piece; 0 = by the size of the batch");
  CLI11_PARSE(app, argc, argv);
  int width_px = 0;
  int height_px = 0;
  std::vector<File> files;
  size_t bytes = 0;
  double prepare_us = 0;
  for (const std::string& path : paths) {
    files.push_back(ReadFile(path, &width_px, &height_px));
    bytes += files.back().bytes.size();
    prepare_us += files.back().prepare_us;
  }
  const auto count = static_cast<double>(files.size());
  std::printf("%d x %d, %zu files of %.0f bytes: prepared in %.1f us each\n", width_px, height_px,
              files.size(), static_cast<double>(bytes) / count, prepare_us / count);
  const gpu::Stream stream = Must(gpu::Stream::Create());
  const Event begin = Must(Event::Create(Event::Timing::kOn));
  const Event end = Must(Event::Create(Event::Timing::kOn));
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  gpu::JpegRoom room(0, nullptr,
                     Must(gpu::KernelArchitecture(properties.major, properties.minor)) >= 90);
  room.SetStarts(starts);
  for (const size_t frames : {1, 2, 4, 8, 16, 32}) {
    // A file comes several times in a large batch: with an upload and an image of its own each.
    std::vector<File> own;
    std::vector<JpegDecoding> batch;
    for (size_t i = 0; i < frames; ++i) {
      own.push_back(ReadFile(paths[i % paths.size()], &width_px, &height_px));
      batch.push_back(own.back().decoding);
    }
    std::vector<double> device_us;
    std::vector<double> host_us;
    int undecided = 0;
    const auto measure = [&](int kernels) {
      device_us.clear();
      host_us.clear();
      undecided = 0;
      for (int i = 0; i < repeats + repeats / 10; ++i) {
        if (frames == 1) batch[0] = files[static_cast<size_t>(i) % files.size()].decoding;
        Must(room.Prepare(batch, stream.get()));
        const auto host_begin = std::chrono::steady_clock::now();
        Must(begin.Record(stream.get()));
        Must(room.Upload(batch, stream.get()));
        Must(room.Launch(stream.get(), kernels));
        Must(end.Record(stream.get()));
        Must(end.Wait(host_begin + std::chrono::seconds(10), std::chrono::milliseconds(100)));
        if (i < repeats / 10) continue;
        host_us.push_back(MicrosecondsSince(host_begin));
        device_us.push_back(static_cast<double>(Must(end.ElapsedSince(begin))) / 1000);
        for (const JpegDecoding& one : batch) undecided += one.upload->undecided != 0 ? 1 : 0;
      }
      return Percentile(device_us, 0.5);
    };
    if (frames == 1) {
      double until_us = measure(0);
      std::printf("upload %.1f us", until_us);
      for (int kernels = 1; kernels <= gpu::kJpegKernels; ++kernels) {
        const double with_us = measure(kernels);
        std::printf(", kernel %d %.1f", kernels, with_us - until_us);
        until_us = with_us;
      }
      std::printf("\n");
    }
    const double device = measure(gpu::kJpegKernels);
    std::printf(
        "batch %2zu: device %7.1f us (p90 %7.1f), host %7.1f us, %8.0f frames/s, %d undecided\n",
        frames, device, Percentile(device_us, 0.9), Percentile(host_us, 0.5),
        1e6 * static_cast<double>(frames) / device, undecided);
  }
  return 0;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Run(argc, argv); }
