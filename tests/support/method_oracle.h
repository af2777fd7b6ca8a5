// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A slow program that computes the whole answer of any pipeline: image in, features out. It is
// written from the published rules of the methods and shares no code with features/algo/, cpu/ or
// gpu/: it has its own loops, its own data layout and its own orders, so that a mistake in the
// shared arithmetic shows as a difference.
//
// The parts that tests compare one by one (rings, scores, maps, picks, trees, descriptors) have
// functions of their own below.

#ifndef ORBSERVE_TESTS_SUPPORT_METHOD_ORACLE_H_
#define ORBSERVE_TESTS_SUPPORT_METHOD_ORACLE_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "features/image_view.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve::testing {

// A picture or map with its own memory, no padding.
template <typename T>
struct Plane {
  int width = 0;
  int height = 0;
  std::vector<T> values;

  Plane() = default;
  Plane(int w, int h, T value = T{})
      : width(w), height(h), values(static_cast<size_t>(w) * static_cast<size_t>(h), value) {}
  T& At(int x, int y) { return values[Index(x, y)]; }
  const T& At(int x, int y) const { return values[Index(x, y)]; }
  bool Holds(int x, int y) const { return x >= 0 && y >= 0 && x < width && y < height; }

 private:
  size_t Index(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }
};
using GreyPlane = Plane<int>;

GreyPlane PlaneOf(const ImageView& image);

enum class OracleCompare { kFast, kScore };
enum class OracleShape { kSquare, kDisc };

// Every option of a pipeline and of a frame. The defaults are cv::ORB's.
struct OracleOptions {
  int levels = 8;
  float scale_factor = 1.2f;
  PyramidSource source = PyramidSource::kPreviousLevel;

  Detector detector = Detector::kFast;
  int arc_length = 9;
  int threshold = 20;
  int threshold_low = 0;  // 0 = off
  Score score = Score::kHarris;
  float quality_level = 0.01f;

  Suppression suppression = Suppression::kNeighbourhood;
  OracleCompare compare = OracleCompare::kFast;
  int window = 3;
  int cell_width = 32;
  int cell_height = 32;
  int distance = 8;
  OracleShape shape = OracleShape::kSquare;
  bool compression = false;
  int max_passes = 0;         // 0 = to the end
  bool count_passes = false;  // fill OracleAnswer::passes, which takes long

  Selection selection = Selection::kLevelQuota;
  int max_features = 500;
  int capacity = kMaxFeatures;
  int border = 31;
  int lapping_begin = 0;  // ORB_SLAM3: whole columns of the frame; 0, 0 = none
  int lapping_end = 0;

  Orientation orientation = Orientation::kIntensityCentroid;
  Descriptor descriptor = Descriptor::kRBrief256;
};

// One keypoint on its level.
struct OracleFeature {
  int level = 0;
  int x = 0;
  int y = 0;
  float response = 0;
  int largest_threshold = 0;  // FAST detections only
  float angle_deg = -1;
  float size = 0;
  std::vector<uint8_t> descriptor;
};

struct OracleAnswer {
  std::vector<OracleFeature> features;
  bool truncated = false;
  // Passes of the label algorithm, the most of any level; 0 unless `count_passes` or `max_passes`.
  int passes = 0;
};

// The features of `image`. `mask` has the image's size or is null.
OracleAnswer OracleExtract(const GreyPlane& image, const GreyPlane* mask,
                           const OracleOptions& options);

// The answer as a backend gives it: level-0 coordinates, in the answer's order.
Features FeaturesOf(const OracleAnswer& answer, const GreyPlane& image,
                    const OracleOptions& options);

// The options of the presets, as the methods' rules list them.
OracleOptions OracleBFrost();
OracleOptions OracleOrb32();
OracleOptions OracleHarrisCorners();
OracleOptions OracleKltCorners();
OracleOptions OracleOrbSlam();
OracleOptions OracleVio();
OracleOptions OracleOrientedFast();

// --- Levels (method_oracle_levels.cc) ---

float OracleScale(float scale_factor, int level);
// The levels that exist, at most `options.levels`. With `is_mask`, made levels keep only 255.
std::vector<GreyPlane> OraclePyramid(const GreyPlane& image, const OracleOptions& options,
                                     bool is_mask);
GreyPlane OracleSmooth(const GreyPlane& level);
std::vector<int> OracleQuotas(int max_features, float scale_factor, int levels);

// --- Detection (method_oracle_detect.cc) ---

// The 16 grey levels of the ring, from below the centre through its right.
std::array<int, 16> RingOf(const GreyPlane& level, int x, int y);
// Largest threshold at which the ring makes a corner; -1 when it makes none.
int LargestThreshold(const std::array<int, 16>& ring, int centre, int arc_length);
// Sum of the differences over the ring, and over the run that makes the corner at `threshold`; the
// latter is 0 when there is none.
int SadCircle(const std::array<int, 16>& ring, int centre);
int SadArc(const std::array<int, 16>& ring, int centre, int arc_length, int threshold);
// Harris response of a FAST corner, 7x7 block of Sobel gradients.
float HarrisOfCorner(const GreyPlane& level, int x, int y);

// Corners of the segment test: largest threshold and response of every pixel, 0 elsewhere.
struct CornerPlanes {
  Plane<int> largest_threshold;
  Plane<float> response;
};
CornerPlanes OracleFastMap(const GreyPlane& level, const OracleOptions& options, int threshold);

// Sums of Prewitt gradients over 7x7 pixels round (x, y).
struct TensorSums {
  int64_t xx = 0;
  int64_t yy = 0;
  int64_t xy = 0;
};
TensorSums PrewittSums(const GreyPlane& level, int x, int y);
float HarrisMapValue(const TensorSums& sums);
float ShiTomasiValue(const TensorSums& sums);
// Response of every pixel that has one, 0 elsewhere.
Plane<float> OracleCornerMap(const GreyPlane& level, Detector detector);

// --- Suppression (method_oracle_suppress.cc) ---

// Pixels whose value is above 0 and above every other in the window, row by row.
template <typename T>
std::vector<std::pair<int, int>> WindowMaxima(const Plane<T>& map, int window);

// The candidates that the pick in rank order keeps.
std::vector<OracleFeature> PickByDistance(const std::vector<OracleFeature>& candidates,
                                          const OracleOptions& options);
// The candidates that labels keep in at most `max_passes` passes (0 = to the end). `passes` is set
// to the number of passes done.
std::vector<OracleFeature> LabelByDistance(const std::vector<OracleFeature>& candidates,
                                           const OracleOptions& options, int max_passes,
                                           int* passes);
// One candidate per 2x2 block, the first in rank order.
std::vector<OracleFeature> CompressCandidates(const std::vector<OracleFeature>& candidates);
// Drops corners below the threshold in those cells of 32x32 pixels, counted from the border, that
// hold one of at least the threshold.
std::vector<OracleFeature> DropWeakCorners(const std::vector<OracleFeature>& corners, int threshold,
                                           int border);
// The first in frame order of every cell.
std::vector<OracleFeature> BestOfCells(const std::vector<OracleFeature>& corners, int width,
                                       int height, const OracleOptions& options);

// --- Selection (method_oracle_select.cc) ---

// Rank order inside a level, frame order and answer order over levels.
bool RankBefore(const OracleFeature& a, const OracleFeature& b);
bool FrameBefore(const OracleFeature& a, const OracleFeature& b);
bool AnswerBefore(const OracleFeature& a, const OracleFeature& b);

int OracleCell(const OracleFeature& feature, int width, int height, const OracleOptions& options);

// The best `wanted` of one level by the quadtree over the region of `width` x `height` pixels that
// begins at (border, border).
std::vector<OracleFeature> QuadtreeOfLevel(const std::vector<OracleFeature>& candidates, int width,
                                           int height, int border, int wanted);

// The choice of `options.selection`, in answer order. `levels` holds the sizes.
std::vector<OracleFeature> OracleSelect(const std::vector<OracleFeature>& candidates,
                                        const std::vector<GreyPlane>& levels,
                                        const OracleOptions& options, bool* truncated);

// --- Orientation and description (method_oracle_describe.cc) ---

float FastAtan2(float y, float x);
float DiscAngle(const GreyPlane& level, int x, int y);
float PatchAngle(const GreyPlane& level, int x, int y);
// Direction of the arc in steps of 11.25 degrees, 0..31; 255 when the bits make no corner.
int ArcSteps(unsigned bits);
float ArcAngle(const GreyPlane& level, int x, int y, int largest_threshold);
// The nearest of 16 directions.
int TauOf(float angle_deg);

std::vector<uint8_t> DescribeBFrost(const GreyPlane& level, int x, int y, int tau);
std::vector<uint8_t> DescribeRBrief32(const GreyPlane& level, int x, int y, float angle_deg);
// TEBLID or BEBLID of a keypoint of the image at full size; `patch_px`: side of its patch.
std::vector<uint8_t> DescribeBoxTests(const GreyPlane& image, float x, float y, float patch_px,
                                      float angle_deg, Descriptor descriptor);
// `smooth`: the smoothed level.
std::vector<uint8_t> DescribeRBrief256(const GreyPlane& smooth, int x, int y, float angle_deg);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_METHOD_ORACLE_H_
