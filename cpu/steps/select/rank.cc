// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/rank.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "cpu/kernels/selection.h"
#include "cpu/steps/select/survivors.h"
#include "features/algo/order.h"

namespace orbserve::cpu {

void RankLevel(FrameContext& frame, int level, int kept, bool in_order) {
  Workspace::Level& state = frame.level(level);
  uint64_t* const keys = frame.At(frame.lists.keys, level);
  if (!in_order) SortKeys(keys, kept);
  state.ranked = kept;
  const int count = std::min(kept, frame.lists.max_points[static_cast<size_t>(level)]);
  LevelPoint* const points = frame.At(frame.lists.points, level);
  for (int i = 0; i < count; ++i) {
    points[i] = {static_cast<int16_t>(algo::RankKeyX(keys[i])),
                 static_cast<int16_t>(algo::RankKeyY(keys[i])), algo::RankKeyResponse(keys[i]),
                 -1.0f};
  }
  state.points = absl::MakeSpan(points, static_cast<size_t>(count));
}

namespace {

class RankEachLevel final : public Step {
 public:
  explicit RankEachLevel(bool in_order) : in_order_(in_order) {}

  absl::string_view name() const override { return "rank"; }
  StageSet stages() const override { return Stage::kSelect; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.level(level).survivors > 0 ? 1 : 0;
  }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    uint64_t* const keys = frame.At(frame.lists.keys, level);
    const int survivors = frame.level(level).survivors;
    const int wanted = frame.cuts.by_response[static_cast<size_t>(level)];
    const int kept =
        in_order_ ? CountBestKeys(keys, survivors, wanted) : KeepBestKeys(keys, survivors, wanted);
    RankLevel(frame, level, kept, in_order_);
  }

 private:
  const bool in_order_;
};

class RankAllLevels final : public Step {
 public:
  explicit RankAllLevels(bool in_order) : in_order_(in_order) {}

  absl::string_view name() const override { return "rank"; }
  StageSet stages() const override { return Stage::kSelect; }
  StepScope scope() const override { return StepScope::kFrame; }

  void Declare(WorkspaceLayout* layout) override { layout->Add(kMaxLevels, &kept_); }

  int Begin(FrameContext& frame, int /*level*/) const override {
    const int levels = frame.pipeline.pyramid.detecting_levels;
    std::array<absl::Span<const uint64_t>, kMaxLevels> keys;
    for (int l = 0; l < levels; ++l) {
      const int survivors = frame.level(l).survivors;
      // A level without survivors may have no list.
      if (survivors == 0) continue;
      keys[static_cast<size_t>(l)] =
          absl::MakeConstSpan(frame.At(frame.lists.keys, l), static_cast<size_t>(survivors));
    }
    const auto count = static_cast<size_t>(levels);
    DivideBest(absl::MakeConstSpan(keys.data(), count), frame.cuts.by_response[0],
               absl::MakeSpan(frame.At(kept_), count));
    return levels;
  }

  // One task for each level.
  void Run(FrameContext& frame, int /*level*/, int task) const override {
    const int survivors = frame.level(task).survivors;
    if (survivors == 0) return;
    int kept = frame.At(kept_)[task];
    if (!in_order_) kept = KeepFirstKeys(frame.At(frame.lists.keys, task), survivors, kept);
    RankLevel(frame, task, kept, in_order_);
  }

 private:
  const bool in_order_;
  FrameBuffer<int> kept_;  // [level], keypoints among the best of the frame
};

}  // namespace

std::unique_ptr<Step> MakeRank(const StepSetup& setup) {
  const PipelineOptions& options = setup.pipeline.spec.pipeline;
  const bool in_order = SurvivorsAreRanked(options);
  if (CutsAllLevels(options)) return std::make_unique<RankAllLevels>(in_order);
  return std::make_unique<RankEachLevel>(in_order);
}

}  // namespace orbserve::cpu
