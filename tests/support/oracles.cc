// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/oracles.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace orbserve::testing {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Mirror without repeating the edge, by walking: left of 0 is what lies right of it.
int Mirrored(int i, int side) {
  int at = 0;
  int step = 1;
  for (int n = std::abs(i); n > 0 && side > 1; --n) {
    if (at + step < 0 || at + step >= side) step = -step;
    at += step;
  }
  return at;
}

}  // namespace

bool OracleIsCorner(const std::array<int, 16>& ring, int centre, int arc_length, int threshold) {
  int brighter_run = 0;
  int darker_run = 0;
  for (int i = 0; i < 32; ++i) {  // twice round
    const int value = ring[static_cast<size_t>(i % 16)];
    brighter_run = value > centre + threshold ? brighter_run + 1 : 0;
    darker_run = value < centre - threshold ? darker_run + 1 : 0;
    if (brighter_run >= arc_length || darker_run >= arc_length) return true;
  }
  return false;
}

int OracleScore(const std::array<int, 16>& ring, int centre, int arc_length) {
  for (int threshold = 254; threshold >= 0; --threshold) {
    if (OracleIsCorner(ring, centre, arc_length, threshold)) return threshold;
  }
  return -1;
}

std::array<int, 16> OracleRing(const ImageView& image, int x, int y) {
  // The digital circle of radius 3: pixels whose distance rounds to 3 and that are no inner corner
  // of the staircase.
  struct Pixel {
    double turn;
    int grey;
  };
  std::vector<Pixel> pixels;
  for (int v = -3; v <= 3; ++v) {
    for (int u = -3; u <= 3; ++u) {
      const int squared = u * u + v * v;
      if (squared != 9 && squared != 10 && squared != 8) continue;
      double turn = std::atan2(u, v);  // 0 below the centre, growing to the right (y points down)
      if (turn < 0) turn += 2 * kPi;
      pixels.push_back({turn, image.Row(y + v)[x + u]});
    }
  }
  std::sort(pixels.begin(), pixels.end(),
            [](const Pixel& a, const Pixel& b) { return a.turn < b.turn; });
  std::array<int, 16> ring = {};
  for (size_t i = 0; i < ring.size(); ++i) ring[i] = pixels.at(i).grey;
  return ring;
}

std::vector<GoldenCorner> OracleCorners(const ImageView& image, int arc_length, int threshold) {
  const int width = image.width_px;
  const int height = image.height_px;
  std::vector<std::vector<int>> score(static_cast<size_t>(height),
                                      std::vector<int>(static_cast<size_t>(width), 0));
  const auto at = [&](int x, int y) -> int& {
    return score[static_cast<size_t>(y)][static_cast<size_t>(x)];
  };
  for (int y = 3; y < height - 3; ++y) {
    for (int x = 3; x < width - 3; ++x) {
      const std::array<int, 16> ring = OracleRing(image, x, y);
      if (OracleIsCorner(ring, image.Row(y)[x], arc_length, threshold)) {
        at(x, y) = OracleScore(ring, image.Row(y)[x], arc_length);
      }
    }
  }
  std::vector<GoldenCorner> corners;
  for (int y = 3; y < height - 3; ++y) {
    for (int x = 3; x < width - 3; ++x) {
      if (at(x, y) == 0) continue;
      int not_smaller = 0;
      for (int v = -1; v <= 1; ++v) {
        for (int u = -1; u <= 1; ++u) not_smaller += at(x + u, y + v) >= at(x, y) ? 1 : 0;
      }
      if (not_smaller == 1) corners.push_back({x, y, at(x, y)});  // itself alone
    }
  }
  return corners;
}

double OracleHarris(const ImageView& image, int x, int y) {
  constexpr int kSobel[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (int v = y - 3; v <= y + 3; ++v) {
    for (int u = x - 3; u <= x + 3; ++u) {
      double gx = 0;
      double gy = 0;
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          const double grey = image.Row(v + i - 1)[u + j - 1];
          gx += kSobel[i][j] * grey;
          gy += kSobel[j][i] * grey;
        }
      }
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  }
  const double scale = 1.0 / (4.0 * 7.0 * 255.0);
  return (xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)) * std::pow(scale, 4);
}

double OracleAngleDegrees(const ImageView& image, int x, int y) {
  // The disc of ORB: the circle of radius 15 by octants, so that it is symmetric in x and y. A
  // pixel belongs when it does in either of its mirrored places.
  const auto half_width = [](int v) {
    return static_cast<int>(std::lround(std::sqrt(15.0 * 15.0 - v * v)));
  };
  double mx = 0;
  double my = 0;
  for (int v = -15; v <= 15; ++v) {
    for (int u = -15; u <= 15; ++u) {
      const int small = std::min(std::abs(u), std::abs(v));
      const int large = std::max(std::abs(u), std::abs(v));
      if (large > half_width(small)) continue;
      mx += u * image.Row(y + v)[x + u];
      my += v * image.Row(y + v)[x + u];
    }
  }
  double degrees = std::atan2(my, mx) * 180.0 / kPi;
  if (degrees < 0) degrees += 360.0;
  return degrees;
}

std::vector<std::vector<double>> OracleResize(const ImageView& source, int width_px,
                                              int height_px) {
  const auto sample = [&](double x, double y) {
    x = std::clamp(x, 0.0, source.width_px - 1.0);
    y = std::clamp(y, 0.0, source.height_px - 1.0);
    const int left = std::min(static_cast<int>(x), std::max(source.width_px - 2, 0));
    const int top = std::min(static_cast<int>(y), std::max(source.height_px - 2, 0));
    const int right = std::min(left + 1, source.width_px - 1);
    const int bottom = std::min(top + 1, source.height_px - 1);
    const double fx = x - left;
    const double fy = y - top;
    return (source.Row(top)[left] * (1 - fx) + source.Row(top)[right] * fx) * (1 - fy) +
           (source.Row(bottom)[left] * (1 - fx) + source.Row(bottom)[right] * fx) * fy;
  };
  std::vector<std::vector<double>> level(static_cast<size_t>(height_px));
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      level[static_cast<size_t>(y)].push_back(
          sample((x + 0.5) * source.width_px / width_px - 0.5,
                 (y + 0.5) * source.height_px / height_px - 0.5));
    }
  }
  return level;
}

double OracleGaussian(const ImageView& image, int x, int y) {
  double sum = 0;
  double weights = 0;
  for (int v = -3; v <= 3; ++v) {
    for (int u = -3; u <= 3; ++u) {
      const double weight = std::exp(-(u * u + v * v) / 8.0);
      const int px = Mirrored(x + u, image.width_px);
      const int py = Mirrored(y + v, image.height_px);
      sum += weight * image.Row(py)[px];
      weights += weight;
    }
  }
  return sum / weights;
}

int OracleHamming(const uint8_t* a, const uint8_t* b, int bytes) {
  int distance = 0;
  for (int bit = 0; bit < 8 * bytes; ++bit) {
    distance += ((a[bit / 8] >> (bit % 8)) & 1) != ((b[bit / 8] >> (bit % 8)) & 1) ? 1 : 0;
  }
  return distance;
}

int OracleSquaredDistance(const uint8_t* a, const uint8_t* b) {
  double distance = 0;
  for (int i = 0; i < 128; ++i) distance += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return static_cast<int>(distance);
}

}  // namespace orbserve::testing
