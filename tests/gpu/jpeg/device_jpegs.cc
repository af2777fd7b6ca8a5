// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/decode/device_jpegs.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/types/span.h"
#include "decode/image_decoder.h"
#include "features/host_device.h"
#include "gpu/jpeg/jpeg_room.h"
#include "gpu/jpeg/jpeg_upload.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/kernel_image.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"

namespace orbserve {
namespace {

using Bytes = std::vector<uint8_t>;

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "device: %s\n", status.ToString().c_str());
  std::exit(1);
}
template <typename T>
T Must(absl::StatusOr<T> value) {
  Must(value.status());
  return *std::move(value);
}

class CudaJpegs final : public DeviceJpegs {
 public:
  CudaJpegs(gpu::Stream stream, bool may_overlap)
      : stream_(std::move(stream)), room_(0, nullptr, may_overlap) {}

  std::vector<std::optional<Bytes>> Decode(const std::vector<const Bytes*>& files) override {
    struct One {
      size_t file = 0;
      ImageHeader header;
      gpu::PinnedBuffer upload;
      gpu::DeviceBuffer image;
    };
    std::vector<One> all;
    std::vector<gpu::JpegDecoding> decodings;
    for (size_t i = 0; i < files.size(); ++i) {
      EncodedImage image;
      image.bytes = *files[i];
      const auto header = ReadImageHeader(image, {});
      if (!header.ok()) continue;
      One one{i, *header, {}, {}};
      one.upload =
          Must(gpu::PinnedBuffer::Create((size_t{64} << 10) + 4 * files[i]->size(), nullptr));
      gpu::JpegDecoding decoding;
      decoding.upload =
          gpu::MakeJpegUpload(image.bytes, header->width_px, header->height_px,
                              absl::MakeSpan(one.upload.data(), one.upload.size_bytes()));
      if (decoding.upload == nullptr) continue;
      decoding.pitch_bytes = RoundUp(header->width_px, 64);
      one.image = Must(gpu::DeviceBuffer::Create(
          0, static_cast<size_t>(decoding.pitch_bytes * header->height_px), nullptr));
      decoding.image = one.image.data();
      decodings.push_back(decoding);
      all.push_back(std::move(one));
    }
    std::vector<std::optional<Bytes>> images(files.size());
    if (all.empty()) return images;
    Must(room_.Prepare(decodings, stream_.get()));
    Must(room_.Upload(decodings, stream_.get()));
    Must(room_.Launch(stream_.get()));
    Must(gpu::StatusFromCuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"));
    for (size_t i = 0; i < all.size(); ++i) {
      if (decodings[i].upload->undecided != 0) continue;
      const auto width = static_cast<size_t>(all[i].header.width_px);
      const auto height = static_cast<size_t>(all[i].header.height_px);
      Bytes pixels(width * height);
      Must(gpu::StatusFromCuda(cudaMemcpy2D(pixels.data(), width, decodings[i].image,
                                            static_cast<size_t>(decodings[i].pitch_bytes), width,
                                            height, cudaMemcpyDeviceToHost),
                               "cudaMemcpy2D"));
      images[all[i].file] = std::move(pixels);
    }
    return images;
  }

 private:
  gpu::Stream stream_;
  gpu::JpegRoom room_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceJpegs>> DeviceJpegs::Create() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
    return absl::UnavailableError("no CUDA device");
  }
  return std::make_unique<CudaJpegs>(
      Must(gpu::Stream::Create()),
      Must(gpu::KernelArchitecture(properties.major, properties.minor)) >= 90);
}

}  // namespace orbserve
