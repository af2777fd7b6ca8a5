// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/minimum_distance.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "cpu/steps/suppress/neighbourhood.h"
#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

using algo::DistanceRule;

DistanceRule RuleOf(const PipelineOptions& options) {
  return algo::DistanceRuleOf(options.suppress.minimum_distance_px,
                              options.suppress.distance_shape == DistanceShape::kDisc,
                              options.suppress.cornerness_compression);
}

// The maps of a level and the way between pixels and places.
class DistanceMaps {
 public:
  explicit DistanceMaps(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        rule_(RuleOf(setup.pipeline.spec.pipeline)),
        rows_(ConflictRows::Of(rule_)),
        has_blocks_(FrameLists::HasBlocks(setup.pipeline.spec.pipeline)),
        outranking_(OutrankingKernelFor(setup.target)) {}

  const ConflictRows& rows() const { return rows_; }

  PlaceMap Pixels(const FrameContext& frame, int level) const {
    return {frame.At(frame.lists.responses, level),
            frame.lists.response_pitch[static_cast<size_t>(level)], pipeline_.level(level).region};
  }
  PlaceMap Places(const FrameContext& frame, int level) const {
    if (!has_blocks_) return Pixels(frame, level);
    const Region& region = pipeline_.level(level).region;
    return {
        frame.At(frame.lists.blocks, level),
        frame.lists.block_pitch[static_cast<size_t>(level)],
        {region.x_begin / 2, region.y_begin / 2, DivUp(region.x_end, 2), DivUp(region.y_end, 2)}};
  }
  // The rows of places that belong to a strip. A block on the border of two belongs to the upper
  // one.
  Part RowsOf(const FrameContext& frame, int level, int strip) const {
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    const Region part = strips.Of(pipeline_.level(level).region, strip);
    if (!has_blocks_) return {part.y_begin, part.y_end};
    return {strip == 0 ? part.y_begin / 2 : DivUp(part.y_begin, 2), DivUp(part.y_end, 2)};
  }

  uint32_t Threshold(const FrameContext& frame) const {
    return pipeline_.spec.pipeline.detect.detector == Detector::kFast
               ? 0
               : *frame.At(frame.lists.candidate_threshold);
  }

  // An undefined candidate that outranks the one at (x, y), or -1.
  ptrdiff_t Outranking(const PlaceMap& places, const PlaceMap& pixels, int x, int y) const {
    if (rows_.reach == 0) return -1;
    const ptrdiff_t found = outranking_(places, rows_, x, y, !has_blocks_);
    return found >= 0 || !has_blocks_ ? found : TieInRow(places, pixels, x, y);
  }

  // Rank key of the candidate at a place.
  uint64_t KeyOf(const PlaceMap& places, const PlaceMap& pixels, int x, int y) const {
    const uint32_t order = places.entries[y * places.pitch + x];
    const float response = algo::ValueOfOrderedBits(order);
    if (!has_blocks_) return algo::RankKey(response, x, y);
    const Pixel pixel = PixelOf(pixels, order, x, y);
    return algo::RankKey(response, pixel.x, pixel.y);
  }
  // The place of a key.
  int PlaceX(uint64_t key) const { return algo::RankKeyX(key) / rule_.pixels_per_place; }
  int PlaceY(uint64_t key) const { return algo::RankKeyY(key) / rule_.pixels_per_place; }

  // Calls `visit` with the columns of row `y` that are peaks.
  template <typename Visit>
  static void ForEachPeak(const PlaceMap& places, int y, uint32_t threshold, PeaksKernel find,
                          uint16_t* columns, Visit visit) {
    const Region& region = places.region;
    const uint32_t* const row = places.entries + y * places.pitch + region.x_begin;
    const int count =
        find(y > region.y_begin ? row - places.pitch : row, row,
             y + 1 < region.y_end ? row + places.pitch : row, region.width(), threshold, columns);
    for (int i = 0; i < count; ++i) visit(region.x_begin + columns[i]);
  }

 private:
  struct Pixel {
    int x;
    int y;
  };

  // The first pixel of a block in rank order: that with the block's entry, by rows.
  static Pixel PixelOf(const PlaceMap& pixels, uint32_t order, int x, int y) {
    const Region& region = pixels.region;
    for (int v = std::max(2 * y, region.y_begin); v < std::min(2 * y + 2, region.y_end); ++v) {
      for (int u = std::max(2 * x, region.x_begin); u < std::min(2 * x + 2, region.x_end); ++u) {
        if (pixels.entries[v * pixels.pitch + u] == order) return {u, v};
      }
    }
    assert(false);
    return {2 * x, 2 * y};
  }

  // Blocks of one row with equal entries: their pixels decide, which may lie in different rows.
  ptrdiff_t TieInRow(const PlaceMap& places, const PlaceMap& pixels, int x, int y) const {
    const uint32_t* const row = places.entries + y * places.pitch;
    const uint32_t order = row[x];
    const int end = std::min(x + rows_.half_width[0] + 1, places.region.x_end);
    for (int u = std::max(x - rows_.half_width[0], places.region.x_begin); u < end; ++u) {
      if (u == x || row[u] != order) continue;
      const Pixel own = PixelOf(pixels, order, x, y);
      const Pixel other = PixelOf(pixels, order, u, y);
      if (algo::Outranks(order, other.x, other.y, order, own.x, own.y)) {
        return y * places.pitch + u;
      }
    }
    return -1;
  }

  const CompiledPipeline& pipeline_;
  const DistanceRule rule_;
  const ConflictRows rows_;
  const bool has_blocks_;
  const OutrankingKernel outranking_;
};

UndecidedPlace UndecidedAt(const PlaceMap& places, int x, int y, ptrdiff_t outranked_by) {
  return {static_cast<int32_t>(y * places.pitch + x), static_cast<int32_t>(outranked_by),
          static_cast<int16_t>(x), static_cast<int16_t>(y)};
}

size_t ColumnBytes(const LevelGeometry& level) {
  return RoundUp<size_t>(static_cast<size_t>(level.width_px + kMapRowSlack) * sizeof(uint16_t), 64);
}

class DistanceBlocks final : public Step {
 public:
  explicit DistanceBlocks(const StepSetup& setup)
      : maps_(setup), compress_(BlocksKernelFor(setup.target)) {}

  absl::string_view name() const override { return "minimum_distance"; }
  StageSet stages() const override { return Stage::kSuppress; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const PlaceMap pixels = maps_.Pixels(frame, level);
    const PlaceMap blocks = maps_.Places(frame, level);
    const Region& region = pixels.region;
    // Blocks whose two columns lie in the region.
    const int begin = DivUp(region.x_begin, 2);
    const int end = region.x_end / 2;
    const Part rows = maps_.RowsOf(frame, level, task);
    for (int y = rows.begin; y < rows.end; ++y) {
      const uint32_t* const upper = pixels.entries + std::max(2 * y, region.y_begin) * pixels.pitch;
      const uint32_t* const lower =
          pixels.entries + std::min(2 * y + 1, region.y_end - 1) * pixels.pitch;
      uint32_t* const row = blocks.entries + y * blocks.pitch;
      if (end > begin) compress_(upper + 2 * begin, lower + 2 * begin, end - begin, row + begin);
      if (begin > blocks.region.x_begin) {
        row[begin - 1] = std::max(upper[region.x_begin], lower[region.x_begin]);
      }
      if (end < blocks.region.x_end) {
        row[end] = std::max(upper[region.x_end - 1], lower[region.x_end - 1]);
      }
    }
  }

 private:
  const DistanceMaps maps_;
  const BlocksKernel compress_;
};

class FirstDistancePass final : public Step {
 public:
  explicit FirstDistancePass(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        maps_(setup),
        find_peaks_(PeaksKernelFor(setup.target)),
        list_(CandidatesKernelFor(setup.target)) {}

  absl::string_view name() const override { return "minimum_distance"; }
  StageSet stages() const override { return Stage::kSuppress; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      layout->AddScratch(ColumnBytes(level));
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const PlaceMap pixels = maps_.Pixels(frame, level);
    const PlaceMap places = maps_.Places(frame, level);
    const uint32_t threshold = maps_.Threshold(frame);
    const Part rows = maps_.RowsOf(frame, level, task);
    uint64_t* const keys = frame.At(frame.lists.keys, level) +
                           task * frame.lists.strips[static_cast<size_t>(level)].capacity;
    const int capacity = frame.lists.undecided_capacity[static_cast<size_t>(level)];
    UndecidedPlace* const undecided =
        frame.At(frame.lists.undecided, level) + static_cast<ptrdiff_t>(task) * capacity;
    uint16_t* const columns = frame.Scratch<uint16_t>();
    int kept = 0;
    int left = 0;
    for (int y = rows.begin; y < rows.end; ++y) {
      const auto keep = [&](int x) { keys[kept++] = maps_.KeyOf(places, pixels, x, y); };
      if (maps_.rows().reach == 0) {
        const uint32_t* const row = places.entries + y * places.pitch + places.region.x_begin;
        const int count = list_(row, places.region.width(), threshold, columns);
        for (int i = 0; i < count; ++i) keep(places.region.x_begin + columns[i]);
        continue;
      }
      DistanceMaps::ForEachPeak(places, y, threshold, find_peaks_, columns, [&](int x) {
        const ptrdiff_t by = maps_.Outranking(places, pixels, x, y);
        if (by < 0) {
          keep(x);
        } else if (left++ < capacity) {
          undecided[left - 1] = UndecidedAt(places, x, y, by);
        }
      });
    }
    frame.At(frame.lists.strip_corners, level)[task] = kept;
    frame.At(frame.lists.strip_undecided, level)[task] = left;
  }

 private:
  const CompiledPipeline& pipeline_;
  const DistanceMaps maps_;
  const PeaksKernel find_peaks_;
  const CandidatesKernel list_;
};

class MinimumDistance final : public Step {
 public:
  explicit MinimumDistance(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        maps_(setup),
        is_scored_(CornerListOf(setup.pipeline.spec.pipeline) == CornerList::kScored),
        find_peaks_(PeaksKernelFor(setup.target)),
        find_peaks_of_part_(PeaksOfPartKernelFor(setup.target)),
        clear_(ClearConflictsKernelFor(setup.target)) {}

  absl::string_view name() const override { return "minimum_distance"; }
  StageSet stages() const override { return Stage::kSuppress; }

  void Declare(WorkspaceLayout* layout) override {
    const int side = 2 * BesideRadius() + 1;
    layout->AddScratch(static_cast<size_t>(side * side) * sizeof(MapPlace));
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      const LevelGeometry& level = pipeline_.level(l);
      if (level.region.empty()) continue;
      layout->AddScratch(ColumnBytes(level));
      layout->Add(l, ListedWords(level), &listed_);
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    const int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    const int strips = frame.lists.strips[static_cast<size_t>(level)].count;
    return std::any_of(counts, counts + strips, [](int count) { return count > 0; }) ? 1 : 0;
  }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    Work work = {frame,
                 level,
                 maps_.Places(frame, level),
                 maps_.Pixels(frame, level),
                 maps_.Threshold(frame),
                 frame.At(frame.lists.keys, level),
                 frame.At(frame.lists.undecided, level),
                 frame.lists.strips[static_cast<size_t>(level)].count *
                     frame.lists.undecided_capacity[static_cast<size_t>(level)],
                 frame.At(listed_, level)};
    JoinFirstPass(work);
    work.passes = 1;
    const int max_passes = pipeline_.spec.pipeline.suppress.max_passes;
    if (maps_.rows().reach > 0) {
      ClearListed(work);
      for (int i = 0; i < work.undecided_count; ++i) IsNewInList(work, work.undecided[i].place);
      int begin = 0;
      while (max_passes == 0 || work.passes < max_passes) {
        Exclude(work, begin);
        begin = work.kept;
        if (work.is_list_complete) {
          PassOverList(work);
        } else {
          PassOverMap(work);
        }
        if (work.kept == begin) break;  // nothing was undecided: this was no pass
        ++work.passes;
      }
    }
    frame.level(level).suppression_passes = work.passes;
    int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    std::fill_n(counts, frame.lists.strips[static_cast<size_t>(level)].count, 0);
    counts[0] = work.kept;
    if (is_scored_) WriteCorners(work);
  }

 private:
  struct Work {
    FrameContext& frame;
    const int level;
    const PlaceMap places;
    const PlaceMap pixels;
    const uint32_t threshold;
    uint64_t* const keys;  // of the corners that are kept
    // The list of undecided peaks, and a bit for each place that is or was in it.
    UndecidedPlace* const undecided;
    const int undecided_capacity;
    uint64_t* const listed;
    int undecided_count = 0;
    bool is_list_complete = true;
    int kept = 0;
    int passes = 0;
  };

  static constexpr int kSearchBehind = 2;  // corners

  // Places beside those in conflict with a corner are so far away from it at most.
  int BesideRadius() const { return maps_.rows().reach + 1; }

  static size_t ListedWords(const LevelGeometry& level) {
    return DivUp(RoundUp<size_t>(static_cast<size_t>(level.width_px), 64) *
                     static_cast<size_t>(level.height_px),
                 size_t{64});
  }
  void ClearListed(const Work& work) const {
    std::fill_n(work.listed, ListedWords(pipeline_.level(work.level)), uint64_t{0});
  }
  // Sets the bit of a place; returns true if it was not set.
  static bool IsNewInList(const Work& work, int32_t place) {
    uint64_t& word = work.listed[place / 64];
    const uint64_t bit = uint64_t{1} << (place % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

  // Makes one list each of the corners and the undecided peaks of the strips.
  static void JoinFirstPass(Work& work) {
    const FrameContext& frame = work.frame;
    const auto level = static_cast<size_t>(work.level);
    const Strips& strips = frame.lists.strips[level];
    const int32_t* const counts = frame.At(frame.lists.strip_corners, work.level);
    const int32_t* const undecided = frame.At(frame.lists.strip_undecided, work.level);
    const int capacity = frame.lists.undecided_capacity[level];
    for (int strip = 0; strip < strips.count; ++strip) {
      if (strip > 0) {
        std::memmove(work.keys + work.kept, work.keys + strip * strips.capacity,
                     static_cast<size_t>(counts[strip]) * sizeof(uint64_t));
      }
      work.kept += counts[strip];
      if (undecided[strip] > capacity) work.is_list_complete = false;
      if (!work.is_list_complete) continue;
      if (strip > 0) {
        std::memmove(work.undecided + work.undecided_count,
                     work.undecided + static_cast<ptrdiff_t>(strip) * capacity,
                     static_cast<size_t>(undecided[strip]) * sizeof(UndecidedPlace));
      }
      work.undecided_count += undecided[strip];
    }
  }

  void Keep(Work& work, int x, int y) const {
    work.keys[work.kept++] = maps_.KeyOf(work.places, work.pixels, x, y);
  }

  // Adds a place to the list, if it is not in it and there is room.
  static void List(Work& work, int x, int y, ptrdiff_t outranked_by) {
    const UndecidedPlace undecided = UndecidedAt(work.places, x, y, outranked_by);
    if (!IsNewInList(work, undecided.place)) return;
    if (work.undecided_count == work.undecided_capacity) {
      work.is_list_complete = false;
      return;
    }
    work.undecided[work.undecided_count++] = undecided;
  }

  // Second half of a pass: takes the corners from `begin` on, and all in conflict with them, out of
  // the map. Lists the peaks that appear.
  void Exclude(Work& work, int begin) const {
    MapPlace* const peaks = work.frame.Scratch<MapPlace>();
    const Region& region = work.places.region;
    const int radius = BesideRadius();
    const auto list_beside = [&](int i) {
      const int x = maps_.PlaceX(work.keys[i]);
      const int y = maps_.PlaceY(work.keys[i]);
      const Region beside = {
          std::max(x - radius, region.x_begin), std::max(y - radius, region.y_begin),
          std::min(x + radius + 1, region.x_end), std::min(y + radius + 1, region.y_end)};
      const int count = find_peaks_of_part_(work.places.entries, work.places.pitch, region, beside,
                                            work.threshold, peaks);
      for (int p = 0; p < count; ++p) List(work, peaks[p].x, peaks[p].y, -1);
    };
    for (int i = begin; i < work.kept; ++i) {
      clear_(work.places, maps_.rows(), maps_.PlaceX(work.keys[i]), maps_.PlaceY(work.keys[i]));
      // Loads wait for stores to the same line, so the search stays a little behind.
      if (i - begin >= kSearchBehind && work.is_list_complete) list_beside(i - kSearchBehind);
    }
    for (int i = std::max(work.kept - kSearchBehind, begin); i < work.kept; ++i) {
      if (work.is_list_complete) list_beside(i);
    }
  }

  // First half of a pass over the list.
  void PassOverList(Work& work) const {
    const uint32_t* const entries = work.places.entries;
    int left = 0;
    for (int i = 0; i < work.undecided_count; ++i) {
      UndecidedPlace candidate = work.undecided[i];
      if (entries[candidate.place] == 0) continue;
      if (candidate.outranked_by < 0 || entries[candidate.outranked_by] == 0) {
        candidate.outranked_by = static_cast<int32_t>(
            maps_.Outranking(work.places, work.pixels, candidate.x, candidate.y));
        if (candidate.outranked_by < 0) {
          Keep(work, candidate.x, candidate.y);
          continue;
        }
      }
      work.undecided[left++] = candidate;
    }
    work.undecided_count = left;
  }

  // First half of a pass over the map, which makes a new list.
  void PassOverMap(Work& work) const {
    uint16_t* const columns = work.frame.Scratch<uint16_t>();
    ClearListed(work);
    work.undecided_count = 0;
    work.is_list_complete = true;
    for (int y = work.places.region.y_begin; y < work.places.region.y_end; ++y) {
      DistanceMaps::ForEachPeak(work.places, y, work.threshold, find_peaks_, columns, [&](int x) {
        const ptrdiff_t by = maps_.Outranking(work.places, work.pixels, x, y);
        if (by < 0) {
          Keep(work, x, y);
        } else {
          List(work, x, y, by);
        }
      });
    }
  }

  // Places and FAST scores of the corners, for the first cut.
  void WriteCorners(const Work& work) const {
    const ImageView image = work.frame.Image(work.level);
    Corner* const corners = work.frame.At(work.frame.lists.corners, work.level);
    for (int i = 0; i < work.kept; ++i) {
      const int x = algo::RankKeyX(work.keys[i]);
      const int y = algo::RankKeyY(work.keys[i]);
      const uint8_t* const centre = image.Row(y) + x;
      uint8_t ring[algo::kFastRingPixels];
      algo::LoadFastRing(centre, image.pitch_bytes, ring);
      corners[i] = {static_cast<int16_t>(x), static_cast<int16_t>(y),
                    static_cast<int16_t>(algo::FastScore(
                        ring, *centre, pipeline_.spec.pipeline.detect.fast_arc_length))};
    }
  }

  const CompiledPipeline& pipeline_;
  const DistanceMaps maps_;
  const bool is_scored_;
  const PeaksKernel find_peaks_;
  const PeaksOfPartKernel find_peaks_of_part_;
  const ClearConflictsKernel clear_;
  LevelBuffer<uint64_t> listed_;
};

}  // namespace

ConflictRows ConflictRows::Of(const DistanceRule& rule) {
  static_assert(kMaxDistanceReach + 1 >= kMinimumDistanceRange.high);
  ConflictRows rows;
  rows.reach = rule.reach;
  for (int dy = 0; dy <= rule.reach; ++dy) {
    int half_width = rule.reach;
    while (half_width > 0 && !rule.Conflicts(half_width, dy)) --half_width;
    rows.half_width[dy] = half_width;
  }
  return rows;
}

ptrdiff_t ReferenceOutranking(const PlaceMap& map, const ConflictRows& rows, int x, int y,
                              bool ties_in_row) {
  const uint32_t own = map.entries[y * map.pitch + x];
  for (int v = std::max(y - rows.reach, map.region.y_begin);
       v < std::min(y + rows.reach + 1, map.region.y_end); ++v) {
    const int half_width = rows.half_width[v < y ? y - v : v - y];
    for (int u = std::max(x - half_width, map.region.x_begin);
         u < std::min(x + half_width + 1, map.region.x_end); ++u) {
      const uint32_t other = map.entries[v * map.pitch + u];
      if (other == own && v == y && !ties_in_row) continue;
      if (algo::Outranks(other, u, v, own, x, y)) return v * map.pitch + u;
    }
  }
  return -1;
}

void ReferenceClearConflicts(const PlaceMap& map, const ConflictRows& rows, int x, int y) {
  for (int v = std::max(y - rows.reach, map.region.y_begin);
       v < std::min(y + rows.reach + 1, map.region.y_end); ++v) {
    const int half_width = rows.half_width[v < y ? y - v : v - y];
    uint32_t* const row = map.entries + v * map.pitch;
    std::fill(row + std::max(x - half_width, map.region.x_begin),
              row + std::min(x + half_width + 1, map.region.x_end), 0u);
  }
}

int ReferenceCandidates(const uint32_t* row, int count, uint32_t threshold, uint16_t* columns) {
  int number = 0;
  for (int x = 0; x < count; ++x) {
    if (row[x] > threshold) columns[number++] = static_cast<uint16_t>(x);
  }
  return number;
}

void ReferenceBlocks(const uint32_t* upper, const uint32_t* lower, int count, uint32_t* blocks) {
  for (int i = 0; i < count; ++i) {
    blocks[i] = std::max(std::max(upper[2 * i], upper[2 * i + 1]),
                         std::max(lower[2 * i], lower[2 * i + 1]));
  }
}

std::unique_ptr<Step> MakeDistanceBlocks(const StepSetup& setup) {
  return std::make_unique<DistanceBlocks>(setup);
}

std::unique_ptr<Step> MakeFirstDistancePass(const StepSetup& setup) {
  return std::make_unique<FirstDistancePass>(setup);
}

std::unique_ptr<Step> MakeMinimumDistance(const StepSetup& setup) {
  return std::make_unique<MinimumDistance>(setup);
}

}  // namespace orbserve::cpu
