// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/frame/frame_room.h"

#include <algorithm>

#include "features/algo/corner_score.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"
#include "features/pipeline/detection.h"
#include "gpu/memory/arena_layout.h"
#include "gpu/steps/select/node_list.h"
#include "gpu/steps/sift/sift_data.h"

namespace orbserve::gpu {
namespace {

// Detection scores are integers, so many corners may equal the last one of the first cut: on text
// and drawings whole glyphs do. Room for four times the wanted number and a fixed number of ties
// per level keeps such images on the fast path.
constexpr int64_t kSurvivorsPerWanted = 4;
constexpr int64_t kSurvivorTies = 2048;
// Responses tie seldom unless they are detection scores.
constexpr int64_t kRankedPerWanted = 2;
constexpr int64_t kRankedTies = 256;

int Aligned(int64_t entries) { return static_cast<int>(RoundUp(entries, int64_t{kListAlignment})); }

// Rows of a frame that wants `max_features`: its class, and some for ties at a cut that keeps them.
int RowsFor(const CompiledPipeline& pipeline, int max_features) {
  const int features = FeatureClassOf(max_features);
  const bool whole_numbers =
      algo::FactsOf(pipeline.spec.pipeline.detect.score).source != algo::ScoreSource::kPatch;
  const bool is_sift = HasScaleSpace(pipeline.spec.pipeline);
  const bool keeps_ties =
      is_sift || pipeline.spec.pipeline.select.selection == Selection::kLevelQuota;
  const int ties = !keeps_ties ? 0 : whole_numbers && !is_sift ? features : features / 4;
  return std::min({features + ties, kLargestFeatureClass, pipeline.spec.pipeline.select.capacity});
}

// Entries of FrameParams::spare for each entry of the lists of survivors. QUADTREE has candidates
// in the order of their paths there, and their rank keys; CELL has candidates by cell, and their
// places in the order of the frame and in their cells.
size_t SparePerSurvivor(const PipelineOptions& options) {
  if (options.select.selection == Selection::kOrbSlam3) return kNodeListSpare;
  return SelectsByRankAlone(options) ? 0 : 2;
}

// Entries of the lists of SIFT. Photographs have an extremum in some 200 pixels of the first
// octave.
int64_t SiftListRoom(const PlanSpec& spec) {
  constexpr int64_t kLeast = 4096;
  constexpr int64_t kPixelsPerEntry = 64;
  const int64_t scale = spec.pipeline.sift.first_octave < 0 ? 4 : 1;
  return std::max(kLeast, scale * spec.width_px * spec.height_px / kPixelsPerEntry);
}

// Most survivors that a level with at most `most` corners has room for.
int64_t SurvivorRoom(const PipelineOptions& options, const Cuts& cuts, size_t level, int64_t most) {
  if (CornerListOf(options) == CornerList::kScored) {
    return std::min(
        {most, int64_t{kMaxRanked}, kSurvivorsPerWanted * cuts.by_score[level] + kSurvivorTies});
  }
  most = std::min(most, int64_t{kMaxSorted});
  if (!SelectsByRankAlone(options)) return most;
  const int64_t wanted = cuts.all_levels ? FirstKeys(cuts) : cuts.by_response[level];
  return std::min(most, kSurvivorsPerWanted * wanted + kSurvivorTies);
}

}  // namespace

int32_t FirstKeys(const Cuts& cuts) {
  return cuts.wanted > cuts.capacity ? cuts.capacity + 1 : cuts.wanted;
}

size_t RecordBytes(const CompiledPipeline& pipeline) {
  return HasScaleSpace(pipeline.spec.pipeline) ? sizeof(algo::SiftFeature) : sizeof(FeatureRecord);
}

FrameRoom FrameRoom::ForDetection(const CompiledPipeline& pipeline,
                                  const FrameParameters& parameters, const Cuts& cuts) {
  FrameRoom room;
  const PipelineOptions& options = pipeline.spec.pipeline;
  if (HasScaleSpace(options)) {
    const int entries = Aligned(SiftListRoom(pipeline.spec));
    room.survivors[0] = {0, entries};
    room.survivor_entries = kSiftListWords * static_cast<size_t>(entries);
    room.rows = RowsFor(pipeline, parameters.max_features);
    room.state_rows = std::min(FeatureClassOf(parameters.max_features), room.rows);
    return room;
  }
  for (int l = 0; l < pipeline.pyramid.detecting_levels; ++l) {
    const auto i = static_cast<size_t>(l);
    const int64_t by_response = cuts.by_response[cuts.all_levels ? 0 : i];
    const int survivors =
        Aligned(SurvivorRoom(options, cuts, i, MaxCorners(options, pipeline.level(l).region)));
    const int64_t most_ranked = HasZones(options) ? pipeline.MostNodes(cuts, l)
                                : cuts.keeps_ties ? kRankedPerWanted * by_response + kRankedTies
                                                  : by_response;
    const int ranked = Aligned(std::min<int64_t>(survivors, most_ranked));
    room.survivors[i] = {static_cast<int32_t>(room.survivor_entries), survivors};
    room.ranked[i] = {static_cast<int32_t>(room.ranked_entries), ranked};
    room.survivor_entries += static_cast<size_t>(survivors);
    room.ranked_entries += static_cast<size_t>(ranked);
  }
  room.spare_entries = SparePerSurvivor(options) * room.survivor_entries;
  const int most =
      HasZones(options)
          ? static_cast<int>(std::min<int64_t>(pipeline.MostNodes(cuts), kLargestFeatureClass))
          : parameters.max_features;
  room.rows = RowsFor(pipeline, most);
  room.state_rows = std::min(FeatureClassOf(most), room.rows);
  return room;
}

FrameRoom FrameRoom::ForGiven(int count) {
  FrameRoom room;
  room.rows = FeatureClassOf(count);
  room.state_rows = room.rows;
  return room;
}

FrameRoom FrameRoom::Largest(const CompiledPipeline& pipeline) {
  FrameParameters parameters;
  parameters.max_features = kMaxFeatures;
  FrameRoom room = ForDetection(pipeline, parameters, pipeline.CutsFor(parameters));
  room.rows = kLargestFeatureClass;  // given keypoints are not bound by the capacity of detection
  return room;
}

size_t FrameRoom::list_bytes() const {
  return RoundUp((survivor_entries + ranked_entries + spare_entries) * sizeof(uint64_t),
                 kBufferAlignment);
}

void FrameRoom::DropLists() {
  survivors.fill({});
  ranked.fill({});
  survivor_entries = 0;
  ranked_entries = 0;
  spare_entries = 0;
}

}  // namespace orbserve::gpu
