// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Slow statements of what the arithmetic of features/algo/ ought to give, written from the papers
// and the definition and not from that code: shared arithmetic cannot catch its own mistakes.

#ifndef ORBSERVE_TESTS_SUPPORT_ORACLES_H_
#define ORBSERVE_TESTS_SUPPORT_ORACLES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "features/image_view.h"
#include "tests/support/golden_files.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {

// Returns true if a run of `arc_length` of the 16 values, cyclically, is all brighter than centre +
// threshold or all darker than centre - threshold. It counts runs.
bool OracleIsCorner(const std::array<int, 16>& ring, int centre, int arc_length, int threshold);

// The largest threshold at which OracleIsCorner holds, -1 when there is none: by trying them all.
int OracleScore(const std::array<int, 16>& ring, int centre, int arc_length);

// The ring round (x, y), its pixels found by their distance from the centre and ordered by angle,
// beginning below the centre and turning through the right.
std::array<int, 16> OracleRing(const ImageView& image, int x, int y);

// All corners after 3x3 suppression, row by row.
std::vector<GoldenCorner> OracleCorners(const ImageView& image, int arc_length, int threshold);

// Harris response in double precision from a structure tensor built with explicit kernels.
double OracleHarris(const ImageView& image, int x, int y);

// Direction of the intensity centroid over the disc of radius 15, in degrees [0, 360), by atan2.
double OracleAngleDegrees(const ImageView& image, int x, int y);

// The level of the given size made from `source` by bilinear interpolation at pixel centres, in
// double precision, not rounded: [y][x].
std::vector<std::vector<double>> OracleResize(const ImageView& source, int width_px, int height_px);

// The 7x7 Gaussian of standard deviation 2 at one pixel in double precision, by the double sum.
double OracleGaussian(const ImageView& image, int x, int y);

// Number of differing bits, one by one.
int OracleHamming(const uint8_t* a, const uint8_t* b, int bytes);

// Square of the Euclidean distance of two vectors of 128 unsigned bytes.
int OracleSquaredDistance(const uint8_t* a, const uint8_t* b);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_ORACLES_H_
