// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Published values of whole streams: the tracks of twelve frames of the preset `vio`, computed by
// every variant of the CPU backend.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/golden_files.h"
#include "tests/support/reference_lines.h"
#include "tests/support/track_stream.h"

namespace orbserve {
namespace {

constexpr size_t kFrames = 12;

struct Published {
  const char* name;
  const char* folder;  // below the folder of test images, with the frames in their order
  TrackTemplate track_template;
  Illumination illumination;
  int redetect_percent;
  uint32_t crc;
  std::vector<size_t> counts;  // tracks of each frame; empty where none are published
  uint64_t last_id;            // 0 where none is published
};

constexpr char kKitti[] = "seq-kitti-a/image_0";
constexpr char kEuroc[] = "seq-euroc-v101-static/cam0";
constexpr TrackTemplate kPrevious = TrackTemplate::kPrevious;
constexpr TrackTemplate kFirst = TrackTemplate::kFirst;

std::vector<Published> PublishedStreams() {
  const std::vector<size_t> all(kFrames, 100);
  return {
      {"kitti PREVIOUS",
       kKitti,
       kPrevious,
       Illumination::kNone,
       30,
       0x7e8a0087,
       {100, 79, 69, 63, 54, 45, 41, 39, 37, 37, 35, 34},
       0},
      {"kitti FIRST",
       kKitti,
       kFirst,
       Illumination::kNone,
       30,
       0x7f0c7a16,
       {100, 79, 59, 50, 38, 31, 100, 86, 71, 63, 57, 50},
       176},
      {"euroc PREVIOUS", kEuroc, kPrevious, Illumination::kNone, 30, 0x380cab37, all, 100},
      {"euroc FIRST", kEuroc, kFirst, Illumination::kNone, 30, 0x0fe43047, all, 100},
      {"kitti PREVIOUS BOTH", kKitti, kPrevious, Illumination::kBoth, 30, 0xe62aabae, {}, 0},
      {"kitti FIRST BOTH", kKitti, kFirst, Illumination::kBoth, 30, 0x07cdac64, {}, 0},
      {"kitti FIRST GAIN", kKitti, kFirst, Illumination::kGain, 30, 0x612637cd, {}, 0},
      {"kitti PREVIOUS, redetect 100",
       kKitti,
       kPrevious,
       Illumination::kNone,
       100,
       0x78da9bf9,
       {},
       0},
  };
}

std::vector<testing::TestImage> FramesOf(const std::string& folder) {
  std::vector<testing::TestImage> frames;
  const std::string path = std::string(ORBSERVE_TEST_DATA_DIR) + "/" + folder;
  for (const std::string& file : testing::FilesEndingIn(path, ".png")) {
    if (frames.size() < kFrames) frames.push_back(testing::ReadGreyPng(file));
  }
  return frames;
}

// Computes the stream and compares it with its published values.
void ExpectPublished(const Published& published, const std::vector<testing::TestImage>& frames,
                     FeatureBackend& backend) {
  TrackOptions options = (*FindPreset("vio"))->track;
  options.track_template = published.track_template;
  options.illumination = published.illumination;
  options.redetect_percent = published.redetect_percent;
  const auto answers = testing::TracksOfStream(backend, frames, options);
  ASSERT_TRUE(answers.ok()) << answers.status();
  std::string lines;
  std::vector<size_t> counts;
  uint64_t last_id = 0;
  for (size_t n = 0; n < kFrames; ++n) {
    const std::vector<Track>& tracks = (*answers)[n].tracks;
    for (const Track& track : tracks) {
      lines += std::to_string(n) + "," + std::to_string(track.id) + "," + std::to_string(track.x) +
               "," + std::to_string(track.y) + "," + std::to_string(track.age_frames) + "\n";
      last_id = std::max(last_id, track.id);
    }
    counts.push_back(tracks.size());
  }
  EXPECT_EQ(testing::Crc32(lines), published.crc);
  if (!published.counts.empty()) {
    EXPECT_EQ(counts, published.counts);
  }
  if (published.last_id != 0) {
    EXPECT_EQ(last_id, published.last_id);
  }
}

TEST(StreamReferenceTest, TwelveFramesGiveThePublishedTracks) {
  std::vector<std::unique_ptr<FeatureBackend>> backends;
  backends.push_back(cpu::Backend({.threads = 1, .reference = true}));
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) {
    backends.push_back(cpu::Backend({.threads = 2, .simd_target = target.name}));
  }
  int compared = 0;
  for (const Published& published : PublishedStreams()) {
    const std::vector<testing::TestImage> frames = FramesOf(published.folder);
    if (frames.size() < kFrames) continue;
    for (const auto& backend : backends) {
      SCOPED_TRACE(std::string(published.name) + ", " + backend->devices()[0].details);
      ExpectPublished(published, frames, *backend);
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "no frames below \"" << ORBSERVE_TEST_DATA_DIR << "\"";
  printf("%d streams compared\n", compared);
}

}  // namespace
}  // namespace orbserve
