// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The published reference values of tracks: features of the preset `vio` of the first frame of a
// sequence, followed to another frame. Tests of both backends compare with them.

#ifndef ORBSERVE_TESTS_SUPPORT_PUBLISHED_TRACKS_H_
#define ORBSERVE_TESTS_SUPPORT_PUBLISHED_TRACKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/algo/lucas_kanade.h"
#include "features/options.h"
#include "features/types.h"
#include "tests/support/golden_files.h"
#include "tests/support/reference_lines.h"
#include "tests/support/track_oracle.h"

namespace orbserve::testing {

// Folders of sequences below the folder of test images.
inline constexpr char kKittiFrames[] = "seq-kitti-a/image_0";
inline constexpr char kEurocFrames[] = "seq-euroc-v101-static/cam0";
inline constexpr char kTumFrames[] = "seq-tum-fr2desk/rgb";

struct PublishedTracks {
  const char* name;
  const char* folder;
  size_t second_frame;
  TrackOptions options;
  TrackStatus counted;
  int count;  // of points with that status; -1 where none is published
  uint32_t crc;
};

constexpr TrackOptions TrackOptionsWith(Illumination illumination, int coarse_patch_px = 16,
                                        float min_eigen = 0.1f, float max_residual = 128.0f) {
  TrackOptions options;
  options.illumination = illumination;
  options.coarse_patch_px = coarse_patch_px;
  options.min_eigen = min_eigen;
  options.max_residual = max_residual;
  return options;
}

inline constexpr PublishedTracks kPublishedTracks[] = {
    {"kitti NONE", kKittiFrames, 1, TrackOptionsWith(Illumination::kNone), TrackStatus::kOk, 79,
     0x99985d65},
    {"kitti OFFSET", kKittiFrames, 1, TrackOptionsWith(Illumination::kOffset), TrackStatus::kOk, 73,
     0xcddd29c4},
    {"kitti GAIN", kKittiFrames, 1, TrackOptionsWith(Illumination::kGain), TrackStatus::kOk, 73,
     0x16babcc0},
    {"kitti BOTH", kKittiFrames, 1, TrackOptionsWith(Illumination::kBoth), TrackStatus::kOk, 77,
     0x2b51c598},
    {"euroc NONE", kEurocFrames, 1, TrackOptionsWith(Illumination::kNone), TrackStatus::kOk, 100,
     0x5866a46e},
    {"euroc OFFSET", kEurocFrames, 1, TrackOptionsWith(Illumination::kOffset), TrackStatus::kOk,
     100, 0x4021ef21},
    {"euroc GAIN", kEurocFrames, 1, TrackOptionsWith(Illumination::kGain), TrackStatus::kOk, 100,
     0x2452771a},
    {"euroc BOTH", kEurocFrames, 1, TrackOptionsWith(Illumination::kBoth), TrackStatus::kOk, 100,
     0xc3c9f7af},
    {"kitti min_eigen 20", kKittiFrames, 1, TrackOptionsWith(Illumination::kNone, 16, 20.0f),
     TrackStatus::kOk, 55, 0x560f55cd},
    {"kitti min_eigen 20, again", kKittiFrames, 1, TrackOptionsWith(Illumination::kNone, 16, 20.0f),
     TrackStatus::kNoTexture, 29, 0x560f55cd},
    {"kitti max_residual 4", kKittiFrames, 1, TrackOptionsWith(Illumination::kNone, 16, 0.1f, 4.0f),
     TrackStatus::kDifferent, 63, 0xd2f0b19a},
    {"kitti coarse 8", kKittiFrames, 1, TrackOptionsWith(Illumination::kBoth, 8), TrackStatus::kOk,
     -1, 0x2a570c4c},
    {"kitti OFFSET, frame 6", kKittiFrames, 5, TrackOptionsWith(Illumination::kOffset),
     TrackStatus::kOk, -1, 0x9ea32357},
    {"kitti BOTH, frame 6", kKittiFrames, 5, TrackOptionsWith(Illumination::kBoth),
     TrackStatus::kOk, -1, 0x41b12782},
};

// Files of a sequence in the order of its frames; none where `data_folder` does not have it.
inline std::vector<std::string> SequenceFrames(const std::string& folder,
                                               const std::string& data_folder) {
  if (data_folder.empty()) return {};
  return FilesEndingIn((std::filesystem::path(data_folder) / folder).string(), ".png");
}

inline std::shared_ptr<TrackPoints> PointsAt(
    const std::vector<std::pair<int32_t, int32_t>>& places) {
  auto points = std::make_shared<TrackPoints>();
  for (const auto& [x, y] : places) {
    points->x.push_back(x);
    points->y.push_back(y);
    points->gain.push_back(0);
    points->offset.push_back(0);
  }
  return points;
}

inline std::shared_ptr<TrackPoints> PointsOf(const Features& features) {
  std::vector<std::pair<int32_t, int32_t>> places;
  for (size_t i = 0; i < features.count(); ++i) {
    places.emplace_back(algo::TrackPlace(features.x[i]), algo::TrackPlace(features.y[i]));
  }
  return PointsAt(places);
}

inline void ExpectPublished(const PublishedTracks& published, const TrackedPoints& tracked,
                            const std::string& who) {
  const auto counted = std::count(tracked.status.begin(), tracked.status.end(), published.counted);
  if (published.count >= 0) {
    EXPECT_EQ(counted, published.count) << published.name << ", " << who;
  }
  EXPECT_EQ(Crc32(TrackLines(tracked)), published.crc) << published.name << ", " << who;
}

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_PUBLISHED_TRACKS_H_
