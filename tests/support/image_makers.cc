// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/image_makers.h"

#include <algorithm>
#include <random>

namespace orbserve::testing {
namespace {

// Distributions of the standard library differ between libraries; this does not.
int Uniform(std::mt19937& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
}

void FillRectangle(TestImage& image, int x, int y, int width_px, int height_px, uint8_t grey) {
  for (int v = std::max(y, 0); v < std::min(y + height_px, image.height_px()); ++v) {
    for (int u = std::max(x, 0); u < std::min(x + width_px, image.width_px()); ++u) {
      image.At(u, v) = grey;
    }
  }
}

}  // namespace

TestImage::TestImage(int width_px, int height_px)
    : width_px_(width_px),
      height_px_(height_px),
      pitch_bytes_(RoundUp(width_px, kRowAlignmentBytes)),
      memory_(static_cast<size_t>(pitch_bytes_) * static_cast<size_t>(height_px + 1) +
              2 * kImagePaddingBytes) {}

MutableImageView TestImage::view() {
  return {memory_.data() + kImagePaddingBytes, width_px_, height_px_, pitch_bytes_};
}

ImageView TestImage::view() const {
  return {memory_.data() + kImagePaddingBytes, width_px_, height_px_, pitch_bytes_};
}

TestImage NoiseImage(int width_px, int height_px, uint32_t seed) {
  std::mt19937 random(seed);
  TestImage image(width_px, height_px);
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) image.At(x, y) = static_cast<uint8_t>(random() >> 24);
  }
  return image;
}

TestImage SceneImage(int width_px, int height_px, uint32_t seed) {
  std::mt19937 random(seed);
  TestImage image(width_px, height_px);
  FillRectangle(image, 0, 0, width_px, height_px, 90);
  const int rectangles = 20 + width_px * height_px / 1500;
  for (int i = 0; i < rectangles; ++i) {
    const int side = Uniform(random, 2, std::max(8, std::min(width_px, height_px) / 4));
    const int x = Uniform(random, -side, width_px);
    const int y = Uniform(random, -side, height_px);
    const int other_side = Uniform(random, 2, side + 2);
    FillRectangle(image, x, y, side, other_side, static_cast<uint8_t>(Uniform(random, 0, 255)));
  }
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      image.At(x, y) =
          static_cast<uint8_t>(std::clamp(image.At(x, y) + Uniform(random, -6, 6), 0, 255));
    }
  }
  return image;
}

TestImage DotLattice(int width_px, int height_px, int spacing_px) {
  TestImage image(width_px, height_px);
  for (int y = 0; y < height_px; y += spacing_px) {
    for (int x = 0; x < width_px; x += spacing_px) image.At(x, y) = 255;
  }
  return image;
}

TestImage Checkerboard(int width_px, int height_px) {
  TestImage image(width_px, height_px);
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) image.At(x, y) = (x + y) % 2 == 0 ? 255 : 0;
  }
  return image;
}

TestImage RandomMask(int width_px, int height_px, uint32_t seed) {
  std::mt19937 random(seed);
  TestImage mask(width_px, height_px);
  FillRectangle(mask, 0, 0, width_px, height_px, Uniform(random, 0, 1) == 0 ? 0 : 255);
  for (int i = 0; i < 12; ++i) {
    const int x = Uniform(random, -20, width_px);
    const int y = Uniform(random, -20, height_px);
    const int w = Uniform(random, 1, width_px / 2 + 1);
    const int h = Uniform(random, 1, height_px / 2 + 1);
    const int kind = Uniform(random, 0, 5);
    const int grey = kind < 2 ? 0 : kind < 5 ? 255 : Uniform(random, 1, 254);
    FillRectangle(mask, x, y, w, h, static_cast<uint8_t>(grey));
  }
  return mask;
}

}  // namespace orbserve::testing
