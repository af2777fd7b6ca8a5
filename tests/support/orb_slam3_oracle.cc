// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/orb_slam3_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>

namespace orbserve::testing {
namespace {

// --- Levels ---

struct LinearTap {
  int first = 0;
  int second = 0;
  int first_weight = 0;  // of 2048
  int second_weight = 0;
};

std::vector<LinearTap> LinearTaps(int source, int destination) {
  std::vector<LinearTap> taps;
  const double step = 1.0 / (static_cast<double>(destination) / static_cast<double>(source));
  for (int i = 0; i < destination; ++i) {
    float f = static_cast<float>((i + 0.5) * step - 0.5);
    int k = static_cast<int>(std::floor(f));
    f -= static_cast<float>(k);
    if (k < 0) {
      k = 0;
      f = 0;
    }
    if (k >= source - 1) {
      k = source - 1;
      f = 0;
    }
    taps.push_back({k, std::min(k + 1, source - 1),
                    static_cast<int>(std::nearbyint((1.0f - f) * 2048.0f)),
                    static_cast<int>(std::nearbyint(f * 2048.0f))});
  }
  return taps;
}

GreyPlane LinearResized(const GreyPlane& source, int width, int height) {
  if (width == source.width && height == source.height) return source;
  const std::vector<LinearTap> columns = LinearTaps(source.width, width);
  const std::vector<LinearTap> rows = LinearTaps(source.height, height);
  GreyPlane result(width, height);
  for (int y = 0; y < height; ++y) {
    const LinearTap& row = rows[static_cast<size_t>(y)];
    for (int x = 0; x < width; ++x) {
      const LinearTap& column = columns[static_cast<size_t>(x)];
      const auto across = [&](int from) {
        return (source.At(column.first, from) * column.first_weight +
                source.At(column.second, from) * column.second_weight) /
               16;
      };
      const int sum = across(row.first) * row.first_weight / 65536 +
                      across(row.second) * row.second_weight / 65536;
      result.At(x, y) = (sum + 2) / 4;
    }
  }
  return result;
}

int Mirrored(int i, int side) {
  if (side == 1) return 0;
  while (i < 0 || i >= side) i = i < 0 ? -i : 2 * side - 2 - i;
  return i;
}

GreyPlane FixedSmooth(const GreyPlane& level) {
  constexpr int kWeights[7] = {18, 34, 48, 56, 48, 34, 18};
  GreyPlane rows(level.width, level.height);
  GreyPlane result(level.width, level.height);
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < level.width; ++x) {
      for (int i = 0; i < 7; ++i) {
        rows.At(x, y) += kWeights[i] * level.At(Mirrored(x + i - 3, level.width), y);
      }
    }
  }
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < level.width; ++x) {
      int sum = 32768;
      for (int i = 0; i < 7; ++i) {
        sum += kWeights[i] * rows.At(x, Mirrored(y + i - 3, level.height));
      }
      result.At(x, y) = sum / 65536;
    }
  }
  return result;
}

// --- Corners of zones ---

// False where fewer than two of the ring's compass points differ from the centre by more than
// `least`: an arc of nine holds two of them. It spares the full test of most pixels.
bool CanBeCorner(const GreyPlane& level, int x, int y, int least) {
  int far = 0;
  for (const int grey :
       {level.At(x, y - 3), level.At(x + 3, y), level.At(x, y + 3), level.At(x - 3, y)}) {
    far += std::abs(grey - level.At(x, y)) > least ? 1 : 0;
  }
  return far >= 2;
}

std::vector<Slam3Candidate> CandidatesOf(const GreyPlane& level, int threshold, int low) {
  const int w = level.width - 32;
  const int h = level.height - 32;
  if (w < 35 || h < 35) return {};
  const int columns = w / 35;
  const int rows = h / 35;
  const int cw = (w + columns - 1) / columns;
  const int ch = (h + rows - 1) / rows;
  // Smaller scores than the lower threshold never count.
  const int lowest = low == 0 ? threshold : std::min(low, threshold);
  GreyPlane scores(level.width, level.height);
  for (int y = 19; y < level.height - 19; ++y) {
    for (int x = 19; x < level.width - 19; ++x) {
      if (!CanBeCorner(level, x, y, lowest)) continue;
      scores.At(x, y) = std::max(0, LargestThreshold(RingOf(level, x, y), level.At(x, y), 9));
    }
  }
  std::vector<Slam3Candidate> candidates;
  for (int top = 19; top < level.height - 19; top += ch) {
    for (int left = 19; left < level.width - 19; left += cw) {
      const int bottom = std::min(top + ch, level.height - 19);
      const int right = std::min(left + cw, level.width - 19);
      std::vector<Slam3Candidate> peaks;
      int best = 0;
      for (int y = top; y < bottom; ++y) {
        for (int x = left; x < right; ++x) {
          const int score = scores.At(x, y);
          bool is_peak = score >= 1;
          for (int v = std::max(y - 1, top); v <= std::min(y + 1, bottom - 1); ++v) {
            for (int u = std::max(x - 1, left); u <= std::min(x + 1, right - 1); ++u) {
              if ((u != x || v != y) && scores.At(u, v) >= score) is_peak = false;
            }
          }
          if (!is_peak) continue;
          peaks.push_back({x, y, score});
          best = std::max(best, score);
        }
      }
      const int least = best >= threshold || low == 0 || low >= threshold ? threshold : low;
      for (const Slam3Candidate& peak : peaks) {
        if (peak.score >= least) candidates.push_back(peak);
      }
    }
  }
  return candidates;
}

// --- The tree ---

struct Box {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;
  std::vector<Slam3Candidate> members;
};
using BoxList = std::list<Box>;

// An open node on its way through a sort.
struct OpenNode {
  size_t count = 0;
  BoxList::iterator place;
};

// Puts the children of a node at the front, takes the node out and returns the open ones.
std::vector<OpenNode> SplitNode(BoxList& list, BoxList::iterator node) {
  const int mx = node->x0 + (node->x1 - node->x0 + 1) / 2;
  const int my = node->y0 + (node->y1 - node->y0 + 1) / 2;
  Box children[4] = {{node->x0, node->y0, mx, my, {}},
                     {mx, node->y0, node->x1, my, {}},
                     {node->x0, my, mx, node->y1, {}},
                     {mx, my, node->x1, node->y1, {}}};
  for (const Slam3Candidate& member : node->members) {
    const bool right = member.x - 16 >= mx;
    const bool lower = member.y - 16 >= my;
    children[(right ? 1 : 0) + (lower ? 2 : 0)].members.push_back(member);
  }
  std::vector<OpenNode> open;
  for (Box& child : children) {
    if (child.members.empty()) continue;
    list.push_front(child);
    if (child.members.size() > 1) open.push_back({child.members.size(), list.begin()});
  }
  list.erase(node);
  return open;
}

void Append(const std::vector<OpenNode>& from, std::vector<OpenNode>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

void LargestFirst(BoxList& list, std::vector<OpenNode> open, size_t quota,
                  std::vector<int>* sorts) {
  while (!open.empty()) {
    sorts->push_back(static_cast<int>(open.size()));
    std::sort(open.begin(), open.end(), [](const OpenNode& a, const OpenNode& b) {
      return a.count != b.count ? a.count < b.count : a.place->x0 < b.place->x0;
    });
    const size_t before = list.size();
    std::vector<OpenNode> made;
    for (size_t i = open.size(); i-- > 0;) {
      Append(SplitNode(list, open[i].place), &made);
      if (list.size() >= quota) return;
    }
    if (list.size() == before) return;
    open = std::move(made);
  }
}

void Distribute(int w, int h, Slam3Level* level) {
  const auto quota = static_cast<size_t>(level->quota);
  level->roots = (2 * w + h) / (2 * h);
  const float side = static_cast<float>(w) / static_cast<float>(level->roots);
  std::vector<Box> roots(static_cast<size_t>(level->roots));
  for (size_t i = 0; i < roots.size(); ++i) {
    roots[i].x0 = static_cast<int>(side * static_cast<float>(i));
    roots[i].x1 = static_cast<int>(side * static_cast<float>(i + 1));
    roots[i].y1 = h;
  }
  for (const Slam3Candidate& candidate : level->candidates) {
    const auto root = static_cast<size_t>(static_cast<float>(candidate.x - 16) / side);
    roots[root].members.push_back(candidate);
  }
  BoxList list;
  for (Box& root : roots) {
    if (!root.members.empty()) list.push_back(root);
  }
  if (list.empty()) return;

  for (;;) {
    const size_t before = list.size();
    std::vector<OpenNode> open;
    for (auto node = list.begin(); node != list.end();) {
      const auto here = node++;
      if (here->members.size() > 1) Append(SplitNode(list, here), &open);
    }
    if (list.size() >= quota || list.size() == before) break;
    if (list.size() + 3 * open.size() > quota) {
      LargestFirst(list, std::move(open), quota, &level->sorts);
      break;
    }
  }
  for (const Box& node : list) {
    const Slam3Candidate* best = &node.members.front();
    for (const Slam3Candidate& member : node.members) {
      if (member.score > best->score) best = &member;
    }
    OracleFeature feature;
    feature.x = best->x;
    feature.y = best->y;
    feature.response = static_cast<float>(best->score);
    feature.largest_threshold = best->score;
    level->kept.push_back(feature);
  }
}

std::string Named(int l, int width, int height) {
  return "level " + std::to_string(l) + " is " + std::to_string(width) + "x" +
         std::to_string(height);
}

}  // namespace

Slam3Answer Slam3Extract(const GreyPlane& image, const OracleOptions& options) {
  Slam3Answer answer;
  const double factor = static_cast<double>(options.scale_factor);
  const std::vector<int> quotas =
      OracleQuotas(options.max_features, options.scale_factor, options.levels);
  float scale = 1.0f;
  for (int l = 0; l < options.levels; ++l) {
    if (l > 0) scale = static_cast<float>(static_cast<double>(scale) * factor);
    const float inverse = 1.0f / scale;
    Slam3Level level;
    level.scale = scale;
    const int width = static_cast<int>(std::nearbyint(static_cast<float>(image.width) * inverse));
    const int height = static_cast<int>(std::nearbyint(static_cast<float>(image.height) * inverse));
    const int w = width - 32;
    const int h = height - 32;
    const bool has_features = w >= 35 && h >= 35;
    // round() of w / h: below 0 for quotients of -0.5 and less.
    const bool negative =
        h == 0 || (static_cast<int64_t>(w) * h < 0 && 2 * std::abs(w) >= std::abs(h));
    if (width == 0 || height == 0 || negative || (has_features && 2 * w < h)) {
      answer.refusal = Named(l, width, height);
      answer.levels.clear();
      return answer;
    }
    level.pixels = l == 0 ? image : LinearResized(answer.levels.back().pixels, width, height);
    level.quota = quotas[static_cast<size_t>(l)];
    level.candidates = CandidatesOf(level.pixels, options.threshold, options.threshold_low);
    if (has_features) Distribute(w, h, &level);
    if (has_features) level.smoothed = FixedSmooth(level.pixels);
    for (OracleFeature& feature : level.kept) {
      feature.level = l;
      feature.size = static_cast<float>(static_cast<int>(31.0f * scale));
      feature.angle_deg = DiscAngle(level.pixels, feature.x, feature.y);
      feature.descriptor =
          DescribeRBrief256(level.smoothed, feature.x, feature.y, feature.angle_deg);
    }
    answer.levels.push_back(std::move(level));
  }
  std::vector<OracleFeature> lapping;
  for (const Slam3Level& level : answer.levels) {
    for (const OracleFeature& feature : level.kept) {
      const float x = static_cast<float>(feature.x) * level.scale;
      const bool laps = x >= static_cast<float>(options.lapping_begin) &&
                        x <= static_cast<float>(options.lapping_end);
      (laps ? lapping : answer.features).push_back(feature);
    }
  }
  answer.first_lapping = static_cast<int>(answer.features.size());
  answer.features.insert(answer.features.end(), lapping.rbegin(), lapping.rend());
  return answer;
}

std::string Slam3Records(const Slam3Answer& answer) {
  std::string records;
  const auto append = [&records](const void* value, size_t bytes) {
    records.append(static_cast<const char*>(value), bytes);
  };
  for (const OracleFeature& feature : answer.features) {
    const float scale = answer.levels[static_cast<size_t>(feature.level)].scale;
    for (const float value :
         {static_cast<float>(feature.x) * scale, static_cast<float>(feature.y) * scale,
          feature.size, feature.angle_deg, feature.response}) {
      append(&value, sizeof(value));
    }
    const int32_t octave = feature.level;
    append(&octave, sizeof(octave));
    append(feature.descriptor.data(), feature.descriptor.size());
  }
  return records;
}

}  // namespace orbserve::testing
