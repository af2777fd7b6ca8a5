// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Bounds of what the steps of a pipeline can leave, from which backends size their memory.

#ifndef ORBSERVE_FEATURES_PIPELINE_CAPACITY_H_
#define ORBSERVE_FEATURES_PIPELINE_CAPACITY_H_

#include <cstdint>

#include "features/algo/minimum_distance.h"
#include "features/algo/zone.h"
#include "features/host_device.h"
#include "features/options.h"
#include "features/pipeline/detection.h"
#include "features/pipeline/geometry.h"

namespace orbserve {

// Most corners that strict suppression in a window of 3x3 pixels or more leaves inside `region`:
// no two of them are neighbours.
constexpr int64_t MaxCorners(const Region& region) {
  if (region.empty()) return 0;
  return static_cast<int64_t>((region.width() + 1) / 2) * ((region.height() + 1) / 2);
}

// The zones of a level whose keypoints lie in `region`.
constexpr algo::Zones ZonesOf(const Region& region) {
  if (region.empty()) return {};
  return algo::ZonesOf(region.width() + 2 * algo::kZoneBorderPx,
                       region.height() + 2 * algo::kZoneBorderPx);
}

// Most corners of `rows` rows of zones.
constexpr int64_t MaxCorners(const algo::Zones& zones, int rows) {
  return static_cast<int64_t>(zones.MostCorners()) * zones.columns * rows;
}

// Most corners that the suppression of `options` leaves inside `region`, that of a level. Squares
// of `side` pixels hold one corner at most: of the minimum distance, for a disc of those whose
// diagonal is shorter.
constexpr int64_t MaxCorners(const PipelineOptions& options, const Region& region) {
  if (HasZones(options)) {
    const algo::Zones zones = ZonesOf(region);
    return MaxCorners(zones, zones.rows);
  }
  if (options.suppress.suppression != Suppression::kMinimumDistance) return MaxCorners(region);
  const int side = algo::DistanceRuleOf(options.suppress.minimum_distance_px,
                                        options.suppress.distance_shape == DistanceShape::kDisc,
                                        /*is_compressed=*/false)
                       .cell_side;
  if (region.empty()) return 0;
  return static_cast<int64_t>(DivUp(region.width(), side)) * DivUp(region.height(), side);
}

// Memory per frame follows the class of the wanted `max_features`: the smallest power of two that
// holds it, kSmallestFeatureClass at least. Frames that want or find more than
// kLargestFeatureClass take a backend's slow path.
inline constexpr int kSmallestFeatureClass = 256;
inline constexpr int kLargestFeatureClass = 32768;
constexpr int FeatureClassOf(int max_features) {
  int features = kSmallestFeatureClass;
  while (features < max_features && features < kLargestFeatureClass) features *= 2;
  return features;
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_CAPACITY_H_
