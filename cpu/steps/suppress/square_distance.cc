// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/square_distance.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "features/algo/minimum_distance.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

constexpr int kChangedCellPx = 8;  // columns
constexpr int kWordBits = 64;
constexpr int kCellsBetween = 10;  // of runs that are searched as one

int ReachOf(const StepSetup& setup) {
  return setup.pipeline.spec.pipeline.suppress.minimum_distance_px - 1;
}

CoarseMap MapOf(const FrameContext& frame, int level, int reach) {
  const ptrdiff_t pitch = frame.lists.coarse_pitch[static_cast<size_t>(level)];
  return {frame.At(frame.lists.coarse, level) + reach * pitch + reach, pitch};
}

class CoarseMapStep final : public Step {
 public:
  explicit CoarseMapStep(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        reach_(ReachOf(setup)),
        coarsen_(CoarsenKernelFor(setup.target)) {}

  absl::string_view name() const override { return "square_distance"; }
  StageSet stages() const override { return Stage::kSuppress; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const auto i = static_cast<size_t>(level);
    const Region& region = pipeline_.level(level).region;
    const Strips& strips = frame.lists.strips[i];
    const Region part = strips.Of(region, task);
    const CoarseMap map = MapOf(frame, level, reach_);
    uint16_t* const begin = map.entries - reach_ * map.pitch - reach_;
    if (task == 0) std::fill(begin, begin + reach_ * map.pitch + reach_, uint16_t{0});

    const uint32_t* const tops = frame.At(frame.lists.strip_tops, level);
    const CoarseScale scale = CoarseScale::Of(*frame.At(frame.lists.candidate_threshold),
                                              *std::max_element(tops, tops + strips.count));
    const uint32_t* const responses = frame.At(frame.lists.responses, level);
    for (int y = part.y_begin; y < part.y_end; ++y) {
      uint16_t* const row = map.entries + (y - region.y_begin) * map.pitch;
      coarsen_(responses + y * frame.lists.response_pitch[i] + region.x_begin, region.width(),
               scale, row);
      // Up to the first entry of the next row: zeros on the right, and on the left of that row.
      std::fill(row + region.width(), row + map.pitch, uint16_t{0});
    }
    if (task + 1 == strips.count) {
      uint16_t* const end = map.entries + region.height() * map.pitch;
      std::fill(end, end + (reach_ + kBandRows) * map.pitch, uint16_t{0});
    }
  }

 private:
  const CompiledPipeline& pipeline_;
  const int reach_;
  const CoarsenKernel coarsen_;
};

// First half of a pass over parts of a level: the candidates that become inside.
class InsideSearch {
 public:
  explicit InsideSearch(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        reach_(ReachOf(setup)),
        find_(CoarseMaximaKernelFor(setup.target)) {}

  int reach() const { return reach_; }

  static void DeclareScratch(WorkspaceLayout* layout) {
    layout->AddScratch(kBandScratchBytes + (kBandRows * kBandColumns + 1) * sizeof(CoarseMaximum));
  }

  // Searches up to kBandRows rows, from `y_begin` on, in the columns [x_begin, x_end), counted from
  // the region's first pixel. Writes rank keys; returns their number.
  int Search(const FrameContext& frame, int level, int y_begin, int y_end, int x_begin, int x_end,
             uint64_t* keys) const {
    const CoarseMap map = MapOf(frame, level, reach_);
    const Region& region = pipeline_.level(level).region;
    const ptrdiff_t pitch = frame.lists.response_pitch[static_cast<size_t>(level)];
    const uint32_t* const responses =
        frame.At(frame.lists.responses, level) + region.y_begin * pitch + region.x_begin;
    uint8_t* const scratch = frame.Scratch<uint8_t>();
    auto* const maxima = reinterpret_cast<CoarseMaximum*>(scratch + kBandScratchBytes);
    int kept = 0;
    for (int x = x_begin; x < x_end; x += kBandColumns) {
      const int found = find_(map, reach_, {x, y_begin, std::min(x + kBandColumns, x_end), y_end},
                              scratch, maxima);
      for (int i = 0; i < found; ++i) {
        const CoarseMaximum& maximum = maxima[i];
        if (maximum.has_equal != 0 &&
            !OutranksEquals(map, responses, pitch, maximum.x, maximum.y)) {
          continue;
        }
        const uint32_t order = responses[maximum.y * pitch + maximum.x];
        keys[kept++] = algo::RankKey(algo::ValueOfOrderedBits(order), region.x_begin + maximum.x,
                                     region.y_begin + maximum.y);
      }
    }
    return kept;
  }

 private:
  // True if the candidate at (x, y) outranks those within reach that are equal in the coarse map.
  bool OutranksEquals(const CoarseMap& map, const uint32_t* responses, ptrdiff_t pitch, int x,
                      int y) const {
    const uint16_t own = map.entries[y * map.pitch + x];
    const uint32_t order = responses[y * pitch + x];
    for (int v = y - reach_; v <= y + reach_; ++v) {
      const uint16_t* const row = map.entries + v * map.pitch;
      for (int u = x - reach_; u <= x + reach_; ++u) {
        if (row[u] != own || (u == x && v == y)) continue;
        if (!algo::Outranks(order, x, y, responses[v * pitch + u], u, v)) return false;
      }
    }
    return true;
  }

  const CompiledPipeline& pipeline_;
  const int reach_;
  const CoarseMaximaKernel find_;
};

class FirstSquarePass final : public Step {
 public:
  explicit FirstSquarePass(const StepSetup& setup) : pipeline_(setup.pipeline), search_(setup) {}

  absl::string_view name() const override { return "square_distance"; }
  StageSet stages() const override { return Stage::kSuppress; }
  void Declare(WorkspaceLayout* layout) override { InsideSearch::DeclareScratch(layout); }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const Region& region = pipeline_.level(level).region;
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    const Region part = strips.Of(region, task);
    uint64_t* const keys = frame.At(frame.lists.keys, level) + task * strips.capacity;
    int kept = 0;
    for (int y = part.y_begin; y < part.y_end; y += kBandRows) {
      const int y_end = std::min(y + kBandRows, part.y_end);
      kept += search_.Search(frame, level, y - region.y_begin, y_end - region.y_begin, 0,
                             region.width(), keys + kept);
    }
    frame.At(frame.lists.strip_corners, level)[task] = kept;
  }

 private:
  const CompiledPipeline& pipeline_;
  const InsideSearch search_;
};

// Bits of the cells of a level, band by band.
class ChangedCells {
 public:
  ChangedCells(const Region& region, uint64_t* words)
      : width_(region.width()),
        height_(region.height()),
        words_per_band_(WordsPerBand(region)),
        words_(words) {}

  static int WordsPerBand(const Region& region) {
    return DivUp(region.width(), kChangedCellPx * kWordBits);
  }
  static size_t Words(const Region& region) {
    return static_cast<size_t>(WordsPerBand(region)) *
           static_cast<size_t>(DivUp(region.height(), kBandRows));
  }

  int bands() const { return DivUp(height_, kBandRows); }

  // Marks all cells with pixels at most `radius` from (x, y) in x and in y.
  void Mark(int x, int y, int radius) {
    const int first = std::max(x - radius, 0) / kChangedCellPx;
    const int last = std::min(x + radius, width_ - 1) / kChangedCellPx;
    const int last_band = std::min(y + radius, height_ - 1) / kBandRows;
    for (int band = std::max(y - radius, 0) / kBandRows; band <= last_band; ++band) {
      uint64_t* const words = words_ + static_cast<ptrdiff_t>(band) * words_per_band_;
      for (int w = first / kWordBits; w <= last / kWordBits; ++w) {
        const int from = std::max(first - w * kWordBits, 0);
        const int to = std::min(last - w * kWordBits, kWordBits - 1);
        words[w] |= (~uint64_t{0} >> (kWordBits - 1 - (to - from))) << from;
      }
    }
  }

  // Calls visit(x_begin, x_end) with the columns of each run of marked cells of a band, and removes
  // the marks. Runs a few cells apart are one: a call costs more than what lies between them.
  template <typename Visit>
  void TakeRuns(int band, Visit visit) {
    uint64_t* const words = words_ + static_cast<ptrdiff_t>(band) * words_per_band_;
    int begin = 0;  // of the run so far, which is empty at first
    int end = 0;
    for (int w = 0; w < words_per_band_; ++w) {
      uint64_t bits = words[w];
      words[w] = 0;
      while (bits != 0) {
        const int from = std::countr_zero(bits);
        const int to = from + std::countr_one(bits >> from);
        const int first = w * kWordBits + from;
        if (end == begin || first > end + kCellsBetween) {
          if (end > begin) visit(begin * kChangedCellPx, end * kChangedCellPx);
          begin = first;
        }
        end = w * kWordBits + to;
        bits = to < kWordBits ? bits & ~uint64_t{0} << to : 0;
      }
    }
    if (end > begin) visit(begin * kChangedCellPx, end * kChangedCellPx);
  }

 private:
  const int width_;
  const int height_;
  const int words_per_band_;
  uint64_t* const words_;
};

// Clears the entries within kReach of (x, y).
template <int kReach>
void ClearSquare(const CoarseMap& map, int /*reach*/, int x, int y) {
  uint16_t* row = map.entries + (y - kReach) * map.pitch + x - kReach;
  for (int v = 0; v <= 2 * kReach; ++v, row += map.pitch) {
    std::memset(row, 0, (2 * kReach + 1) * sizeof(uint16_t));
  }
}
void ClearAnySquare(const CoarseMap& map, int reach, int x, int y) {
  uint16_t* row = map.entries + (y - reach) * map.pitch + x - reach;
  for (int v = 0; v <= 2 * reach; ++v, row += map.pitch) {
    std::memset(row, 0, static_cast<size_t>(2 * reach + 1) * sizeof(uint16_t));
  }
}

using ClearFunction = void (*)(const CoarseMap& map, int reach, int x, int y);
// Squares of usual distances are cleared by a few stores each row.
ClearFunction ClearFor(int reach) {
  switch (reach) {
    case 3:
      return ClearSquare<3>;
    case 4:
      return ClearSquare<4>;
    case 5:
      return ClearSquare<5>;
    case 7:
      return ClearSquare<7>;
    default:
      return ClearAnySquare;
  }
}

class SquareDistance final : public Step {
 public:
  explicit SquareDistance(const StepSetup& setup)
      : pipeline_(setup.pipeline), search_(setup), clear_(ClearFor(search_.reach())) {}

  absl::string_view name() const override { return "square_distance"; }
  StageSet stages() const override { return Stage::kSuppress; }

  void Declare(WorkspaceLayout* layout) override {
    InsideSearch::DeclareScratch(layout);
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      const Region& region = pipeline_.level(l).region;
      if (!region.empty()) layout->Add(l, ChangedCells::Words(region), &changed_);
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    const int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    const int strips = frame.lists.strips[static_cast<size_t>(level)].count;
    return std::any_of(counts, counts + strips, [](int count) { return count > 0; }) ? 1 : 0;
  }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    const Region& region = pipeline_.level(level).region;
    const CoarseMap map = MapOf(frame, level, search_.reach());
    uint64_t* const keys = frame.At(frame.lists.keys, level);
    uint64_t* const words = frame.At(changed_, level);
    std::fill_n(words, ChangedCells::Words(region), uint64_t{0});
    ChangedCells changed(region, words);

    int kept = JoinStrips(frame, level);
    int passes = 1;
    const int max_passes = pipeline_.spec.pipeline.suppress.max_passes;
    for (int begin = 0; max_passes == 0 || passes < max_passes; ++passes) {
      for (int i = begin; i < kept; ++i) {
        const int x = algo::RankKeyX(keys[i]) - region.x_begin;
        const int y = algo::RankKeyY(keys[i]) - region.y_begin;
        clear_(map, search_.reach(), x, y);
        changed.Mark(x, y, 2 * search_.reach());
      }
      begin = kept;
      for (int band = 0; band < changed.bands(); ++band) {
        const int y_begin = band * kBandRows;
        const int y_end = std::min(y_begin + kBandRows, region.height());
        changed.TakeRuns(band, [&](int x_begin, int x_end) {
          kept += search_.Search(frame, level, y_begin, y_end, x_begin,
                                 std::min(x_end, region.width()), keys + kept);
        });
      }
      if (kept == begin) break;  // nothing was undecided: this was no pass
    }
    frame.level(level).suppression_passes = passes;
    int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    std::fill_n(counts, frame.lists.strips[static_cast<size_t>(level)].count, 0);
    counts[0] = kept;
  }

 private:
  // Makes one list of the corners of the strips; returns their number.
  static int JoinStrips(const FrameContext& frame, int level) {
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    const int32_t* const counts = frame.At(frame.lists.strip_corners, level);
    uint64_t* const keys = frame.At(frame.lists.keys, level);
    int kept = counts[0];
    for (int strip = 1; strip < strips.count; ++strip) {
      std::memmove(keys + kept, keys + strip * strips.capacity,
                   static_cast<size_t>(counts[strip]) * sizeof(uint64_t));
      kept += counts[strip];
    }
    return kept;
  }

  const CompiledPipeline& pipeline_;
  const InsideSearch search_;
  const ClearFunction clear_;
  LevelBuffer<uint64_t> changed_;
};

}  // namespace

CoarseScale CoarseScale::Of(uint32_t threshold, uint32_t top) {
  const int range_bits = top > threshold ? std::bit_width(top - threshold) : 0;
  return {threshold, std::max(range_bits - std::numeric_limits<uint16_t>::digits, 0)};
}

uint16_t CoarseScale::Coarse(uint32_t entry) const {
  const uint32_t above = std::max(entry, threshold) - threshold;
  const uint32_t rounded_up = (above >> shift) + ((above & ((1u << shift) - 1)) != 0 ? 1 : 0);
  return static_cast<uint16_t>(
      std::min<uint32_t>(rounded_up, std::numeric_limits<uint16_t>::max()));
}

void ReferenceCoarsen(const uint32_t* row, int count, const CoarseScale& scale, uint16_t* coarse) {
  for (int x = 0; x < count; ++x) coarse[x] = scale.Coarse(row[x]);
}

int ReferenceCoarseMaxima(const CoarseMap& map, int reach, const Region& part, uint8_t* /*scratch*/,
                          CoarseMaximum* maxima) {
  int number = 0;
  for (int y = part.y_begin; y < part.y_end; ++y) {
    for (int x = part.x_begin; x < part.x_end; ++x) {
      const uint16_t own = map.entries[y * map.pitch + x];
      if (own == 0) continue;
      uint16_t highest = 0;
      int equal = 0;
      for (int v = y - reach; v <= y + reach; ++v) {
        for (int u = x - reach; u <= x + reach; ++u) {
          const uint16_t entry = map.entries[v * map.pitch + u];
          highest = std::max(highest, entry);
          equal += entry == own ? 1 : 0;
        }
      }
      if (highest > own) continue;
      maxima[number++] = {static_cast<int16_t>(x), static_cast<int16_t>(y), equal > 1 ? 1 : 0};
    }
  }
  return number;
}

std::unique_ptr<Step> MakeCoarseMap(const StepSetup& setup) {
  return std::make_unique<CoarseMapStep>(setup);
}

std::unique_ptr<Step> MakeFirstSquarePass(const StepSetup& setup) {
  return std::make_unique<FirstSquarePass>(setup);
}

std::unique_ptr<Step> MakeSquareDistance(const StepSetup& setup) {
  return std::make_unique<SquareDistance>(setup);
}

}  // namespace orbserve::cpu
