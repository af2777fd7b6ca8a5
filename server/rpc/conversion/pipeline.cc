// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/pipeline.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

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

template <typename P, typename E>
P EnumToProto(E value) {
  return static_cast<P>(static_cast<int>(value) + 1);
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
  ORBSERVE_RETURN_IF_ERROR(options.Validate());
  return options;
}

absl::StatusOr<TrackOptions> TrackOptionsFromProto(const v1::TrackOptions& proto,
                                                   const TrackOptions& base) {
  TrackOptions options = base;
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("track.levels", proto.has_levels(), proto.levels(),
                                        kTrackLevelRange, options.levels));
  if (proto.has_coarse_patch_px()) {
    ORBSERVE_RETURN_IF_ERROR(CheckCoarsePatch(proto.coarse_patch_px()));
    options.coarse_patch_px = static_cast<int>(proto.coarse_patch_px());
  }
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("track.iterations", proto.has_iterations(),
                                        proto.iterations(), kTrackIterationRange,
                                        options.iterations));
  if (proto.has_epsilon_px()) options.epsilon_px = proto.epsilon_px();
  if (proto.has_min_eigen()) options.min_eigen = proto.min_eigen();
  if (proto.has_max_residual()) options.max_residual = proto.max_residual();
  ORBSERVE_RETURN_IF_ERROR(
      EnumFromProto("track.illumination", proto.illumination(), options.illumination));
  ORBSERVE_RETURN_IF_ERROR(
      EnumFromProto("track.template", proto.template_(), options.track_template));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("track.redetect_percent", proto.has_redetect_percent(),
                                        proto.redetect_percent(), kRedetectRange,
                                        options.redetect_percent));
  ORBSERVE_RETURN_IF_ERROR(options.Validate());
  return options;
}

absl::StatusOr<ResolvedPipeline> ReadPipeline(const v1::Pipeline& proto) {
  ORBSERVE_ASSIGN_OR_RETURN(const Preset* preset,
                            FindPreset(proto.preset().empty() ? absl::string_view("orb")
                                                              : absl::string_view(proto.preset())));
  ResolvedPipeline out;
  out.preset = std::string(preset->name);
  out.options = preset->pipeline;
  out.frame = preset->frame;
  out.match = preset->match;
  out.track = preset->track;

  const v1::PyramidOptions& pyramid = proto.pyramid();
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("pyramid.levels", pyramid.has_levels(), pyramid.levels(),
                                        kLevelRange, out.options.pyramid.levels));
  if (pyramid.has_scale_factor()) out.options.pyramid.scale_factor = pyramid.scale_factor();
  ORBSERVE_RETURN_IF_ERROR(
      EnumFromProto("pyramid.source", pyramid.source(), out.options.pyramid.source));

  const v1::DetectOptions& detect = proto.detect();
  ORBSERVE_RETURN_IF_ERROR(
      EnumFromProto("detect.detector", detect.detector(), out.options.detect.detector));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("fast_threshold", detect.has_fast_threshold(),
                                        detect.fast_threshold(), kFastThresholdRange,
                                        out.frame.fast_threshold_grey));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("detect.fast_arc_length", detect.has_fast_arc_length(),
                                        detect.fast_arc_length(), kFastArcLengthRange,
                                        out.options.detect.fast_arc_length));
  if (!v1::CandidateTest_IsValid(detect.candidate_test())) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("detect.candidate_test must be one of the values known to this "
                                  "server, 0 to 2; got ",
                                  static_cast<int>(detect.candidate_test())));
  }
  out.options.detect.candidate_test = static_cast<CandidateTest>(detect.candidate_test());
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("detect.score", detect.score(), out.options.detect.score));
  if (detect.has_quality_level()) out.frame.quality_level = detect.quality_level();

  ORBSERVE_RETURN_IF_ERROR(IntFromProto("fast_threshold_low", detect.has_fast_threshold_low(),
                                        detect.fast_threshold_low(), kFastThresholdLowRange,
                                        out.frame.fast_threshold_low_grey));

  const v1::SuppressOptions& suppress = proto.suppress();
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("suppress.suppression", suppress.suppression(),
                                         out.options.suppress.suppression));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.window_px", suppress.has_window_px(),
                                        suppress.window_px(), kWindowRange,
                                        out.options.suppress.window_px));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.cell_width_px", suppress.has_cell_width_px(),
                                        suppress.cell_width_px(), kCellWidthRange,
                                        out.options.suppress.cell_width_px));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.cell_height_px", suppress.has_cell_height_px(),
                                        suppress.cell_height_px(), kCellHeightRange,
                                        out.options.suppress.cell_height_px));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.minimum_distance_px",
                                        suppress.has_minimum_distance_px(),
                                        suppress.minimum_distance_px(), kMinimumDistanceRange,
                                        out.options.suppress.minimum_distance_px));
  ORBSERVE_RETURN_IF_ERROR(
      EnumFromProto("suppress.compare", suppress.compare(), out.options.suppress.compare));
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("suppress.distance_shape", suppress.distance_shape(),
                                         out.options.suppress.distance_shape));
  if (suppress.has_cornerness_compression()) {
    out.options.suppress.cornerness_compression = suppress.cornerness_compression();
  }
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.max_passes", suppress.has_max_passes(),
                                        suppress.max_passes(), kPassRange,
                                        out.options.suppress.max_passes));

  const v1::SelectOptions& select = proto.select();
  ORBSERVE_RETURN_IF_ERROR(
      EnumFromProto("select.selection", select.selection(), out.options.select.selection));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("max_features", select.has_max_features(),
                                        select.max_features(), kFeatureRange,
                                        out.frame.max_features));
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("select.capacity", select.has_capacity(), select.capacity(),
                                        kFeatureRange, out.options.select.capacity));

  const v1::DescribeOptions& describe = proto.describe();
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("describe.orientation", describe.orientation(),
                                         out.options.describe.orientation));
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("describe.descriptor_type", describe.descriptor_type(),
                                         out.options.describe.descriptor));
  // Last: its range depends on the rest.
  ORBSERVE_RETURN_IF_ERROR(IntFromProto("select.border_px", select.has_border_px(),
                                        select.border_px(), BorderRange(out.options),
                                        out.options.select.border_px));

  ORBSERVE_ASSIGN_OR_RETURN(out.match, MatchOptionsFromProto(proto.match(), out.match));
  ORBSERVE_ASSIGN_OR_RETURN(out.track, TrackOptionsFromProto(proto.track(), out.track));
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
  const PipelineOptions& options = pipeline.options;
  proto->set_preset(pipeline.preset);
  v1::PyramidOptions& pyramid = *proto->mutable_pyramid();
  pyramid.set_levels(static_cast<uint32_t>(options.pyramid.levels));
  pyramid.set_scale_factor(options.pyramid.scale_factor);
  pyramid.set_source(EnumToProto<v1::PyramidSource>(options.pyramid.source));
  v1::DetectOptions& detect = *proto->mutable_detect();
  detect.set_detector(EnumToProto<v1::Detector>(options.detect.detector));
  detect.set_fast_threshold(static_cast<uint32_t>(pipeline.frame.fast_threshold_grey));
  detect.set_fast_arc_length(static_cast<uint32_t>(options.detect.fast_arc_length));
  detect.set_candidate_test(static_cast<v1::CandidateTest>(options.detect.candidate_test));
  detect.set_score(EnumToProto<v1::Score>(options.detect.score));
  detect.set_quality_level(pipeline.frame.quality_level);
  detect.set_fast_threshold_low(static_cast<uint32_t>(pipeline.frame.fast_threshold_low_grey));
  v1::SuppressOptions& suppress = *proto->mutable_suppress();
  suppress.set_suppression(EnumToProto<v1::Suppression>(options.suppress.suppression));
  suppress.set_window_px(static_cast<uint32_t>(options.suppress.window_px));
  suppress.set_cell_width_px(static_cast<uint32_t>(options.suppress.cell_width_px));
  suppress.set_cell_height_px(static_cast<uint32_t>(options.suppress.cell_height_px));
  suppress.set_minimum_distance_px(static_cast<uint32_t>(options.suppress.minimum_distance_px));
  suppress.set_compare(EnumToProto<v1::Compare>(options.suppress.compare));
  suppress.set_distance_shape(EnumToProto<v1::DistanceShape>(options.suppress.distance_shape));
  suppress.set_cornerness_compression(options.suppress.cornerness_compression);
  suppress.set_max_passes(static_cast<uint32_t>(options.suppress.max_passes));
  v1::SelectOptions& select = *proto->mutable_select();
  select.set_selection(EnumToProto<v1::Selection>(options.select.selection));
  select.set_max_features(static_cast<uint32_t>(pipeline.frame.max_features));
  select.set_capacity(static_cast<uint32_t>(options.select.capacity));
  select.set_border_px(static_cast<uint32_t>(options.select.border_px));
  v1::DescribeOptions& describe = *proto->mutable_describe();
  describe.set_orientation(EnumToProto<v1::Orientation>(options.describe.orientation));
  describe.set_descriptor_type(EnumToProto<v1::DescriptorType>(options.describe.descriptor));
  v1::MatchOptions& match = *proto->mutable_match();
  match.set_selection(pipeline.match.k > 1 ? v1::MATCH_SELECTION_K_BEST : v1::MATCH_SELECTION_BEST);
  match.set_k(static_cast<uint32_t>(pipeline.match.k));
  match.set_ratio(pipeline.match.ratio);
  match.set_cross_check(pipeline.match.cross_check);
  match.set_max_distance(static_cast<uint32_t>(pipeline.match.max_distance));
  match.set_window_px(pipeline.match.window_px);
  match.set_offset_x(pipeline.match.offset_x_px);
  match.set_offset_y(pipeline.match.offset_y_px);
  v1::TrackOptions& track = *proto->mutable_track();
  track.set_levels(static_cast<uint32_t>(pipeline.track.levels));
  track.set_coarse_patch_px(static_cast<uint32_t>(pipeline.track.coarse_patch_px));
  track.set_iterations(static_cast<uint32_t>(pipeline.track.iterations));
  track.set_epsilon_px(pipeline.track.epsilon_px);
  track.set_min_eigen(pipeline.track.min_eigen);
  track.set_max_residual(pipeline.track.max_residual);
  track.set_illumination(EnumToProto<v1::Illumination>(pipeline.track.illumination));
  track.set_template_(EnumToProto<v1::TrackTemplate>(pipeline.track.track_template));
  track.set_redetect_percent(static_cast<uint32_t>(pipeline.track.redetect_percent));
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
