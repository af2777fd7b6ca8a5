// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Images made by rule, and an image that owns its pixels.

#ifndef ORBSERVE_TESTS_SUPPORT_IMAGE_MAKERS_H_
#define ORBSERVE_TESTS_SUPPORT_IMAGE_MAKERS_H_

#include <cstdint>
#include <vector>

#include "features/image_view.h"

namespace orbserve::testing {

// Owns an image with the padding that stages may read. Contents 0.
class TestImage {
 public:
  TestImage(int width_px, int height_px);

  uint8_t& At(int x, int y) { return view().Row(y)[x]; }
  uint8_t At(int x, int y) const { return view().Row(y)[x]; }
  int width_px() const { return width_px_; }
  int height_px() const { return height_px_; }
  MutableImageView view();
  ImageView view() const;

 private:
  int width_px_;
  int height_px_;
  ptrdiff_t pitch_bytes_;
  std::vector<uint8_t> memory_;
};

// Independent pixels, 0..255.
TestImage NoiseImage(int width_px, int height_px, uint32_t seed);

// Rectangles of random place, size and grey level over each other, a little noise on top: corners
// of all strengths at all scales, flat parts between.
TestImage SceneImage(int width_px, int height_px, uint32_t seed);

// Bright dots in a regular lattice: every corner ties with all others.
TestImage DotLattice(int width_px, int height_px, int spacing_px);

// 1-pixel checkerboard.
TestImage Checkerboard(int width_px, int height_px);

// Random rectangles of 0, 255 and values between, for masks.
TestImage RandomMask(int width_px, int height_px, uint32_t seed);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_IMAGE_MAKERS_H_
