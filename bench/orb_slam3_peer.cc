// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/orb_slam3_peer.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "features/algo/orientation.h"
#include "features/algo/quota.h"
#include "features/algo/rbrief_pattern.h"
#include "features/pipeline/geometry.h"

namespace orbserve::bench {
namespace {

constexpr int kFrame = 16;  // origin of the area that tree and zones divide
constexpr int kLeastZone = 35;
constexpr int kWindowBorder = 3;  // of a zone's window, where cv::FAST finds nothing

// Corners of all zones, counted from (kFrame, kFrame), zone by zone.
std::vector<cv::KeyPoint> CornersOf(const cv::Mat& level, int threshold, int threshold_low) {
  const int width = level.cols - 2 * kFrame;
  const int height = level.rows - 2 * kFrame;
  const int columns = width / kLeastZone;
  const int rows = height / kLeastZone;
  const int zone_width = (width + columns - 1) / columns;
  const int zone_height = (height + rows - 1) / rows;
  std::vector<cv::KeyPoint> corners;
  std::vector<cv::KeyPoint> found;
  for (int row = 0; row < rows; ++row) {
    const int top = kFrame + row * zone_height;
    const int bottom = std::min(top + zone_height + 2 * kWindowBorder, level.rows - kFrame);
    if (bottom - top <= 2 * kWindowBorder) continue;
    for (int column = 0; column < columns; ++column) {
      const int left = kFrame + column * zone_width;
      const int right = std::min(left + zone_width + 2 * kWindowBorder, level.cols - kFrame);
      if (right - left <= 2 * kWindowBorder) continue;
      const cv::Mat window = level(cv::Range(top, bottom), cv::Range(left, right));
      cv::FAST(window, found, threshold, /*nonmaxSuppression=*/true);
      if (found.empty() && threshold_low > 0) cv::FAST(window, found, threshold_low, true);
      for (cv::KeyPoint& corner : found) {
        corner.pt.x += static_cast<float>(left - kFrame);
        corner.pt.y += static_cast<float>(top - kFrame);
        corners.push_back(corner);
      }
    }
  }
  return corners;
}

struct Node {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;
  std::vector<cv::KeyPoint> corners;
};
using Nodes = std::list<Node>;

struct OpenNode {
  int count;
  Nodes::iterator node;
};

// Children go to the front, open ones to `open`, too.
void Split(Nodes* nodes, Nodes::iterator node, std::vector<OpenNode>* open) {
  const int mx = node->x0 + (node->x1 - node->x0 + 1) / 2;
  const int my = node->y0 + (node->y1 - node->y0 + 1) / 2;
  Node children[4] = {{node->x0, node->y0, mx, my, {}},
                      {mx, node->y0, node->x1, my, {}},
                      {node->x0, my, mx, node->y1, {}},
                      {mx, my, node->x1, node->y1, {}}};
  for (Node& child : children) child.corners.reserve(node->corners.size());
  for (const cv::KeyPoint& corner : node->corners) {
    const bool right = corner.pt.x >= static_cast<float>(mx);
    const bool lower = corner.pt.y >= static_cast<float>(my);
    children[(right ? 1 : 0) + (lower ? 2 : 0)].corners.push_back(corner);
  }
  for (Node& child : children) {
    const auto count = static_cast<int>(child.corners.size());
    if (count == 0) continue;
    nodes->push_front(std::move(child));
    if (count > 1) open->push_back({count, nodes->begin()});
  }
  nodes->erase(node);
}

Nodes Divide(const std::vector<cv::KeyPoint>& corners, int width, int height, size_t wanted) {
  const int count = (2 * width + height) / (2 * height);
  const float side = static_cast<float>(width) / static_cast<float>(count);
  std::vector<Node> roots(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    roots[static_cast<size_t>(i)] = {static_cast<int>(side * static_cast<float>(i)),
                                     0,
                                     static_cast<int>(side * static_cast<float>(i + 1)),
                                     height,
                                     {}};
  }
  for (const cv::KeyPoint& corner : corners) {
    roots[static_cast<size_t>(corner.pt.x / side)].corners.push_back(corner);
  }
  Nodes nodes;
  for (Node& root : roots) {
    if (!root.corners.empty()) nodes.push_back(std::move(root));
  }
  std::vector<OpenNode> open;
  for (;;) {
    const size_t before = nodes.size();
    open.clear();
    for (auto node = nodes.begin(); node != nodes.end();) {
      const auto here = node++;
      if (here->corners.size() > 1) Split(&nodes, here, &open);
    }
    if (nodes.size() >= wanted || nodes.size() == before) return nodes;
    if (nodes.size() + 3 * open.size() > wanted) break;
  }
  while (!open.empty()) {
    const size_t before = nodes.size();
    std::sort(open.begin(), open.end(), [](const OpenNode& a, const OpenNode& b) {
      return a.count != b.count ? a.count < b.count : a.node->x0 < b.node->x0;
    });
    std::vector<OpenNode> made;
    for (size_t i = open.size(); i-- > 0;) {
      Split(&nodes, open[i].node, &made);
      if (nodes.size() >= wanted) return nodes;
    }
    if (nodes.size() == before) break;
    open = std::move(made);
  }
  return nodes;
}

void Describe(const cv::Mat& smoothed, const cv::KeyPoint& keypoint, uint8_t* descriptor) {
  const float angle = keypoint.angle * static_cast<float>(CV_PI / 180);
  const float cosine = std::cos(angle);
  const float sine = std::sin(angle);
  const uint8_t* const centre =
      smoothed.ptr(cvRound(keypoint.pt.y)) + static_cast<ptrdiff_t>(cvRound(keypoint.pt.x));
  const auto pitch = static_cast<ptrdiff_t>(smoothed.step);
  const auto grey = [&](int x, int y) {
    const auto u = static_cast<float>(x);
    const auto v = static_cast<float>(y);
    return centre[cvRound(u * sine + v * cosine) * pitch + cvRound(u * cosine - v * sine)];
  };
  for (int i = 0; i < algo::kRBriefPairs; i += 8) {
    int byte = 0;
    for (int bit = 0; bit < 8; ++bit) {
      const algo::RBriefPair& pair = algo::kRBriefPattern[i + bit];
      byte |= (grey(pair.x1, pair.y1) < grey(pair.x2, pair.y2) ? 1 : 0) << bit;
    }
    descriptor[i / 8] = static_cast<uint8_t>(byte);
  }
}

}  // namespace

OrbSlam3Peer::OrbSlam3Peer(const PipelineOptions& pipeline, const FrameParameters& parameters)
    : quotas_(static_cast<size_t>(pipeline.pyramid.levels)),
      threshold_(parameters.fast_threshold_grey),
      threshold_low_(parameters.fast_threshold_low_grey) {
  for (int l = 0; l < pipeline.pyramid.levels; ++l) scales_.push_back(ScaleOfLevel(pipeline, l));
  algo::LevelQuotas(parameters.max_features, pipeline.pyramid.scale_factor, pipeline.pyramid.levels,
                    quotas_.data());
}

void OrbSlam3Peer::Extract(const cv::Mat& frame, std::vector<cv::KeyPoint>* keypoints,
                           cv::Mat* descriptors) const {
  keypoints->clear();
  std::vector<cv::Mat> levels = {frame};
  std::vector<size_t> ends;
  for (size_t l = 0; l < scales_.size(); ++l) {
    if (l > 0) {
      const float inverse = 1.0f / scales_[l];
      const cv::Size size(cvRound(static_cast<float>(frame.cols) * inverse),
                          cvRound(static_cast<float>(frame.rows) * inverse));
      cv::Mat level;
      cv::resize(levels.back(), level, size, 0, 0, cv::INTER_LINEAR);
      levels.push_back(level);
    }
    const cv::Mat& level = levels[l];
    const int width = level.cols - 2 * kFrame;
    const int height = level.rows - 2 * kFrame;
    if (width >= kLeastZone && height >= kLeastZone) {
      const std::vector<cv::KeyPoint> corners = CornersOf(level, threshold_, threshold_low_);
      for (const Node& node : Divide(corners, width, height, static_cast<size_t>(quotas_[l]))) {
        const cv::KeyPoint* best = &node.corners[0];
        for (const cv::KeyPoint& corner : node.corners) {
          if (corner.response > best->response) best = &corner;
        }
        cv::KeyPoint kept = *best;
        kept.pt += cv::Point2f(kFrame, kFrame);
        kept.octave = static_cast<int>(l);
        kept.size = static_cast<float>(static_cast<int>(31.0f * scales_[l]));
        const algo::Moments moments = algo::CentroidMoments(
            level.ptr(cvRound(kept.pt.y)) + static_cast<ptrdiff_t>(cvRound(kept.pt.x)),
            static_cast<ptrdiff_t>(level.step));
        kept.angle = cv::fastAtan2(static_cast<float>(moments.y), static_cast<float>(moments.x));
        keypoints->push_back(kept);
      }
    }
    ends.push_back(keypoints->size());
  }
  descriptors->create(static_cast<int>(keypoints->size()), 32, CV_8U);
  size_t i = 0;
  for (size_t l = 0; l < scales_.size(); ++l) {
    if (i == ends[l]) continue;
    cv::Mat smoothed;
    cv::GaussianBlur(levels[l], smoothed, cv::Size(7, 7), 2, 2, cv::BORDER_REFLECT_101);
    for (; i < ends[l]; ++i) {
      cv::KeyPoint& keypoint = (*keypoints)[i];
      Describe(smoothed, keypoint, descriptors->ptr(static_cast<int>(i)));
      if (l > 0) keypoint.pt *= scales_[l];
    }
  }
}

}  // namespace orbserve::bench
