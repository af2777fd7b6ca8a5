// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The strict JPEG decoder against libjpeg-turbo: a file that the strict one decodes has the pixels
// of libjpeg-turbo, which does not refuse it either.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "decode/image_decoder.h"
#include "decode/jpeg_sequential.h"
#include "decode/libjpeg_decoder.h"
#include "features/host_device.h"
#include "features/image_view.h"
#include "tests/decode/decode_support.h"
#include "tests/fuzz/require.h"

namespace orbserve {
namespace {

struct Slot {
  explicit Slot(const ImageHeader& header)
      : pitch(RoundUp(header.width_px, kRowAlignmentBytes)),
        bytes(static_cast<size_t>(pitch) * header.height_px),
        view{bytes.data(), header.width_px, header.height_px, pitch} {}

  int pitch;
  std::vector<uint8_t> bytes;
  MutableImageView view;
};

void Fuzz(const uint8_t* data, size_t size) {
  ImageLimits limits;
  limits.max_side_px = 1024;
  limits.max_pixels = 1 << 19;
  EncodedImage image;
  image.bytes = {data, size};
  const auto header = ReadImageHeader(image, limits);
  if (!header.ok()) return;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  Slot strict(*header);
  JpegFile file{image.bytes, strict.view, std::nullopt};
  DecodeSequentialJpeg(deadline, &file);
  Slot shared(*header);
  JpegFile with_help{image.bytes, shared.view, std::nullopt};
  HelperAtOnce helper(1);
  DecodeSequentialJpeg(deadline, &with_help, &helper);
  Require(with_help.end == file.end, "the same end with helpers");
  if (!file.end.has_value()) return;
  if (!file.end->ok()) {
    RequireReason(*file.end);
    return;
  }
  Slot library(*header);
  Require(DecodeJpeg(image.bytes, limits, deadline, library.view).ok(),
          "libjpeg-turbo decodes it, too");
  Require(strict.bytes == library.bytes, "the pixels of libjpeg-turbo");
  Require(shared.bytes == strict.bytes, "the same pixels with helpers");
}

}  // namespace
}  // namespace orbserve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  orbserve::Fuzz(data, size);
  return 0;
}
