// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Decoded pictures: what PNG and PNM files hold, and what overlays are drawn on.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace orbserve::cli {

// What is refused before memory is taken for it. The defaults are those of the server.
struct PictureLimits {
  int64_t max_side_px = 8192;
  int64_t max_pixels = 67'108'864;
};

// The most that a server can be configured to take.
inline constexpr PictureLimits kWidestPictureLimits = {.max_side_px = 32'768,
                                                       .max_pixels = 1'073'741'824};

// 8-bit picture without padding: `height_px` rows of `width_px * channels` bytes.
struct Picture {
  int width_px = 0;
  int height_px = 0;
  int channels = 0;    // 1 = grey, 3 = red, green, blue
  std::string pixels;  // a string, because that is what a message carries: moved, not copied

  bool empty() const { return pixels.empty(); }
  size_t row_bytes() const { return static_cast<size_t>(width_px) * channels; }
  const uint8_t* Row(int y) const {
    return reinterpret_cast<const uint8_t*>(pixels.data()) + y * row_bytes();
  }
  uint8_t* Row(int y) { return reinterpret_cast<uint8_t*>(pixels.data()) + y * row_bytes(); }
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_PICTURE_H_
