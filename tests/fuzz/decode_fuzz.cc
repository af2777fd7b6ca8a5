// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Decoding of hostile bytes. Input that begins as a JPEG file does is one; else 8 bytes choose
// format, size and stride, and the rest are pixels. Beside what the sanitizers see, three promises
// are checked: an image that was admitted has a size within the limits; its pixels do not depend on
// what the slot held before; nothing is written beside them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "decode/image_decoder.h"
#include "features/host_device.h"
#include "features/image_view.h"
#include "tests/fuzz/require.h"

namespace orbserve {
namespace {

EncodedImage ImageOf(const uint8_t* data, size_t size) {
  EncodedImage image;
  image.bytes = {data, size};
  constexpr size_t kHeaderBytes = 8;
  if (LooksLikeJpeg(image.bytes) || size < kHeaderBytes) return image;
  image.format = static_cast<PixelFormat>(data[0] % 15);
  image.width_px = data[1] | (data[2] & 15) << 8;
  image.height_px = data[3] | (data[4] & 15) << 8;
  image.stride_bytes = data[5] | data[6] << 8;
  if (data[7] & 1) image.stride_bytes = -image.stride_bytes;
  image.bytes = {data + kHeaderBytes, size - kHeaderBytes};
  return image;
}

struct Slot {
  Slot(const ImageHeader& header, uint8_t fill_byte)
      : fill(fill_byte),
        pitch(RoundUp(header.width_px, kRowAlignmentBytes)),
        bytes(static_cast<size_t>(pitch) * header.height_px, fill_byte),
        view{bytes.data(), header.width_px, header.height_px, pitch} {}

  uint8_t fill;
  int pitch;
  std::vector<uint8_t> bytes;
  MutableImageView view;
};

void Fuzz(const uint8_t* data, size_t size) {
  ImageLimits limits;
  limits.max_side_px = 1024;
  limits.max_pixels = 1 << 19;
  const EncodedImage image = ImageOf(data, size);
  const auto header = ReadImageHeader(image, limits);
  if (!header.ok()) {
    RequireReason(header.status());
    return;
  }
  Require(header->width_px >= 1 && header->width_px <= limits.max_side_px, "width");
  Require(header->height_px >= 1 && header->height_px <= limits.max_side_px, "height");
  Slot dark(*header, 0x00);
  Slot bright(*header, 0xFF);
  const absl::Status first = DecodeToGrey(image, *header, limits, dark.view);
  const absl::Status second = DecodeToGrey(image, *header, limits, bright.view);
  Require(first.code() == second.code(), "the same answer twice");
  for (int y = 0; y < header->height_px; ++y) {
    const size_t width = static_cast<size_t>(header->width_px);
    if (first.ok()) {
      Require(std::memcmp(dark.view.Row(y), bright.view.Row(y), width) == 0,
              "pixels do not depend on the slot's earlier content");
    }
    for (int x = header->width_px; x < dark.pitch; ++x) {
      Require(dark.view.Row(y)[x] == dark.fill && bright.view.Row(y)[x] == bright.fill,
              "nothing is written beside the pixels");
    }
  }
}

}  // namespace
}  // namespace orbserve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  orbserve::Fuzz(data, size);
  return 0;
}
