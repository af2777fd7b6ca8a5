// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

// Pairs and tests are data, not arithmetic.
#include "features/algo/box_tests.h"
#include "features/algo/rbrief_pattern.h"
#include "tests/support/method_oracle.h"

namespace orbserve::testing {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Rows x1,y1,x2,y2 of the 32 tests, as they are published.
constexpr char kOrb32Tests[] = R"(
0,-1,0,1     2,-2,2,0     -2,-2,-2,2   0,0,2,2      -1,-3,-1,4   -4,-2,-3,0   1,-3,2,4     2,-1,4,0
-2,0,-2,3    0,-4,0,3     -4,-1,-4,2   2,2,4,2      4,-2,4,0     1,2,3,3      2,-4,2,-2    2,-3,4,-2
-2,-4,-1,2   -3,-2,-4,0   3,-1,4,2     -4,2,-2,2    -4,-2,-2,-2  4,-1,2,1     -2,2,-1,4    3,-3,1,-2
-2,-3,-3,-1  2,1,2,3      -4,0,-2,0    -2,-1,-3,1   -1,-4,-3,3   -1,-2,-2,0   0,4,2,4      4,1,3,3
)";

const std::vector<std::array<int, 4>>& Orb32Tests() {
  static const std::vector<std::array<int, 4>> tests = [] {
    std::vector<std::array<int, 4>> rows;
    std::istringstream text(kOrb32Tests);
    std::array<int, 4> row;
    char comma;
    while (text >> row[0] >> comma >> row[1] >> comma >> row[2] >> comma >> row[3]) {
      rows.push_back(row);
    }
    return rows;
  }();
  return tests;
}

// Sample of a pattern point turned by the angle with cosine `ca` and sine `sa`.
int TurnedSample(const GreyPlane& level, int x, int y, int px, int py, float ca, float sa) {
  const float fx = static_cast<float>(px);
  const float fy = static_cast<float>(py);
  const float column = fx * ca - fy * sa;
  const float row = fx * sa + fy * ca;
  return level.At(x + static_cast<int>(std::nearbyint(column)),
                  y + static_cast<int>(std::nearbyint(row)));
}

void AppendBit(std::vector<uint8_t>& bytes, size_t index, bool bit) {
  if (index % 8 == 0) bytes.push_back(0);
  if (bit) bytes.back() = static_cast<uint8_t>(bytes.back() | (1 << (index % 8)));
}

}  // namespace

float FastAtan2(float y, float x) {
  const float degrees = static_cast<float>(180 / kPi);
  const float p1 = 0.9997878412794807f * degrees;
  const float p3 = -0.3258083974640975f * degrees;
  const float p5 = 0.1555786518463281f * degrees;
  const float p7 = -0.04432655554792128f * degrees;
  const float ax = std::fabs(x);
  const float ay = std::fabs(y);
  const float e = static_cast<float>(std::pow(2.0, -52));
  const float c = std::min(ax, ay) / (std::max(ax, ay) + e);
  const float c2 = c * c;
  float a = (((p7 * c2 + p5) * c2 + p3) * c2 + p1) * c;
  if (ax < ay) a = 90 - a;
  if (x < 0) a = 180 - a;
  if (y < 0) a = 360 - a;
  return a;
}

float DiscAngle(const GreyPlane& level, int x, int y) {
  constexpr int kHalf[16] = {15, 15, 15, 15, 14, 14, 14, 13, 13, 12, 11, 10, 9, 8, 6, 3};
  int m10 = 0;
  int m01 = 0;
  for (int v = -15; v <= 15; ++v) {
    for (int u = -15; u <= 15; ++u) {
      if (std::abs(u) > kHalf[std::abs(v)]) continue;
      m10 += u * level.At(x + u, y + v);
      m01 += v * level.At(x + u, y + v);
    }
  }
  return FastAtan2(static_cast<float>(m01), static_cast<float>(m10));
}

float PatchAngle(const GreyPlane& level, int x, int y) {
  int m10 = 0;
  int m01 = 0;
  for (int v = -5; v <= 4; ++v) {
    for (int u = -4; u <= 5; ++u) {
      m10 += (2 * u - 1) * level.At(x + u, y + v);
      m01 += (2 * v + 1) * level.At(x + u, y + v);
    }
  }
  return FastAtan2(static_cast<float>(m01), static_cast<float>(m10));
}

int ArcSteps(unsigned bits) {
  if (bits == 0xffff) return 0;
  for (int first = 0; first < 16; ++first) {
    const auto is_set = [&](int i) { return ((bits >> ((i + 16) % 16)) & 1) != 0; };
    if (is_set(first - 1)) continue;
    int length = 0;
    while (is_set(first + length)) ++length;
    if (length >= 9) return ((8 - (2 * first + length - 1)) % 32 + 32) % 32;
  }
  return 255;
}

float ArcAngle(const GreyPlane& level, int x, int y, int largest_threshold) {
  const std::array<int, 16> ring = RingOf(level, x, y);
  const int centre = level.At(x, y);
  unsigned bright = 0;
  unsigned dark = 0;
  for (size_t i = 0; i < 16; ++i) {
    if (ring[i] > centre + largest_threshold) bright |= 1u << i;
    if (centre - largest_threshold > ring[i]) dark |= 1u << i;
  }
  const int steps = ArcSteps(bright) != 255 ? ArcSteps(bright) : ArcSteps(dark);
  return 11.25f * static_cast<float>(steps);
}

int TauOf(float angle_deg) {
  const float quotient = (angle_deg - 11.25f) / 22.5f;
  const int direction = static_cast<int>(std::ceil(quotient));
  return (direction % 16 + 16) % 16;
}

std::vector<uint8_t> DescribeBFrost(const GreyPlane& level, int x, int y, int tau) {
  std::array<int64_t, 64> sum = {};
  std::array<int64_t, 64> area = {};
  for (int i = 0; i < 64; ++i) {
    const double r = std::pow(2.0, 2 + i % 4);
    const double phi = 2 * kPi * (i / 4) / 16;
    const int cx = x + static_cast<int>(std::nearbyint(r * std::cos(phi)));
    const int cy = y + static_cast<int>(std::nearbyint(r * std::sin(phi)));
    const int h = static_cast<int>(kPi * r / 8);
    for (int v = cy - h; v <= cy + h; ++v) {
      for (int u = cx - h; u <= cx + h; ++u) {
        sum[static_cast<size_t>(i)] += level.At(u, v);
        ++area[static_cast<size_t>(i)];
      }
    }
  }
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 64; ++i) {
    const int g = i / 4;
    const int m = i % 4;
    const int partners[4] = {i + 8, i + 24, i + 36, 4 * (g + 1) + 3 - m};
    for (int j = 0; j < 4; ++j) {
      const size_t a = static_cast<size_t>((i + 4 * tau) % 64);
      const size_t b = static_cast<size_t>((partners[j] % 64 + 4 * tau) % 64);
      AppendBit(bytes, static_cast<size_t>(4 * i + j), sum[a] * area[b] < sum[b] * area[a]);
    }
  }
  return bytes;
}

namespace {

// Sum and number of the pixels of a square, of the part of it that lies in the image; the nearest
// pixel, row or column where none does.
struct BoxSum {
  int64_t sum = 0;
  int pixels = 0;
};
BoxSum SumBox(const GreyPlane& image, int x, int y, int half) {
  const int left = std::clamp(x - half, 0, image.width - 1);
  const int right = std::clamp(x + half, 0, image.width - 1);
  const int top = std::clamp(y - half, 0, image.height - 1);
  const int bottom = std::clamp(y + half, 0, image.height - 1);
  BoxSum box;
  for (int v = top; v <= bottom; ++v) {
    for (int u = left; u <= right; ++u) {
      box.sum += image.At(u, v);
      ++box.pixels;
    }
  }
  return box;
}

std::vector<algo::BoxTest> BoxTestsOf(Descriptor descriptor) {
  switch (descriptor) {
    case Descriptor::kTeblid256:
      return {std::begin(algo::kTeblid256Tests), std::end(algo::kTeblid256Tests)};
    case Descriptor::kTeblid512:
      return {std::begin(algo::kTeblid512Tests), std::end(algo::kTeblid512Tests)};
    case Descriptor::kBeblid256:
      return {std::begin(algo::kBeblid256Tests), std::end(algo::kBeblid256Tests)};
    default:
      return {std::begin(algo::kBeblid512Tests), std::end(algo::kBeblid512Tests)};
  }
}

}  // namespace

std::vector<uint8_t> DescribeBoxTests(const GreyPlane& image, float x, float y, float patch_px,
                                      float angle_deg, Descriptor descriptor) {
  const bool twentieths =
      descriptor == Descriptor::kTeblid256 || descriptor == Descriptor::kTeblid512;
  const double radians = std::max(angle_deg, 0.0f) * 0.017453292519943295;
  const float scale = patch_px / 32.0f;
  const float along = scale * static_cast<float>(std::cos(radians));
  const float across = scale * static_cast<float>(std::sin(radians));
  const float origin_x = (across - along) * 16.0f + x;
  const float origin_y = (-across - along) * 16.0f + y;
  const float margin = patch_px / 64.0f * 32.0f * 1.75f;
  const bool cut = x < margin || x + margin >= static_cast<float>(image.width) || y < margin ||
                   y + margin >= static_cast<float>(image.height);
  std::vector<uint8_t> bytes;
  const std::vector<algo::BoxTest> tests = BoxTestsOf(descriptor);
  for (size_t i = 0; i < tests.size(); ++i) {
    const algo::BoxTest& test = tests[i];
    const int half = static_cast<int>(scale * test.radius + 0.5f);
    const auto box = [&](int u, int v) {
      const float fx = along * static_cast<float>(u) - across * static_cast<float>(v) + origin_x;
      const float fy = across * static_cast<float>(u) + along * static_cast<float>(v) + origin_y;
      return SumBox(image, static_cast<int>(fx + 0.5f), static_cast<int>(fy + 0.5f), half);
    };
    const BoxSum first = box(test.x1, test.y1);
    const BoxSum second = box(test.x2, test.y2);
    const double threshold = twentieths ? test.threshold / 20.0 : test.threshold;
    bool bit;
    if (cut) {
      const float difference = static_cast<float>(first.sum) / static_cast<float>(first.pixels) -
                               static_cast<float>(second.sum) / static_cast<float>(second.pixels);
      bit = difference <= static_cast<float>(threshold);
    } else {
      const auto difference = static_cast<float>(first.sum - second.sum);
      bit = difference <= static_cast<float>(threshold) * static_cast<float>(first.pixels);
    }
    if (i % 8 == 0) bytes.push_back(0);
    bytes.back() = static_cast<uint8_t>(2 * bytes.back() + (bit ? 1 : 0));
  }
  return bytes;
}

std::vector<uint8_t> DescribeRBrief32(const GreyPlane& level, int x, int y, float angle_deg) {
  const float radians = angle_deg * static_cast<float>(kPi / 180);
  const float ca = std::cos(radians);
  const float sa = std::sin(radians);
  std::vector<uint8_t> bytes;
  for (size_t t = 0; t < Orb32Tests().size(); ++t) {
    const std::array<int, 4>& test = Orb32Tests()[t];
    AppendBit(bytes, t,
              TurnedSample(level, x, y, test[0], test[1], ca, sa) <
                  TurnedSample(level, x, y, test[2], test[3], ca, sa));
  }
  return bytes;
}

std::vector<uint8_t> DescribeRBrief256(const GreyPlane& smooth, int x, int y, float angle_deg) {
  const float radians = angle_deg * static_cast<float>(kPi / 180);
  const float ca = std::cos(radians);
  const float sa = std::sin(radians);
  std::vector<uint8_t> bytes;
  for (size_t t = 0; t < algo::kRBriefPairs; ++t) {
    const algo::RBriefPair& pair = algo::kRBriefPattern[t];
    AppendBit(bytes, t,
              TurnedSample(smooth, x, y, pair.x1, pair.y1, ca, sa) <
                  TurnedSample(smooth, x, y, pair.x2, pair.y2, ca, sa));
  }
  return bytes;
}

}  // namespace orbserve::testing
