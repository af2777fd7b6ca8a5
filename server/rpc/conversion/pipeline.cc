// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/pipeline.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "features/errors.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace orbserve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Numbers of the wire are unsigned with 32 bits, ours are int. A number that does not fit is
// refused here, because the error must show it as it was given. Validate() checks the ranges of the
// rest. A number that is not set leaves `out` unchanged.
absl::Status IntFromProto(absl::string_view name, bool is_set, uint32_t value,
                          const IntRange& range, int& out) {
  if (!is_set) return absl::OkStatus();
  if (value > static_cast<uint32_t>(std::numeric_limits<int>::max())) {
    return CheckRange(name, value, range);
  }
  out = static_cast<int>(value);
  return absl::OkStatus();
}

// An enum of the wire is ours with UNSPECIFIED = 0 in front, in the same order and by the same
// names (kEnumNames), as a test says of each enum of v1::Pipeline. UNSPECIFIED leaves `out`
// unchanged.
template <typename E>
absl::Status EnumFromProto(absl::string_view name, int value, E& out) {
  constexpr int kLast = static_cast<int>(kEnumNames<E>.size());
  if (value == 0) return absl::OkStatus();
  if (value < 0 || value > kLast) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat(name, " must be one of the values known to this server, 1 to ",
                                  kLast, "; got ", value));
  }
  out = static_cast<E>(value - 1);
  return absl::OkStatus();
}

// Every option but those of matches and `candidate_test`: its path in v1::Pipeline, ours, and the
// range of a whole number.
template <typename Pipeline, typename Visit>
void VisitOptions(Pipeline& pipeline, const Visit& visit) {
  auto& [pyramid, detect, suppress, select, describe, sift] = pipeline.options;
  visit("pyramid.levels", pyramid.levels, kLevelRange);
  visit("pyramid.scale_factor", pyramid.scale_factor);
  visit("pyramid.source", pyramid.source);
  visit("detect.detector", detect.detector);
  visit("detect.fast_threshold", pipeline.frame.fast_threshold_grey, kFastThresholdRange);
  visit("detect.fast_arc_length", detect.fast_arc_length, kFastArcLengthRange);
  visit("detect.score", detect.score);
  visit("detect.quality_level", pipeline.frame.quality_level);
  visit("detect.fast_threshold_low", pipeline.frame.fast_threshold_low_grey,
        kFastThresholdLowRange);
  visit("suppress.suppression", suppress.suppression);
  visit("suppress.window_px", suppress.window_px, kWindowRange);
  visit("suppress.cell_width_px", suppress.cell_width_px, kCellWidthRange);
  visit("suppress.cell_height_px", suppress.cell_height_px, kCellHeightRange);
  visit("suppress.minimum_distance_px", suppress.minimum_distance_px, kMinimumDistanceRange);
  visit("suppress.compare", suppress.compare);
  visit("suppress.distance_shape", suppress.distance_shape);
  visit("suppress.cornerness_compression", suppress.cornerness_compression);
  visit("suppress.max_passes", suppress.max_passes, kPassRange);
  visit("select.selection", select.selection);
  visit("select.max_features", pipeline.frame.max_features, kFeatureRange);
  visit("select.capacity", select.capacity, kFeatureRange);
  visit("select.lapping_begin_px", pipeline.frame.lapping_begin_px, kLappingRange);
  visit("select.lapping_end_px", pipeline.frame.lapping_end_px, kLappingRange);
  visit("describe.orientation", describe.orientation);
  visit("describe.descriptor_type", describe.descriptor);
  // Behind the others: its range depends on them.
  visit("select.border_px", select.border_px, BorderRange(pipeline.options));
  auto& track = pipeline.track;
  visit("track.levels", track.levels, kTrackLevelRange);
  visit("track.coarse_patch_px", track.coarse_patch_px, IntRange{8, 16});
  visit("track.iterations", track.iterations, kTrackIterationRange);
  visit("track.epsilon_px", track.epsilon_px);
  visit("track.min_eigen", track.min_eigen);
  visit("track.max_residual", track.max_residual);
  visit("track.illumination", track.illumination);
  visit("track.template", track.track_template);
  visit("track.redetect_percent", track.redetect_percent, kRedetectRange);
  visit("sift.octave_layers", sift.octave_layers, kSiftLayerRange);
  visit("sift.contrast_threshold", sift.contrast_threshold);
  visit("sift.edge_threshold", sift.edge_threshold);
  visit("sift.sigma", sift.sigma);
  visit("sift.first_octave", sift.first_octave, kSiftFirstOctaveRange);
}

// Where the options are in v1::Pipeline, in the order of VisitOptions().
struct Place {
  const FieldDescriptor* group;
  const FieldDescriptor* field;
  std::string name;  // in errors
};
const std::vector<Place>& Places() {
  static const auto* const places = [] {
    auto* const all = new std::vector<Place>;
    ResolvedPipeline any;
    VisitOptions(any, [&](absl::string_view path, const auto&...) {
      const std::pair<std::string, std::string> names = absl::StrSplit(path, '.');
      const auto* const group = v1::Pipeline::descriptor()->FindFieldByName(names.first);
      // An option that frames have, too, is named without its group.
      const bool is_of_frames =
          v1::FrameParameters::descriptor()->FindFieldByName(names.second) != nullptr;
      all->push_back({group, group->message_type()->FindFieldByName(names.second),
                      is_of_frames ? names.second : std::string(path)});
    });
    return all;
  }();
  return *places;
}

// A second threshold belongs to FAST. Neither PipelineOptions nor FrameParameters sees both.
absl::Status CheckLowThreshold(const FrameParameters& frame, const PipelineOptions& options) {
  if (frame.fast_threshold_low_grey == 0 || options.detect.detector == Detector::kFast) {
    return absl::OkStatus();
  }
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("fast_threshold_low is ", frame.fast_threshold_low_grey,
                                " and detect.detector is not FAST; allowed: fast_threshold_low 0 "
                                "(off), or detector FAST"));
}

}  // namespace

absl::StatusOr<MatchOptions> MatchOptionsFromProto(const v1::MatchOptions& proto,
                                                   const MatchOptions& base) {
  MatchOptions options = base;
  if (!v1::MatchSelection_IsValid(proto.selection())) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("match.selection must be BEST (1) or K_BEST (2); got ",
                                  static_cast<int>(proto.selection())));
  }
  if (proto.selection() == v1::MATCH_SELECTION_K_BEST) {
    options.k = 2;
    ORBSERVE_RETURN_IF_ERROR(
        IntFromProto("match.k", proto.has_k(), proto.k(), kNeighbourRange, options.k));
  } else {
    if (proto.has_k() && proto.k() != 1) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("match.k belongs to match.selection K_BEST; got ", proto.k(),
                                    " without it"));
    }
    if (proto.selection() == v1::MATCH_SELECTION_BEST) options.k = 1;
  }
  if (proto.has_ratio()) options.ratio = proto.ratio();
  if (proto.has_cross_check()) options.cross_check = proto.cross_check();
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("match.max_distance", proto.has_max_distance(),
                                        proto.max_distance(), kMatchDistanceRange,
                                        options.max_distance));
  if (proto.has_window_px()) options.window_px = proto.window_px();
  if (proto.has_offset_x()) options.offset_x_px = proto.offset_x();
  if (proto.has_offset_y()) options.offset_y_px = proto.offset_y();
  if (proto.has_min_dx()) options.min_dx_px = proto.min_dx();
  if (proto.has_max_dx()) options.max_dx_px = proto.max_dx();
  if (proto.has_max_dy()) options.max_dy_px = proto.max_dy();
  if (proto.fundamental_size() > 0) {
    if (proto.fundamental_size() != static_cast<int>(options.fundamental.size())) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("match.fundamental must be nine numbers, row by row; got ",
                                    proto.fundamental_size()));
    }
    std::copy(proto.fundamental().begin(), proto.fundamental().end(), options.fundamental.begin());
  }
  if (proto.has_max_epipolar_px()) options.max_epipolar_px = proto.max_epipolar_px();
  ORBSERVE_RETURN_IF_ERROR(options.Validate());
  return options;
}

absl::StatusOr<ResolvedPipeline> ReadPipeline(const v1::Pipeline& proto) {
  ORBSERVE_ASSIGN_OR_RETURN(const Preset* preset,
                            FindPreset(proto.preset().empty() ? absl::string_view("orb")
                                                              : absl::string_view(proto.preset())));
  ResolvedPipeline out = {std::string(preset->name), preset->pipeline, preset->frame, preset->match,
                          preset->track};
  if (!v1::CandidateTest_IsValid(proto.detect().candidate_test())) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("detect.candidate_test must be one of the values known to this "
                                  "server, 0 to 2; got ",
                                  static_cast<int>(proto.detect().candidate_test())));
  }
  out.options.detect.candidate_test = static_cast<CandidateTest>(proto.detect().candidate_test());
  if (proto.track().has_coarse_patch_px()) {
    ORBSERVE_RETURN_IF_ERROR(CheckCoarsePatch(proto.track().coarse_patch_px()));
  }
  absl::Status status;
  const Reflection& groups = *proto.GetReflection();
  auto place = Places().begin();
  const FieldDescriptor* group_field = nullptr;
  const Message* group = nullptr;  // null: not set, as in most calls, which name a preset
  VisitOptions(out, [&]<typename T>(absl::string_view, T& value, const IntRange& range = {}) {
    const Place& at = *place++;
    if (at.group != group_field) {
      group_field = at.group;
      group =
          groups.HasField(proto, group_field) ? &groups.GetMessage(proto, group_field) : nullptr;
    }
    if (group == nullptr || !status.ok()) return;
    const Reflection& fields = *group->GetReflection();
    if constexpr (std::is_enum_v<T>) {
      status = EnumFromProto(at.name, fields.GetEnumValue(*group, at.field), value);
    } else if (!fields.HasField(*group, at.field)) {
      return;
    } else if constexpr (std::is_same_v<T, bool>) {
      value = fields.GetBool(*group, at.field);
    } else if constexpr (std::is_same_v<T, float>) {
      value = fields.GetFloat(*group, at.field);
    } else if constexpr (std::is_same_v<T, double>) {
      value = fields.GetDouble(*group, at.field);
    } else if (at.field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
      value = fields.GetInt32(*group, at.field);
    } else {
      status = IntFromProto(at.name, true, fields.GetUInt32(*group, at.field), range, value);
    }
  });
  ORBSERVE_RETURN_IF_ERROR(status);
  ORBSERVE_RETURN_IF_ERROR(out.track.Validate());
  ORBSERVE_ASSIGN_OR_RETURN(out.match, MatchOptionsFromProto(proto.match(), out.match));
  return out;
}

absl::StatusOr<ResolvedPipeline> PipelineFromProto(const v1::Pipeline& proto) {
  ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline out, ReadPipeline(proto));
  ORBSERVE_RETURN_IF_ERROR(CheckLowThreshold(out.frame, out.options));
  ORBSERVE_RETURN_IF_ERROR(out.options.Validate());
  ORBSERVE_RETURN_IF_ERROR(out.frame.Validate());
  return out;
}

void PipelineToProto(const ResolvedPipeline& pipeline, v1::Pipeline* proto) {
  proto->set_preset(pipeline.preset);
  proto->mutable_detect()->set_candidate_test(
      static_cast<v1::CandidateTest>(pipeline.options.detect.candidate_test));
  const Reflection& groups = *proto->GetReflection();
  auto place = Places().begin();
  VisitOptions(pipeline, [&]<typename T>(absl::string_view, const T& value, const auto&...) {
    const auto& [group_field, field, name] = *place++;
    Message* const group = groups.MutableMessage(proto, group_field);
    const Reflection& fields = *group->GetReflection();
    if constexpr (std::is_enum_v<T>) {
      fields.SetEnumValue(group, field, static_cast<int>(value) + 1);
    } else if constexpr (std::is_same_v<T, bool>) {
      fields.SetBool(group, field, value);
    } else if constexpr (std::is_same_v<T, float>) {
      fields.SetFloat(group, field, value);
    } else if constexpr (std::is_same_v<T, double>) {
      fields.SetDouble(group, field, value);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
      fields.SetInt32(group, field, value);
    } else {
      fields.SetUInt32(group, field, static_cast<uint32_t>(value));
    }
  });
  v1::MatchOptions& match = *proto->mutable_match();
  match.set_selection(pipeline.match.k > 1 ? v1::MATCH_SELECTION_K_BEST : v1::MATCH_SELECTION_BEST);
  match.set_k(static_cast<uint32_t>(pipeline.match.k));
  match.set_ratio(pipeline.match.ratio);
  match.set_cross_check(pipeline.match.cross_check);
  match.set_max_distance(static_cast<uint32_t>(pipeline.match.max_distance));
  match.set_window_px(pipeline.match.window_px);
  match.set_offset_x(pipeline.match.offset_x_px);
  match.set_offset_y(pipeline.match.offset_y_px);
  match.set_min_dx(pipeline.match.min_dx_px);
  match.set_max_dx(pipeline.match.max_dx_px);
  match.set_max_dy(pipeline.match.max_dy_px);
  match.clear_fundamental();
  if (pipeline.match.has_epipolar()) {
    for (const double value : pipeline.match.fundamental) match.add_fundamental(value);
  }
  match.set_max_epipolar_px(pipeline.match.max_epipolar_px);
}

namespace {

// An error of the options of one frame says that it is not about the pipeline's.
absl::Status OfFrame(const absl::Status& status) {
  if (status.ok()) return status;
  return MakeError(ReasonOf(status), absl::StrCat("frame.parameters: ", status.message()));
}

absl::Status ReadFrameParameters(const v1::FrameParameters& proto, const PipelineOptions& options,
                                 FrameParameters& out) {
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("max_features", proto.has_max_features(),
                                        proto.max_features(), kFeatureRange, out.max_features));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("fast_threshold", proto.has_fast_threshold(),
                                        proto.fast_threshold(), kFastThresholdRange,
                                        out.fast_threshold_grey));
  if (proto.has_quality_level()) out.quality_level = proto.quality_level();
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("fast_threshold_low", proto.has_fast_threshold_low(),
                                        proto.fast_threshold_low(), kFastThresholdLowRange,
                                        out.fast_threshold_low_grey));
  ORBSERVE_RETURN_IF_ERROR(CheckLowThreshold(out, options));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("lapping_begin_px", proto.has_lapping_begin_px(),
                                        proto.lapping_begin_px(), kLappingRange,
                                        out.lapping_begin_px));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("lapping_end_px", proto.has_lapping_end_px(),
                                        proto.lapping_end_px(), kLappingRange, out.lapping_end_px));
  return out.Validate();
}

absl::Status ReadFrameMatch(const v1::FrameParameters& proto, MatchOptions& out) {
  if (proto.has_match_ratio()) out.ratio = proto.match_ratio();
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("match.max_distance", proto.has_match_max_distance(),
                                        proto.match_max_distance(), kMatchDistanceRange,
                                        out.max_distance));
  if (proto.has_match_window_px()) out.window_px = proto.match_window_px();
  if (proto.has_match_offset_x()) out.offset_x_px = proto.match_offset_x();
  if (proto.has_match_offset_y()) out.offset_y_px = proto.match_offset_y();
  return out.Validate();
}

}  // namespace

absl::StatusOr<FrameParameters> FrameParametersFromProto(const v1::FrameParameters& proto,
                                                         const ResolvedPipeline& pipeline) {
  FrameParameters out = pipeline.frame;
  ORBSERVE_RETURN_IF_ERROR(OfFrame(ReadFrameParameters(proto, pipeline.options, out)));
  return out;
}

absl::StatusOr<MatchOptions> FrameMatchFromProto(const v1::FrameParameters& proto,
                                                 const MatchOptions& base) {
  MatchOptions out = base;
  ORBSERVE_RETURN_IF_ERROR(OfFrame(ReadFrameMatch(proto, out)));
  return out;
}

}  // namespace orbserve
