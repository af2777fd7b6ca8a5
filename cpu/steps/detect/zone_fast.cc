// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/zone_fast.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "features/algo/zone.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"

namespace orbserve::cpu {
namespace {

// Memory of a row of zones.
struct ZoneRowMemory {
  uint8_t* kernel;     // scratch of the kernel
  Corner* corners;     // of the row, by rows, then by columns
  int32_t* counts;     // of the corners of each zone that stay, then where they begin
  uint8_t* is_strong;  // of each zone: it has a corner of the first threshold
};

// The zones of a level by its columns.
struct ZoneColumns {
  std::vector<uint16_t> zone_of;  // [x - kZoneBorderPx]
  std::vector<uint8_t> has_left;  // ZoneEdges
  std::vector<uint8_t> has_right;

  ZoneColumns() = default;
  ZoneColumns(const algo::Zones& zones, const Region& region)
      : has_left(static_cast<size_t>(region.x_end + kZoneEdgeSlack), 255), has_right(has_left) {
    for (int x = region.x_begin; x < region.x_end; ++x) {
      const int zone = zones.ColumnOf(x);
      zone_of.push_back(static_cast<uint16_t>(zone));
      const int in_zone = x - algo::kZoneBorderPx - zone * zones.width_px;
      if (in_zone == 0) has_left[static_cast<size_t>(x)] = 0;
      if (in_zone == zones.width_px - 1) has_right[static_cast<size_t>(x)] = 0;
    }
  }
};

class ZoneFast final : public Step {
 public:
  explicit ZoneFast(const StepSetup& setup)
      : pipeline_(setup.pipeline), find_corners_(ZoneFastKernelFor(setup.target)) {
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      const Region& region = pipeline_.level(l).region;
      if (region.empty()) continue;
      zones_[static_cast<size_t>(l)] = ZonesOf(region);
      columns_[static_cast<size_t>(l)] = ZoneColumns(zones_[static_cast<size_t>(l)], region);
    }
  }

  absl::string_view name() const override { return "zone_fast"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }

  void Declare(WorkspaceLayout* layout) override {
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      if (!pipeline_.level(l).region.empty()) layout->AddScratch(MemoryOf(l, nullptr, nullptr));
    }
  }

  size_t table_bytes() const override {
    size_t bytes = 0;
    for (const ZoneColumns& columns : columns_) {
      bytes += columns.zone_of.capacity() * sizeof(uint16_t) + columns.has_left.capacity() +
               columns.has_right.capacity();
    }
    return bytes;
  }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const auto l = static_cast<size_t>(level);
    const Strips& strips = frame.lists.strips[l];
    Region row = strips.Of(pipeline_.level(level).region, task);
    const int end = row.y_end;
    uint64_t* keys = frame.At(frame.lists.keys, level) + task * strips.capacity;
    const uint64_t* const begin = keys;
    for (; row.y_begin < end; row.y_begin = row.y_end) {
      row.y_end = std::min(row.y_begin + zones_[l].height_px, end);
      keys = KeepCorners(frame, level, row, keys);
    }
    frame.At(frame.lists.strip_corners, level)[task] = static_cast<int32_t>(keys - begin);
  }

 private:
  // Divides `scratch` for level `l`; returns the bytes that it needs.
  size_t MemoryOf(int l, uint8_t* scratch, ZoneRowMemory* memory) const {
    const auto i = static_cast<size_t>(l);
    const Region& region = pipeline_.level(l).region;
    const int rows = std::min(zones_[i].height_px, region.height());
    const auto zone_count = static_cast<size_t>(zones_[i].columns);
    size_t bytes = 0;
    const auto next = [&bytes](size_t size) {
      const size_t at = bytes;
      bytes += RoundUp<size_t>(size, 64);
      return at;
    };
    const size_t kernel =
        next(static_cast<size_t>(ZoneFastScratchBytes({0, 0, region.width(), rows})));
    const size_t corners =
        next(sizeof(Corner) * (zone_count * static_cast<size_t>(zones_[i].MostCorners()) +
                               static_cast<size_t>(kCornerSlack)));
    const size_t counts = next(sizeof(int32_t) * (zone_count + 1));
    const size_t is_strong = next(zone_count);
    if (memory != nullptr) {
      *memory = {scratch + kernel, reinterpret_cast<Corner*>(scratch + corners),
                 reinterpret_cast<int32_t*>(scratch + counts), scratch + is_strong};
    }
    return bytes;
  }

  // Writes the corners of a row of zones to `keys`; returns the end of what it wrote.
  uint64_t* KeepCorners(FrameContext& frame, int level, const Region& row, uint64_t* keys) const {
    const auto l = static_cast<size_t>(level);
    const algo::Zones& zones = zones_[l];
    const ZoneColumns& columns = columns_[l];
    const int threshold_grey = frame.job.parameters.fast_threshold_grey;
    ZoneRowMemory memory;
    MemoryOf(level, frame.Scratch<uint8_t>(), &memory);
    const int peaks = find_corners_(
        frame.Image(level), row, pipeline_.spec.pipeline.detect.fast_arc_length,
        frame.job.parameters.detection_threshold_grey(),
        {columns.has_left.data(), columns.has_right.data()}, memory.kernel, memory.corners);
    std::memset(memory.is_strong, 0, static_cast<size_t>(zones.columns));
    std::memset(memory.counts, 0, sizeof(int32_t) * (static_cast<size_t>(zones.columns) + 1));
    const auto zone_of = [&](const Corner& corner) {
      return columns.zone_of[static_cast<size_t>(corner.x - algo::kZoneBorderPx)];
    };
    for (int i = 0; i < peaks; ++i) {
      const Corner& corner = memory.corners[i];
      if (corner.score >= threshold_grey) memory.is_strong[zone_of(corner)] = 1;
    }
    const auto stays = [&](const Corner& corner) {
      return corner.score >= threshold_grey || memory.is_strong[zone_of(corner)] == 0;
    };
    for (int i = 0; i < peaks; ++i) {
      if (stays(memory.corners[i])) ++memory.counts[zone_of(memory.corners[i]) + 1];
    }
    for (int z = 0; z < zones.columns; ++z) memory.counts[z + 1] += memory.counts[z];
    uint64_t* const end = keys + memory.counts[zones.columns];
    for (int i = 0; i < peaks; ++i) {
      const Corner& corner = memory.corners[i];
      if (!stays(corner)) continue;
      keys[memory.counts[zone_of(corner)]++] =
          algo::RankKey(static_cast<float>(corner.score), corner.x, corner.y);
    }
    return end;
  }

  const CompiledPipeline& pipeline_;
  const ZoneFastKernel find_corners_;
  std::array<algo::Zones, kMaxLevels> zones_;
  std::array<ZoneColumns, kMaxLevels> columns_;
};

}  // namespace

int ReferenceZoneFast(const ImageView& image, const Region& row, int arc_length, int threshold_grey,
                      const ZoneEdges& edges, uint8_t* scratch, Corner* out) {
  const ptrdiff_t pitch = row.width() + 2;
  std::memset(scratch, 0, static_cast<size_t>(pitch) * static_cast<size_t>(row.height() + 2));
  const auto score_at = [&](int x, int y) -> uint8_t& {
    return scratch[(y - row.y_begin + 1) * pitch + (x - row.x_begin + 1)];
  };
  for (int y = row.y_begin; y < row.y_end; ++y) {
    for (int x = row.x_begin; x < row.x_end; ++x) {
      const uint8_t* const centre = image.Row(y) + x;
      uint8_t ring[algo::kFastRingPixels];
      algo::LoadFastRing(centre, image.pitch_bytes, ring);
      score_at(x, y) =
          static_cast<uint8_t>(algo::FastResponse(ring, *centre, arc_length, threshold_grey));
    }
  }
  int count = 0;
  for (int y = row.y_begin; y < row.y_end; ++y) {
    for (int x = row.x_begin; x < row.x_end; ++x) {
      const int score = score_at(x, y);
      int most = std::max(score_at(x, y - 1), score_at(x, y + 1));
      for (int v = y - 1; v <= y + 1; ++v) {
        if (edges.has_left[x] != 0) most = std::max<int>(most, score_at(x - 1, v));
        if (edges.has_right[x] != 0) most = std::max<int>(most, score_at(x + 1, v));
      }
      if (score <= most) continue;
      out[count++] = {static_cast<int16_t>(x), static_cast<int16_t>(y),
                      static_cast<int16_t>(score)};
    }
  }
  return count;
}

std::unique_ptr<Step> MakeZoneFast(const StepSetup& setup) {
  return std::make_unique<ZoneFast>(setup);
}

}  // namespace orbserve::cpu
