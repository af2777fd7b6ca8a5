// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "tests/support/method_oracle.h"

namespace orbserve::testing {
namespace {

// Left source sample and the weight, of 256, of its right neighbour.
struct Tap {
  int sample;
  int right_weight;
};

std::vector<Tap> TapsOf(int source, int destination) {
  std::vector<Tap> taps;
  const double ratio = 1.0 / (static_cast<double>(destination) / source);
  for (int i = 0; i < destination; ++i) {
    const double f = ratio * (i + 0.5) - 0.5;
    const double k = std::floor(f);
    if (k < 0) {
      taps.push_back({0, 0});
    } else if (k >= source - 1) {
      taps.push_back({source - 1, 0});
    } else {
      taps.push_back({static_cast<int>(k), static_cast<int>(std::nearbyint((f - k) * 256))});
    }
  }
  return taps;
}

GreyPlane Resized(const GreyPlane& source, int width, int height) {
  const std::vector<Tap> columns = TapsOf(source.width, width);
  const std::vector<Tap> rows = TapsOf(source.height, height);
  const auto across = [&](int y, const Tap& tap) {
    const int right = tap.right_weight == 0 ? 0 : source.At(tap.sample + 1, y) * tap.right_weight;
    return source.At(tap.sample, y) * (256 - tap.right_weight) + right;
  };
  GreyPlane result(width, height);
  for (int y = 0; y < height; ++y) {
    const Tap& row = rows[static_cast<size_t>(y)];
    for (int x = 0; x < width; ++x) {
      const Tap& column = columns[static_cast<size_t>(x)];
      const int64_t top = across(row.sample, column);
      const int64_t bottom = row.right_weight == 0 ? 0 : across(row.sample + 1, column);
      const int64_t sum = top * (256 - row.right_weight) + bottom * row.right_weight;
      result.At(x, y) = static_cast<int>((sum + 32768) / 65536);
    }
  }
  return result;
}

// Mirror without repeating the edge, over and over.
int Mirror(int i, int side) {
  if (side == 1) return 0;
  const int period = 2 * (side - 1);
  const int at = ((i % period) + period) % period;
  return at < side ? at : period - at;
}

}  // namespace

GreyPlane PlaneOf(const ImageView& image) {
  GreyPlane plane(image.width_px, image.height_px);
  for (int y = 0; y < image.height_px; ++y) {
    for (int x = 0; x < image.width_px; ++x) plane.At(x, y) = image.Row(y)[x];
  }
  return plane;
}

float OracleScale(float scale_factor, int level) {
  return static_cast<float>(std::pow(static_cast<double>(scale_factor), level));
}

std::vector<GreyPlane> OraclePyramid(const GreyPlane& image, const OracleOptions& options,
                                     bool is_mask) {
  std::vector<GreyPlane> levels = {image};
  for (int l = 1; l < options.levels; ++l) {
    const float inverse = 1.0f / OracleScale(options.scale_factor, l);
    const int width = static_cast<int>(std::nearbyint(static_cast<float>(image.width) * inverse));
    const int height = static_cast<int>(std::nearbyint(static_cast<float>(image.height) * inverse));
    if (width == 0 || height == 0) break;
    GreyPlane level =
        Resized(options.source == PyramidSource::kLevelZero ? image : levels.back(), width, height);
    if (is_mask) {
      for (int& value : level.values) value = value < 255 ? 0 : 255;
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

GreyPlane OracleSmooth(const GreyPlane& level) {
  double weights[7];
  double sum = 0;
  for (int i = 0; i < 7; ++i) sum += weights[i] = std::exp(-(i - 3) * (i - 3) / 8.0);
  float g[7];
  for (int i = 0; i < 7; ++i) g[i] = static_cast<float>(weights[i] / sum);

  Plane<float> rows(level.width, level.height);
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < level.width; ++x) {
      float a = 0;
      for (int i = 0; i < 7; ++i) {
        a = std::fma(static_cast<float>(level.At(Mirror(x + i - 3, level.width), y)), g[i], a);
      }
      rows.At(x, y) = a;
    }
  }
  GreyPlane smooth(level.width, level.height);
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < level.width; ++x) {
      float a = g[3] * rows.At(x, y);
      for (int i = 1; i <= 3; ++i) {
        a = std::fma(
            g[3 + i],
            rows.At(x, Mirror(y + i, level.height)) + rows.At(x, Mirror(y - i, level.height)), a);
      }
      const int grey = static_cast<int>(std::nearbyint(a));
      smooth.At(x, y) = grey < 0 ? 0 : grey > 255 ? 255 : grey;
    }
  }
  return smooth;
}

std::vector<int> OracleQuotas(int max_features, float scale_factor, int levels) {
  const float q = static_cast<float>(1.0 / static_cast<double>(scale_factor));
  const float power = static_cast<float>(std::pow(static_cast<double>(q), levels));
  float d = static_cast<float>(max_features) * (1.0f - q) / (1.0f - power);
  std::vector<int> quotas;
  int given = 0;
  for (int l = 0; l + 1 < levels; ++l) {
    quotas.push_back(static_cast<int>(std::nearbyint(d)));
    given += quotas.back();
    d *= q;
  }
  quotas.push_back(given < max_features ? max_features - given : 0);
  return quotas;
}

}  // namespace orbserve::testing
