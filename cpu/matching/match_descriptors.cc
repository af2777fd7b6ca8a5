// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/matching/match_descriptors.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>

#include "features/algo/match_window.h"
#include "features/algo/metric.h"

namespace orbserve::cpu {
namespace {

// Queries of one slice at most: some 50 microseconds of work against 1,000 train descriptors.
constexpr int kMaxQueriesPerSlice = 64;
// Distances of one slice: about a millisecond, so that work which is waiting, or a cancellation,
// waits no longer however large the train set is.
constexpr int kDistancesPerSlice = 1 << 20;
// Queries that the kernels take at a time. Fewer in a slice would read the train set more often.
constexpr int kQueriesPerStep = 8;

int QueriesPerSlice(int train_count) {
  const int steps = kDistancesPerSlice / std::max(1, train_count) / kQueriesPerStep;
  return std::clamp(steps * kQueriesPerStep, kQueriesPerStep, kMaxQueriesPerSlice);
}

constexpr size_t kScratchAlignment = 64;

// A match that runs: its slices, and whether it was cancelled.
struct Run {
  const std::atomic<bool>* cancelled;
  MatchSlices& slices;

  bool IsCancelled() const {
    return cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
  }
};

// Uninitialised memory at the alignment that prepare_train wants.
struct AlignedDelete {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t(kScratchAlignment)); }
};
using AlignedBytes = std::unique_ptr<uint8_t[], AlignedDelete>;

AlignedBytes AllocateAligned(int64_t bytes) {
  return AlignedBytes(static_cast<uint8_t*>(
      ::operator new[](static_cast<size_t>(bytes), std::align_val_t(kScratchAlignment))));
}

void ReferencePrepareTrain(const uint8_t*, int, int, uint8_t*) {}

// Puts `candidate` in its place if it is nearer than the last of the k entries, which drops out.
void Take(Neighbour candidate, int k, Neighbour* list) {
  if (candidate >= list[k - 1]) return;
  int i = k - 1;
  for (; i > 0 && list[i - 1] > candidate; --i) list[i] = list[i - 1];
  list[i] = candidate;
}

Neighbour Measure(const uint8_t* query, int q, const uint8_t* train, int t, int descriptor_bytes) {
  const int distance = algo::DescriptorDistance(
      query + static_cast<ptrdiff_t>(q) * descriptor_bytes,
      train + static_cast<ptrdiff_t>(t) * descriptor_bytes, descriptor_bytes);
  return MakeNeighbour(static_cast<uint32_t>(distance), static_cast<uint32_t>(t));
}

void ReferenceNearest(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
                      int train_count, int descriptor_bytes, int k, const uint8_t*,
                      Neighbour* nearest) {
  for (int q = query_begin; q < query_end; ++q) {
    Neighbour* const list = nearest + static_cast<ptrdiff_t>(q) * k;
    std::fill(list, list + k, kNoNeighbour);
    for (int t = 0; t < train_count; ++t) {
      Take(Measure(query, q, train, t, descriptor_bytes), k, list);
    }
  }
}

bool IsAdmissible(const WindowSearch& search, int q, int t) {
  const PlacedRows& query = search.query;
  const PlacedRows& train = search.train;
  if (!algo::IsNear(search.half_side_px, train.x[t] + train.offset_x_px,
                    query.x[q] + query.offset_x_px) ||
      !algo::IsNear(search.half_side_px, train.y[t] + train.offset_y_px,
                    query.y[q] + query.offset_y_px)) {
    return false;
  }
  if (!search.has_band) return true;
  if (!algo::IsInBand(search.band, query.x[q], query.y[q], train.x[t], train.y[t])) return false;
  if (search.query_lines != nullptr) {
    return algo::IsNearLine((*search.query_lines)[static_cast<size_t>(q)], train.x[t], train.y[t]);
  }
  return search.train_lines == nullptr ||
         algo::IsNearLine((*search.train_lines)[static_cast<size_t>(t)], query.x[q], query.y[q]);
}

void ReferenceNearestInWindow(const WindowSearch& search, int query_begin, int query_end, int k,
                              Neighbour* nearest) {
  for (int q = query_begin; q < query_end; ++q) {
    Neighbour* const list = nearest + static_cast<ptrdiff_t>(q) * k;
    std::fill(list, list + k, kNoNeighbour);
    for (int t = 0; t < search.train.count; ++t) {
      if (!IsAdmissible(search, q, t)) continue;
      Take(Measure(search.query.rows, q, search.train.rows, t, search.descriptor_bytes), k, list);
    }
  }
}

// Rules of places of a match, as a search sees them. `has_places`: there is a rule.
struct PlaceRules {
  bool has_places = false;
  float half_side_px = FLT_MAX;
  bool has_band = false;
  algo::MatchBand band;
  algo::EpipolarBand epipolar;
  EpipolarLines lines;  // of the query keypoints
};

PlaceRules RulesOf(const Features& query, const MatchOptions& options) {
  PlaceRules rules;
  rules.has_places = options.needs_places();
  if (options.has_window()) rules.half_side_px = options.window_px;
  rules.has_band = options.has_limits() || options.has_epipolar();
  rules.band = algo::BandOf(options.min_dx_px, options.max_dx_px, options.max_dy_px, kMaxBandPx);
  if (!options.has_epipolar()) return rules;
  rules.epipolar = algo::MakeEpipolarBand(options.fundamental, options.max_epipolar_px);
  rules.lines.reserve(query.count());
  for (size_t i = 0; i < query.count(); ++i) {
    rules.lines.push_back(rules.epipolar.LineOf(query.x[i], query.y[i]));
  }
  return rules;
}

StripLines InStripOrder(const PlaceRules& rules, const PlaceStrips& strips) {
  StripLines ordered;
  const auto count = static_cast<size_t>(strips.count);
  ordered.epipolar = rules.epipolar;
  ordered.lines.reserve(count + PlaceStrips::kPadding);
  for (size_t i = 0; i < count; ++i) ordered.lines.push_back(rules.lines[strips.index[i]]);
  for (size_t i = 0; i < PlaceStrips::kPadding; ++i) ordered.lines.push_back({});
  for (int strip = 0; strip < strips.strips(); ++strip) {
    float most = 0.0f;
    for (int i = strips.begin(strip); i < strips.end(strip); ++i) {
      const float value = ordered.lines.most[static_cast<size_t>(i)];
      most = std::isfinite(value) ? std::max(most, value) : std::numeric_limits<float>::infinity();
      if (!std::isfinite(most)) break;
    }
    ordered.most.push_back(most);
  }
  return ordered;
}

std::vector<float> Moved(const std::vector<float>& places, float offset_px) {
  std::vector<float> moved;
  moved.reserve(places.size());
  for (const float place : places) moved.push_back(place + offset_px);
  return moved;
}

enum class Direction { kForward, kBackwards };

// The k nearest rows of `train` for every row of `query`, among the admissible: [query][k],
// ascending. Backwards the train side of the match is `query`. Unspecified when the run was
// cancelled.
std::vector<Neighbour> NearestNeighbours(const MatchKernels& kernels, const PlacedRows& query,
                                         const PlacedRows& train, int descriptor_bytes, int k,
                                         const PlaceRules& rules, Direction direction,
                                         const Run& run) {
  if (run.IsCancelled()) return {};
  std::vector<Neighbour> nearest(static_cast<size_t>(query.count) * static_cast<size_t>(k));
  if (rules.has_places) {
    const PlaceStrips strips(train.x, train.y, train.count);
    const bool forward = direction == Direction::kForward;
    const EpipolarLines* const lines = rules.lines.empty() ? nullptr : &rules.lines;
    const bool lines_of_train = lines != nullptr && !forward;
    const StripLines strip_lines = lines_of_train ? InStripOrder(rules, strips) : StripLines();
    const WindowSearch search = {query,
                                 train,
                                 &strips,
                                 descriptor_bytes,
                                 rules.half_side_px,
                                 rules.has_band,
                                 forward ? rules.band : rules.band.Backwards(),
                                 forward ? lines : nullptr,
                                 forward ? nullptr : lines,
                                 lines_of_train ? &strip_lines : nullptr};
    run.slices.ForEach(query.count, QueriesPerSlice(train.count), [&](int begin, int end) {
      if (run.IsCancelled()) return;
      kernels.nearest_in_window(search, begin, end, k, nearest.data());
    });
    return nearest;
  }
  const AlignedBytes scratch = AllocateAligned(MatchScratchBytes(train.count, descriptor_bytes));
  kernels.prepare_train(train.rows, train.count, descriptor_bytes, scratch.get());
  run.slices.ForEach(query.count, QueriesPerSlice(train.count), [&](int begin, int end) {
    if (run.IsCancelled()) return;
    kernels.nearest(query.rows, begin, end, train.rows, train.count, descriptor_bytes, k,
                    scratch.get(), nearest.data());
  });
  return nearest;
}

// Removes the matches whose train descriptor has a nearer query, or one as near with a lower index.
// Only train descriptors that take part in a match are looked at, so this costs as much as the
// forward search only where nearly every train descriptor is somebody's nearest. `matches` has at
// most one match per query.
void KeepMutual(const MatchKernels& kernels, const PlacedRows& query, const PlacedRows& train,
                int descriptor_bytes, const PlaceRules& rules, const Run& run, Matches& matches) {
  const auto bytes = static_cast<size_t>(descriptor_bytes);
  std::vector<uint32_t> wanted(matches.train_index);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

  std::vector<uint8_t> rows(wanted.size() * bytes);
  std::vector<float> x;
  std::vector<float> y;
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::copy_n(train.rows + wanted[i] * bytes, bytes, rows.data() + i * bytes);
    if (rules.has_places) {
      x.push_back(train.x[wanted[i]]);
      y.push_back(train.y[wanted[i]]);
    }
  }
  const PlacedRows wanted_side = {rows.data(), x.data(), y.data(), static_cast<int>(wanted.size())};
  const std::vector<Neighbour> nearest = NearestNeighbours(
      kernels, wanted_side, query, descriptor_bytes, /*k=*/1, rules, Direction::kBackwards, run);
  if (run.IsCancelled()) return;

  size_t kept = 0;
  for (size_t i = 0; i < matches.count(); ++i) {
    const auto row = static_cast<size_t>(
        std::lower_bound(wanted.begin(), wanted.end(), matches.train_index[i]) - wanted.begin());
    if (TrainIndexOf(nearest[row]) != matches.query_index[i]) continue;
    matches.query_index[kept] = matches.query_index[i];
    matches.train_index[kept] = matches.train_index[i];
    matches.distance[kept] = matches.distance[i];
    ++kept;
  }
  matches.query_index.resize(kept);
  matches.train_index.resize(kept);
  matches.distance.resize(kept);
}

// Returns true if the best of a query passes the ratio test. Its second best need not exist.
bool BestStandsOut(const Neighbour* list, int descriptor_bytes, float ratio) {
  if (list[0] == kNoNeighbour) return false;
  const int second = list[1] == kNoNeighbour ? algo::MissingSecondDistance(descriptor_bytes)
                                             : static_cast<int>(DistanceOf(list[1]));
  return algo::StandsOut(static_cast<int>(DistanceOf(list[0])), second, ratio, descriptor_bytes);
}

}  // namespace

void EpipolarLines::reserve(size_t count) {
  for (std::vector<float>* column : {&a, &b, &c, &most}) column->reserve(count);
}

void EpipolarLines::push_back(const algo::EpipolarLine& line) {
  a.push_back(line.a);
  b.push_back(line.b);
  c.push_back(line.c);
  most.push_back(line.most);
}

const MatchKernels& ReferenceMatchKernels() {
  static constexpr MatchKernels kKernels = {"reference", ReferencePrepareTrain, ReferenceNearest,
                                            ReferenceNearestInWindow};
  return kKernels;
}

void ArenaSlices::ForEach(int count, int size, absl::FunctionRef<void(int, int)> slice) {
  tbb::parallel_for(
      tbb::blocked_range<int>(0, count, size),
      [&](const tbb::blocked_range<int>& range) { slice(range.begin(), range.end()); });
}

std::optional<Matches> MatchDescriptors(const MatchKernels& kernels, const Features& query,
                                        const Features& train, const MatchOptions& options,
                                        const std::atomic<bool>* cancelled, MatchSlices& slices) {
  const Run run{cancelled, slices};
  if (run.IsCancelled()) return std::nullopt;
  Matches matches;
  const bool with_ratio = options.ratio > 0.0f;
  matches.ratio_undefined = with_ratio && train.count() == 1;
  if (query.count() == 0 || train.count() == 0 || matches.ratio_undefined) return matches;

  const PlaceRules rules = RulesOf(query, options);
  PlacedRows query_side = {query.descriptors.data(), query.x.data(), query.y.data(),
                           static_cast<int>(query.count())};
  std::vector<float> moved_x;
  std::vector<float> moved_y;
  if (rules.has_band) {
    query_side.offset_x_px = options.offset_x_px;
    query_side.offset_y_px = options.offset_y_px;
  } else if (rules.has_places) {
    moved_x = Moved(query.x, options.offset_x_px);
    moved_y = Moved(query.y, options.offset_y_px);
    query_side.x = moved_x.data();
    query_side.y = moved_y.data();
  }
  const PlacedRows train_side = {train.descriptors.data(), train.x.data(), train.y.data(),
                                 static_cast<int>(train.count())};
  const int k = with_ratio ? 2 : options.k;
  const std::vector<Neighbour> nearest = NearestNeighbours(
      kernels, query_side, train_side, query.descriptor_bytes, k, rules, Direction::kForward, run);
  if (run.IsCancelled()) return std::nullopt;

  const size_t most = query.count() * static_cast<size_t>(options.k);
  matches.query_index.reserve(most);
  matches.train_index.reserve(most);
  matches.distance.reserve(most);
  const auto max_distance = static_cast<uint32_t>(options.max_distance);
  for (size_t q = 0; q < query.count(); ++q) {
    const Neighbour* const list = nearest.data() + q * static_cast<size_t>(k);
    if (with_ratio && !BestStandsOut(list, query.descriptor_bytes, options.ratio)) continue;
    for (int i = 0; i < options.k; ++i) {
      // Ascending, and kNoNeighbour is farther than any limit.
      if (DistanceOf(list[i]) > max_distance) break;
      matches.query_index.push_back(static_cast<uint32_t>(q));
      matches.train_index.push_back(TrainIndexOf(list[i]));
      matches.distance.push_back(DistanceOf(list[i]));
    }
  }
  if (options.cross_check && matches.count() > 0) {
    KeepMutual(kernels, query_side, train_side, query.descriptor_bytes, rules, run, matches);
    if (run.IsCancelled()) return std::nullopt;
  }
  return matches;
}

Matches MatchDescriptors(const MatchKernels& kernels, const Features& query, const Features& train,
                         const MatchOptions& options) {
  ArenaSlices slices;
  return *MatchDescriptors(kernels, query, train, options, /*cancelled=*/nullptr, slices);
}

}  // namespace orbserve::cpu
