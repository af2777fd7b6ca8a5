// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>

#include "tests/support/method_oracle.h"

namespace orbserve::testing {
namespace {

struct Node {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;  // exclusive
  int y1 = 0;
  std::vector<OracleFeature> members;
};

void KeepFirst(std::vector<OracleFeature>& features, int64_t number) {
  if (static_cast<int64_t>(features.size()) > number) {
    features.resize(static_cast<size_t>(std::max<int64_t>(number, 0)));
  }
}

std::vector<OracleFeature> OfLevel(const std::vector<OracleFeature>& all, int level) {
  std::vector<OracleFeature> some;
  for (const OracleFeature& feature : all) {
    if (feature.level == level) some.push_back(feature);
  }
  return some;
}

// The best `number` by `value` and every further one whose value equals the last one's.
template <typename Value>
std::vector<OracleFeature> KeepTies(std::vector<OracleFeature> features, int number, Value value) {
  if (static_cast<int>(features.size()) <= number) return features;
  if (number <= 0) return {};
  std::sort(features.begin(), features.end(),
            [&](const OracleFeature& a, const OracleFeature& b) { return value(a) > value(b); });
  const auto last = value(features[static_cast<size_t>(number - 1)]);
  std::vector<OracleFeature> kept;
  for (const OracleFeature& feature : features) {
    if (value(feature) >= last) kept.push_back(feature);
  }
  return kept;
}

}  // namespace

bool RankBefore(const OracleFeature& a, const OracleFeature& b) {
  if (a.response != b.response) return a.response > b.response;
  if (a.y != b.y) return a.y < b.y;
  return a.x < b.x;
}

bool FrameBefore(const OracleFeature& a, const OracleFeature& b) {
  if (a.response != b.response) return a.response > b.response;
  if (a.level != b.level) return a.level < b.level;
  return RankBefore(a, b);
}

bool AnswerBefore(const OracleFeature& a, const OracleFeature& b) {
  if (a.level != b.level) return a.level < b.level;
  return RankBefore(a, b);
}

int OracleCell(const OracleFeature& feature, int width, int height, const OracleOptions& options) {
  const float scale = OracleScale(options.scale_factor, feature.level);
  const int x = std::min(static_cast<int>(static_cast<float>(feature.x) * scale), width - 1);
  const int y = std::min(static_cast<int>(static_cast<float>(feature.y) * scale), height - 1);
  return y / options.cell_height * 65536 + x / options.cell_width;
}

std::vector<OracleFeature> QuadtreeOfLevel(const std::vector<OracleFeature>& candidates, int width,
                                           int height, int border, int wanted) {
  const int columns = std::max(1, (2 * width + height) / (2 * height));
  const int rows = std::max(1, (2 * height + width) / (2 * width));
  std::vector<Node> nodes;
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      Node root;
      root.x0 = static_cast<int>(static_cast<int64_t>(width) * i / columns);
      root.x1 = static_cast<int>(static_cast<int64_t>(width) * (i + 1) / columns);
      root.y0 = static_cast<int>(static_cast<int64_t>(height) * j / rows);
      root.y1 = static_cast<int>(static_cast<int64_t>(height) * (j + 1) / rows);
      for (const OracleFeature& candidate : candidates) {
        const int x = candidate.x - border;
        const int y = candidate.y - border;
        if (x >= root.x0 && x < root.x1 && y >= root.y0 && y < root.y1) {
          root.members.push_back(candidate);
        }
      }
      if (!root.members.empty()) nodes.push_back(std::move(root));
    }
  }
  const auto enough = [&] { return static_cast<int>(nodes.size()) >= wanted; };
  while (!enough()) {
    std::vector<Node> to_split;
    std::vector<Node> others;
    for (Node& node : nodes) (node.members.size() > 1 ? to_split : others).push_back(node);
    if (to_split.empty()) break;
    std::sort(to_split.begin(), to_split.end(), [](const Node& a, const Node& b) {
      if (a.members.size() != b.members.size()) return a.members.size() > b.members.size();
      return a.y0 != b.y0 ? a.y0 < b.y0 : a.x0 < b.x0;
    });
    size_t number = to_split.size() + others.size();
    nodes = std::move(others);
    for (const Node& node : to_split) {
      if (number >= static_cast<size_t>(wanted)) {
        nodes.push_back(node);
        continue;
      }
      const int mx = node.x0 + (node.x1 - node.x0 + 1) / 2;
      const int my = node.y0 + (node.y1 - node.y0 + 1) / 2;
      --number;
      for (const bool lower : {false, true}) {
        for (const bool right : {false, true}) {
          Node child = {right ? mx : node.x0,
                        lower ? my : node.y0,
                        right ? node.x1 : mx,
                        lower ? node.y1 : my,
                        {}};
          for (const OracleFeature& member : node.members) {
            if ((member.x - border >= mx) == right && (member.y - border >= my) == lower) {
              child.members.push_back(member);
            }
          }
          if (child.members.empty()) continue;
          nodes.push_back(std::move(child));
          ++number;
        }
      }
    }
  }
  std::vector<OracleFeature> kept;
  for (const Node& node : nodes) {
    kept.push_back(*std::min_element(node.members.begin(), node.members.end(), RankBefore));
  }
  std::sort(kept.begin(), kept.end(), RankBefore);
  KeepFirst(kept, wanted);
  return kept;
}

std::vector<OracleFeature> OracleSelect(const std::vector<OracleFeature>& candidates,
                                        const std::vector<GreyPlane>& levels,
                                        const OracleOptions& options, bool* truncated) {
  const int64_t number = static_cast<int64_t>(candidates.size());
  const int limit = std::min(options.max_features, options.capacity);
  *truncated = std::min<int64_t>(options.max_features, number) > options.capacity;
  std::vector<OracleFeature> kept;
  switch (options.selection) {
    case Selection::kLevelQuota: {
      const std::vector<int> quotas =
          OracleQuotas(options.max_features, options.scale_factor, options.levels);
      const bool twice = options.detector == Detector::kFast && options.score == Score::kHarris &&
                         options.compare == OracleCompare::kFast;
      for (int l = 0; l < static_cast<int>(levels.size()); ++l) {
        const int quota = quotas[static_cast<size_t>(l)];
        std::vector<OracleFeature> some = OfLevel(candidates, l);
        if (twice) {
          some = KeepTies(std::move(some), 2 * quota,
                          [](const OracleFeature& f) { return f.largest_threshold; });
        }
        some = KeepTies(std::move(some), quota, [](const OracleFeature& f) { return f.response; });
        kept.insert(kept.end(), some.begin(), some.end());
      }
      std::sort(kept.begin(), kept.end(), AnswerBefore);
      *truncated = static_cast<int64_t>(kept.size()) > options.capacity;
      KeepFirst(kept, options.capacity);
      return kept;
    }
    case Selection::kBest:
      kept = candidates;
      std::sort(kept.begin(), kept.end(), FrameBefore);
      KeepFirst(kept, limit);
      break;
    case Selection::kCell: {
      std::map<int, std::vector<OracleFeature>> cells;
      for (const OracleFeature& candidate : candidates) {
        cells[OracleCell(candidate, levels[0].width, levels[0].height, options)].push_back(
            candidate);
      }
      for (auto& [cell, members] : cells) std::sort(members.begin(), members.end(), FrameBefore);
      for (size_t i = 0; static_cast<int>(kept.size()) < limit; ++i) {
        std::vector<OracleFeature> round;
        for (const auto& [cell, members] : cells) {
          if (i < members.size()) round.push_back(members[i]);
        }
        if (round.empty()) break;
        std::sort(round.begin(), round.end(), FrameBefore);
        kept.insert(kept.end(), round.begin(), round.end());
      }
      KeepFirst(kept, limit);
      break;
    }
    case Selection::kOrbSlam3:  // Slam3Extract()
      break;
    case Selection::kQuadtree: {
      const std::vector<int> quotas = OracleQuotas(limit, options.scale_factor, options.levels);
      for (int l = 0; l < static_cast<int>(levels.size()); ++l) {
        const std::vector<OracleFeature> some = OfLevel(candidates, l);
        if (some.empty() || quotas[static_cast<size_t>(l)] == 0) continue;
        const GreyPlane& level = levels[static_cast<size_t>(l)];
        const std::vector<OracleFeature> best = QuadtreeOfLevel(
            some, level.width - 2 * options.border, level.height - 2 * options.border,
            options.border, quotas[static_cast<size_t>(l)]);
        kept.insert(kept.end(), best.begin(), best.end());
      }
      std::sort(kept.begin(), kept.end(), AnswerBefore);
      KeepFirst(kept, limit);
      break;
    }
  }
  std::sort(kept.begin(), kept.end(), AnswerBefore);
  return kept;
}

}  // namespace orbserve::testing
