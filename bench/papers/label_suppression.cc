// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/papers/label_suppression.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace orbserve::bench {
namespace {

enum Label : uint8_t { kOutside, kUndefined, kInside };

// A map with the place of each of its pixels in the full-size map.
struct Cornerness {
  cv::Mat map;                    // CV_32F
  std::vector<cv::Point> places;  // empty: each pixel's own
  cv::Point PlaceOf(int x, int y) const {
    return places.empty() ? cv::Point(x, y) : places[static_cast<size_t>(y * map.cols + x)];
  }
};

// Best pixel of every block of 2x2; of equal ones the first, row by row.
Cornerness Compressed(const cv::Mat& map) {
  Cornerness result;
  result.map.create((map.rows + 1) / 2, (map.cols + 1) / 2, CV_32F);
  result.places.reserve(result.map.total());
  for (int y = 0; y < result.map.rows; ++y) {
    for (int x = 0; x < result.map.cols; ++x) {
      cv::Point best(2 * x, 2 * y);
      for (int py = 2 * y; py < std::min(2 * y + 2, map.rows); ++py) {
        for (int px = 2 * x; px < std::min(2 * x + 2, map.cols); ++px) {
          if (map.at<float>(py, px) > map.at<float>(best)) best = {px, py};
        }
      }
      result.map.at<float>(y, x) = map.at<float>(best);
      result.places.push_back(best);
    }
  }
  return result;
}

// Figure 2 of the paper: the next label of an undefined pixel. Neighbours differ by at most
// `reach`.
Label NextLabel(const cv::Mat& map, const cv::Mat_<uint8_t>& labels, int x, int y, int reach) {
  const float value = map.at<float>(y, x);
  bool is_best = true;
  for (int v = std::max(y - reach, 0); v <= std::min(y + reach, map.rows - 1); ++v) {
    const float* values = map.ptr<float>(v);
    const uint8_t* row = labels.ptr<uint8_t>(v);
    for (int u = std::max(x - reach, 0); u <= std::min(x + reach, map.cols - 1); ++u) {
      if (row[u] == kOutside || (u == x && v == y)) continue;
      if (row[u] == kInside) return kOutside;
      const bool is_before = v < y || (v == y && u < x);
      if (values[u] > value || (values[u] == value && is_before)) is_best = false;
    }
  }
  return is_best ? kInside : kUndefined;
}

}  // namespace

std::vector<cv::Point> SuppressByLabels(const cv::Mat& map, const LabelOptions& options) {
  const Cornerness cornerness =
      options.cornerness_compression ? Compressed(map) : Cornerness{map, {}};
  // Blocks that differ by at most distance/2 keep what stays at its distance.
  const int reach =
      options.cornerness_compression ? options.distance_px / 2 : options.distance_px - 1;
  const cv::Size size = cornerness.map.size();
  cv::Mat_<uint8_t> labels(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      labels(y, x) = cornerness.map.at<float>(y, x) > 0 ? kUndefined : kOutside;
    }
  }
  // Any square of reach + 1 pixels a side has one pixel inside at most: its place, or (-1, -1).
  const int cell = reach + 1;
  cv::Mat_<cv::Vec2i> compressed;
  if (options.label_compression) {
    compressed.create((size.height + cell - 1) / cell, (size.width + cell - 1) / cell);
    compressed.setTo(cv::Scalar(-1, -1));
  }

  cv::Mat_<uint8_t> next(size);
  for (bool is_undefined = true; is_undefined;) {
    is_undefined = false;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        uint8_t label = labels(y, x);
        if (label == kUndefined) {
          label = NextLabel(cornerness.map, labels, x, y, reach);
          if (label == kInside && options.label_compression) {
            const cv::Point place = cornerness.PlaceOf(x, y);
            compressed(y / cell, x / cell) = {place.x, place.y};
          }
          is_undefined |= label == kUndefined;
        }
        next(y, x) = label;
      }
    }
    std::swap(labels, next);
  }

  std::vector<cv::Point> corners;
  if (options.label_compression) {
    for (const cv::Vec2i& place : compressed) {
      if (place[0] >= 0) corners.emplace_back(place[0], place[1]);
    }
  } else {
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        if (labels(y, x) == kInside) corners.push_back(cornerness.PlaceOf(x, y));
      }
    }
  }
  std::sort(corners.begin(), corners.end(), [](const cv::Point& a, const cv::Point& b) {
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  return corners;
}

}  // namespace orbserve::bench
