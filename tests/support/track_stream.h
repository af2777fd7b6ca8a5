// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The tracks of a stream without a server: frames go through a backend one after the other.

#ifndef ORBSERVE_TESTS_SUPPORT_TRACK_STREAM_H_
#define ORBSERVE_TESTS_SUPPORT_TRACK_STREAM_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/backend.h"
#include "features/options.h"
#include "features/types.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {

// A search for the tracks of a stream.
struct StreamSearch {
  size_t frame = 0;  // the points lie in this frame and are searched in the one after it
  const TrackPoints* points = nullptr;
  std::vector<size_t> begins;  // of each point: the frame in which its track began
};
using SearchPoints = std::function<TrackedPoints(const StreamSearch&)>;

// Tracks of each of `images` in a stream of a preset with these options. The backend detects, and
// searches where `search` is null.
absl::StatusOr<std::vector<FrameTracks>> TracksOfStream(FeatureBackend& backend,
                                                        const std::vector<TestImage>& images,
                                                        const TrackOptions& options,
                                                        const SearchPoints& search = nullptr,
                                                        absl::string_view preset_name = "vio");

// Empty when both are equal; else a sentence with the first frame that differs.
std::string FirstDifference(const std::vector<FrameTracks>& expected,
                            const std::vector<FrameTracks>& actual);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_TRACK_STREAM_H_
