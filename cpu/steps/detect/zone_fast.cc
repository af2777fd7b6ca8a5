// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/zone_fast.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "cpu/steps/detect/fast.h"
#include "features/algo/order.h"
#include "features/algo/zone.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"

namespace orbserve::cpu {
namespace {

// Memory of a row of zones.
struct ZoneRowMemory {
  uint8_t* kernel;     // scratch of the FAST kernel
  Corner* corners;     // all corners of the row, by rows, then by columns
  uint8_t* scores;     // [zone height + 2][pitch], 0 where there is no corner
  int32_t* counts;     // of the corners of each zone that stay, then where they begin
  uint8_t* is_strong;  // of each zone: it has a corner of the first threshold
};

// Columns of a row of zones in a map of scores. An empty column follows each zone, and one precedes
// the first, so that corners have no neighbours in other zones.
struct ZoneColumns {
  std::vector<uint16_t> zone_of;   // [x - kZoneBorderPx]
  std::vector<uint16_t> place_of;  // [x - kZoneBorderPx]
  ptrdiff_t pitch = 0;

  ZoneColumns() = default;
  ZoneColumns(const algo::Zones& zones, int width_px) {
    for (int i = 0; i < width_px; ++i) {
      const int zone = zones.ColumnOf(algo::kZoneBorderPx + i);
      zone_of.push_back(static_cast<uint16_t>(zone));
      place_of.push_back(static_cast<uint16_t>(1 + i + zone));
    }
    pitch = RoundUp<ptrdiff_t>(width_px + zones.columns + 2, 64);
  }
};

class ZoneFast final : public Step {
 public:
  explicit ZoneFast(const StepSetup& setup)
      : pipeline_(setup.pipeline), find_corners_(FastKernelFor(setup.target)) {
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      const Region& region = pipeline_.level(l).region;
      if (region.empty()) continue;
      zones_[static_cast<size_t>(l)] = ZonesOf(region);
      columns_[static_cast<size_t>(l)] =
          ZoneColumns(zones_[static_cast<size_t>(l)], region.width());
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
    size_t entries = 0;
    for (const ZoneColumns& columns : columns_) {
      entries += columns.zone_of.capacity() + columns.place_of.capacity();
    }
    return entries * sizeof(uint16_t);
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
        next(static_cast<size_t>(FastScratchBytes({0, 0, region.width(), rows}, 0)));
    const size_t corners =
        next(sizeof(Corner) * (static_cast<size_t>(region.width()) * static_cast<size_t>(rows) +
                               static_cast<size_t>(kCornerSlack)));
    const size_t scores =
        next(static_cast<size_t>(columns_[i].pitch) * static_cast<size_t>(rows + 2));
    const size_t counts = next(sizeof(int32_t) * (zone_count + 1));
    const size_t is_strong = next(zone_count);
    if (memory != nullptr) {
      *memory = {scratch + kernel, reinterpret_cast<Corner*>(scratch + corners), scratch + scores,
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
    const int found =
        find_corners_(frame.Image(level), row, pipeline_.spec.pipeline.detect.fast_arc_length,
                      frame.job.parameters.detection_threshold_grey(),
                      /*radius_px=*/0, memory.kernel, memory.corners);
    std::memset(memory.scores, 0,
                static_cast<size_t>(columns.pitch) * static_cast<size_t>(row.height() + 2));
    std::memset(memory.is_strong, 0, static_cast<size_t>(zones.columns));
    std::memset(memory.counts, 0, sizeof(int32_t) * (static_cast<size_t>(zones.columns) + 1));
    const auto place_of = [&](const Corner& corner) {
      return memory.scores + (corner.y - row.y_begin + 1) * columns.pitch +
             columns.place_of[static_cast<size_t>(corner.x - algo::kZoneBorderPx)];
    };
    const auto zone_of = [&](const Corner& corner) {
      return columns.zone_of[static_cast<size_t>(corner.x - algo::kZoneBorderPx)];
    };
    for (int i = 0; i < found; ++i) {
      *place_of(memory.corners[i]) = static_cast<uint8_t>(memory.corners[i].score);
    }
    int peaks = 0;
    for (int i = 0; i < found; ++i) {
      const Corner corner = memory.corners[i];
      const uint8_t* const at = place_of(corner);
      const uint8_t* const above = at - columns.pitch;
      const uint8_t* const below = at + columns.pitch;
      const int most =
          std::max({above[-1], above[0], above[1], at[-1], at[1], below[-1], below[0], below[1]});
      memory.corners[peaks] = corner;
      if (corner.score <= most) continue;
      ++peaks;
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
  const FastKernel find_corners_;
  std::array<algo::Zones, kMaxLevels> zones_;
  std::array<ZoneColumns, kMaxLevels> columns_;
};

}  // namespace

std::unique_ptr<Step> MakeZoneFast(const StepSetup& setup) {
  return std::make_unique<ZoneFast>(setup);
}

}  // namespace orbserve::cpu
