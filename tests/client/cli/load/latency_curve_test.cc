// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/latency_curve.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Points of the line that is drawn in `colour`.
std::string PointsOf(const std::string& svg, const std::string& colour) {
  size_t at = svg.find("<polyline");
  while (at != std::string::npos && svg.find(colour, at) > svg.find('>', at)) {
    at = svg.find("<polyline", at + 1);
  }
  const size_t start = svg.find("points=\"", at) + 8;
  return svg.substr(start, svg.find('"', start) - start);
}

TEST(LatencyCurve, HasALineForEachPercentile) {
  const std::vector<CurvePoint> points = {{100, 1, 10, 100}, {50, 1, 2, 5}};
  const std::string svg = DrawLatencyCurve(points, "a < b", 20);
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("limit 20 ms"));
  // By rate, from left to right: 50 lies in the middle of 0 and 100. The scale ends at 1 and 100.
  EXPECT_EQ(PointsOf(svg, "#009e73"), "340.0,364.0 610.0,364.0");
  EXPECT_THAT(PointsOf(svg, "#d55e00"), HasSubstr("610.0,48.0"));
  EXPECT_THAT(PointsOf(svg, "#0072b2"), HasSubstr("610.0,206.0"));
}

TEST(LatencyCurve, EmptyAndZeroValuesGiveNumbers) {
  for (const std::vector<CurvePoint>& points :
       {std::vector<CurvePoint>(), std::vector<CurvePoint>{{0, 0, 0, 0}}}) {
    const std::string svg = DrawLatencyCurve(points, "t", 0);
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  }
}

}  // namespace
}  // namespace orbserve::cli
