// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Legends of pictures: a strip below them, so that coordinates stay the same.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_LEGEND_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_LEGEND_H_

#include <string>
#include <vector>

#include "client/cli/images/picture.h"
#include "client/cli/output/drawing/canvas.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// One entry: dots of these colours side by side, which are a scale if there are several, and text
// behind them.
struct LegendEntry {
  std::vector<Colour> colours;
  std::string text;
};

// Returns `picture` with a strip below it that has the entries, as far as there is room. Pictures
// narrower than 240 pixels have no room and stay as they are.
Picture WithLegend(const Picture& picture, const std::vector<LegendEntry>& entries);

// Entries for DrawFeatures(): the levels that `features` have.
std::vector<LegendEntry> FeatureLegend(const v1::FeatureSet& features);

// Entries for DrawMatches() by distance.
std::vector<LegendEntry> DistanceLegend(int matches);

// Entries for DrawMatches() by inliers.
std::vector<LegendEntry> InlierLegend(int inliers, int outliers);

// Writes `text` in letters of `height_px`, with its upper left corner at (x, y), and returns the x
// behind it. It has the letters a to z, digits, and " .,:-+/"; others leave a gap.
float DrawText(const std::string& text, float x, float y, float height_px, Colour colour,
               Canvas* canvas);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_LEGEND_H_
