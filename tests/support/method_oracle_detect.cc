// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/support/method_oracle.h"

namespace orbserve::testing {
namespace {

// The circle of radius 3 on the pixel grid: pixels whose squared distance is 8, 9 or 10, ordered by
// their angle from below the centre through its right.
const std::array<std::pair<int, int>, 16>& Circle() {
  static const std::array<std::pair<int, int>, 16> circle = [] {
    std::vector<std::pair<double, std::pair<int, int>>> pixels;
    for (int v = -3; v <= 3; ++v) {
      for (int u = -3; u <= 3; ++u) {
        if (u * u + v * v < 8 || u * u + v * v > 10) continue;
        const double turn = std::atan2(u, v);
        pixels.push_back({turn < 0 ? turn + 7 : turn, {u, v}});
      }
    }
    std::sort(pixels.begin(), pixels.end());
    std::array<std::pair<int, int>, 16> result;
    for (size_t i = 0; i < 16; ++i) result[i] = pixels.at(i).second;
    return result;
  }();
  return circle;
}

// The longest run of ring pixels that differ from the centre by more than `threshold` in one
// direction: first index and length.
struct Run {
  int first = 0;
  int length = 0;
};
Run LongestRun(const std::array<int, 16>& ring, int centre, int threshold) {
  Run longest;
  for (const int sign : {1, -1}) {
    Run run;
    for (int i = 0; i < 32; ++i) {
      const bool differs = sign * (ring[static_cast<size_t>(i % 16)] - centre) > threshold;
      if (!differs) {
        run.length = 0;
        continue;
      }
      if (run.length == 0) run.first = i;
      run.length = std::min(run.length + 1, 16);
      if (run.length > longest.length) longest = run;
    }
  }
  return longest;
}

// Squared integer root, rounded down, by halving the interval.
int64_t RootOf(int64_t value) {
  int64_t low = 0;           // low^2 <= value
  int64_t high = 1ll << 31;  // high^2 > value
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (middle * middle <= value ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::array<int, 16> RingOf(const GreyPlane& level, int x, int y) {
  std::array<int, 16> ring;
  for (size_t i = 0; i < 16; ++i) {
    ring[i] = level.At(x + Circle()[i].first, y + Circle()[i].second);
  }
  return ring;
}

int LargestThreshold(const std::array<int, 16>& ring, int centre, int arc_length) {
  int threshold = -1;
  while (threshold < 254 && LongestRun(ring, centre, threshold + 1).length >= arc_length) {
    ++threshold;
  }
  return threshold;
}

int SadCircle(const std::array<int, 16>& ring, int centre) {
  int sum = 0;
  for (const int grey : ring) sum += std::abs(grey - centre);
  return sum;
}

int SadArc(const std::array<int, 16>& ring, int centre, int arc_length, int threshold) {
  const Run run = LongestRun(ring, centre, threshold);
  if (run.length < arc_length) return 0;
  int sum = 0;
  for (int i = run.first; i < run.first + run.length; ++i) {
    sum += std::abs(ring[static_cast<size_t>(i % 16)] - centre);
  }
  return sum;
}

float HarrisOfCorner(const GreyPlane& level, int x, int y) {
  int a = 0;
  int b = 0;
  int c = 0;
  for (int v = y - 3; v <= y + 3; ++v) {
    for (int u = x - 3; u <= x + 3; ++u) {
      int gx = 0;
      int gy = 0;
      for (int i = -1; i <= 1; ++i) {
        const int weight = i == 0 ? 2 : 1;
        gx += weight * (level.At(u + 1, v + i) - level.At(u - 1, v + i));
        gy += weight * (level.At(u + i, v + 1) - level.At(u + i, v - 1));
      }
      a += gx * gx;
      b += gy * gy;
      c += gx * gy;
    }
  }
  const float s = 1.f / (4 * 7 * 255.f);
  const float s4 = s * s * s * s;
  const float k = 0.04f;
  const float fa = static_cast<float>(a);
  const float fb = static_cast<float>(b);
  const float fc = static_cast<float>(c);
  return (fa * fb - fc * fc - k * (fa + fb) * (fa + fb)) * s4;
}

CornerPlanes OracleFastMap(const GreyPlane& level, const OracleOptions& options, int threshold) {
  CornerPlanes planes = {Plane<int>(level.width, level.height),
                         Plane<float>(level.width, level.height)};
  for (int y = 3; y < level.height - 3; ++y) {
    for (int x = 3; x < level.width - 3; ++x) {
      const std::array<int, 16> ring = RingOf(level, x, y);
      const int centre = level.At(x, y);
      if (LongestRun(ring, centre, threshold).length < options.arc_length) continue;
      float response = 0;
      const int largest = LargestThreshold(ring, centre, options.arc_length);
      switch (options.score) {
        case Score::kFast:
          response = static_cast<float>(largest);
          break;
        case Score::kSadCircle:
          response = static_cast<float>(SadCircle(ring, centre));
          break;
        case Score::kSadArc:
          response = static_cast<float>(SadArc(ring, centre, options.arc_length, threshold));
          break;
        case Score::kHarris:
          if (x >= 4 && y >= 4 && x < level.width - 4 && y < level.height - 4) {
            response = HarrisOfCorner(level, x, y);
          } else if (options.compare == OracleCompare::kScore) {
            continue;
          }
          // Edges are no corners where Harris values decide.
          if (options.compare == OracleCompare::kScore && !(response > 0)) continue;
          break;
      }
      planes.largest_threshold.At(x, y) = largest;
      planes.response.At(x, y) = response;
    }
  }
  return planes;
}

TensorSums PrewittSums(const GreyPlane& level, int x, int y) {
  TensorSums sums;
  for (int v = y - 3; v <= y + 3; ++v) {
    for (int u = x - 3; u <= x + 3; ++u) {
      int64_t gx = 0;
      int64_t gy = 0;
      for (int i = -1; i <= 1; ++i) {
        gx += level.At(u + 1, v + i) - level.At(u - 1, v + i);
        gy += level.At(u + i, v + 1) - level.At(u + i, v - 1);
      }
      sums.xx += gx * gx;
      sums.yy += gy * gy;
      sums.xy += gx * gy;
    }
  }
  return sums;
}

float HarrisMapValue(const TensorSums& sums) {
  const int64_t determinant = sums.xx * sums.yy - sums.xy * sums.xy;
  const int64_t trace = sums.xx + sums.yy;
  return static_cast<float>(25 * determinant - trace * trace);
}

float ShiTomasiValue(const TensorSums& sums) {
  const int64_t difference = sums.xx - sums.yy;
  const int64_t root = RootOf(difference * difference + 4 * sums.xy * sums.xy);
  return static_cast<float>(sums.xx + sums.yy - root) * 0.5f;
}

Plane<float> OracleCornerMap(const GreyPlane& level, Detector detector) {
  Plane<float> map(level.width, level.height);
  for (int y = 4; y < level.height - 4; ++y) {
    for (int x = 4; x < level.width - 4; ++x) {
      const TensorSums sums = PrewittSums(level, x, y);
      map.At(x, y) = detector == Detector::kHarris ? HarrisMapValue(sums) : ShiTomasiValue(sums);
    }
  }
  return map;
}

}  // namespace orbserve::testing
