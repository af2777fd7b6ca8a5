// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/survivors.h"

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/selection.h"
#include "features/algo/order.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

class Survivors final : public Step {
 public:
  explicit Survivors(const StepSetup& setup)
      : score_ranks_(setup.pipeline.spec.pipeline.detect.score == Score::kFast),
        ranks_(SurvivorsAreRanked(setup.pipeline.spec.pipeline)) {}

  absl::string_view name() const override { return "survivors"; }
  StageSet stages() const override { return Stage::kSelect; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count > 0 ? 1 : 0;
  }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    Corner* const corners = frame.At(frame.lists.corners, level);
    const int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    const int lowest_score =
        LowestScore(frame.cuts.by_score[static_cast<size_t>(level)], strips, corners, counts);
    int kept = 0;
    for (int strip = 0; strip < strips.count; ++strip) {
      kept += KeepScores(corners + strip * strips.capacity, counts[strip], lowest_score,
                         corners + kept);
    }
    frame.level(level).survivors = kept;
    if (!score_ranks_) return;
    uint64_t* const keys = frame.At(frame.lists.keys, level);
    if (ranks_) return RankScores(corners, kept, keys);
    for (int i = 0; i < kept; ++i) {
      keys[i] = algo::RankKey(corners[i].score, corners[i].x, corners[i].y);
    }
  }

 private:
  static int LowestScore(int wanted, const Strips& strips, const Corner* corners,
                         const int32_t* counts) {
    if (wanted == Cuts::kNoCut) return 0;
    ScoreHistogram histogram;
    histogram.Clear();
    for (int strip = 0; strip < strips.count; ++strip) {
      histogram.Add(corners + strip * strips.capacity, counts[strip]);
    }
    return histogram.CutFor(wanted);
  }

  const bool score_ranks_;
  const bool ranks_;
};

// The strips of a level to one list of keys.
class JoinKeys final : public Step {
 public:
  absl::string_view name() const override { return "survivors"; }
  StageSet stages() const override { return Stage::kSelect; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count > 0 ? 1 : 0;
  }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    uint64_t* const keys = frame.At(frame.lists.keys, level);
    const int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    int joined = counts[0];
    for (int strip = 1; strip < strips.count; ++strip) {
      std::copy_n(keys + strip * strips.capacity, counts[strip], keys + joined);
      joined += counts[strip];
    }
    frame.level(level).survivors = joined;
  }
};

}  // namespace

// Corners that wandered through a response map have no order of places.
bool SurvivorsAreRanked(const PipelineOptions& options) {
  return CornerListOf(options) == CornerList::kScored && options.detect.score == Score::kFast &&
         !HasResponseMap(options);
}

std::unique_ptr<Step> MakeSurvivors(const StepSetup& setup) {
  if (CornerListOf(setup.pipeline.spec.pipeline) == CornerList::kKeyed) {
    return std::make_unique<JoinKeys>();
  }
  return std::make_unique<Survivors>(setup);
}

}  // namespace orbserve::cpu
