// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/cell.h"

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/cell_tables.h"
#include "features/algo/cell.h"
#include "features/algo/frame_order.h"

namespace orbserve::cpu {
namespace {

class Cell final : public Step {
 public:
  explicit Cell(const StepSetup& setup) : tables_(setup.pipeline) {}

  absl::string_view name() const override { return "cell"; }
  StageSet stages() const override { return Stage::kSuppress; }
  StepScope scope() const override { return StepScope::kFrame; }

  void Declare(WorkspaceLayout* layout) override {
    layout->Add(Cells(), &winners_);
    layout->Add(Cells(), &levels_);
  }
  size_t table_bytes() const override { return tables_.bytes(); }

  int Begin(FrameContext& frame, int /*level*/) const override {
    for (int l = 0; l < frame.pipeline.pyramid.detecting_levels; ++l) {
      if (frame.level(l).survivors > 0) return 1;
    }
    return 0;
  }

  void Run(FrameContext& frame, int /*level*/, int /*task*/) const override {
    uint64_t* const winners = frame.At(winners_);
    uint8_t* const levels = frame.At(levels_);
    std::fill_n(winners, Cells(), algo::kNoCellKey);
    for (int l = 0; l < frame.pipeline.pyramid.detecting_levels; ++l) {
      const int survivors = frame.level(l).survivors;
      frame.level(l).survivors = 0;
      if (survivors == 0) continue;  // such a level may have no list
      const CellTables::Level& cells = tables_.level(l);
      const uint64_t* const keys = frame.At(frame.lists.keys, l);
      for (int i = 0; i < survivors; ++i) {
        const uint64_t key = keys[i];
        const int cell = cells.CellOf(key);
        if (!Wins(key, l, winners[cell], levels[cell])) continue;
        winners[cell] = key;
        levels[cell] = static_cast<uint8_t>(l);
      }
    }
    for (size_t cell = 0; cell < Cells(); ++cell) {
      if (winners[cell] == algo::kNoCellKey) continue;
      const int l = levels[cell];
      frame.At(frame.lists.keys, l)[frame.level(l).survivors++] = winners[cell];
    }
  }

 private:
  size_t Cells() const { return static_cast<size_t>(tables_.grid().count()); }

  // True if a key of `level` precedes the winner so far. Levels come in ascending order. An empty
  // cell, whose `winner_level` is not set, has a response order above every key's.
  static bool Wins(uint64_t key, int level, uint64_t winner, const uint8_t& winner_level) {
    const uint32_t order = algo::ResponseOrder(key);
    const uint32_t winner_order = algo::ResponseOrder(winner);
    if (order != winner_order) return order < winner_order;
    return winner_level == level && key < winner;
  }

  const CellTables tables_;
  FrameBuffer<uint64_t> winners_;  // [cell], rank keys
  FrameBuffer<uint8_t> levels_;    // [cell], of the winners
};

}  // namespace

std::unique_ptr<Step> MakeCell(const StepSetup& setup) { return std::make_unique<Cell>(setup); }

}  // namespace orbserve::cpu
