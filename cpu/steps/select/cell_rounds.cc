// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/cell_rounds.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "cpu/kernels/cell_tables.h"
#include "cpu/kernels/selection.h"
#include "cpu/steps/select/rank.h"
#include "features/algo/cell.h"
#include "features/pipeline/capacity.h"

namespace orbserve::cpu {
namespace {

// Rounds that are kept whole, and how many keypoints the round after them gives.
struct Rounds {
  int whole;
  int rest;
};

// The rounds of the first `wanted` keypoints; there are more keypoints than that. `sizes`: number
// of keypoints of each cell, which are sorted.
Rounds RoundsOf(absl::Span<int32_t> sizes, int wanted) {
  std::sort(sizes.begin(), sizes.end());
  Rounds rounds = {0, wanted};
  for (size_t i = 0; i < sizes.size(); ++i) {
    // Until the round `sizes[i]` every round has one keypoint of each of the cells from i on.
    const int64_t in_round = static_cast<int64_t>(sizes.size() - i);
    const int64_t until = sizes[i] - rounds.whole;
    if (in_round * until > rounds.rest) {
      rounds.whole += static_cast<int>(rounds.rest / in_round);
      rounds.rest = static_cast<int>(rounds.rest % in_round);
      break;
    }
    rounds.rest -= static_cast<int>(in_round * until);
    rounds.whole = sizes[i];
  }
  return rounds;
}

class CellRounds final : public Step {
 public:
  explicit CellRounds(const StepSetup& setup) : pipeline_(setup.pipeline), tables_(pipeline_) {}

  absl::string_view name() const override { return "cell_rounds"; }
  StageSet stages() const override { return Stage::kSelect; }
  StepScope scope() const override { return StepScope::kFrame; }

  void Declare(WorkspaceLayout* layout) override {
    int64_t corners = 0;
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      corners += MaxCorners(pipeline_.spec.pipeline, level.region);
    }
    layout->Add(static_cast<size_t>(corners), &cell_keys_);
    layout->Add(Cells(), &ends_);
    layout->Add(Cells(), &sizes_);
    layout->Add(kMaxLevels, &kept_);
    layout->Add(kMaxLevels, &tried_);
  }
  size_t table_bytes() const override { return tables_.bytes(); }

  // The keys of each level that are sure to stay come to the front of its list, then those among
  // which the last round chooses.
  int Begin(FrameContext& frame, int /*level*/) const override {
    const int levels = pipeline_.pyramid.detecting_levels;
    const int wanted = frame.cuts.by_response[0];
    int* const kept = frame.At(kept_);
    int* const tried = frame.At(tried_);
    int64_t candidates = 0;
    for (int l = 0; l < levels; ++l) {
      kept[l] = frame.level(l).survivors;
      tried[l] = 0;
      candidates += kept[l];
    }
    if (candidates <= wanted) return levels;

    FillCells(frame);
    int32_t* const sizes = frame.At(sizes_);
    int32_t* const ends = frame.At(ends_);
    const Rounds rounds = RoundsOf(absl::MakeSpan(sizes, Cells()), wanted);
    std::fill_n(kept, levels, 0);
    uint64_t* const cell_keys = frame.At(cell_keys_);
    int begin = 0;
    for (size_t cell = 0; cell < Cells(); ++cell) {
      const int end = ends[cell];
      if (end - begin > rounds.whole) {
        std::nth_element(cell_keys + begin, cell_keys + begin + rounds.whole, cell_keys + end);
      }
      for (int i = begin; i < std::min(begin + rounds.whole, end); ++i) {
        Append(frame, static_cast<int>(cell), cell_keys[i], kept);
      }
      begin = end;
    }
    if (rounds.rest == 0) return levels;
    std::copy_n(kept, levels, tried);
    begin = 0;
    for (size_t cell = 0; cell < Cells(); ++cell) {
      if (ends[cell] - begin > rounds.whole) {
        Append(frame, static_cast<int>(cell), cell_keys[begin + rounds.whole], tried);
      }
      begin = ends[cell];
    }
    for (int l = 0; l < levels; ++l) tried[l] -= kept[l];
    DivideLastRound(frame, rounds.rest);
    return levels;
  }

  // One task for each level.
  void Run(FrameContext& frame, int /*level*/, int task) const override {
    if (frame.level(task).survivors == 0) return;
    RankLevel(frame, task, frame.At(kept_)[task]);
  }

 private:
  size_t Cells() const { return static_cast<size_t>(tables_.grid().count()); }

  // Sorts the keypoints of all levels into their cells: cell c is cell_keys_[ends_[c - 1],
  // ends_[c]). sizes_ becomes the number of each.
  void FillCells(FrameContext& frame) const {
    int32_t* const sizes = frame.At(sizes_);
    int32_t* const ends = frame.At(ends_);
    std::fill_n(sizes, Cells(), 0);
    ForEachKey(frame, [sizes](const CellTables::Level& level, uint64_t key) {
      ++sizes[level.CellOf(key)];
    });
    int32_t begin = 0;
    for (size_t cell = 0; cell < Cells(); ++cell) {
      ends[cell] = begin;
      begin += sizes[cell];
    }
    uint64_t* const cell_keys = frame.At(cell_keys_);
    ForEachKey(frame, [ends, cell_keys](const CellTables::Level& level, uint64_t key) {
      cell_keys[ends[level.CellOf(key)]++] = level.CellKeyOf(key);
    });
  }

  template <typename Function>
  void ForEachKey(const FrameContext& frame, Function function) const {
    for (int l = 0; l < pipeline_.pyramid.detecting_levels; ++l) {
      const int survivors = frame.level(l).survivors;
      if (survivors == 0) continue;  // such a level may have no list
      const CellTables::Level& level = tables_.level(l);
      const uint64_t* const keys = frame.At(frame.lists.keys, l);
      for (int i = 0; i < survivors; ++i) function(level, keys[i]);
    }
  }

  // Writes the rank key of a keypoint of `cell` behind the first counts[level] keys of its level.
  void Append(FrameContext& frame, int cell, uint64_t cell_key, int* counts) const {
    const int l = algo::CellKeyLevel(cell_key);
    frame.At(frame.lists.keys, l)[counts[l]++] =
        algo::CellKeyRank(tables_.grid(), cell_key, cell, pipeline_.level(l).scale);
  }

  // Adds the first `rest` of the last round, in the order of the frame, to those kept.
  void DivideLastRound(FrameContext& frame, int rest) const {
    const int levels = pipeline_.pyramid.detecting_levels;
    int* const kept = frame.At(kept_);
    const int* const tried = frame.At(tried_);
    std::array<absl::Span<const uint64_t>, kMaxLevels> runs;
    std::array<int, kMaxLevels> chosen;
    for (int l = 0; l < levels; ++l) {
      if (tried[l] == 0) continue;
      runs[static_cast<size_t>(l)] = absl::MakeConstSpan(frame.At(frame.lists.keys, l) + kept[l],
                                                         static_cast<size_t>(tried[l]));
    }
    const auto count = static_cast<size_t>(levels);
    DivideBest(absl::MakeConstSpan(runs.data(), count), rest, absl::MakeSpan(chosen.data(), count));
    for (int l = 0; l < levels; ++l) {
      if (tried[l] == 0) continue;
      kept[l] += KeepFirstKeys(frame.At(frame.lists.keys, l) + kept[l], tried[l],
                               chosen[static_cast<size_t>(l)]);
    }
  }

  const CompiledPipeline& pipeline_;
  const CellTables tables_;
  FrameBuffer<uint64_t> cell_keys_;  // algo::CellKey() of all candidates of the frame, by cells
  FrameBuffer<int32_t> ends_;        // [cell]
  FrameBuffer<int32_t> sizes_;       // [cell]
  FrameBuffer<int> kept_;            // [level]
  FrameBuffer<int> tried_;           // [level], keypoints of the last round
};

}  // namespace

std::unique_ptr<Step> MakeCellRounds(const StepSetup& setup) {
  return std::make_unique<CellRounds>(setup);
}

}  // namespace orbserve::cpu
