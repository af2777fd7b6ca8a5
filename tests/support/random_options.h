// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Random options over everything that pipelines offer, so that tests meet combinations that nobody
// thought of. The same generator state gives the same options on every platform.

#ifndef ORBSERVE_TESTS_SUPPORT_RANDOM_OPTIONS_H_
#define ORBSERVE_TESTS_SUPPORT_RANDOM_OPTIONS_H_

#include <cstdint>
#include <random>
#include <string>

#include "features/options.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {

// Options in their ranges that do not contradict each other: Validate() accepts them, or answers
// UNIMPLEMENTED where this build lacks a method. Borders are small more often than large, so that
// small images have keypoints.
PipelineOptions RandomPipeline(std::mt19937& random);

// Valid parameters of a frame of `pipeline`, a second threshold included.
FrameParameters RandomParameters(const PipelineOptions& pipeline, std::mt19937& random);

// Valid options of tracks.
TrackOptions RandomTrackOptions(std::mt19937& random);

// An image of random content: noise, rectangles, dots whose corners tie, a checkerboard, one grey
// level.
TestImage RandomImage(int width_px, int height_px, std::mt19937& random);

// A mask of random rectangles; now and then one that hides everything or nothing.
TestImage RandomFrameMask(int width_px, int height_px, std::mt19937& random);

// One line that names every option that matters for the pipeline.
std::string Printed(const PipelineOptions& pipeline);
std::string Printed(const FrameParameters& parameters);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_RANDOM_OPTIONS_H_
