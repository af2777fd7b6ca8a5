// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every option of a pipeline, on its way from the command line over the wire to the server.

#include "client/cli/pipeline_flags.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/wire_names.h"
#include "features/options.h"
#include "gmock/gmock.h"
#include "google/protobuf/reflection.h"
#include "gtest/gtest.h"
#include "server/rpc/conversion/pipeline.h"
#include "tests/support/option_values.h"

namespace orbserve::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Flag, option of the wire contract, and values that both have: all names of an enum; the ends of
// a range of numbers. `with` has further flags that the value needs.
struct Row {
  const char* flag;
  const char* path;
  std::vector<std::string> values;
  PipelineFlagValues with = {};
};

// The names that the server has for the values of an enum.
template <typename E>
std::vector<std::string> NamesOf() {
  return {kEnumNames<E>.begin(), kEnumNames<E>.end()};
}

const std::vector<Row>& Table() {
  static const std::vector<Row> table = {
      // clang-format off
      {"--levels", "pyramid.levels", {"1", "16"}},
      {"--scale", "pyramid.scale_factor", {"1.01", "4"}},
      {"--pyramid-source", "pyramid.source", NamesOf<PyramidSource>()},
      {"--detector", "detect.detector", NamesOf<Detector>()},
      {"--threshold", "detect.fast_threshold", {"1", "254"}},
      {"--arc", "detect.fast_arc_length", {"9", "12"}},
      {"--candidate-test", "detect.candidate_test", {"BINARY_ENCODING", "BIT_TABLE"}},
      {"--score", "detect.score", NamesOf<Score>()},
      {"--quality", "detect.quality_level", {"0.001", "0.99"}},
      {"--threshold-low", "detect.fast_threshold_low", {"0", "7", "254"}},
      {"--suppress", "suppress.suppression", NamesOf<Suppression>()},
      {"--window", "suppress.window_px", {"3", "9"}},
      {"--cell-width", "suppress.cell_width_px", {"32", "512"}},
      {"--cell-height", "suppress.cell_height_px", {"8", "512"}},
      {"--min-distance", "suppress.minimum_distance_px", {"1", "64"}},
      {"--compare", "suppress.compare", NamesOf<Compare>()},
      {"--distance-shape", "suppress.distance_shape", NamesOf<DistanceShape>()},
      {"--compression", "suppress.cornerness_compression", {"true", "false"}},
      {"--max-passes", "suppress.max_passes", {"0", "10000"}},
      {"--select", "select.selection", NamesOf<Selection>()},
      {"--max-features", "select.max_features", {"1", "100000"}},
      {"--capacity", "select.capacity", {"1", "100000"}},
      {"--border", "select.border_px", {"31", "255"}},
      {"--lapping-begin", "select.lapping_begin_px", {"0", "1000000"}},
      {"--lapping-end", "select.lapping_end_px", {"0", "1000000"}},
      {"--orientation", "describe.orientation", NamesOf<Orientation>()},
      {"--descriptor", "describe.descriptor_type", NamesOf<Descriptor>()},
      {"--match-selection", "match.selection", {"BEST", "K_BEST"}},
      {"--k", "match.k", {"1", "16"}},
      {"--ratio", "match.ratio", {"0", "0.8", "1"}},
      {"--cross-check", "match.cross_check", {"true", "false"}},
      {"--max-distance", "match.max_distance", {"0", "512", "8323200"}},
      {"--match-window", "match.window_px", {"0", "12.5"}},
      {"--match-offset-x", "match.offset_x", {"0", "-3.5"}, {{"--match-window", {"4"}}}},
      {"--match-offset-y", "match.offset_y", {"0", "1000"}, {{"--match-window", {"4"}}}},
      {"--min-dx", "match.min_dx", {"-1e+06", "-3.5", "0"}},
      {"--max-dx", "match.max_dx", {"-12", "0", "1e+06"}},
      {"--max-dy", "match.max_dy", {"0", "1.25", "1e+06"}},
      {"--fundamental", "match.fundamental", {"0,0,0,0,0,-1,0,1,0.5"}, {{"--max-epipolar", {"2"}}}},
      {"--max-epipolar", "match.max_epipolar_px", {"0.5", "1e+06"}, {{"--fundamental", {"0,0,0,0,0,-1,0,1,0"}}}},
      {"--track-levels", "track.levels", {"1", "11"}},
      {"--track-coarse-patch", "track.coarse_patch_px", {"8", "16"}},
      {"--track-iterations", "track.iterations", {"1", "100"}},
      {"--track-epsilon", "track.epsilon_px", {"0.001", "1"}},
      {"--track-min-eigen", "track.min_eigen", {"0.001", "1000"}},
      {"--track-max-residual", "track.max_residual", {"0.5", "128"}},
      {"--track-illumination", "track.illumination", NamesOf<Illumination>()},
      {"--track-template", "track.template", NamesOf<TrackTemplate>()},
      {"--track-redetect", "track.redetect_percent", {"0", "100"}},
      {"--octave-layers", "sift.octave_layers", {"1", "8"}},
      {"--contrast-threshold", "sift.contrast_threshold", {"0", "0.013"}},
      {"--edge-threshold", "sift.edge_threshold", {"0.5", "1000"}},
      {"--sigma", "sift.sigma", {"0.1", "4"}},
      {"--first-octave", "sift.first_octave", {"-1", "0"}},
      // clang-format on
  };
  return table;
}

// Value of an option as text; "unset" if it has none.
std::string TextAt(const v1::Pipeline& pipeline, const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  const FieldDescriptor* const group_field = v1::Pipeline::descriptor()->FindFieldByName(parts[0]);
  const Message& group = pipeline.GetReflection()->GetMessage(pipeline, group_field);
  const FieldDescriptor* const field = group.GetDescriptor()->FindFieldByName(parts[1]);
  const google::protobuf::Reflection& reflection = *group.GetReflection();
  if (field->is_repeated()) {
    return absl::StrJoin(reflection.GetRepeatedFieldRef<double>(group, field), ",");
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* const value = reflection.GetEnum(group, field);
      return value->number() == 0 ? "unset" : std::string(ShortName(*value));
    }
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.HasField(group, field) ? absl::StrCat(reflection.GetUInt32(group, field))
                                               : "unset";
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.HasField(group, field) ? absl::StrCat(reflection.GetInt32(group, field))
                                               : "unset";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.HasField(group, field) ? absl::StrCat(reflection.GetDouble(group, field))
                                               : "unset";
    case FieldDescriptor::CPPTYPE_FLOAT: {
      std::string text;
      AppendFloat(reflection.GetFloat(group, field), &text);
      return reflection.HasField(group, field) ? text : "unset";
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.HasField(group, field)
                 ? absl::StrCat(reflection.GetBool(group, field) ? "true" : "false")
                 : "unset";
    default:
      return "a type that the flags do not know";
  }
}

TEST(PipelineFlagsTest, EveryOptionOfTheWireHasAFlagAndARowOfTheTable) {
  std::set<std::string> options;
  const auto* const pipeline = v1::Pipeline::descriptor();
  for (int i = 0; i < pipeline->field_count(); ++i) {
    const FieldDescriptor* const group = pipeline->field(i);
    if (group->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;  // the preset
    for (int j = 0; j < group->message_type()->field_count(); ++j) {
      options.insert(absl::StrCat(group->name(), ".", group->message_type()->field(j)->name()));
    }
  }
  std::set<std::string> flags;
  for (const PipelineFlag& flag : PipelineFlags()) flags.insert(flag.path);
  EXPECT_EQ(flags, options);
  std::set<std::string> rows;
  for (const Row& row : Table()) rows.insert(row.path);
  EXPECT_EQ(rows, options);
}

TEST(PipelineFlagsTest, EveryValueReachesTheServerUnderItsName) {
  for (const Row& row : Table()) {
    for (const std::string& value : row.values) {
      SCOPED_TRACE(absl::StrCat(row.flag, " ", value));
      PipelineFlagValues values = row.with;
      values[row.flag] = {value};
      v1::Pipeline proto;
      ASSERT_TRUE(ApplyPipelineFlags(values, &proto).ok());
      EXPECT_EQ(TextAt(proto, row.path), value);
      const auto read = ReadPipeline(proto);
      ASSERT_TRUE(read.ok()) << read.status();
      v1::Pipeline resolved;
      PipelineToProto(*read, &resolved);
      EXPECT_EQ(TextAt(resolved, row.path), value);
    }
  }
}

// The tables of the tests that compare answers have every option, and every name of its enum.
TEST(PipelineFlagsTest, EveryOptionAndEveryNameHasATestOfItsAnswer) {
  std::set<std::pair<std::string, std::string>> tested;
  std::set<std::string> tested_flags;
  const auto add = [&](const std::vector<std::pair<std::string, std::string>>& flags) {
    for (const auto& [flag, value] : flags) {
      tested.insert({flag, absl::StrReplaceAll(absl::AsciiStrToUpper(value), {{"-", "_"}})});
      tested_flags.insert(flag);
    }
  };
  for (const testing::OptionValue& value : testing::OptionValues()) add(value.flags);
  for (const testing::MatchOptionValue& value : testing::MatchOptionValues()) add(value.flags);
  for (const testing::TrackOptionValue& value : testing::TrackOptionValues()) add(value.flags);
  for (const PipelineFlag& flag : PipelineFlags()) {
    EXPECT_TRUE(tested_flags.contains(flag.name)) << flag.name;
    if (flag.field().cpp_type() != FieldDescriptor::CPPTYPE_ENUM) continue;
    for (const std::string& name : ShortNames(*flag.field().enum_type())) {
      EXPECT_TRUE(tested.contains({flag.name, name})) << flag.name << " " << name;
    }
  }
}

TEST(PipelineFlagsTest, EveryNameOfTheWireIsAValueInAnyCase) {
  for (const PipelineFlag& flag : PipelineFlags()) {
    if (flag.field().cpp_type() != FieldDescriptor::CPPTYPE_ENUM) continue;
    for (const Row& row : Table()) {
      if (absl::string_view(row.path) != flag.path) continue;
      EXPECT_THAT(ShortNames(*flag.field().enum_type()), ElementsAreArray(row.values));
      EXPECT_EQ(flag.ValueName(), absl::StrJoin(row.values, "|"));
      for (const std::string& value : row.values) {
        v1::Pipeline proto;
        const std::string typed = absl::StrReplaceAll(absl::AsciiStrToLower(value), {{"_", "-"}});
        ASSERT_TRUE(ApplyPipelineFlags({{flag.name, {typed}}}, &proto).ok()) << typed;
        EXPECT_EQ(TextAt(proto, row.path), value);
      }
    }
  }
}

TEST(PipelineFlagsTest, FlagsReplaceTheValuesOfAFileAndLeaveTheOthers) {
  v1::Pipeline pipeline;
  pipeline.set_preset("orb");
  pipeline.mutable_pyramid()->set_levels(4);
  pipeline.mutable_detect()->set_fast_threshold(9);
  ASSERT_TRUE(ApplyPipelineFlags({{"--levels", {"3"}}, {"--score", {}}}, &pipeline).ok());
  EXPECT_EQ(pipeline.pyramid().levels(), 3u);
  EXPECT_EQ(pipeline.detect().fast_threshold(), 9u);
  EXPECT_EQ(pipeline.detect().score(), v1::SCORE_UNSPECIFIED);
}

TEST(PipelineFlagsTest, NumbersOfNeighboursChooseTheSelection) {
  for (const auto& [k, selection] :
       {std::pair("1", v1::MATCH_SELECTION_BEST), std::pair("3", v1::MATCH_SELECTION_K_BEST)}) {
    v1::Pipeline pipeline;
    ASSERT_TRUE(ApplyPipelineFlags({{"--k", {k}}}, &pipeline).ok());
    EXPECT_EQ(pipeline.match().selection(), selection);
    EXPECT_TRUE(PipelineFromProto(pipeline).ok());
  }
  v1::Pipeline pipeline;
  ASSERT_TRUE(
      ApplyPipelineFlags({{"--k", {"3"}}, {"--match-selection", {"BEST"}}}, &pipeline).ok());
  EXPECT_THAT(std::string(PipelineFromProto(pipeline).status().message()),
              HasSubstr("match.k belongs to match.selection K_BEST"));
}

TEST(PipelineFlagsTest, AFlagThatIsGivenTwiceIsRefusedWithBothValues) {
  const struct {
    PipelineFlagValues values;
    const char* message;
  } rows[] = {
      {{{"--detector", {"FAST", "HARRIS"}}},
       "--detector can be given once; got --detector FAST and --detector HARRIS"},
      {{{"--levels", {"3", "3"}}}, "--levels can be given once; got --levels 3 and --levels 3"},
      {{{"--compression", {"true", "false"}}},
       "--compression can be given once; got --compression and --no-compression"},
      {{{"--cross-check", {"false", "true"}}},
       "--cross-check can be given once; got --no-cross-check and --cross-check"},
  };
  for (const auto& row : rows) {
    v1::Pipeline pipeline;
    const absl::Status status = ApplyPipelineFlags(row.values, &pipeline);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()), row.message);
  }
}

TEST(PipelineFlagsTest, AValueOfAnotherKindIsRefused) {
  for (const auto& [flag, value, message] :
       {std::tuple("--detector", "surf",
                   "--detector must be one of FAST, HARRIS, SHI_TOMASI, SIFT; got surf"),
        std::tuple("--first-octave", "0.5", "--first-octave must be a whole number"),
        std::tuple("--sigma", "wide", "--sigma must be a number"),
        std::tuple("--detector", "UNSPECIFIED", "--detector must be one of"),
        std::tuple("--detector", "DETECTOR_FAST", "--detector must be one of"),
        std::tuple("--levels", "-1",
                   "--levels must be a whole number (Levels of the pyramid, 1 to 16); got -1"),
        std::tuple("--levels", "2.5",
                   "--levels must be a whole number (Levels of the pyramid, 1 to 16); got 2.5"),
        std::tuple("--levels", "4294967296", "--levels must be a whole number"),
        std::tuple("--scale", "many",
                   "--scale must be a number (Ratio of the sides of neighbouring levels, 1.01 to "
                   "4); got many"),
        std::tuple("--match-window", "nan", "--match-window must be a number (Match within PX")}) {
    v1::Pipeline pipeline;
    const absl::Status status = ApplyPipelineFlags({{flag, {value}}}, &pipeline);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

// The pipeline of a preset with these flags, as a server with every preset resolves it.
v1::Pipeline Effective(const char* preset, const PipelineFlagValues& values) {
  v1::GetServerInfoResponse server;
  for (const Preset& known : Presets()) {
    v1::PresetInfo& info = *server.add_presets();
    info.set_name(std::string(known.name));
    PipelineToProto({info.name(), known.pipeline, known.frame, known.match, known.track},
                    info.mutable_pipeline());
  }
  v1::Pipeline pipeline;
  pipeline.set_preset(preset);
  EXPECT_TRUE(ApplyPipelineFlags(values, &pipeline).ok());
  return EffectivePipeline(pipeline, server);
}

TEST(PipelineFlagsTest, AFlagWithoutEffectIsRefusedWithWhatItNeeds) {
  const struct {
    const char* preset;
    PipelineFlagValues values;
    const char* message;
  } rows[] = {
      {"harris-corners",
       {{"--score", {"SAD_ARC"}}},
       "--score SAD_ARC has no effect: it needs --detector FAST, and detect.detector is HARRIS"},
      {"klt-corners", {{"--threshold", {"9"}}}, "--detector FAST, and detect.detector is SHI_TOM"},
      {"klt-corners", {{"--arc", {"9"}}}, "--detector FAST"},
      {"klt-corners", {{"--candidate-test", {"BIT_TABLE"}}}, "--detector FAST"},
      {"klt-corners", {{"--compare", {"SCORE"}}}, "--detector FAST"},
      {"klt-corners",
       {{"--window", {"5"}}},
       "it needs --suppress NEIGHBOURHOOD or CELL, and suppress.suppression is MINIMUM_DISTANCE"},
      {"orb", {{"--quality", {"0.1"}}}, "it needs --detector HARRIS or SHI_TOMASI, and detect"},
      {"orb",
       {{"--cell-width", {"64"}}},
       "it needs --suppress CELL or --select CELL, and suppress.suppression is NEIGHBOURHOOD and "
       "select.selection is LEVEL_QUOTA"},
      {"orb", {{"--cell-height", {"64"}}}, "it needs --suppress CELL or --select CELL"},
      {"orb", {{"--min-distance", {"5"}}}, "it needs --suppress MINIMUM_DISTANCE"},
      {"orb", {{"--distance-shape", {"DISC"}}}, "it needs --suppress MINIMUM_DISTANCE"},
      {"orb", {{"--compression", {"true"}}}, "--compression has no effect: it needs --suppress"},
      {"orb", {{"--max-passes", {"1"}}}, "it needs --suppress MINIMUM_DISTANCE"},
      {"orb-slam", {{"--lapping-begin", {"0"}}}, "it needs --select ORB_SLAM3"},
      {"orb-slam", {{"--lapping-end", {"1000"}}}, "it needs --select ORB_SLAM3"},
      {"orb", {{"--sigma", {"2"}}}, "it needs --detector SIFT, and detect.detector is FAST"},
      {"sift",
       {{"--levels", {"2"}}},
       "--levels 2 has no effect: it needs --detector FAST or HARRIS or SHI_TOMASI, and "
       "detect.detector is SIFT"},
      {"sift", {{"--window", {"5"}}}, "it needs --detector FAST or HARRIS or SHI_TOMASI"},
      {"sift", {{"--select", {"BEST"}}}, "it needs --detector FAST or HARRIS or SHI_TOMASI"},
      {"sift", {{"--quality", {"0.1"}}}, "it needs --detector HARRIS or SHI_TOMASI"},
      {"orb",
       {{"--detector", {"HARRIS"}}, {"--threshold", {"30"}}},
       "--threshold 30 has no effect: it needs --detector FAST, and detect.detector is HARRIS"},
  };
  for (const auto& row : rows) {
    const absl::Status status = CheckPipelineFlags(row.values, Effective(row.preset, row.values));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
  }
}

TEST(PipelineFlagsTest, FlagsWithAnEffectAreAccepted) {
  for (const auto& [preset, values] : std::vector<std::pair<const char*, PipelineFlagValues>>{
           {"orb", {{"--score", {"SAD_ARC"}}, {"--compare", {"SCORE"}}, {"--window", {"9"}}}},
           {"orb", {{"--select", {"CELL"}}, {"--cell-width", {"64"}}, {"--cell-height", {"8"}}}},
           {"vio", {{"--cell-width", {"64"}}, {"--window", {"5"}}}},
           {"orb-slam3", {{"--lapping-begin", {"0"}}, {"--lapping-end", {"1000"}}}},
           {"sift", {{"--sigma", {"2"}}, {"--max-features", {"9"}}, {"--descriptor", {"NONE"}}}},
           {"harris-corners",
            {{"--quality", {"0.1"}}, {"--min-distance", {"3"}}, {"--compression", {"true"}}}},
           {"orb",
            {{"--detector", {"SHI_TOMASI"}},
             {"--suppress", {"MINIMUM_DISTANCE"}},
             {"--quality", {"0.1"}},
             {"--max-passes", {"2"}}}}}) {
    const absl::Status status = CheckPipelineFlags(values, Effective(preset, values));
    EXPECT_TRUE(status.ok()) << status;
  }
  // A server that does not tell its presets decides by itself.
  v1::Pipeline unknown;
  EXPECT_TRUE(CheckPipelineFlags({{"--quality", {"0.1"}}}, unknown).ok());
}

TEST(PipelineFlagsTest, MatchingFlagsAreToldApart) {
  EXPECT_EQ(MatchingFlagOf({{"--levels", {"3"}}, {"--ratio", {}}}), "");
  EXPECT_EQ(MatchingFlagOf({{"--levels", {"3"}}, {"--ratio", {"0.5"}}}), "--ratio 0.5");
  EXPECT_EQ(MatchingFlagOf({{"--cross-check", {"false"}}}), "--no-cross-check");
  EXPECT_EQ(MatchingFlagOf({{"--track-levels", {"3"}}}), "");
}

TEST(PipelineFlagsTest, TrackingFlagsAreToldApart) {
  EXPECT_EQ(TrackingFlagOf({{"--levels", {"3"}}, {"--track-levels", {}}}), "");
  EXPECT_EQ(TrackingFlagOf({{"--ratio", {"0.5"}}, {"--track-template", {"first"}}}),
            "--track-template first");
}

}  // namespace
}  // namespace orbserve::cli
