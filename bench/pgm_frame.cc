// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/pgm_frame.h"

#include <cstddef>
#include <cstdint>
#include <fstream>

namespace orbserve::bench {

bool ReadPgmFrame(const std::string& path, v1::Frame* frame) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  uint32_t width = 0, height = 0, maximum = 0;
  file >> magic >> width >> height >> maximum;
  file.get();
  if (!file || magic != "P5" || maximum != 255 || width == 0 || height == 0) return false;
  std::string& pixels = *frame->mutable_pixels();
  pixels.resize(size_t{width} * height);
  file.read(pixels.data(), static_cast<std::streamsize>(pixels.size()));
  frame->set_format(v1::PIXEL_FORMAT_GRAY8);
  frame->set_width_px(width);
  frame->set_height_px(height);
  return static_cast<size_t>(file.gcount()) == pixels.size();
}

}  // namespace orbserve::bench
