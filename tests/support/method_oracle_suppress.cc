// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/support/method_oracle.h"

namespace orbserve::testing {
namespace {

// Two places, in pixels or in blocks, that cannot both stay.
struct Conflict {
  int reach;    // in x and in y
  int squared;  // DISC: distances below this square conflict; else 0

  bool Of(int dx, int dy) const {
    if (squared > 0) return dx * dx + dy * dy < squared;
    return std::abs(dx) <= reach && std::abs(dy) <= reach;
  }
};

// True if candidates stand for blocks of 2x2 pixels.
bool Compressed(const OracleOptions& options) {
  return options.compression && options.distance > 1;
}

Conflict ConflictOf(const OracleOptions& options) {
  const int d = options.distance;
  if (options.shape == OracleShape::kDisc) return {d, d * d};
  return {Compressed(options) ? d / 2 : d - 1, 0};
}

std::pair<int, int> PlaceOf(const OracleFeature& feature, const OracleOptions& options) {
  const int unit = Compressed(options) ? 2 : 1;
  return {feature.x / unit, feature.y / unit};
}

// Places of candidates on a grid: index + 1, 0 where there is none.
Plane<int> GridOf(const std::vector<OracleFeature>& candidates, const OracleOptions& options) {
  int width = 0;
  int height = 0;
  for (const OracleFeature& candidate : candidates) {
    const auto [x, y] = PlaceOf(candidate, options);
    width = std::max(width, x + 1);
    height = std::max(height, y + 1);
  }
  Plane<int> grid(width, height);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto [x, y] = PlaceOf(candidates[i], options);
    grid.At(x, y) = static_cast<int>(i) + 1;
  }
  return grid;
}

}  // namespace

template <typename T>
std::vector<std::pair<int, int>> WindowMaxima(const Plane<T>& map, int window) {
  std::vector<std::pair<int, int>> maxima;
  const int n = window / 2;
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      bool greatest = map.At(x, y) > 0;
      for (int v = -n; v <= n && greatest; ++v) {
        for (int u = -n; u <= n && greatest; ++u) {
          if ((u == 0 && v == 0) || !map.Holds(x + u, y + v)) continue;
          greatest = map.At(x, y) > map.At(x + u, y + v);
        }
      }
      if (greatest) maxima.push_back({x, y});
    }
  }
  return maxima;
}
template std::vector<std::pair<int, int>> WindowMaxima(const Plane<int>&, int);
template std::vector<std::pair<int, int>> WindowMaxima(const Plane<float>&, int);

std::vector<OracleFeature> CompressCandidates(const std::vector<OracleFeature>& candidates) {
  std::map<std::pair<int, int>, OracleFeature> blocks;  // by y, then x
  for (const OracleFeature& candidate : candidates) {
    const auto [it, is_new] = blocks.try_emplace({candidate.y / 2, candidate.x / 2}, candidate);
    if (!is_new && RankBefore(candidate, it->second)) it->second = candidate;
  }
  std::vector<OracleFeature> kept;
  for (const auto& [place, candidate] : blocks) kept.push_back(candidate);
  return kept;
}

std::vector<OracleFeature> PickByDistance(const std::vector<OracleFeature>& candidates,
                                          const OracleOptions& options) {
  std::vector<OracleFeature> order =
      Compressed(options) ? CompressCandidates(candidates) : candidates;
  std::sort(order.begin(), order.end(), RankBefore);
  const Conflict conflict = ConflictOf(options);
  const Plane<int> grid = GridOf(order, options);
  Plane<int> taken(grid.width, grid.height);
  std::vector<OracleFeature> kept;
  for (const OracleFeature& candidate : order) {
    const auto [x, y] = PlaceOf(candidate, options);
    if (taken.At(x, y) != 0) continue;
    kept.push_back(candidate);
    for (int v = -conflict.reach; v <= conflict.reach; ++v) {
      for (int u = -conflict.reach; u <= conflict.reach; ++u) {
        if (conflict.Of(u, v) && taken.Holds(x + u, y + v)) taken.At(x + u, y + v) = 1;
      }
    }
  }
  return kept;
}

std::vector<OracleFeature> LabelByDistance(const std::vector<OracleFeature>& candidates,
                                           const OracleOptions& options, int max_passes,
                                           int* passes) {
  const std::vector<OracleFeature> all =
      Compressed(options) ? CompressCandidates(candidates) : candidates;
  const Conflict conflict = ConflictOf(options);
  const Plane<int> grid = GridOf(all, options);
  enum Label { kUndefined, kInside, kOutside };
  std::vector<Label> label(all.size(), kUndefined);
  std::vector<size_t> undefined(all.size());
  for (size_t i = 0; i < all.size(); ++i) undefined[i] = i;

  // Calls `visit` with the index of each candidate in conflict with candidate `i`.
  const auto neighbours = [&](size_t i, auto visit) {
    const auto [x, y] = PlaceOf(all[i], options);
    for (int v = -conflict.reach; v <= conflict.reach; ++v) {
      for (int u = -conflict.reach; u <= conflict.reach; ++u) {
        if ((u == 0 && v == 0) || !conflict.Of(u, v) || !grid.Holds(x + u, y + v)) continue;
        const int other = grid.At(x + u, y + v);
        if (other != 0) visit(static_cast<size_t>(other - 1));
      }
    }
  };
  *passes = 0;
  std::vector<OracleFeature> inside;
  while (!undefined.empty() && (max_passes == 0 || *passes < max_passes)) {
    ++*passes;
    std::vector<size_t> winners;
    for (const size_t i : undefined) {
      bool first = true;
      neighbours(i, [&](size_t other) {
        if (label[other] == kUndefined && RankBefore(all[other], all[i])) first = false;
      });
      if (first) winners.push_back(i);
    }
    for (const size_t i : winners) {
      label[i] = kInside;
      inside.push_back(all[i]);
    }
    std::vector<size_t> losers;
    for (const size_t i : undefined) {
      if (label[i] != kUndefined) continue;
      bool beside = false;
      neighbours(i, [&](size_t other) { beside = beside || label[other] == kInside; });
      if (beside) losers.push_back(i);
    }
    for (const size_t i : losers) label[i] = kOutside;
    std::vector<size_t> rest;
    for (const size_t i : undefined) {
      if (label[i] == kUndefined) rest.push_back(i);
    }
    undefined = rest;
  }
  std::sort(inside.begin(), inside.end(), RankBefore);
  return inside;
}

std::vector<OracleFeature> DropWeakCorners(const std::vector<OracleFeature>& corners, int threshold,
                                           int border) {
  const auto cell = [&](const OracleFeature& corner) {
    return std::make_pair((corner.x - border) / 32, (corner.y - border) / 32);
  };
  std::set<std::pair<int, int>> strong;
  for (const OracleFeature& corner : corners) {
    if (corner.largest_threshold >= threshold) strong.insert(cell(corner));
  }
  std::vector<OracleFeature> kept;
  for (const OracleFeature& corner : corners) {
    if (corner.largest_threshold >= threshold || strong.count(cell(corner)) == 0) {
      kept.push_back(corner);
    }
  }
  return kept;
}

std::vector<OracleFeature> BestOfCells(const std::vector<OracleFeature>& corners, int width,
                                       int height, const OracleOptions& options) {
  std::map<int, OracleFeature> best;
  for (const OracleFeature& corner : corners) {
    const auto [it, is_new] = best.try_emplace(OracleCell(corner, width, height, options), corner);
    if (!is_new && FrameBefore(corner, it->second)) it->second = corner;
  }
  std::vector<OracleFeature> kept;
  for (const auto& [cell, corner] : best) kept.push_back(corner);
  return kept;
}

}  // namespace orbserve::testing
