// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/method_oracle.h"

#include <algorithm>

#include "tests/support/orb_slam3_oracle.h"

namespace orbserve::testing {
namespace {

bool InsideBorder(const GreyPlane& level, int border, int x, int y) {
  return x >= border && y >= border && x < level.width - border && y < level.height - border;
}

// Corners of one level after suppression in the level, border, mask and the second threshold.
std::vector<OracleFeature> FastCorners(const GreyPlane& level, int l, const GreyPlane* mask,
                                       const OracleOptions& options, int* passes) {
  const int lowest = options.threshold_low > 0 ? options.threshold_low : options.threshold;
  const CornerPlanes planes = OracleFastMap(level, options, lowest);
  const bool by_distance = options.suppression == Suppression::kMinimumDistance;

  std::vector<std::pair<int, int>> places;
  if (by_distance) {
    places = WindowMaxima(planes.largest_threshold, 1);
  } else if (options.compare == OracleCompare::kFast) {
    places = WindowMaxima(planes.largest_threshold, options.window);
  } else {
    places = WindowMaxima(planes.response, options.window);
  }
  std::vector<OracleFeature> corners;
  for (const auto& [x, y] : places) {
    if (!InsideBorder(level, options.border, x, y)) continue;
    if (mask != nullptr && mask->At(x, y) == 0) continue;
    OracleFeature corner;
    corner.level = l;
    corner.x = x;
    corner.y = y;
    corner.response = planes.response.At(x, y);
    corner.largest_threshold = planes.largest_threshold.At(x, y);
    corners.push_back(corner);
  }
  if (options.threshold_low > 0) {
    corners = DropWeakCorners(corners, options.threshold, options.border);
  }
  if (!by_distance) return corners;
  if (options.max_passes == 0 && !options.count_passes) return PickByDistance(corners, options);
  return LabelByDistance(corners, options, options.max_passes, passes);
}

// Corners of a corner map, the candidates' threshold being known.
std::vector<OracleFeature> MapCorners(const GreyPlane& level, int l, const Plane<float>& map,
                                      float threshold, const OracleOptions& options, int* passes) {
  const bool by_distance = options.suppression == Suppression::kMinimumDistance;
  std::vector<OracleFeature> corners;
  for (const auto& [x, y] : WindowMaxima(map, by_distance ? 1 : options.window)) {
    if (!InsideBorder(level, options.border, x, y)) continue;
    if (!(map.At(x, y) > threshold)) continue;
    OracleFeature corner;
    corner.level = l;
    corner.x = x;
    corner.y = y;
    corner.response = map.At(x, y);
    corners.push_back(corner);
  }
  if (!by_distance) return corners;
  if (options.max_passes == 0 && !options.count_passes) return PickByDistance(corners, options);
  return LabelByDistance(corners, options, options.max_passes, passes);
}

float BaseSize(const OracleOptions& options) {
  switch (options.descriptor) {
    case Descriptor::kBFrost256:
      return 89;
    case Descriptor::kRBrief256:
      return 31;
    case Descriptor::kRBrief32:
      return 10;
    case Descriptor::kTeblid256:
    case Descriptor::kTeblid512:
    case Descriptor::kBeblid256:
    case Descriptor::kBeblid512:
    case Descriptor::kSift:
    case Descriptor::kRootSift:
    case Descriptor::kL1RootSift:
    case Descriptor::kNone:
      break;
  }
  if (options.orientation == Orientation::kIntensityCentroid) return 31;
  return options.detector == Detector::kFast ? 7 : 9;
}

}  // namespace

OracleAnswer OracleExtract(const GreyPlane& image, const GreyPlane* mask,
                           const OracleOptions& options) {
  if (options.selection == Selection::kOrbSlam3) {
    return {.features = Slam3Extract(image, options).features};
  }
  const std::vector<GreyPlane> levels = OraclePyramid(image, options, false);
  std::vector<GreyPlane> masks;
  if (mask != nullptr) masks = OraclePyramid(*mask, options, true);

  OracleAnswer answer;
  std::vector<OracleFeature> candidates;
  const auto add = [&](const std::vector<OracleFeature>& corners, int passes) {
    candidates.insert(candidates.end(), corners.begin(), corners.end());
    answer.passes = std::max(answer.passes, passes);
  };
  if (options.detector == Detector::kFast) {
    for (size_t l = 0; l < levels.size(); ++l) {
      int passes = 0;
      const std::vector<OracleFeature> corners = FastCorners(
          levels[l], static_cast<int>(l), mask == nullptr ? nullptr : &masks[l], options, &passes);
      add(corners, passes);
    }
  } else {
    std::vector<Plane<float>> maps;
    float top = 0;
    for (size_t l = 0; l < levels.size(); ++l) {
      Plane<float> map = OracleCornerMap(levels[l], options.detector);
      for (int y = 0; y < map.height; ++y) {
        for (int x = 0; x < map.width; ++x) {
          if (mask != nullptr && masks[l].At(x, y) == 0) map.At(x, y) = 0;
          if (InsideBorder(levels[l], options.border, x, y)) top = std::max(top, map.At(x, y));
        }
      }
      maps.push_back(std::move(map));
    }
    for (size_t l = 0; l < levels.size() && top > 0; ++l) {
      int passes = 0;
      const std::vector<OracleFeature> corners = MapCorners(
          levels[l], static_cast<int>(l), maps[l], options.quality_level * top, options, &passes);
      add(corners, passes);
    }
  }
  if (options.suppression == Suppression::kCell) {
    candidates = BestOfCells(candidates, image.width, image.height, options);
  }
  answer.features = OracleSelect(candidates, levels, options, &answer.truncated);

  std::vector<GreyPlane> smooth(levels.size());
  for (OracleFeature& feature : answer.features) {
    const size_t l = static_cast<size_t>(feature.level);
    const GreyPlane& level = levels[l];
    feature.size = BaseSize(options) * OracleScale(options.scale_factor, feature.level);
    switch (options.orientation) {
      case Orientation::kNone:
        break;
      case Orientation::kIntensityCentroid:
        feature.angle_deg = options.descriptor == Descriptor::kRBrief32
                                ? PatchAngle(level, feature.x, feature.y)
                                : DiscAngle(level, feature.x, feature.y);
        break;
      case Orientation::kArcMiddle:
        feature.angle_deg = ArcAngle(level, feature.x, feature.y, feature.largest_threshold);
        break;
    }
    switch (options.descriptor) {
      case Descriptor::kNone:
      case Descriptor::kSift:
      case Descriptor::kRootSift:
      case Descriptor::kL1RootSift:
        break;
      case Descriptor::kRBrief256:
        if (smooth[l].width == 0) smooth[l] = OracleSmooth(level);
        feature.descriptor = DescribeRBrief256(smooth[l], feature.x, feature.y, feature.angle_deg);
        break;
      case Descriptor::kRBrief32:
        feature.descriptor = DescribeRBrief32(level, feature.x, feature.y, feature.angle_deg);
        break;
      case Descriptor::kBFrost256:
        feature.descriptor = DescribeBFrost(
            level, feature.x, feature.y,
            options.orientation == Orientation::kNone ? 0 : TauOf(feature.angle_deg));
        break;
      case Descriptor::kTeblid256:
      case Descriptor::kTeblid512:
      case Descriptor::kBeblid256:
      case Descriptor::kBeblid512: {
        const float scale = OracleScale(options.scale_factor, feature.level);
        const float factor = options.orientation == Orientation::kIntensityCentroid ? 1.0f : 5.0f;
        feature.descriptor = DescribeBoxTests(
            image, static_cast<float>(feature.x) * scale, static_cast<float>(feature.y) * scale,
            factor * feature.size, feature.angle_deg, options.descriptor);
        break;
      }
    }
  }
  return answer;
}

Features FeaturesOf(const OracleAnswer& answer, const GreyPlane& image,
                    const OracleOptions& options) {
  Features features;
  features.descriptor_bytes = DescriptorBytes(options.descriptor);
  features.truncated = answer.truncated;
  features.image_width_px = image.width;
  features.image_height_px = image.height;
  for (const OracleFeature& feature : answer.features) {
    float scale = OracleScale(options.scale_factor, feature.level);
    if (options.selection == Selection::kOrbSlam3) {
      scale = 1.0f;
      for (int l = 0; l < feature.level; ++l) {
        scale = static_cast<float>(static_cast<double>(scale) * options.scale_factor);
      }
    }
    features.x.push_back(static_cast<float>(feature.x) * scale);
    features.y.push_back(static_cast<float>(feature.y) * scale);
    features.size.push_back(feature.size);
    features.angle_deg.push_back(feature.angle_deg);
    features.response.push_back(feature.response);
    features.octave.push_back(feature.level);
    features.descriptors.insert(features.descriptors.end(), feature.descriptor.begin(),
                                feature.descriptor.end());
  }
  return features;
}

OracleOptions OracleBFrost() {
  OracleOptions options;
  options.levels = 1;
  options.scale_factor = 2.0f;
  options.score = Score::kFast;
  options.selection = Selection::kBest;
  options.max_features = 500;
  options.border = 44;
  options.orientation = Orientation::kArcMiddle;
  options.descriptor = Descriptor::kBFrost256;
  return options;
}

OracleOptions OracleOrb32() {
  OracleOptions options;
  options.levels = 1;
  options.scale_factor = 2.0f;
  options.score = Score::kFast;
  options.selection = Selection::kBest;
  options.max_features = 128;
  options.border = 10;
  options.descriptor = Descriptor::kRBrief32;
  return options;
}

OracleOptions OracleHarrisCorners() {
  OracleOptions options;
  options.levels = 1;
  options.scale_factor = 2.0f;
  options.detector = Detector::kHarris;
  options.suppression = Suppression::kMinimumDistance;
  options.distance = 5;
  options.selection = Selection::kBest;
  options.max_features = 500;
  options.border = 4;
  options.orientation = Orientation::kNone;
  options.descriptor = Descriptor::kNone;
  return options;
}

OracleOptions OracleKltCorners() {
  OracleOptions options = OracleHarrisCorners();
  options.detector = Detector::kShiTomasi;
  return options;
}

OracleOptions OracleOrbSlam() {
  OracleOptions options;
  options.score = Score::kFast;
  options.threshold_low = 7;
  options.selection = Selection::kQuadtree;
  options.max_features = 1000;
  options.border = 22;
  return options;
}

OracleOptions OracleVio() {
  OracleOptions options;
  options.levels = 2;
  options.scale_factor = 2.0f;
  options.arc_length = 10;
  options.threshold = 10;
  options.score = Score::kSadArc;
  options.compare = OracleCompare::kScore;
  options.suppression = Suppression::kCell;
  options.selection = Selection::kBest;
  options.max_features = 100;
  options.border = 9;
  options.orientation = Orientation::kNone;
  options.descriptor = Descriptor::kNone;
  return options;
}

OracleOptions OracleOrientedFast() {
  OracleOptions options;
  options.levels = 4;
  options.scale_factor = 2.0f;
  options.compare = OracleCompare::kScore;
  options.selection = Selection::kBest;
  options.max_features = 100000;
  options.border = 16;
  options.descriptor = Descriptor::kNone;
  return options;
}

}  // namespace orbserve::testing
