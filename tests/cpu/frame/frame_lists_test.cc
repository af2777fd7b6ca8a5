// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/frame/frame_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cpu/memory/aligned_buffer.h"
#include "cpu/memory/workspace_layout.h"
#include "features/image_view.h"
#include "features/pipeline/compiled.h"

namespace orbserve::cpu {
namespace {

TEST(WorkspaceLayoutTest, BuffersAreAlignedAndDoNotOverlap) {
  WorkspaceLayout layout;
  LevelBuffer<uint8_t> bytes;
  LevelBuffer<uint64_t> words;
  FrameBuffer<float> one;
  LevelImages images;
  std::vector<std::pair<size_t, size_t>> used;  // begin, end
  for (int level = 0; level < 3; ++level) {
    const auto l = static_cast<size_t>(level);
    layout.Add(level, 33, &bytes);
    used.emplace_back(bytes.offset[l], bytes.offset[l] + 33);
    layout.Add(level, 7, &words);
    used.emplace_back(words.offset[l], words.offset[l] + 7 * sizeof(uint64_t));
    layout.AddImage(level, 100, 10, &images);
    const LevelImages::Image& image = images.levels[l];
    EXPECT_GE(image.pitch_bytes, 100);
    EXPECT_EQ(image.pitch_bytes % kRowAlignmentBytes, 0);
    // A row more than it has, and padding on either side.
    used.emplace_back(
        image.offset - kImagePaddingBytes,
        image.offset + 11 * static_cast<size_t>(image.pitch_bytes) + kImagePaddingBytes);
  }
  layout.Add(1, &one);
  used.emplace_back(one.offset, one.offset + sizeof(float));
  std::sort(used.begin(), used.end());
  for (size_t i = 0; i < used.size(); ++i) {
    EXPECT_EQ(used[i].first % AlignedBuffer::kAlignment, 0u);
    EXPECT_LE(used[i].second, i + 1 < used.size() ? used[i + 1].first : layout.bytes());
  }
}

TEST(WorkspaceLayoutTest, RowsDoNotShareFewSetsOfTheCache) {
  WorkspaceLayout layout;
  LevelImages images;
  layout.AddImage(0, 1024, 4, &images);
  EXPECT_NE(images.levels[0].pitch_bytes % 1024, 0);
}

TEST(WorkspaceLayoutTest, MasksAndScratchAreCountedApart) {
  WorkspaceLayout layout;
  LevelImages masks;
  layout.AddMask(1, 64, 8, &masks);
  EXPECT_EQ(layout.bytes(), 0u);
  EXPECT_GE(layout.mask_bytes(), size_t{64 * 9});
  layout.AddScratch(100);
  layout.AddScratch(50);
  EXPECT_EQ(layout.scratch_bytes(), 100u);
  EXPECT_EQ(layout.bytes(), 0u);
}

TEST(FrameListsTest, StripsCoverTheirRegionOnceAndAreTallEnough) {
  for (const auto& [width, height] : {std::pair{640, 480}, {63, 63}, {4000, 300}, {70, 3000}}) {
    const CompiledPipeline pipeline = *CompilePipeline({width, height, {}});
    for (const int threads : {1, 2, 64}) {
      WorkspaceLayout layout;
      const FrameLists lists = FrameLists::Declare(pipeline, threads, &layout);
      for (int l = 0; l < pipeline.level_count(); ++l) {
        const Region& region = pipeline.level(l).region;
        const Strips& strips = lists.strips[static_cast<size_t>(l)];
        if (region.empty()) {
          EXPECT_EQ(strips.count, 0);
          continue;
        }
        if (threads == 1) {
          EXPECT_EQ(strips.count, 1);
        }
        int y = region.y_begin;
        for (int strip = 0; strip < strips.count; ++strip) {
          const Region part = strips.Of(region, strip);
          EXPECT_EQ(part.x_begin, region.x_begin);
          EXPECT_EQ(part.x_end, region.x_end);
          EXPECT_EQ(part.y_begin, y);
          EXPECT_FALSE(part.empty());
          y = part.y_end;
        }
        EXPECT_EQ(y, region.y_end);
      }
    }
  }
}

TEST(FrameListsTest, MemoryFollowsThePipeline) {
  const auto bytes = [](const PipelineOptions& options) {
    const CompiledPipeline pipeline = *CompilePipeline({640, 480, options});
    WorkspaceLayout layout;
    FrameLists::Declare(pipeline, 1, &layout);
    return layout.bytes();
  };
  PipelineOptions options;
  const size_t orb = bytes(options);
  options.select.capacity = 1000;
  const size_t small = bytes(options);
  EXPECT_LT(small, orb);
  options.describe.descriptor = Descriptor::kNone;
  EXPECT_LT(bytes(options), small - 640 * 480);  // no smoothed levels
}

}  // namespace
}  // namespace orbserve::cpu
