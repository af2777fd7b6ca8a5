// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// TEBLID and BEBLID: each bit compares the means of two squares of a patch that is scaled by the
// keypoint's size, turned by its angle and laid on the image at full size, whatever the keypoint's
// level. Bit for bit the descriptors of OpenCV's contributed modules (cv::xfeatures2d), compiled
// without fused multiply-add.
//
// A keypoint well inside the image compares sums of whole squares with a threshold times the area.
// Any other has its squares cut to the image, and compares means: a few results fall the other way,
// so a keypoint's place alone decides between the two, never whether a square was cut.
//
// Sources: I. Suarez, J. Buenaposada and L. Baumela, "Revisiting binary local image description for
// resource limited devices", RA-L 2021; I. Suarez, G. Sfeir, J. Buenaposada and L. Baumela,
// "BEBLID: boosted efficient binary local image descriptor", PRL 2020.

#ifndef ORBSERVE_FEATURES_ALGO_TEBLID_H_
#define ORBSERVE_FEATURES_ALGO_TEBLID_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/box_tests.h"
#include "features/algo/sincos.h"
#include "features/host_device.h"

namespace orbserve::algo {

// Sizes of patches in pixels. Squares of smaller ones could leave the image though the keypoint
// counts as inside it; larger ones were not compared.
inline constexpr float kLeastPatchPx = 11.0625f;
inline constexpr float kMostPatchPx = 4000.0f;

// How a patch lies on the image: point (u, v) of the patch at pixel (u*a - v*b + x, u*b + v*a + y).
struct PatchPlace {
  float a;
  float b;
  float x;
  float y;
  float scale;  // pixels of the image to pixels of the patch
  bool inside;  // squares need not be cut
};

// `x`, `y`: the keypoint in pixels of the image. `size_px`: side of the patch on the image,
// kLeastPatchPx..kMostPatchPx. `angle_deg`: up to kMaxAngleDegrees; below 0 the patch is upright.
// Single precision, nothing fused.
ORBSERVE_HOST_DEVICE inline PatchPlace PlacePatch(float x, float y, float size_px, float angle_deg,
                                                  int width_px, int height_px) {
  const float scale = size_px / 32.0f;
  const SinCos turn = angle_deg >= 0.0f ? SinCosOfDegrees(angle_deg) : SinCos{0.0f, 1.0f};
  const float a = scale * turn.cosine;
  const float b = scale * turn.sine;
  const float border = size_px * 0.5f * 1.75f;
  const bool inside = x >= border && x + border < static_cast<float>(width_px) && y >= border &&
                      y + border < static_cast<float>(height_px);
  return {a, b, (-a + b) * 16.0f + x, (-b - a) * 16.0f + y, scale, inside};
}

// To the nearest integer, halves up; below 0 towards 0.
ORBSERVE_HOST_DEVICE inline int RoundPlace(float value) { return static_cast<int>(value + 0.5f); }

// A square on the image, by its centre.
struct Square {
  int x;
  int y;
  int half_side;  // >= 0
};

ORBSERVE_HOST_DEVICE inline Square PlaceSquare(const PatchPlace& place, int u, int v, int radius) {
  const float fu = static_cast<float>(u);
  const float fv = static_cast<float>(v);
  return {RoundPlace((place.a * fu - place.b * fv) + place.x),
          RoundPlace((place.b * fu + place.a * fv) + place.y),
          RoundPlace(place.scale * static_cast<float>(radius))};
}

// Sum of the pixels of [x_begin, x_end) x [y_begin, y_end). `integral(x, y)` is the sum of all
// pixels above and left of (x, y), exclusive, modulo 2^32.
ORBSERVE_HOST_DEVICE_OF_EITHER
template <typename Integral>
ORBSERVE_HOST_DEVICE inline int32_t SumOfRectangle(const Integral& integral, int x_begin,
                                                   int y_begin, int x_end, int y_end) {
  return static_cast<int32_t>(integral(x_end, y_end) - integral(x_end, y_begin) -
                              integral(x_begin, y_end) + integral(x_begin, y_begin));
}

ORBSERVE_HOST_DEVICE_OF_EITHER
template <typename Integral>
ORBSERVE_HOST_DEVICE inline int32_t SumOfSquare(const Integral& integral, const Square& square) {
  const int h = square.half_side;
  return SumOfRectangle(integral, square.x - h, square.y - h, square.x + h + 1, square.y + h + 1);
}

// Mean of the part of a square that lies in the image; its nearest pixel or row of pixels if none
// does.
ORBSERVE_HOST_DEVICE_OF_EITHER
template <typename Integral>
ORBSERVE_HOST_DEVICE inline float MeanOfCutSquare(const Integral& integral, const Square& square,
                                                  int width_px, int height_px) {
  const int h = square.half_side;
  const int x_begin = Clamp(square.x - h, 0, width_px - 1);
  const int y_begin = Clamp(square.y - h, 0, height_px - 1);
  const int x_end = Clamp(square.x + h + 1, 1, width_px);
  const int y_end = Clamp(square.y + h + 1, 1, height_px);
  const int area = (x_end - x_begin) * (y_end - y_begin);
  return static_cast<float>(SumOfRectangle(integral, x_begin, y_begin, x_end, y_end)) /
         static_cast<float>(area);
}

// Thresholds of TEBLID are in 1/20 grey level, those of BEBLID in grey levels.
enum class BoxThresholds { kTeblid, kBeblid };

// The tests of a descriptor, in host memory.
struct BoxTestSet {
  const BoxTest* tests;
  int count;  // 256 or 512
  BoxThresholds thresholds;

  int bytes() const { return count / 8; }
};
inline constexpr BoxTestSet kTeblid256 = {kTeblid256Tests, 256, BoxThresholds::kTeblid};
inline constexpr BoxTestSet kTeblid512 = {kTeblid512Tests, 512, BoxThresholds::kTeblid};
inline constexpr BoxTestSet kBeblid256 = {kBeblid256Tests, 256, BoxThresholds::kBeblid};
inline constexpr BoxTestSet kBeblid512 = {kBeblid512Tests, 512, BoxThresholds::kBeblid};

ORBSERVE_HOST_DEVICE inline float ThresholdOf(const BoxTest& test, BoxThresholds thresholds) {
  const float threshold = static_cast<float>(test.threshold);
  return thresholds == BoxThresholds::kTeblid ? threshold / 20.0f : threshold;
}

// The bit of one test.
ORBSERVE_HOST_DEVICE_OF_EITHER
template <typename Integral>
ORBSERVE_HOST_DEVICE inline bool BoxTestBit(const Integral& integral, int width_px, int height_px,
                                            const PatchPlace& place, const BoxTest& test,
                                            BoxThresholds thresholds) {
  const Square first = PlaceSquare(place, test.x1, test.y1, test.radius);
  const Square second = PlaceSquare(place, test.x2, test.y2, test.radius);
  if (!place.inside) {
    return MeanOfCutSquare(integral, first, width_px, height_px) -
               MeanOfCutSquare(integral, second, width_px, height_px) <=
           ThresholdOf(test, thresholds);
  }
  const auto difference =
      static_cast<int32_t>(static_cast<uint32_t>(SumOfSquare(integral, first)) -
                           static_cast<uint32_t>(SumOfSquare(integral, second)));
  const int side = 2 * first.half_side + 1;
  if (thresholds == BoxThresholds::kBeblid) return difference <= test.threshold * (side * side);
  return static_cast<float>(difference) <=
         ThresholdOf(test, thresholds) * static_cast<float>(side * side);
}

// The `test_count` / 8 bytes of a descriptor; `test_count` is a multiple of 8.
ORBSERVE_HOST_DEVICE_OF_EITHER
template <typename Integral>
ORBSERVE_HOST_DEVICE inline void DescribeBoxes(const Integral& integral, int width_px,
                                               int height_px, const PatchPlace& place,
                                               const BoxTest* tests, int test_count,
                                               BoxThresholds thresholds, uint8_t* descriptor) {
  for (int byte = 0; byte < test_count / 8; ++byte) {
    unsigned bits = 0;
    for (int i = 8 * byte; i < 8 * byte + 8; ++i) {
      bits = 2 * bits + static_cast<unsigned>(
                            BoxTestBit(integral, width_px, height_px, place, tests[i], thresholds));
    }
    descriptor[byte] = static_cast<uint8_t>(bits);
  }
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_TEBLID_H_
