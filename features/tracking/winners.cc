// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/tracking/winners.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "features/algo/order.h"
#include "features/host_device.h"

namespace orbserve {
namespace {

// True if row a comes before row b in the order of the frame. Places of one level compare by their
// level-0 coordinates as they do on the level, because levels are scaled by a positive factor.
bool PrecedesInFrame(const Features& features, size_t a, size_t b) {
  const uint32_t response_a = algo::OrderedBits(features.response[a]);
  const uint32_t response_b = algo::OrderedBits(features.response[b]);
  if (response_a != response_b) return response_a > response_b;
  if (features.octave[a] != features.octave[b]) return features.octave[a] < features.octave[b];
  const uint32_t y_a = algo::OrderedBits(features.y[a]);
  const uint32_t y_b = algo::OrderedBits(features.y[b]);
  if (y_a != y_b) return y_a < y_b;
  const uint32_t x_a = algo::OrderedBits(features.x[a]);
  const uint32_t x_b = algo::OrderedBits(features.x[b]);
  return x_a != x_b ? x_a < x_b : a < b;
}

// Row `from` of `source` becomes row `to` of `target`, which has the size for it.
void CopyRow(const Features& source, size_t from, size_t to, Features* target) {
  target->x[to] = source.x[from];
  target->y[to] = source.y[from];
  target->size[to] = source.size[from];
  target->angle_deg[to] = source.angle_deg[from];
  target->response[to] = source.response[from];
  target->octave[to] = source.octave[from];
  const auto bytes = static_cast<size_t>(source.descriptor_bytes);
  if (bytes > 0) {
    std::memcpy(target->descriptors.data() + to * bytes, source.descriptors.data() + from * bytes,
                bytes);
  }
}

}  // namespace

bool CutsWinners(const PipelineOptions& pipeline) {
  return pipeline.suppress.suppression == Suppression::kCell &&
         pipeline.select.selection == Selection::kBest;
}

PipelineOptions PipelineOfWinners(const PipelineOptions& pipeline) {
  PipelineOptions all = pipeline;
  if (CutsWinners(pipeline)) all.select.capacity = kMaxFeatures;
  return all;
}

int WinnersToAskFor(const PipelineOptions& pipeline, int width_px, int height_px, int wanted) {
  if (!CutsWinners(pipeline)) return wanted;
  const int64_t columns = DivUp(width_px, pipeline.suppress.cell_width_px);
  const int64_t rows = DivUp(height_px, pipeline.suppress.cell_height_px);
  return static_cast<int>(Clamp<int64_t>(columns * rows, kFeatureRange.low, kFeatureRange.high));
}

void KeepFirstOfFrame(const Features& features, size_t count, std::vector<size_t>* rows) {
  const auto precedes = [&features](size_t a, size_t b) { return PrecedesInFrame(features, a, b); };
  if (count < rows->size()) {
    std::nth_element(rows->begin(), rows->begin() + static_cast<ptrdiff_t>(count), rows->end(),
                     precedes);
    rows->resize(count);
  }
  std::sort(rows->begin(), rows->end(), precedes);
}

std::shared_ptr<const Features> CutToWanted(const PipelineOptions& pipeline,
                                            std::shared_ptr<const Features> winners, int wanted) {
  if (!winners->source_index.empty()) return winners;  // given keypoints
  const size_t qualified = std::min(winners->count(), static_cast<size_t>(wanted));
  const size_t count = std::min(qualified, static_cast<size_t>(pipeline.select.capacity));
  const bool truncated = count < qualified;
  if (count == winners->count() && truncated == winners->truncated) return winners;

  std::vector<size_t> rows(winners->count());
  std::iota(rows.begin(), rows.end(), size_t{0});
  KeepFirstOfFrame(*winners, count, &rows);
  std::sort(rows.begin(), rows.end());  // the order of the answer
  auto cut = std::make_shared<Features>();
  cut->descriptor_bytes = winners->descriptor_bytes;
  cut->descriptor_type = winners->descriptor_type;
  cut->truncated = truncated;
  cut->suppression_passes = winners->suppression_passes;
  cut->image_width_px = winners->image_width_px;
  cut->image_height_px = winners->image_height_px;
  cut->Resize(count);
  for (size_t i = 0; i < count; ++i) CopyRow(*winners, rows[i], i, cut.get());
  return cut;
}

}  // namespace orbserve
