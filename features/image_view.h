// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_IMAGE_VIEW_H_
#define ORBSERVE_FEATURES_IMAGE_VIEW_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve {

// A borrowed 8-bit single-channel image: height_px rows of width_px bytes, pitch_bytes apart.
struct ImageView {
  const uint8_t* data = nullptr;
  int width_px = 0;
  int height_px = 0;
  ptrdiff_t pitch_bytes = 0;  // >= width_px

  ORBSERVE_HOST_DEVICE const uint8_t* Row(int y) const { return data + y * pitch_bytes; }
  ORBSERVE_HOST_DEVICE bool empty() const { return data == nullptr; }
};

// The same, writable.
struct MutableImageView {
  uint8_t* data = nullptr;
  int width_px = 0;
  int height_px = 0;
  ptrdiff_t pitch_bytes = 0;

  ORBSERVE_HOST_DEVICE uint8_t* Row(int y) const { return data + y * pitch_bytes; }
  ORBSERVE_HOST_DEVICE bool empty() const { return data == nullptr; }
  // NOLINTNEXTLINE(google-explicit-constructor): a view of a view
  ORBSERVE_HOST_DEVICE operator ImageView() const {
    return {data, width_px, height_px, pitch_bytes};
  }
};

// Bytes that may be read, with unspecified values, before the first and after the last pixel of
// every image that a backend leases or builds, so that wide loads need no tail. Rows start at
// multiples of kRowAlignmentBytes.
inline constexpr int kImagePaddingBytes = 64;
inline constexpr int kRowAlignmentBytes = 64;

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_IMAGE_VIEW_H_
