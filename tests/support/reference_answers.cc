// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/reference_answers.h"

#include <cmath>
#include <cstddef>
#include <filesystem>

#include "tests/support/golden_files.h"

namespace orbserve::testing {

std::vector<ReferenceAnswer> BFrostReferenceAnswers() {
  const Preset& preset = **FindPreset("bfrost");
  const PipelineOptions& bfrost = preset.pipeline;
  PipelineOptions corners = bfrost;
  corners.select.border_px = 3;
  corners.describe.descriptor = Descriptor::kNone;
  FrameParameters all_at_40 = preset.frame;
  all_at_40.fast_threshold_grey = 40;
  all_at_40.max_features = 100'000;
  PipelineOptions three_levels = bfrost;
  three_levels.pyramid.levels = 3;
  return {
      {"bfrost",
       bfrost,
       preset.frame,
       false,
       {"500 865a5cee", "500 91413e54", "500 d37dda22", "500 fe0a7047"}},
      {"corners alone",
       corners,
       all_at_40,
       false,
       {"531 d793050c", "1240 34256418", "312 48a06a25", "6500 9a7afe95"}},
      {"masked",
       bfrost,
       preset.frame,
       true,
       {"496 386f56db", "500 90580aad", "500 749fe236", nullptr}},
      {"3 levels",
       three_levels,
       preset.frame,
       false,
       {"500 57ab60c4", "500 0bf89186", "500 238dabcd", nullptr}},
  };
}

std::vector<ReferenceAnswer> Orb32ReferenceAnswers() {
  const Preset& preset = **FindPreset("orb-32");
  return {
      {"orb-32",
       preset.pipeline,
       preset.frame,
       false,
       {"128 85cf9acf", "128 d8b166f3", "128 c10882a9", "128 3a06c735"}},
      {"masked",
       preset.pipeline,
       preset.frame,
       true,
       {"128 390dd8ee", "128 26bc6f35", "128 b6e4bb77", nullptr}},
  };
}

// The values have no descriptor.
std::vector<ReferenceAnswer> OrbSlamReferenceAnswers() {
  const Preset& preset = **FindPreset("orb-slam");
  PipelineOptions corners = preset.pipeline;
  corners.describe.descriptor = Descriptor::kNone;
  FrameParameters many = preset.frame;
  many.max_features = 60'000;
  PipelineOptions by_cells = corners;
  by_cells.select.selection = Selection::kCell;
  PipelineOptions best = corners;
  best.select.selection = Selection::kBest;
  FrameParameters one_threshold = preset.frame;
  one_threshold.fast_threshold_low_grey = 0;
  std::vector<ReferenceAnswer> answers = {
      {"orb-slam",
       corners,
       preset.frame,
       false,
       {"1000 21ebf39b", "1000 c1cd0386", "1000 aff5123a", "1000 5f3bf571"}},
      {"CELL",
       by_cells,
       one_threshold,
       false,
       {"1000 2bf32966", "1000 07a69bce", "1000 d1199f9a", "1000 4084274d"}},
      {"BEST",
       best,
       one_threshold,
       false,
       {"1000 9e7d6ca6", "1000 507fd4a5", "1000 27ce844c", "1000 5e79a117"}},
      {"masked",
       corners,
       preset.frame,
       true,
       {"972 bf6729a3", "979 dcf674d0", "992 6e883a6e", nullptr}},
      {"60,000",
       corners,
       many,
       false,
       {"6539 2093b128", "10581 a477be4a", "11289 7d134430", nullptr}},
      {"transposed",
       corners,
       preset.frame,
       false,
       {"1000 e2ec31de", "1000 a92dee67", "1000 237378f8", nullptr}},
  };
  answers.back().is_transposed = true;
  return answers;
}

// The values of the detection; tracks have others. `odometry` detects as `vio`.
std::vector<ReferenceAnswer> VioReferenceAnswers() {
  const Preset& preset = **FindPreset("vio");
  const Preset& odometry = **FindPreset("odometry");
  FrameParameters all = preset.frame;
  all.max_features = kMaxFeatures;
  PipelineOptions circle = preset.pipeline;
  circle.detect.score = Score::kSadCircle;
  PipelineOptions threshold = preset.pipeline;
  threshold.detect.score = Score::kFast;
  threshold.suppress.window_px = 9;
  return {
      {"all",
       preset.pipeline,
       all,
       false,
       {"242 543ab6cd", "407 012a31dc", "384 d04d37df", "500 2ac40537"},
       /*has_descriptor_column=*/false},
      {"vio",
       preset.pipeline,
       preset.frame,
       false,
       {"100 aad1740c", "100 1a83aa44", "100 02abc1ba", "100 f9151ad2"},
       /*has_descriptor_column=*/false},
      {"odometry",
       odometry.pipeline,
       odometry.frame,
       false,
       {"242 543ab6cd", "300 f118c62c", "300 4775315c", "300 eecdbe21"},
       /*has_descriptor_column=*/false},
      {"SAD_CIRCLE",
       circle,
       all,
       false,
       {"242 458cd675", "407 2dedf3f0", "384 e098ed87", "500 668ccb97"},
       /*has_descriptor_column=*/false},
      {"FAST, window 9",
       threshold,
       all,
       false,
       {"231 78248312", "404 b8a91331", "382 aa9f6a0a", "500 77891898"},
       /*has_descriptor_column=*/false},
  };
}

std::vector<ReferenceAnswer> OrientedFastReferenceAnswers() {
  const Preset& preset = **FindPreset("oriented-fast");
  PipelineOptions one_level = preset.pipeline;
  one_level.pyramid.levels = 1;
  return {
      {"oriented-fast",
       preset.pipeline,
       preset.frame,
       false,
       {"1471 37bfec66", "3525 c87fe522", "5581 0edc8f26", "4182 d76f81a0"},
       /*has_descriptor_column=*/false},
      {"1 level",
       one_level,
       preset.frame,
       false,
       {"774 20f29544", "2779 b86df2ec", "3458 08c1ff3b", "2736 ecf3d601"},
       /*has_descriptor_column=*/false},
  };
}

std::vector<ReferenceAnswer> HarrisCornersReferenceAnswers() {
  const Preset& preset = **FindPreset("harris-corners");
  PipelineOptions wide = preset.pipeline;
  wide.suppress.minimum_distance_px = 11;
  PipelineOptions compressed = preset.pipeline;
  compressed.suppress.cornerness_compression = true;
  PipelineOptions one_pass = preset.pipeline;
  one_pass.suppress.max_passes = 1;
  FrameParameters all = preset.frame;
  all.max_features = 100'000;
  return {
      {"harris-corners",
       preset.pipeline,
       preset.frame,
       false,
       {"500 471718f2", "500 baa1b34e", "500 2e8cf614", "500 7370ad4c"}},
      {"distance 11",
       wide,
       preset.frame,
       false,
       {"145 6cdaddef", "193 e6fc73aa", "500 3d238b9c", "500 7370ad4c"}},
      {"compression",
       compressed,
       preset.frame,
       false,
       {"462 630c544e", "500 b1c10386", "500 aac69768", "500 7370ad4c"}},
      {"masked",
       preset.pipeline,
       preset.frame,
       true,
       {"457 060b3466", "500 10a0c3b1", "500 ace847a3", nullptr}},
      {"one pass",
       one_pass,
       all,
       false,
       {"182 ebe904f0", "200 da251285", "1040 dc02d159", nullptr}},
  };
}

std::vector<ReferenceAnswer> KltCornersReferenceAnswers() {
  const Preset& preset = **FindPreset("klt-corners");
  PipelineOptions wide = preset.pipeline;
  wide.suppress.minimum_distance_px = 11;
  PipelineOptions disc = preset.pipeline;
  disc.suppress.minimum_distance_px = 10;
  disc.suppress.distance_shape = DistanceShape::kDisc;
  PipelineOptions compressed = preset.pipeline;
  compressed.suppress.minimum_distance_px = 6;
  compressed.suppress.cornerness_compression = true;
  PipelineOptions three_levels = preset.pipeline;
  three_levels.suppress.minimum_distance_px = 8;
  three_levels.pyramid.levels = 3;
  FrameParameters all = preset.frame;
  all.max_features = 100'000;
  return {
      {"klt-corners",
       preset.pipeline,
       preset.frame,
       false,
       {"500 f08df5d1", "500 b0724bb0", "500 ad07d4f1", "500 0443e714"}},
      {"distance 11",
       wide,
       preset.frame,
       false,
       {"327 fe7c8bfa", "500 749222bc", "500 bfe3e19f", "500 0443e714"}},
      {"distance 10, DISC",
       disc,
       preset.frame,
       false,
       {"394 44a4ae27", "500 b562d8c4", "500 0c9abf7a", "500 0443e714"}},
      {"distance 6, compression",
       compressed,
       all,
       false,
       {"513 4bb4a34a", "1563 5e97f5e5", "3930 548546fa", nullptr}},
      {"distance 8, 3 levels",
       three_levels,
       preset.frame,
       false,
       {"500 f079c280", "500 aba0be95", "500 48509eb3", nullptr}},
  };
}

std::optional<TestImage> ReadReferenceImage(ReferenceImage image, const std::string& data_folder) {
  const std::string path = PathOf(image, data_folder);
  if (!std::filesystem::exists(path)) return std::nullopt;
  return ReadGreyPng(path);
}

TestImage TransposedImage(const TestImage& image) {
  TestImage transposed(image.height_px(), image.width_px());
  for (int y = 0; y < image.height_px(); ++y) {
    for (int x = 0; x < image.width_px(); ++x) transposed.At(y, x) = image.At(x, y);
  }
  return transposed;
}

TestImage ReferenceMaskImage(int width_px, int height_px) {
  const GreyPlane mask = ReferenceMask(width_px, height_px);
  TestImage image(width_px, height_px);
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) image.At(x, y) = static_cast<uint8_t>(mask.At(x, y));
  }
  return image;
}

std::string ValueOf(const Features& features, float scale_factor, bool has_descriptor_column) {
  const auto bytes = static_cast<size_t>(features.descriptor_bytes);
  std::vector<OracleFeature> rows(features.count());
  for (size_t i = 0; i < rows.size(); ++i) {
    OracleFeature& row = rows[i];
    row.level = features.octave[i];
    const float scale = OracleScale(scale_factor, row.level);
    row.x = static_cast<int>(std::lround(features.x[i] / scale));
    row.y = static_cast<int>(std::lround(features.y[i] / scale));
    row.response = features.response[i];
    row.angle_deg = features.angle_deg[i];
    const uint8_t* const descriptor = features.descriptors.data() + i * bytes;
    row.descriptor.assign(descriptor, descriptor + bytes);
  }
  return has_descriptor_column ? ValueWithDescriptor(rows) : ValueWithoutDescriptor(rows);
}

OracleOptions OracleOptionsOf(const PipelineOptions& pipeline, const FrameParameters& parameters) {
  OracleOptions options;
  options.levels = pipeline.pyramid.levels;
  options.scale_factor = pipeline.pyramid.scale_factor;
  options.source = pipeline.pyramid.source;
  options.detector = pipeline.detect.detector;
  options.arc_length = pipeline.detect.fast_arc_length;
  options.threshold = parameters.fast_threshold_grey;
  options.threshold_low = parameters.fast_threshold_low_grey;
  options.score = pipeline.detect.score;
  options.quality_level = parameters.quality_level;
  options.suppression = pipeline.suppress.suppression;
  options.compare =
      pipeline.suppress.compare == Compare::kScore ? OracleCompare::kScore : OracleCompare::kFast;
  options.window = pipeline.suppress.window_px;
  options.cell_width = pipeline.suppress.cell_width_px;
  options.cell_height = pipeline.suppress.cell_height_px;
  options.distance = pipeline.suppress.minimum_distance_px;
  options.shape = pipeline.suppress.distance_shape == DistanceShape::kDisc ? OracleShape::kDisc
                                                                           : OracleShape::kSquare;
  options.compression = pipeline.suppress.cornerness_compression;
  options.max_passes = pipeline.suppress.max_passes;
  options.selection = pipeline.select.selection;
  options.max_features = parameters.max_features;
  options.capacity = pipeline.select.capacity;
  options.border = pipeline.select.border_px;
  options.lapping_begin = parameters.lapping_begin_px;
  options.lapping_end = parameters.lapping_end_px;
  options.orientation = pipeline.describe.orientation;
  options.descriptor = pipeline.describe.descriptor;
  return options;
}

}  // namespace orbserve::testing
