// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Geometric check of matches: the fundamental matrix of two views by RANSAC.
// Sources: Hartley & Zisserman, "Multiple View Geometry in Computer Vision", 2nd ed. 2004,
// sec. 11.1 (7 and 8 points), 11.2 (normalisation), 11.4.3 (Sampson distance), 4.7 (RANSAC, number
// of samples); Chum, Matas & Kittler, "Locally Optimized RANSAC", DAGM 2003; Torr & Zisserman,
// "MLESAC", CVIU 2000 (truncated squared distances as the cost of a model).

#ifndef ORBSERVE_CLIENT_CLI_GEOMETRY_FUNDAMENTAL_MATRIX_H_
#define ORBSERVE_CLIENT_CLI_GEOMETRY_FUNDAMENTAL_MATRIX_H_

#include <array>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace orbserve::cli {

// Places of one match in the two images, pixels.
struct PointPair {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;
};

struct FundamentalOptions {
  double max_error_px = 3;     // largest Sampson distance of an inlier, above 0
  double confidence = 0.9999;  // of having drawn one sample of inliers only, below 1
  int max_samples = 2000;      // of 7 matches
  int min_inliers = 15;        // fewer than this are chance
};

struct FundamentalMatrix {
  // Row by row: p1^T F p0 = 0 for the homogeneous points of an exact match. Frobenius norm 1.
  std::array<double, 9> f = {};
  std::vector<bool> inliers;  // one for each match
  int inlier_count = 0;
};

// Square of the Sampson distance, pixels squared.
double SampsonSquared(const std::array<double, 9>& f, const PointPair& pair);

// Returns the matrix with the most support. No value: no matrix has `min_inliers`, or has more
// inliers than matches without any relation would give by chance. The same matches in the same
// order give the same answer: the samples come from a generator with a fixed seed.
std::optional<FundamentalMatrix> EstimateFundamental(absl::Span<const PointPair> pairs,
                                                     const FundamentalOptions& options = {});

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_GEOMETRY_FUNDAMENTAL_MATRIX_H_
