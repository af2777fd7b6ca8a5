// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/pipeline_flags.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/file_io.h"
#include "client/cli/wire_names.h"

namespace orbserve::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr PipelineFlag kFlags[] = {
    // clang-format off
    {"--levels", nullptr, "pyramid.levels", "N", "Levels of the pyramid, 1 to 16"},
    {"--scale", nullptr, "pyramid.scale_factor", "F", "Ratio of the sides of neighbouring levels, 1.01 to 4"},
    {"--pyramid-source", nullptr, "pyramid.source", nullptr, "Image that a level is made from"},
    {"--detector", nullptr, "detect.detector", nullptr, "Detector of corners"},
    {"--threshold", nullptr, "detect.fast_threshold", "GREY", "FAST: threshold, 1 to 254"},
    {"--arc", nullptr, "detect.fast_arc_length", "N", "FAST: contiguous ring pixels, 9 to 12"},
    {"--candidate-test", nullptr, "detect.candidate_test", nullptr, "FAST: way of the test; never changes the answer"},
    {"--score", nullptr, "detect.score", nullptr, "FAST: value that ranks corners"},
    {"--quality", nullptr, "detect.quality_level", "Q", "HARRIS, SHI_TOMASI: share of the best response that a corner needs, above 0 and below 1"},
    {"--threshold-low", nullptr, "detect.fast_threshold_low", "GREY", "FAST: second threshold where no corner reaches --threshold, 1 to --threshold; 0 = off"},
    {"--suppress", nullptr, "suppress.suppression", nullptr, "Choice among neighbouring corners"},
    {"--window", nullptr, "suppress.window_px", "PX", "NEIGHBOURHOOD, CELL: side of the window, 3, 5, 7 or 9"},
    {"--cell-width", nullptr, "suppress.cell_width_px", "PX", "Width of a cell of --suppress CELL or --select CELL, a multiple of 32, 32 to 512"},
    {"--cell-height", nullptr, "suppress.cell_height_px", "PX", "Height of a cell, a multiple of 8, 8 to 512"},
    {"--min-distance", nullptr, "suppress.minimum_distance_px", "PX", "MINIMUM_DISTANCE: smallest distance of corners, 1 to 64"},
    {"--compare", nullptr, "suppress.compare", nullptr, "FAST: value that neighbouring corners are compared by"},
    {"--distance-shape", nullptr, "suppress.distance_shape", nullptr, "MINIMUM_DISTANCE: shape of the distance"},
    {"--compression", "--no-compression", "suppress.cornerness_compression", "", "MINIMUM_DISTANCE: blocks of 2x2 pixels as one; faster, fewer corners"},
    {"--max-passes", nullptr, "suppress.max_passes", "N", "MINIMUM_DISTANCE: passes after which undecided corners are dropped; 0 = to the end"},
    {"--select", nullptr, "select.selection", nullptr, "Choice of the features of an image"},
    {"--max-features", nullptr, "select.max_features", "N", "Wanted number of features per image, 1 to 100000"},
    {"--capacity", nullptr, "select.capacity", "N", "Most features of an answer, 1 to 100000"},
    {"--border", nullptr, "select.border_px", "PX", "Distance of features to the border of their level, up to 255"},
    {"--lapping-begin", nullptr, "select.lapping_begin_px", "PX", "ORB_SLAM3: first column that the other camera sees, too"},
    {"--lapping-end", nullptr, "select.lapping_end_px", "PX", "ORB_SLAM3: last of these columns; their features end the answer, in reverse"},
    {"--orientation", nullptr, "describe.orientation", nullptr, "Angle of a feature"},
    {"--descriptor", nullptr, "describe.descriptor_type", nullptr, "Descriptor of a feature"},
    {"--match-selection", nullptr, "match.selection", nullptr, "Neighbours that are answered"},
    {"--k", nullptr, "match.k", "N", "Nearest neighbours of every query feature, 1 to 16"},
    {"--ratio", nullptr, "match.ratio", "R", "Keep a match if its distance is below R times the second best, up to 1; 0 = off"},
    {"--cross-check", "--no-cross-check", "match.cross_check", "", "Keep only mutual nearest neighbours"},
    {"--max-distance", nullptr, "match.max_distance", "N", "Keep matches with distances up to N bits, of SIFT squared; 0 to 8323200"},
    {"--match-window", nullptr, "match.window_px", "PX", "Match within PX pixels of a feature's own place, in x and in y; 0 = everywhere"},
    {"--match-offset-x", nullptr, "match.offset_x", "PX", "Move the window of --match-window to the right"},
    {"--match-offset-y", nullptr, "match.offset_y", "PX", "Move the window of --match-window down"},
    {"--min-dx", nullptr, "match.min_dx", "PX", "Match where x of the first image - x of the second is PX or more: the least disparity of left and right; -1000000 = no limit"},
    {"--max-dx", nullptr, "match.max_dx", "PX", "Match where x of the first image - x of the second is up to PX; 1000000 = no limit"},
    {"--max-dy", nullptr, "match.max_dy", "PX", "Match where the two y differ by up to PX; 1000000 = no limit"},
    {"--fundamental", nullptr, "match.fundamental", "F11,...,F33|FILE", "Fundamental matrix, row by row: match near the epipolar lines; with --max-epipolar"},
    {"--max-epipolar", nullptr, "match.max_epipolar_px", "PX", "Match up to PX pixels from the line of --fundamental; 0 = off"},
    {"--track-levels", nullptr, "track.levels", "N", "Levels of the pyramid that tracks use, 1 to 11"},
    {"--track-coarse-patch", nullptr, "track.coarse_patch_px", "PX", "Side of the patch on levels above 2, 8 or 16"},
    {"--track-iterations", nullptr, "track.iterations", "N", "Most iterations on a level, 1 to 100"},
    {"--track-epsilon", nullptr, "track.epsilon_px", "PX", "Step below which a search ends, 0.001 to 1"},
    {"--track-min-eigen", nullptr, "track.min_eigen", "E", "Least texture of a patch, 0.001 to 1000"},
    {"--track-max-residual", nullptr, "track.max_residual", "GREY", "End tracks whose patch differs by more, above 0, up to 128 = off"},
    {"--track-illumination", nullptr, "track.illumination", nullptr, "Change of light that tracks follow"},
    {"--track-template", nullptr, "track.template", nullptr, "Frame that the patch of a track is taken from"},
    {"--track-redetect", nullptr, "track.redetect_percent", "PERCENT", "Begin new tracks below this share of --max-features, 0 to 100"},
    {"--octave-layers", nullptr, "sift.octave_layers", "N", "SIFT: layers of an octave, 1 to 8"},
    {"--contrast-threshold", nullptr, "sift.contrast_threshold", "C", "SIFT: least contrast, 0 to 1"},
    {"--edge-threshold", nullptr, "sift.edge_threshold", "R", "SIFT: largest ratio of curvatures, 0 to 1000"},
    {"--sigma", nullptr, "sift.sigma", "PX", "SIFT: blur of the first image of an octave, 0.1 to 4"},
    {"--first-octave", nullptr, "sift.first_octave", "N", "SIFT: -1 = the image at twice its size, 0 = the image itself"},
    // clang-format on
};

// Flags whose paths begin so have no effect with the detector SIFT.
constexpr const char* kNotOfSift[] = {"pyramid.",         "suppress.",      "select.selection",
                                      "select.border_px", "select.lapping", "describe.orientation"};

// A flag of `path` has an effect if one of its rules holds: the option `needs` has one of the
// values `of`, which '|' separates. Flags without a rule always have one.
struct EffectRule {
  const char* path;
  const char* needs;
  const char* of;
};

constexpr EffectRule kRules[] = {
    {"detect.fast_threshold", "detect.detector", "FAST"},
    {"detect.fast_arc_length", "detect.detector", "FAST"},
    {"detect.candidate_test", "detect.detector", "FAST"},
    {"detect.score", "detect.detector", "FAST"},
    {"detect.quality_level", "detect.detector", "HARRIS|SHI_TOMASI"},
    {"suppress.compare", "detect.detector", "FAST"},
    {"suppress.window_px", "suppress.suppression", "NEIGHBOURHOOD|CELL"},
    {"suppress.cell_width_px", "suppress.suppression", "CELL"},
    {"suppress.cell_width_px", "select.selection", "CELL"},
    {"suppress.cell_height_px", "suppress.suppression", "CELL"},
    {"suppress.cell_height_px", "select.selection", "CELL"},
    {"suppress.minimum_distance_px", "suppress.suppression", "MINIMUM_DISTANCE"},
    {"suppress.distance_shape", "suppress.suppression", "MINIMUM_DISTANCE"},
    {"suppress.cornerness_compression", "suppress.suppression", "MINIMUM_DISTANCE"},
    {"suppress.max_passes", "suppress.suppression", "MINIMUM_DISTANCE"},
    {"select.lapping_begin_px", "select.selection", "ORB_SLAM3"},
    {"select.lapping_end_px", "select.selection", "ORB_SLAM3"},
    {"sift.octave_layers", "detect.detector", "SIFT"},
    {"sift.contrast_threshold", "detect.detector", "SIFT"},
    {"sift.edge_threshold", "detect.detector", "SIFT"},
    {"sift.sigma", "detect.detector", "SIFT"},
    {"sift.first_octave", "detect.detector", "SIFT"},
};

const PipelineFlag* FlagOf(absl::string_view path) {
  const auto* const found =
      absl::c_find_if(kFlags, [path](const PipelineFlag& flag) { return flag.path == path; });
  return found == std::end(kFlags) ? nullptr : found;
}

// Group and option of a path: {"detect", "detector"}.
std::pair<std::string, std::string> Parts(absl::string_view path) {
  return absl::StrSplit(path, absl::MaxSplits('.', 1));
}

const FieldDescriptor& GroupField(absl::string_view path) {
  return *v1::Pipeline::descriptor()->FindFieldByName(Parts(path).first);
}

// Short name of the enumerator that the pipeline has for `path`; "" if it is not known.
absl::string_view EnumeratorOf(const v1::Pipeline& pipeline, absl::string_view path) {
  const Message& group = pipeline.GetReflection()->GetMessage(pipeline, &GroupField(path));
  const FieldDescriptor& field = *group.GetDescriptor()->FindFieldByName(Parts(path).second);
  const auto* const value = group.GetReflection()->GetEnum(group, &field);
  return value->number() == 0 ? absl::string_view() : ShortName(*value);
}

absl::Status Refuse(const PipelineFlag& flag, absl::string_view allowed, absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag.name, " must be ", std::string(allowed), "; got ", std::string(value)));
}

// Text about a value that is not what `kind` says. The help of the flag says which are allowed.
absl::Status RefuseNumber(const PipelineFlag& flag, absl::string_view kind,
                          absl::string_view value) {
  return Refuse(flag, absl::StrCat(std::string(kind), " (", flag.help, ")"), value);
}

// Sets an option of several numbers: the numbers themselves with commas between them, or a file
// that has them, with brackets or without.
absl::Status SetNumbers(const PipelineFlag& flag, const std::string& value, Message* group) {
  std::string text = value;
  if (!absl::StrContains(value, ',')) {
    absl::StatusOr<std::string> file = ReadFile(value);
    if (!file.ok()) {
      return RefuseNumber(flag, "numbers with commas between them, or a file",
                          absl::StrCat(value, ": ", std::string(file.status().message())));
    }
    text = *std::move(file);
  }
  const google::protobuf::Reflection& reflection = *group->GetReflection();
  reflection.ClearField(group, &flag.field());
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t\r\n,;[]"), absl::SkipEmpty())) {
    double number;
    if (!absl::SimpleAtod(word, &number) || !std::isfinite(number)) {
      return RefuseNumber(flag, "finite numbers", word.substr(0, 40));
    }
    reflection.AddDouble(group, &flag.field(), number);
  }
  return absl::OkStatus();
}

absl::Status SetOption(const PipelineFlag& flag, const std::string& value, v1::Pipeline* pipeline) {
  Message* const group =
      pipeline->GetReflection()->MutableMessage(pipeline, &GroupField(flag.path));
  const FieldDescriptor& field = flag.field();
  if (field.is_repeated()) return SetNumbers(flag, value, group);
  const google::protobuf::Reflection& reflection = *group->GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* const enumerator = FindShortName(*field.enum_type(), value);
      if (enumerator == nullptr) {
        return Refuse(flag,
                      absl::StrCat("one of ", absl::StrJoin(ShortNames(*field.enum_type()), ", ")),
                      value);
      }
      reflection.SetEnum(group, &field, enumerator);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number;
      if (!absl::SimpleAtoi(value, &number)) return RefuseNumber(flag, "a whole number", value);
      reflection.SetUInt32(group, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      int32_t number;
      if (!absl::SimpleAtoi(value, &number)) return RefuseNumber(flag, "a whole number", value);
      reflection.SetInt32(group, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double number;
      if (!absl::SimpleAtod(value, &number) || !std::isfinite(number)) {
        return RefuseNumber(flag, "a number", value);
      }
      reflection.SetDouble(group, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      float number;
      if (!absl::SimpleAtof(value, &number) || !std::isfinite(number)) {
        return RefuseNumber(flag, "a number", value);
      }
      reflection.SetFloat(group, &field, number);
      return absl::OkStatus();
    }
    default:  // the test of the table knows no further types
      reflection.SetBool(group, &field, value == "true");
      return absl::OkStatus();
  }
}

// The option as it was given: "--k 3", "--no-compression".
std::string AsGiven(const PipelineFlag& flag, const std::string& value) {
  if (flag.off == nullptr) return absl::StrCat(flag.name, " ", value);
  return value == "true" ? flag.name : flag.off;
}

// The first flag of a kind that was given, or "".
std::string FirstGiven(const PipelineFlagValues& values, bool (PipelineFlag::*is_kind)() const) {
  for (const PipelineFlag& flag : kFlags) {
    const auto given = values.find(flag.name);
    if ((flag.*is_kind)() && given != values.end() && !given->second.empty()) {
      return AsGiven(flag, given->second[0]);
    }
  }
  return std::string();
}

}  // namespace

bool PipelineFlag::is_matching() const { return absl::StartsWith(path, "match."); }

bool PipelineFlag::is_tracking() const { return absl::StartsWith(path, "track."); }

const FieldDescriptor& PipelineFlag::field() const {
  return *GroupField(path).message_type()->FindFieldByName(Parts(path).second);
}

std::string PipelineFlag::ValueName() const {
  return value != nullptr ? value : absl::StrJoin(ShortNames(*field().enum_type()), "|");
}

absl::Span<const PipelineFlag> PipelineFlags() { return kFlags; }

absl::Status ApplyPipelineFlags(const PipelineFlagValues& values, v1::Pipeline* pipeline) {
  for (const PipelineFlag& flag : kFlags) {
    const auto given = values.find(flag.name);
    if (given == values.end() || given->second.empty()) continue;
    if (given->second.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(flag.name, " can be given once; got ",
                                                     AsGiven(flag, given->second[0]), " and ",
                                                     AsGiven(flag, given->second[1])));
    }
    const absl::Status set = SetOption(flag, given->second[0], pipeline);
    if (!set.ok()) return set;
  }
  // --k says by itself whether one neighbour is wanted or several.
  const auto given = [&values](const char* name) {
    const auto found = values.find(name);
    return found != values.end() && !found->second.empty();
  };
  if (given("--k") && !given("--match-selection")) {
    v1::MatchOptions& match = *pipeline->mutable_match();
    match.set_selection(match.k() == 1 ? v1::MATCH_SELECTION_BEST : v1::MATCH_SELECTION_K_BEST);
  }
  return absl::OkStatus();
}

absl::Status CheckPipelineFlags(const PipelineFlagValues& values, const v1::Pipeline& pipeline) {
  for (const PipelineFlag& flag : kFlags) {
    const auto given = values.find(flag.name);
    if (given == values.end() || given->second.empty()) continue;
    bool has_effect = true;
    std::vector<std::string> needs;
    std::vector<std::string> found;
    const auto begins = [&flag](const char* path) { return absl::StartsWith(flag.path, path); };
    if (EnumeratorOf(pipeline, "detect.detector") == "SIFT" && absl::c_any_of(kNotOfSift, begins)) {
      return absl::InvalidArgumentError(
          absl::StrCat(AsGiven(flag, given->second[0]),
                       " has no effect: it needs --detector FAST or HARRIS or SHI_TOMASI, and "
                       "detect.detector is SIFT"));
    }
    for (const EffectRule& rule : kRules) {
      if (absl::string_view(rule.path) != flag.path) continue;
      const absl::string_view value = EnumeratorOf(pipeline, rule.needs);
      const std::vector<std::string> allowed = absl::StrSplit(rule.of, '|');
      if (needs.empty()) has_effect = false;
      has_effect = has_effect || value.empty() || absl::c_linear_search(allowed, value);
      needs.push_back(absl::StrCat(FlagOf(rule.needs)->name, " ", absl::StrJoin(allowed, " or ")));
      found.push_back(absl::StrCat(rule.needs, " is ", value));
    }
    if (!has_effect) {
      return absl::InvalidArgumentError(
          absl::StrCat(AsGiven(flag, given->second[0]), " has no effect: it needs ",
                       absl::StrJoin(needs, " or "), ", and ", absl::StrJoin(found, " and ")));
    }
  }
  return absl::OkStatus();
}

std::string MatchingFlagOf(const PipelineFlagValues& values) {
  return FirstGiven(values, &PipelineFlag::is_matching);
}

std::string TrackingFlagOf(const PipelineFlagValues& values) {
  return FirstGiven(values, &PipelineFlag::is_tracking);
}

v1::Pipeline EffectivePipeline(const v1::Pipeline& pipeline,
                               const v1::GetServerInfoResponse& server) {
  const std::string& name = pipeline.preset().empty() ? std::string("orb") : pipeline.preset();
  v1::Pipeline effective;
  for (const v1::PresetInfo& preset : server.presets()) {
    if (preset.name() == name) effective = preset.pipeline();
  }
  effective.MergeFrom(pipeline);
  return effective;
}

}  // namespace orbserve::cli
