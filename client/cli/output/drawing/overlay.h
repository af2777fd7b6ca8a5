// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Overlays: features and matches drawn over their images.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_OVERLAY_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_OVERLAY_H_

#include <vector>

#include "client/cli/images/picture.h"
#include "client/cli/output/drawing/track_tails.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// All pictures are drawn over a grey copy, in colours that people with any colour vision can tell
// apart, with a dark edge that shows on white ground.

// Draws every keypoint, coloured by pyramid level: as a circle where it has a descriptor, which
// covers that circle, else as a small mark. A line shows the angle, if there is one. The weaker the
// response, the fainter. Many circles are all drawn smaller by one factor, and become marks where
// they would still hide the picture; the more marks there are, the smaller they get.
Picture DrawFeatures(const Picture& picture, const v1::FeatureSet& features);

// Draws two pictures side by side. Every match is a line from its keypoint on the left (query) to
// the one on the right (train), coloured from sky blue (distance 0) to vermilion (kFarDistance bits
// and more), with the smallest distances on top. `inliers`: one for each match, or null; the
// colours then tell inliers from outliers, with the inliers on top.
Picture DrawMatches(const Picture& query_picture, const v1::FeatureSet& query,
                    const Picture& train_picture, const v1::FeatureSet& train,
                    const v1::MatchSet& matches, const std::vector<bool>* inliers = nullptr);

// Draws the keypoints of one picture that have a match as circles coloured by distance, the others
// as faint dots. For matches with a reference, which has no picture.
Picture DrawMatched(const Picture& picture, const v1::FeatureSet& features,
                    const v1::MatchSet& matches);

// Draws a frame of a stream. Every match with the frame before is a line from the previous to the
// current place of the keypoint, coloured by distance; the other keypoints are faint dots.
Picture DrawMotion(const Picture& picture, const v1::FeatureSet& features,
                   const v1::FeatureSet& previous, const v1::MatchSet& matches);

// Draws a frame of a stream with tracks: a dot at the place of every track, with a tail through its
// latest places that fades. Colours go from blue (new) through green to yellow (kOldTrackFrames and
// older). The more tracks there are, the smaller and fainter they get.
Picture DrawTracks(const Picture& picture, const TrackTails& tails);

// Age of a track in frames that has the last colour.
inline constexpr float kOldTrackFrames = 60.0f;

// Distance in bits that has the last colour. Few good matches of 256-bit descriptors are farther
// apart.
inline constexpr float kFarDistance = 80.0f;

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_OVERLAY_H_
