// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pictures for people: what was found, drawn over what was looked at.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_OVERLAY_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_OVERLAY_H_

#include "client/cli/images/picture.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Every keypoint as a circle of its size with a line for its angle, coloured by pyramid level.
Picture DrawFeatures(const Picture& picture, const v1::FeatureSet& features);

// Two pictures side by side; every match is a line from its keypoint on the left (query) to that on
// the right (train), from green (distance 0) to red (kFarDistance bits and more), near ones on top.
Picture DrawMatches(const Picture& query_picture, const v1::FeatureSet& query,
                    const Picture& train_picture, const v1::FeatureSet& train,
                    const v1::MatchSet& matches);

// One picture; keypoints that have a match (to something without a picture) as circles coloured by
// distance, the others as faint dots.
Picture DrawMatched(const Picture& picture, const v1::FeatureSet& features,
                    const v1::MatchSet& matches);

// A frame of a stream; every match to the frame before is a line from where the keypoint was to
// where it is, coloured by distance, the other keypoints are faint dots.
Picture DrawMotion(const Picture& picture, const v1::FeatureSet& features,
                   const v1::FeatureSet& previous, const v1::MatchSet& matches);

// Distance in bits that is drawn in the last colour: of 256-bit descriptors, few good matches are
// farther apart.
inline constexpr float kFarDistance = 80.0f;

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_OVERLAY_H_
