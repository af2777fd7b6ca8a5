// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/low_threshold.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "features/algo/fast.h"
#include "features/algo/low_threshold.h"
#include "features/algo/order.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

using algo::kThresholdCellPx;

// Common part: whether a frame and a level have anything to drop, and the cells of a region.
class LowThreshold : public Step {
 public:
  explicit LowThreshold(const StepSetup& setup) : pipeline_(setup.pipeline) {}

  absl::string_view name() const override { return "low_threshold"; }

 protected:
  // A second threshold that equals the first leaves no corner below it.
  static bool HasWork(const FrameContext& frame, int level) {
    const FrameParameters& parameters = frame.job.parameters;
    return parameters.fast_threshold_low_grey > 0 &&
           parameters.fast_threshold_low_grey < parameters.fast_threshold_grey &&
           frame.lists.strips[static_cast<size_t>(level)].count > 0;
  }
  static int Columns(const Region& region) { return DivUp(region.width(), kThresholdCellPx); }
  static int Rows(const Region& region) { return DivUp(region.height(), kThresholdCellPx); }

  // Tells corners of at least the first threshold by their rings.
  class RingTest {
   public:
    RingTest(const FrameContext& frame, int level)
        : image_(frame.Image(level)),
          arc_length_(frame.pipeline.spec.pipeline.detect.fast_arc_length),
          threshold_grey_(frame.job.parameters.fast_threshold_grey) {}

    bool Passes(int x, int y) const {
      const uint8_t* const centre = image_.Row(y) + x;
      uint8_t ring[algo::kFastRingPixels];
      algo::LoadFastRing(centre, image_.pitch_bytes, ring);
      return algo::FastResponse(ring, *centre, arc_length_, threshold_grey_) > 0;
    }

   private:
    const ImageView image_;
    const int arc_length_;
    const int threshold_grey_;
  };

  const CompiledPipeline& pipeline_;
};

// Strips of corners or of rank keys. One task for each level: the cells do not end where strips do.
class LowThresholdOfStrips final : public LowThreshold {
 public:
  explicit LowThresholdOfStrips(const StepSetup& setup)
      : LowThreshold(setup),
        keyed_(CornerListOf(setup.pipeline.spec.pipeline) == CornerList::kKeyed),
        response_is_score_(setup.pipeline.spec.pipeline.detect.score == Score::kFast) {}

  // The stages of the detector, whose suppression comes before.
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      if (level.region.empty()) continue;
      layout->AddScratch(
          static_cast<size_t>(Columns(level.region)) * static_cast<size_t>(Rows(level.region)) + 1);
    }
  }

  int Begin(FrameContext& frame, int level) const override { return HasWork(frame, level) ? 1 : 0; }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    const int threshold = frame.job.parameters.fast_threshold_grey;
    Corner* const corners = frame.At(frame.lists.corners, level);
    uint64_t* const keys = frame.At(frame.lists.keys, level);
    if (!keyed_) {
      const auto is_strong = [corners, threshold](ptrdiff_t i) {
        return corners[i].score >= threshold;
      };
      DropWeak(frame, level, corners, is_strong, is_strong);
    } else if (response_is_score_) {
      // The order of a key says whether its response is at least the threshold.
      const uint64_t weakest = algo::RankKey(static_cast<float>(threshold), 0xffff, 0xffff);
      const auto is_strong = [keys, weakest](ptrdiff_t i) { return keys[i] <= weakest; };
      DropWeak(frame, level, keys, is_strong, is_strong);
    } else {
      // Nothing else reads the corners of keyed lists: they remember what their rings say.
      const RingTest ring(frame, level);
      DropWeak(
          frame, level, keys,
          [&ring, keys, corners](ptrdiff_t i) {
            corners[i].score =
                ring.Passes(algo::RankKeyX(keys[i]), algo::RankKeyY(keys[i])) ? 1 : 0;
            return corners[i].score != 0;
          },
          [corners](ptrdiff_t i) { return corners[i].score != 0; });
    }
  }

 private:
  static int X(const Corner& corner) { return corner.x; }
  static int Y(const Corner& corner) { return corner.y; }
  static int X(uint64_t key) { return algo::RankKeyX(key); }
  static int Y(uint64_t key) { return algo::RankKeyY(key); }

  // Shortens the strips in place. Entries keep their order. `is_strong` and `was_strong` are given
  // the index of an entry, the latter after the former.
  template <typename Entry, typename IsStrong, typename WasStrong>
  void DropWeak(FrameContext& frame, int level, Entry* entries, IsStrong is_strong,
                WasStrong was_strong) const {
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    const Region& region = pipeline_.level(level).region;
    const int columns = Columns(region);
    const int border_px = region.x_begin;
    // Weak corners mark an entry behind the cells, so that marking reads nothing and has no branch.
    const int cells = columns * Rows(region);
    uint8_t* const strong = frame.Scratch<uint8_t>();
    std::fill_n(strong, cells, uint8_t{0});
    for (int strip = 0; strip < strips.count; ++strip) {
      const ptrdiff_t begin = strip * strips.capacity;
      const ptrdiff_t end = begin + counts[strip];
      for (ptrdiff_t i = begin; i < end; ++i) {
        const int cell = algo::ThresholdCellOf(X(entries[i]), Y(entries[i]), border_px, columns);
        strong[is_strong(i) ? cell : cells] = 1;
      }
    }
    for (int strip = 0; strip < strips.count; ++strip) {
      const ptrdiff_t begin = strip * strips.capacity;
      const ptrdiff_t end = begin + counts[strip];
      ptrdiff_t kept = begin;
      for (ptrdiff_t i = begin; i < end; ++i) {
        const Entry entry = entries[i];
        const int cell = algo::ThresholdCellOf(X(entry), Y(entry), border_px, columns);
        // Without a branch: which corners stay is hard to foresee.
        const int stays = static_cast<int>(strong[cell] == 0) | static_cast<int>(was_strong(i));
        entries[kept] = entry;
        kept += stays;
      }
      counts[strip] = static_cast<int32_t>(kept - begin);
    }
  }

  const bool keyed_;
  const bool response_is_score_;
};

// The response map. One task for each row of cells.
class LowThresholdOfMap final : public LowThreshold {
 public:
  explicit LowThresholdOfMap(const StepSetup& setup)
      : LowThreshold(setup),
        response_is_score_(setup.pipeline.spec.pipeline.detect.score == Score::kFast) {}

  StageSet stages() const override { return Stage::kSuppress; }

  int Begin(FrameContext& frame, int level) const override {
    return HasWork(frame, level) ? Rows(pipeline_.level(level).region) : 0;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    if (response_is_score_) {
      const uint32_t least =
          algo::OrderedBits(static_cast<float>(frame.job.parameters.fast_threshold_grey));
      DropWeak(frame, level, task,
               [least](uint32_t response, int /*x*/, int /*y*/) { return response >= least; });
    } else {
      const RingTest ring(frame, level);
      DropWeak(frame, level, task,
               [&ring](uint32_t /*response*/, int x, int y) { return ring.Passes(x, y); });
    }
  }

 private:
  template <typename IsStrong>
  void DropWeak(FrameContext& frame, int level, int row_of_cells, IsStrong is_strong) const {
    const Region& region = pipeline_.level(level).region;
    const int y_begin = region.y_begin + row_of_cells * kThresholdCellPx;
    const int y_end = std::min(y_begin + kThresholdCellPx, region.y_end);
    uint32_t* const map = frame.At(frame.lists.responses, level);
    const ptrdiff_t pitch = frame.lists.response_pitch[static_cast<size_t>(level)];
    for (int x_begin = region.x_begin; x_begin < region.x_end; x_begin += kThresholdCellPx) {
      const int x_end = std::min(x_begin + kThresholdCellPx, region.x_end);
      uint32_t weak[kThresholdCellPx] = {};  // [row], bit for each column
      bool is_strong_cell = false;
      for (int y = y_begin; y < y_end; ++y) {
        const uint32_t* const row = map + y * pitch;
        for (int x = x_begin; x < x_end; ++x) {
          if (row[x] == 0) continue;
          if (is_strong(row[x], x, y)) {
            is_strong_cell = true;
          } else {
            weak[y - y_begin] |= uint32_t{1} << (x - x_begin);
          }
        }
      }
      if (!is_strong_cell) continue;
      for (int y = y_begin; y < y_end; ++y) {
        uint32_t* const row = map + y * pitch + x_begin;
        for (uint32_t bits = weak[y - y_begin]; bits != 0; bits &= bits - 1) {
          row[std::countr_zero(bits)] = 0;
        }
      }
    }
  }

  const bool response_is_score_;
};

}  // namespace

std::unique_ptr<Step> MakeLowThreshold(const StepSetup& setup) {
  if (HasResponseMap(setup.pipeline.spec.pipeline)) {
    return std::make_unique<LowThresholdOfMap>(setup);
  }
  return std::make_unique<LowThresholdOfStrips>(setup);
}

}  // namespace orbserve::cpu
