// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/cell_bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels/cell_tables.h"
#include "features/algo/frame_order.h"
#include "features/algo/order.h"

namespace orbserve::cpu {
namespace {

// Above the response order of every corner.
constexpr uint32_t kNoWinner = ~uint32_t{0};

class CellBound final : public Step {
 public:
  explicit CellBound(const StepSetup& setup) : tables_(setup.pipeline) {}

  absl::string_view name() const override { return "cell_bound"; }
  StageSet stages() const override { return Stage::kSuppress; }
  StepScope scope() const override { return StepScope::kFrame; }

  void Declare(WorkspaceLayout* layout) override { layout->Add(Cells(), &winners_); }
  size_t table_bytes() const override { return tables_.bytes(); }

  int Begin(FrameContext& frame, int /*level*/) const override {
    *frame.At(frame.lists.least_response) = 0.0f;
    const bool may_lose_winners = frame.job.parameters.fast_threshold_low_grey > 0;
    const int wanted = frame.cuts.by_response[0];
    return !may_lose_winners && wanted > 0 && static_cast<size_t>(wanted) <= Cells() ? 1 : 0;
  }

  void Run(FrameContext& frame, int /*level*/, int /*task*/) const override {
    uint32_t* const winners = frame.At(winners_);  // upper halves of rank keys: the least is best
    std::fill_n(winners, Cells(), kNoWinner);
    for (int l = 1; l < frame.pipeline.pyramid.detecting_levels; ++l) {
      const Strips& strips = frame.lists.strips[static_cast<size_t>(l)];
      for (int strip = 0; strip < strips.count; ++strip) {
        const uint64_t* const keys = frame.At(frame.lists.keys, l) + strip * strips.capacity;
        const int32_t count = frame.At(frame.lists.strip_corners, l)[strip];
        for (int32_t i = 0; i < count; ++i) {
          uint32_t& winner = winners[tables_.level(l).CellOf(keys[i])];
          winner = std::min(winner, algo::ResponseOrder(keys[i]));
        }
      }
    }
    uint32_t* const last = winners + frame.cuts.by_response[0] - 1;
    std::nth_element(winners, last, winners + Cells());
    if (*last == kNoWinner) return;
    *frame.At(frame.lists.least_response) =
        algo::RankKeyResponse(static_cast<uint64_t>(*last) << 32);
  }

 private:
  size_t Cells() const { return static_cast<size_t>(tables_.grid().count()); }

  const CellTables tables_;
  FrameBuffer<uint32_t> winners_;  // [cell]
};

}  // namespace

std::unique_ptr<Step> MakeCellBound(const StepSetup& setup) {
  return std::make_unique<CellBound>(setup);
}

}  // namespace orbserve::cpu
