// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Decoded pictures: content of image files, and canvas of overlays.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace orbserve::cli {

// Limits that are checked before memory is allocated for a picture. The defaults are the server's.
struct PictureLimits {
  int64_t max_side_px = 8192;
  int64_t max_pixels = 67'108'864;
};

// The widest limits that a server can be configured with.
inline constexpr PictureLimits kWidestPictureLimits = {.max_side_px = 32'768,
                                                       .max_pixels = 1'073'741'824};

// An 8-bit picture without padding: `height_px` rows of `width_px * channels` bytes.
struct Picture {
  int width_px = 0;
  int height_px = 0;
  int channels = 0;    // 1 = grey, 3 = red, green, blue
  std::string pixels;  // a string, which moves into a message without a copy

  bool empty() const { return pixels.empty(); }
  size_t row_bytes() const { return static_cast<size_t>(width_px) * channels; }
  const uint8_t* Row(int y) const {
    return reinterpret_cast<const uint8_t*>(pixels.data()) + y * row_bytes();
  }
  uint8_t* Row(int y) { return reinterpret_cast<uint8_t*>(pixels.data()) + y * row_bytes(); }
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_H_
