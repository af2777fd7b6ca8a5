// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/option_values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace orbserve::testing {
namespace {

using O = PipelineOptions;
using P = FrameParameters;

// A change of a pipeline, said in three ways.
struct Change {
  std::string wire;
  std::vector<std::pair<std::string, std::string>> flags;
  std::function<void(O&, P&)> apply;
};

struct Value {
  std::string name;
  Change change;
};

class Table {
 public:
  // Values of the option `option` over the preset `orb` with the changes `base`. Each is compared
  // with the next one.
  void Add(const std::string& option, const std::vector<Change>& base,
           const std::vector<Value>& values, bool changes_answer = true) {
    for (size_t i = 0; i < values.size(); ++i) {
      OptionValue row;
      row.name = option + "_" + values[i].name;
      row.changes_answer = changes_answer;
      Apply(base, values[i].change, &row.pipeline, &row.parameters);
      Apply(base, values[(i + 1) % values.size()].change, &row.other_pipeline,
            &row.other_parameters);
      for (const Change& change : base) Append(change, &row);
      Append(values[i].change, &row);
      rows_.push_back(row);
    }
  }

  const std::vector<OptionValue>& rows() const { return rows_; }

 private:
  static void Apply(const std::vector<Change>& base, const Change& change, O* pipeline,
                    P* parameters) {
    for (const Change& one : base) one.apply(*pipeline, *parameters);
    change.apply(*pipeline, *parameters);
  }
  static void Append(const Change& change, OptionValue* row) {
    row->wire.push_back(change.wire);
    row->flags.insert(row->flags.end(), change.flags.begin(), change.flags.end());
  }

  std::vector<OptionValue> rows_;
};

std::vector<Value> EveryScore() {
  std::vector<Value> values;
  for (const Score score : AllOf<Score>()) {
    const std::string name(EnumName(score));
    const std::string typed = absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
    values.push_back({name,
                      {absl::StrCat("detect { score: SCORE_", name, " }"),
                       {{"--score", typed}},
                       [score](O& o, P&) { o.detect.score = score; }}});
  }
  return values;
}

std::vector<OptionValue> MakeTable() {
  Table table;
  // clang-format off
  const Change three_levels = {"pyramid { levels: 3 }", {{"--levels", "3"}}, [](O& o, P&) { o.pyramid.levels = 3; }};
  const Change best = {"select { selection: SELECTION_BEST }", {{"--select", "best"}}, [](O& o, P&) { o.select.selection = Selection::kBest; }};
  const Change orb_slam3 = {"detect { score: SCORE_FAST } select { selection: SELECTION_ORB_SLAM3 border_px: 19 }", {{"--score", "fast"}, {"--select", "orb-slam3"}, {"--border", "19"}}, [](O& o, P&) { o.detect.score = Score::kFast; o.select.selection = Selection::kOrbSlam3; o.select.border_px = kOrbSlam3BorderPx; }};
  const Change few = {"select { max_features: 40 }", {{"--max-features", "40"}}, [](O&, P& p) { p.max_features = 40; }};
  const Change many = {"select { max_features: 5000 }", {{"--max-features", "5000"}}, [](O&, P& p) { p.max_features = 5000; }};
  const Change by_score = {"suppress { compare: COMPARE_SCORE }", {{"--compare", "score"}}, [](O& o, P&) { o.suppress.compare = Compare::kScore; }};
  const Change in_cells = {"suppress { suppression: SUPPRESSION_CELL }", {{"--suppress", "cell"}}, [](O& o, P&) { o.suppress.suppression = Suppression::kCell; }};
  const Change by_distance = {"suppress { suppression: SUPPRESSION_MINIMUM_DISTANCE }", {{"--suppress", "minimum-distance"}}, [](O& o, P&) { o.suppress.suppression = Suppression::kMinimumDistance; }};
  const Change select_cells = {"select { selection: SELECTION_CELL }", {{"--select", "cell"}}, [](O& o, P&) { o.select.selection = Selection::kCell; }};
  const Change shi_tomasi = {"detect { detector: DETECTOR_SHI_TOMASI }", {{"--detector", "shi-tomasi"}}, [](O& o, P&) { o.detect.detector = Detector::kShiTomasi; }};
  const Change wide_border = {"select { border_px: 44 }", {{"--border", "44"}}, [](O& o, P&) { o.select.border_px = 44; }};
  const Change bfrost = {"describe { descriptor_type: DESCRIPTOR_TYPE_BFROST_256 }", {{"--descriptor", "bfrost-256"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kBFrost256; }};
  const Change high_threshold = {"detect { fast_threshold: 60 }", {{"--threshold", "60"}}, [](O&, P& p) { p.fast_threshold_grey = 60; }};

  table.Add("levels", {}, {
      {"1", {"pyramid { levels: 1 }", {{"--levels", "1"}}, [](O& o, P&) { o.pyramid.levels = 1; }}},
      {"16", {"pyramid { levels: 16 }", {{"--levels", "16"}}, [](O& o, P&) { o.pyramid.levels = 16; }}}});
  table.Add("scale_factor", {three_levels}, {
      {"1_01", {"pyramid { scale_factor: 1.01 }", {{"--scale", "1.01"}}, [](O& o, P&) { o.pyramid.scale_factor = 1.01f; }}},
      {"2", {"pyramid { scale_factor: 2 }", {{"--scale", "2"}}, [](O& o, P&) { o.pyramid.scale_factor = 2.0f; }}},
      {"4", {"pyramid { scale_factor: 4 }", {{"--scale", "4"}}, [](O& o, P&) { o.pyramid.scale_factor = 4.0f; }}}});
  table.Add("source", {three_levels}, {
      {"PREVIOUS_LEVEL", {"pyramid { source: PYRAMID_SOURCE_PREVIOUS_LEVEL }", {{"--pyramid-source", "previous-level"}}, [](O& o, P&) { o.pyramid.source = PyramidSource::kPreviousLevel; }}},
      {"LEVEL_ZERO", {"pyramid { source: PYRAMID_SOURCE_LEVEL_ZERO }", {{"--pyramid-source", "level-zero"}}, [](O& o, P&) { o.pyramid.source = PyramidSource::kLevelZero; }}}});

  table.Add("detector", {three_levels}, {
      {"FAST", {"detect { detector: DETECTOR_FAST }", {{"--detector", "fast"}}, [](O& o, P&) { o.detect.detector = Detector::kFast; }}},
      {"HARRIS", {"detect { detector: DETECTOR_HARRIS }", {{"--detector", "harris"}}, [](O& o, P&) { o.detect.detector = Detector::kHarris; }}},
      {"SHI_TOMASI", {"detect { detector: DETECTOR_SHI_TOMASI }", {{"--detector", "shi-tomasi"}}, [](O& o, P&) { o.detect.detector = Detector::kShiTomasi; }}}});
  table.Add("fast_threshold", {three_levels}, {
      {"1", {"detect { fast_threshold: 1 }", {{"--threshold", "1"}}, [](O&, P& p) { p.fast_threshold_grey = 1; }}},
      {"20", {"detect { fast_threshold: 20 }", {{"--threshold", "20"}}, [](O&, P& p) { p.fast_threshold_grey = 20; }}},
      {"254", {"detect { fast_threshold: 254 }", {{"--threshold", "254"}}, [](O&, P& p) { p.fast_threshold_grey = 254; }}}});
  table.Add("fast_arc_length", {three_levels, many}, {
      {"9", {"detect { fast_arc_length: 9 }", {{"--arc", "9"}}, [](O& o, P&) { o.detect.fast_arc_length = 9; }}},
      {"10", {"detect { fast_arc_length: 10 }", {{"--arc", "10"}}, [](O& o, P&) { o.detect.fast_arc_length = 10; }}},
      {"11", {"detect { fast_arc_length: 11 }", {{"--arc", "11"}}, [](O& o, P&) { o.detect.fast_arc_length = 11; }}},
      {"12", {"detect { fast_arc_length: 12 }", {{"--arc", "12"}}, [](O& o, P&) { o.detect.fast_arc_length = 12; }}}});
  table.Add("candidate_test", {three_levels}, {
      {"BINARY_ENCODING", {"detect { candidate_test: CANDIDATE_TEST_BINARY_ENCODING }", {{"--candidate-test", "binary-encoding"}}, [](O& o, P&) { o.detect.candidate_test = CandidateTest::kBinaryEncoding; }}},
      {"BIT_TABLE", {"detect { candidate_test: CANDIDATE_TEST_BIT_TABLE }", {{"--candidate-test", "bit-table"}}, [](O& o, P&) { o.detect.candidate_test = CandidateTest::kBitTable; }}}},
      /*changes_answer=*/false);
  table.Add("score", {three_levels, by_score}, EveryScore());
  table.Add("quality_level", {three_levels, shi_tomasi}, {
      {"0_001", {"detect { quality_level: 0.001 }", {{"--quality", "0.001"}}, [](O&, P& p) { p.quality_level = 0.001f; }}},
      {"0_99", {"detect { quality_level: 0.99 }", {{"--quality", "0.99"}}, [](O&, P& p) { p.quality_level = 0.99f; }}}});
  table.Add("fast_threshold_low", {three_levels, high_threshold, many}, {
      {"0", {"detect { fast_threshold_low: 0 }", {{"--threshold-low", "0"}}, [](O&, P& p) { p.fast_threshold_low_grey = 0; }}},
      {"1", {"detect { fast_threshold_low: 1 }", {{"--threshold-low", "1"}}, [](O&, P& p) { p.fast_threshold_low_grey = 1; }}},
      {"7", {"detect { fast_threshold_low: 7 }", {{"--threshold-low", "7"}}, [](O&, P& p) { p.fast_threshold_low_grey = 7; }}}});

  const std::vector<Value> suppressions = {
      {"NEIGHBOURHOOD", {"suppress { suppression: SUPPRESSION_NEIGHBOURHOOD }", {{"--suppress", "neighbourhood"}}, [](O& o, P&) { o.suppress.suppression = Suppression::kNeighbourhood; }}},
      {"CELL", in_cells},
      {"MINIMUM_DISTANCE", by_distance}};
  table.Add("suppression", {three_levels, best}, suppressions);
  table.Add("suppression_of_corner_maps", {three_levels, best, shi_tomasi}, suppressions);
  const std::vector<Value> windows = {
      {"3", {"suppress { window_px: 3 }", {{"--window", "3"}}, [](O& o, P&) { o.suppress.window_px = 3; }}},
      {"5", {"suppress { window_px: 5 }", {{"--window", "5"}}, [](O& o, P&) { o.suppress.window_px = 5; }}},
      {"7", {"suppress { window_px: 7 }", {{"--window", "7"}}, [](O& o, P&) { o.suppress.window_px = 7; }}},
      {"9", {"suppress { window_px: 9 }", {{"--window", "9"}}, [](O& o, P&) { o.suppress.window_px = 9; }}}};
  table.Add("window", {three_levels, many}, windows);
  table.Add("window_of_scores", {three_levels, by_score, many}, windows);
  table.Add("window_of_corner_maps", {three_levels, shi_tomasi, many}, windows);
  const std::vector<Value> cell_widths = {
      {"32", {"suppress { cell_width_px: 32 }", {{"--cell-width", "32"}}, [](O& o, P&) { o.suppress.cell_width_px = 32; }}},
      {"64", {"suppress { cell_width_px: 64 }", {{"--cell-width", "64"}}, [](O& o, P&) { o.suppress.cell_width_px = 64; }}},
      {"512", {"suppress { cell_width_px: 512 }", {{"--cell-width", "512"}}, [](O& o, P&) { o.suppress.cell_width_px = 512; }}}};
  const std::vector<Value> cell_heights = {
      {"8", {"suppress { cell_height_px: 8 }", {{"--cell-height", "8"}}, [](O& o, P&) { o.suppress.cell_height_px = 8; }}},
      {"40", {"suppress { cell_height_px: 40 }", {{"--cell-height", "40"}}, [](O& o, P&) { o.suppress.cell_height_px = 40; }}},
      {"512", {"suppress { cell_height_px: 512 }", {{"--cell-height", "512"}}, [](O& o, P&) { o.suppress.cell_height_px = 512; }}}};
  table.Add("cell_width_of_suppression", {three_levels, best, in_cells}, cell_widths);
  table.Add("cell_width_of_selection", {three_levels, select_cells, few}, cell_widths);
  table.Add("cell_height_of_suppression", {three_levels, best, in_cells}, cell_heights);
  table.Add("cell_height_of_selection", {three_levels, select_cells, few}, cell_heights);
  table.Add("minimum_distance", {three_levels, by_distance}, {
      {"1", {"suppress { minimum_distance_px: 1 }", {{"--min-distance", "1"}}, [](O& o, P&) { o.suppress.minimum_distance_px = 1; }}},
      {"8", {"suppress { minimum_distance_px: 8 }", {{"--min-distance", "8"}}, [](O& o, P&) { o.suppress.minimum_distance_px = 8; }}},
      {"64", {"suppress { minimum_distance_px: 64 }", {{"--min-distance", "64"}}, [](O& o, P&) { o.suppress.minimum_distance_px = 64; }}}});
  table.Add("compare", {three_levels, many}, {
      {"FAST", {"suppress { compare: COMPARE_FAST }", {{"--compare", "fast"}}, [](O& o, P&) { o.suppress.compare = Compare::kFast; }}},
      {"SCORE", by_score}});
  table.Add("distance_shape", {three_levels, by_distance, many}, {
      {"SQUARE", {"suppress { distance_shape: DISTANCE_SHAPE_SQUARE }", {{"--distance-shape", "square"}}, [](O& o, P&) { o.suppress.distance_shape = DistanceShape::kSquare; }}},
      {"DISC", {"suppress { distance_shape: DISTANCE_SHAPE_DISC }", {{"--distance-shape", "disc"}}, [](O& o, P&) { o.suppress.distance_shape = DistanceShape::kDisc; }}}});
  table.Add("cornerness_compression", {three_levels, shi_tomasi, by_distance, many}, {
      {"on", {"suppress { cornerness_compression: true }", {{"--compression", "true"}}, [](O& o, P&) { o.suppress.cornerness_compression = true; }}},
      {"off", {"suppress { cornerness_compression: false }", {{"--compression", "false"}}, [](O& o, P&) { o.suppress.cornerness_compression = false; }}}});
  table.Add("max_passes", {three_levels, shi_tomasi, by_distance, many}, {
      {"0", {"suppress { max_passes: 0 }", {{"--max-passes", "0"}}, [](O& o, P&) { o.suppress.max_passes = 0; }}},
      {"1", {"suppress { max_passes: 1 }", {{"--max-passes", "1"}}, [](O& o, P&) { o.suppress.max_passes = 1; }}},
      {"2", {"suppress { max_passes: 2 }", {{"--max-passes", "2"}}, [](O& o, P&) { o.suppress.max_passes = 2; }}}});

  table.Add("selection", {three_levels, few}, {
      {"LEVEL_QUOTA", {"select { selection: SELECTION_LEVEL_QUOTA }", {{"--select", "level-quota"}}, [](O& o, P&) { o.select.selection = Selection::kLevelQuota; }}},
      {"BEST", best},
      {"CELL", select_cells},
      {"QUADTREE", {"select { selection: SELECTION_QUADTREE }", {{"--select", "quadtree"}}, [](O& o, P&) { o.select.selection = Selection::kQuadtree; }}},
      {"ORB_SLAM3", orb_slam3}});
  table.Add("max_features", {three_levels}, {
      {"1", {"select { max_features: 1 }", {{"--max-features", "1"}}, [](O&, P& p) { p.max_features = 1; }}},
      {"100", {"select { max_features: 100 }", {{"--max-features", "100"}}, [](O&, P& p) { p.max_features = 100; }}},
      {"100000", {"select { max_features: 100000 }", {{"--max-features", "100000"}}, [](O&, P& p) { p.max_features = 100'000; }}}});
  table.Add("capacity", {three_levels}, {
      {"1", {"select { capacity: 1 }", {{"--capacity", "1"}}, [](O& o, P&) { o.select.capacity = 1; }}},
      {"30", {"select { capacity: 30 }", {{"--capacity", "30"}}, [](O& o, P&) { o.select.capacity = 30; }}},
      {"100000", {"select { capacity: 100000 }", {{"--capacity", "100000"}}, [](O& o, P&) { o.select.capacity = 100'000; }}}});
  table.Add("border", {three_levels}, {
      {"22", {"select { border_px: 22 }", {{"--border", "22"}}, [](O& o, P&) { o.select.border_px = 22; }}},
      {"60", {"select { border_px: 60 }", {{"--border", "60"}}, [](O& o, P&) { o.select.border_px = 60; }}},
      {"255", {"select { border_px: 255 }", {{"--border", "255"}}, [](O& o, P&) { o.select.border_px = 255; }}}});

  table.Add("lapping_begin", {orb_slam3, {"select { lapping_end_px: 200 }", {{"--lapping-end", "200"}}, [](O&, P& p) { p.lapping_end_px = 200; }}}, {
      {"0", {"select { lapping_begin_px: 0 }", {{"--lapping-begin", "0"}}, [](O&, P& p) { p.lapping_begin_px = 0; }}},
      {"100", {"select { lapping_begin_px: 100 }", {{"--lapping-begin", "100"}}, [](O&, P& p) { p.lapping_begin_px = 100; }}},
      {"1000000", {"select { lapping_begin_px: 1000000 }", {{"--lapping-begin", "1000000"}}, [](O&, P& p) { p.lapping_begin_px = 1'000'000; }}}});
  table.Add("lapping_end", {orb_slam3}, {
      {"0", {"select { lapping_end_px: 0 }", {{"--lapping-end", "0"}}, [](O&, P& p) { p.lapping_end_px = 0; }}},
      {"100", {"select { lapping_end_px: 100 }", {{"--lapping-end", "100"}}, [](O&, P& p) { p.lapping_end_px = 100; }}},
      {"1000000", {"select { lapping_end_px: 1000000 }", {{"--lapping-end", "1000000"}}, [](O&, P& p) { p.lapping_end_px = 1'000'000; }}}});

  table.Add("orientation", {three_levels, wide_border, bfrost}, {
      {"NONE", {"describe { orientation: ORIENTATION_NONE }", {{"--orientation", "none"}}, [](O& o, P&) { o.describe.orientation = Orientation::kNone; }}},
      {"INTENSITY_CENTROID", {"describe { orientation: ORIENTATION_INTENSITY_CENTROID }", {{"--orientation", "intensity-centroid"}}, [](O& o, P&) { o.describe.orientation = Orientation::kIntensityCentroid; }}},
      {"ARC_MIDDLE", {"describe { orientation: ORIENTATION_ARC_MIDDLE }", {{"--orientation", "arc-middle"}}, [](O& o, P&) { o.describe.orientation = Orientation::kArcMiddle; }}}});
  table.Add("descriptor", {three_levels, wide_border}, {
      {"NONE", {"describe { descriptor_type: DESCRIPTOR_TYPE_NONE }", {{"--descriptor", "none"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kNone; }}},
      {"RBRIEF_256", {"describe { descriptor_type: DESCRIPTOR_TYPE_RBRIEF_256 }", {{"--descriptor", "rbrief-256"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kRBrief256; }}},
      {"RBRIEF_32", {"describe { descriptor_type: DESCRIPTOR_TYPE_RBRIEF_32 }", {{"--descriptor", "rbrief-32"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kRBrief32; }}},
      {"BFROST_256", bfrost},
      {"TEBLID_256", {"describe { descriptor_type: DESCRIPTOR_TYPE_TEBLID_256 }", {{"--descriptor", "teblid-256"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kTeblid256; }}},
      {"TEBLID_512", {"describe { descriptor_type: DESCRIPTOR_TYPE_TEBLID_512 }", {{"--descriptor", "teblid-512"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kTeblid512; }}},
      {"BEBLID_256", {"describe { descriptor_type: DESCRIPTOR_TYPE_BEBLID_256 }", {{"--descriptor", "beblid-256"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kBeblid256; }}},
      {"BEBLID_512", {"describe { descriptor_type: DESCRIPTOR_TYPE_BEBLID_512 }", {{"--descriptor", "beblid-512"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kBeblid512; }}}});

  const Change sift = {"detect { detector: DETECTOR_SIFT } describe { descriptor_type: DESCRIPTOR_TYPE_SIFT }", {{"--detector", "sift"}, {"--descriptor", "sift"}}, [](O& o, P&) { o.detect.detector = Detector::kSift; o.describe.descriptor = Descriptor::kSift; }};
  table.Add("descriptor_of_sift", {sift}, {
      {"NONE", {"describe { descriptor_type: DESCRIPTOR_TYPE_NONE }", {{"--descriptor", "none"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kNone; }}},
      {"SIFT", {"describe { descriptor_type: DESCRIPTOR_TYPE_SIFT }", {{"--descriptor", "sift"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kSift; }}},
      {"ROOT_SIFT", {"describe { descriptor_type: DESCRIPTOR_TYPE_ROOT_SIFT }", {{"--descriptor", "root-sift"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kRootSift; }}},
      {"L1_ROOT_SIFT", {"describe { descriptor_type: DESCRIPTOR_TYPE_L1_ROOT_SIFT }", {{"--descriptor", "l1-root-sift"}}, [](O& o, P&) { o.describe.descriptor = Descriptor::kL1RootSift; }}}});
  table.Add("octave_layers", {sift}, {
      {"1", {"sift { octave_layers: 1 }", {{"--octave-layers", "1"}}, [](O& o, P&) { o.sift.octave_layers = 1; }}},
      {"8", {"sift { octave_layers: 8 }", {{"--octave-layers", "8"}}, [](O& o, P&) { o.sift.octave_layers = 8; }}}});
  table.Add("contrast_threshold", {sift, many}, {
      {"0", {"sift { contrast_threshold: 0 }", {{"--contrast-threshold", "0"}}, [](O& o, P&) { o.sift.contrast_threshold = 0.0; }}},
      {"0_07", {"sift { contrast_threshold: 0.07 }", {{"--contrast-threshold", "0.07"}}, [](O& o, P&) { o.sift.contrast_threshold = 0.07; }}},
      {"1", {"sift { contrast_threshold: 1 }", {{"--contrast-threshold", "1"}}, [](O& o, P&) { o.sift.contrast_threshold = 1.0; }}}});
  table.Add("edge_threshold", {sift, many}, {
      {"0", {"sift { edge_threshold: 0 }", {{"--edge-threshold", "0"}}, [](O& o, P&) { o.sift.edge_threshold = 0.0; }}},
      {"1_7", {"sift { edge_threshold: 1.7 }", {{"--edge-threshold", "1.7"}}, [](O& o, P&) { o.sift.edge_threshold = 1.7; }}},
      {"1000", {"sift { edge_threshold: 1000 }", {{"--edge-threshold", "1000"}}, [](O& o, P&) { o.sift.edge_threshold = 1000.0; }}},
      {"2", {"sift { edge_threshold: 2 }", {{"--edge-threshold", "2"}}, [](O& o, P&) { o.sift.edge_threshold = 2.0; }}}});
  table.Add("sigma", {sift}, {
      {"0_1", {"sift { sigma: 0.1 }", {{"--sigma", "0.1"}}, [](O& o, P&) { o.sift.sigma = 0.1; }}},
      {"1_3", {"sift { sigma: 1.3 }", {{"--sigma", "1.3"}}, [](O& o, P&) { o.sift.sigma = 1.3; }}},
      {"4", {"sift { sigma: 4 }", {{"--sigma", "4"}}, [](O& o, P&) { o.sift.sigma = 4.0; }}}});
  table.Add("first_octave", {sift}, {
      {"minus_1", {"sift { first_octave: -1 }", {{"--first-octave", "-1"}}, [](O& o, P&) { o.sift.first_octave = -1; }}},
      {"0", {"sift { first_octave: 0 }", {{"--first-octave", "0"}}, [](O& o, P&) { o.sift.first_octave = 0; }}}});
  // clang-format on
  return table.rows();
}

std::vector<MatchOptionValue> MakeMatchTable() {
  // clang-format off
  return {
      {"k_1", {.k = 1}, {.k = 2}, "k: 1", {{"--k", "1"}}},
      {"k_2", {.k = 2}, {.k = 16}, "selection: MATCH_SELECTION_K_BEST k: 2", {{"--k", "2"}}},
      {"k_16", {.k = 16}, {.k = 1}, "selection: MATCH_SELECTION_K_BEST k: 16", {{"--k", "16"}}},
      {"selection_BEST", {.k = 1}, {.k = 2}, "selection: MATCH_SELECTION_BEST", {{"--match-selection", "best"}}},
      {"selection_K_BEST", {.k = 2}, {.k = 1}, "selection: MATCH_SELECTION_K_BEST", {{"--match-selection", "k-best"}}},
      {"ratio_0", {.ratio = 0.0f}, {.ratio = 0.8f}, "ratio: 0", {{"--ratio", "0"}}},
      {"ratio_0_8", {.ratio = 0.8f}, {.ratio = 1.0f}, "ratio: 0.8", {{"--ratio", "0.8"}}},
      {"ratio_1", {.ratio = 1.0f}, {.ratio = 0.5f}, "ratio: 1", {{"--ratio", "1"}}},
      {"cross_check_on", {.cross_check = true}, {.cross_check = false}, "cross_check: true", {{"--cross-check", "true"}}},
      {"cross_check_off", {.cross_check = false}, {.cross_check = true}, "cross_check: false", {{"--cross-check", "false"}}},
      {"max_distance_0", {.max_distance = 0}, {.max_distance = 256}, "max_distance: 0", {{"--max-distance", "0"}}},
      {"max_distance_30", {.max_distance = 30}, {.max_distance = 0}, "max_distance: 30", {{"--max-distance", "30"}}},
      {"max_distance_512", {.max_distance = 512}, {.max_distance = 30}, "max_distance: 512", {{"--max-distance", "512"}}},
      {"max_distance_8323200", {.max_distance = 8'323'200}, {.max_distance = 30}, "max_distance: 8323200", {{"--max-distance", "8323200"}}},
      {"window_0", {.window_px = 0.0f}, {.window_px = 12.5f}, "window_px: 0", {{"--match-window", "0"}}},
      {"window_12_5", {.window_px = 12.5f}, {.window_px = 40.0f}, "window_px: 12.5", {{"--match-window", "12.5"}}},
      {"offset_x", {.window_px = 4.0f, .offset_x_px = -3.5f}, {.window_px = 4.0f}, "window_px: 4 offset_x: -3.5", {{"--match-window", "4"}, {"--match-offset-x", "-3.5"}}},
      {"offset_y", {.window_px = 4.0f, .offset_y_px = 10.0f}, {.window_px = 4.0f}, "window_px: 4 offset_y: 10", {{"--match-window", "4"}, {"--match-offset-y", "10"}}},
      {"min_dx", {.min_dx_px = 1.5f}, {}, "min_dx: 1.5", {{"--min-dx", "1.5"}}},
      {"min_dx_none", {.min_dx_px = -1e6f}, {.min_dx_px = 20.0f}, "min_dx: -1000000", {{"--min-dx", "-1000000"}}},
      {"max_dx", {.max_dx_px = 4.0f}, {}, "max_dx: 4", {{"--max-dx", "4"}}},
      {"max_dx_none", {.max_dx_px = 1e6f}, {.max_dx_px = -20.0f}, "max_dx: 1000000", {{"--max-dx", "1000000"}}},
      {"max_dy_0", {.max_dy_px = 0.0f}, {}, "max_dy: 0", {{"--max-dy", "0"}}},
      {"max_dy", {.max_dy_px = 2.5f}, {.max_dy_px = 40.0f}, "max_dy: 2.5", {{"--max-dy", "2.5"}}},
      {"max_dy_none", {.max_dy_px = 1e6f}, {.max_dy_px = 2.5f}, "max_dy: 1000000", {{"--max-dy", "1000000"}}},
      {"epipolar", {.fundamental = {0, 0, 0, 0, 0, -1, 0, 1, -2}, .max_epipolar_px = 1.5f}, {}, "fundamental: [0, 0, 0, 0, 0, -1, 0, 1, -2] max_epipolar_px: 1.5", {{"--fundamental", "0,0,0,0,0,-1,0,1,-2"}, {"--max-epipolar", "1.5"}}},
      {"max_epipolar_0", {.max_epipolar_px = 0.0f}, {.fundamental = {0, 0, 0, 0, 0, -1, 0, 1, -2}, .max_epipolar_px = 1.5f}, "max_epipolar_px: 0", {{"--max-epipolar", "0"}}},
  };
  // clang-format on
}

std::vector<TrackOptionValue> MakeTrackTable() {
  // clang-format off
  return {
      {"levels_1", {.levels = 1}, {.levels = 11}, "levels: 1", {{"--track-levels", "1"}}},
      {"levels_3", {.levels = 3}, {.levels = 1}, "levels: 3", {{"--track-levels", "3"}}},
      {"levels_11", {.levels = 11}, {.levels = 3}, "levels: 11", {{"--track-levels", "11"}}},
      {"coarse_patch_8", {.coarse_patch_px = 8}, {.coarse_patch_px = 16}, "coarse_patch_px: 8", {{"--track-coarse-patch", "8"}}},
      {"coarse_patch_16", {.coarse_patch_px = 16}, {.coarse_patch_px = 8}, "coarse_patch_px: 16", {{"--track-coarse-patch", "16"}}},
      {"iterations_1", {.iterations = 1}, {.iterations = 8}, "iterations: 1", {{"--track-iterations", "1"}}},
      {"iterations_8", {.iterations = 8}, {.iterations = 100}, "iterations: 8", {{"--track-iterations", "8"}}},
      {"iterations_100", {.iterations = 100}, {.iterations = 1}, "iterations: 100", {{"--track-iterations", "100"}}},
      {"epsilon_0_001", {.epsilon_px = 0.001f}, {.epsilon_px = 0.1f}, "epsilon_px: 0.001", {{"--track-epsilon", "0.001"}}},
      {"epsilon_0_1", {.epsilon_px = 0.1f}, {.epsilon_px = 1.0f}, "epsilon_px: 0.1", {{"--track-epsilon", "0.1"}}},
      {"epsilon_1", {.epsilon_px = 1.0f}, {.epsilon_px = 0.001f}, "epsilon_px: 1", {{"--track-epsilon", "1"}}},
      {"min_eigen_0_001", {.min_eigen = 0.001f}, {.min_eigen = 200.0f}, "min_eigen: 0.001", {{"--track-min-eigen", "0.001"}}},
      {"min_eigen_200", {.min_eigen = 200.0f}, {.min_eigen = 1000.0f}, "min_eigen: 200", {{"--track-min-eigen", "200"}}},
      {"min_eigen_1000", {.min_eigen = 1000.0f}, {.min_eigen = 0.001f}, "min_eigen: 1000", {{"--track-min-eigen", "1000"}}},
      {"max_residual_0_001", {.max_residual = 0.001f}, {.max_residual = 8.0f}, "max_residual: 0.001", {{"--track-max-residual", "0.001"}}},
      {"max_residual_8", {.max_residual = 8.0f}, {.max_residual = 128.0f}, "max_residual: 8", {{"--track-max-residual", "8"}}},
      {"max_residual_128", {.max_residual = 128.0f}, {.max_residual = 0.001f}, "max_residual: 128", {{"--track-max-residual", "128"}}},
      {"illumination_NONE", {.illumination = Illumination::kNone}, {.illumination = Illumination::kOffset}, "illumination: ILLUMINATION_NONE", {{"--track-illumination", "none"}}},
      {"illumination_OFFSET", {.illumination = Illumination::kOffset}, {.illumination = Illumination::kGain}, "illumination: ILLUMINATION_OFFSET", {{"--track-illumination", "offset"}}},
      {"illumination_GAIN", {.illumination = Illumination::kGain}, {.illumination = Illumination::kBoth}, "illumination: ILLUMINATION_GAIN", {{"--track-illumination", "gain"}}},
      {"illumination_BOTH", {.illumination = Illumination::kBoth}, {.illumination = Illumination::kNone}, "illumination: ILLUMINATION_BOTH", {{"--track-illumination", "both"}}},
      {"template_PREVIOUS", {.track_template = TrackTemplate::kPrevious}, {.track_template = TrackTemplate::kFirst}, "template: TRACK_TEMPLATE_PREVIOUS", {{"--track-template", "previous"}}},
      {"template_FIRST", {.track_template = TrackTemplate::kFirst}, {.track_template = TrackTemplate::kPrevious}, "template: TRACK_TEMPLATE_FIRST", {{"--track-template", "first"}}},
      {"redetect_0", {.redetect_percent = 0}, {.redetect_percent = 100}, "redetect_percent: 0", {{"--track-redetect", "0"}}},
      {"redetect_80", {.redetect_percent = 80}, {.redetect_percent = 0}, "redetect_percent: 80", {{"--track-redetect", "80"}}},
      {"redetect_100", {.redetect_percent = 100}, {.redetect_percent = 80}, "redetect_percent: 100", {{"--track-redetect", "100"}}},
  };
  // clang-format on
}

}  // namespace

const std::vector<OptionValue>& OptionValues() {
  static const std::vector<OptionValue> table = MakeTable();
  return table;
}

const std::vector<MatchOptionValue>& MatchOptionValues() {
  static const std::vector<MatchOptionValue> table = MakeMatchTable();
  return table;
}

const std::vector<TrackOptionValue>& TrackOptionValues() {
  static const std::vector<TrackOptionValue> table = MakeTrackTable();
  return table;
}

std::vector<std::pair<Score, Compare>> ScoresAndComparisons() {
  std::vector<std::pair<Score, Compare>> pairs;
  for (const Score score : AllOf<Score>()) {
    if (!NeedsCompareScore(score)) pairs.push_back({score, Compare::kFast});
    pairs.push_back({score, Compare::kScore});
  }
  return pairs;
}

TestImage OptionValueImage() { return SceneImage(320, 260, 2026); }

TestImage OptionValueQueryImage() {
  constexpr int kRight = 3;
  constexpr int kDown = 2;
  const TestImage scene = OptionValueImage();
  TestImage query(scene.width_px(), scene.height_px());
  std::mt19937 random(2027);
  for (int y = 0; y < query.height_px(); ++y) {
    for (int x = 0; x < query.width_px(); ++x) {
      const int grey = scene.At(std::max(x - kRight, 0), std::max(y - kDown, 0));
      query.At(x, y) =
          static_cast<uint8_t>(std::clamp(grey + static_cast<int>(random() % 13) - 6, 0, 255));
    }
  }
  return query;
}

std::vector<TestImage> OptionValueFrames() {
  constexpr int kFrames = 4;
  constexpr int kRight = 9;  // pixels a frame
  constexpr int kDown = 5;
  constexpr int kNoise = 3;  // grey levels, either way
  const TestImage scene = SceneImage(360, 300, 2028);
  std::mt19937 random(2029);
  std::vector<TestImage> frames;
  for (int n = 0; n < kFrames; ++n) {
    TestImage& frame = frames.emplace_back(320, 260);
    for (int y = 0; y < frame.height_px(); ++y) {
      for (int x = 0; x < frame.width_px(); ++x) {
        const int grey = scene.At(x + n * kRight, y + n * kDown) * (16 + n) / 16 + 4 * n;
        const int noise = static_cast<int>(random() % (2 * kNoise + 1)) - kNoise;
        frame.At(x, y) = static_cast<uint8_t>(std::clamp(grey + noise, 0, 255));
      }
    }
  }
  return frames;
}

}  // namespace orbserve::testing
