// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "features/algo/sincos.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::Status BadRequest(absl::string_view message) {
  return MakeError(ErrorReason::kBadRequest, message);
}

// Wire numbers are unsigned and 32 bits wide, ours are int. An option that does not fit is refused
// here, so that the error has the number that was given; Validate() refuses the others.
absl::Status IntFromProto(absl::string_view name, uint32_t value, const IntRange& range, int& out) {
  if (value > static_cast<uint32_t>(std::numeric_limits<int>::max())) {
    return CheckRange(name, value, range);
  }
  out = static_cast<int>(value);
  return absl::OkStatus();
}

// The largest int for what does not fit.
int ToInt(uint32_t value) {
  return static_cast<int>(
      std::min<uint32_t>(value, static_cast<uint32_t>(std::numeric_limits<int>::max())));
}

// Enums of the wire are ours plus an UNSPECIFIED = 0, in the same order; `last` is the last one of
// ours. Leaves `out` as it is for UNSPECIFIED.
template <typename E>
absl::Status EnumFromProto(absl::string_view name, int value, E last, E& out) {
  if (value == 0) return absl::OkStatus();
  if (value < 0 || value > static_cast<int>(last) + 1) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat(name, " must be one of the values known to this server, 1 to ",
                                  static_cast<int>(last) + 1, "; got ", value));
  }
  out = static_cast<E>(value - 1);
  return absl::OkStatus();
}

template <typename P, typename E>
P EnumToProto(E value) {
  return static_cast<P>(static_cast<int>(value) + 1);
}

// The two lists of names must not drift apart.
static_assert(static_cast<int>(PyramidSource::kLevelZero) + 1 == v1::PYRAMID_SOURCE_LEVEL_ZERO);
static_assert(static_cast<int>(Detector::kShiTomasi) + 1 == v1::DETECTOR_SHI_TOMASI);
static_assert(static_cast<int>(Score::kLargestThreshold) + 1 == v1::SCORE_LARGEST_THRESHOLD);
static_assert(static_cast<int>(Score::kHarris) + 1 == v1::SCORE_HARRIS);
static_assert(static_cast<int>(Score::kSadCircle) + 1 == v1::SCORE_SAD_CIRCLE);
static_assert(static_cast<int>(Score::kSadArc) + 1 == v1::SCORE_SAD_ARC);
static_assert(static_cast<int>(Suppression::kCell) + 1 == v1::SUPPRESSION_CELL);
static_assert(static_cast<int>(Suppression::kMinimumDistance) + 1 ==
              v1::SUPPRESSION_MINIMUM_DISTANCE);
static_assert(static_cast<int>(Selection::kLevelQuota) + 1 == v1::SELECTION_LEVEL_QUOTA);
static_assert(static_cast<int>(Selection::kBest) + 1 == v1::SELECTION_BEST);
static_assert(static_cast<int>(Selection::kCell) + 1 == v1::SELECTION_CELL);
static_assert(static_cast<int>(Selection::kQuadtree) + 1 == v1::SELECTION_QUADTREE);
static_assert(static_cast<int>(Orientation::kIntensityCentroid) + 1 ==
              v1::ORIENTATION_INTENSITY_CENTROID);
static_assert(static_cast<int>(Orientation::kArcMiddle) + 1 == v1::ORIENTATION_ARC_MIDDLE);
static_assert(static_cast<int>(Descriptor::kRBrief256) + 1 == v1::DESCRIPTOR_TYPE_RBRIEF_256);
static_assert(static_cast<int>(Descriptor::kRBrief32) + 1 == v1::DESCRIPTOR_TYPE_RBRIEF_32);
static_assert(static_cast<int>(Descriptor::kBFrost256) + 1 == v1::DESCRIPTOR_TYPE_BFROST_256);
static_assert(static_cast<int>(PixelFormat::kJpeg) + 1 == v1::PIXEL_FORMAT_JPEG);
static_assert(static_cast<int>(PixelFormat::kGray8) + 1 == v1::PIXEL_FORMAT_GRAY8);
static_assert(static_cast<int>(PixelFormat::kRgb8) + 1 == v1::PIXEL_FORMAT_RGB8);
static_assert(static_cast<int>(PixelFormat::kBgr8) + 1 == v1::PIXEL_FORMAT_BGR8);
static_assert(static_cast<int>(PixelFormat::kBgra8) + 1 == v1::PIXEL_FORMAT_BGRA8);
static_assert(static_cast<int>(PixelFormat::kNv12) + 1 == v1::PIXEL_FORMAT_NV12);
static_assert(static_cast<int>(PixelFormat::kI420) + 1 == v1::PIXEL_FORMAT_I420);
static_assert(static_cast<int>(PixelFormat::kYuyv) + 1 == v1::PIXEL_FORMAT_YUYV);

// A column of `count` values, or an empty one where `may_be_empty`.
absl::Status CheckColumn(absl::string_view name, int size, int count, bool may_be_empty) {
  if (size == count || (may_be_empty && size == 0)) return absl::OkStatus();
  return BadRequest(absl::StrCat(name, " has ", size, " values and x has ", count,
                                 "; the columns must have one length",
                                 may_be_empty ? ", or be left out" : ""));
}

absl::Status CheckCount(absl::string_view what, int count) {
  if (count <= kMaxFeatures) return absl::OkStatus();
  return MakeError(
      ErrorReason::kTooLarge,
      absl::StrCat(what, " has ", count, " keypoints; at most ", kMaxFeatures, " are allowed"));
}

template <typename Column>
absl::Status CheckFinite(absl::string_view name, const Column& column) {
  for (int i = 0; i < column.size(); ++i) {
    if (!std::isfinite(column[i])) {
      return BadRequest(absl::StrCat(name, "[", i, "] is not a finite number"));
    }
  }
  return absl::OkStatus();
}

template <typename T, typename Column>
std::vector<T> ToVector(const Column& column) {
  return std::vector<T>(column.begin(), column.end());
}

template <typename T, typename Column>
void ToColumn(const std::vector<T>& values, Column* column) {
  column->Add(values.begin(), values.end());
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
    if (proto.has_k()) {
      ORBSERVE_RETURN_IF_ERROR(IntFromProto("match.k", proto.k(), kNeighbourRange, options.k));
    }
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
  if (proto.has_max_distance()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("match.max_distance", proto.max_distance(),
                                          kMatchDistanceRange, options.max_distance));
  }
  ORBSERVE_RETURN_IF_ERROR(options.Validate());
  return options;
}

absl::StatusOr<ResolvedPipeline> PipelineFromProto(const v1::Pipeline& proto) {
  ORBSERVE_ASSIGN_OR_RETURN(const Preset* preset,
                            FindPreset(proto.preset().empty() ? absl::string_view("orb")
                                                              : absl::string_view(proto.preset())));
  ResolvedPipeline out;
  out.preset = std::string(preset->name);
  out.options = preset->pipeline;
  out.frame = preset->frame;
  out.match = preset->match;

  const v1::PyramidOptions& pyramid = proto.pyramid();
  if (pyramid.has_levels()) {
    ORBSERVE_RETURN_IF_ERROR(
        IntFromProto("pyramid.levels", pyramid.levels(), kLevelRange, out.options.pyramid.levels));
  }
  if (pyramid.has_scale_factor()) out.options.pyramid.scale_factor = pyramid.scale_factor();
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("pyramid.source", pyramid.source(),
                                         PyramidSource::kLevelZero, out.options.pyramid.source));

  const v1::DetectOptions& detect = proto.detect();
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("detect.detector", detect.detector(), Detector::kShiTomasi,
                                         out.options.detect.detector));
  if (detect.has_fast_threshold()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("fast_threshold", detect.fast_threshold(),
                                          kFastThresholdRange, out.frame.fast_threshold_grey));
  }
  if (detect.has_fast_arc_length()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("detect.fast_arc_length", detect.fast_arc_length(),
                                          kFastArcLengthRange, out.options.detect.fast_arc_length));
  }
  if (!v1::CandidateTest_IsValid(detect.candidate_test())) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("detect.candidate_test must be one of the values known to this "
                                  "server, 0 to 2; got ",
                                  static_cast<int>(detect.candidate_test())));
  }
  out.options.detect.candidate_test = static_cast<CandidateTest>(detect.candidate_test());
  ORBSERVE_RETURN_IF_ERROR(
      EnumFromProto("detect.score", detect.score(), Score::kSadArc, out.options.detect.score));
  if (detect.has_quality_level()) out.frame.quality_level = detect.quality_level();

  const v1::SuppressOptions& suppress = proto.suppress();
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("suppress.suppression", suppress.suppression(),
                                         Suppression::kMinimumDistance,
                                         out.options.suppress.suppression));
  if (suppress.has_window_px()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.window_px", suppress.window_px(), kWindowRange,
                                          out.options.suppress.window_px));
  }
  if (suppress.has_cell_width_px()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.cell_width_px", suppress.cell_width_px(),
                                          kCellWidthRange, out.options.suppress.cell_width_px));
  }
  if (suppress.has_cell_height_px()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.cell_height_px", suppress.cell_height_px(),
                                          kCellHeightRange, out.options.suppress.cell_height_px));
  }
  if (suppress.has_minimum_distance_px()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("suppress.minimum_distance_px",
                                          suppress.minimum_distance_px(), kMinimumDistanceRange,
                                          out.options.suppress.minimum_distance_px));
  }

  const v1::SelectOptions& select = proto.select();
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("select.selection", select.selection(),
                                         Selection::kQuadtree, out.options.select.selection));
  if (select.has_max_features()) {
    ORBSERVE_RETURN_IF_ERROR(
        IntFromProto("max_features", select.max_features(), kFeatureRange, out.frame.max_features));
  }
  if (select.has_capacity()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("select.capacity", select.capacity(), kFeatureRange,
                                          out.options.select.capacity));
  }

  const v1::DescribeOptions& describe = proto.describe();
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("describe.orientation", describe.orientation(),
                                         Orientation::kArcMiddle,
                                         out.options.describe.orientation));
  ORBSERVE_RETURN_IF_ERROR(EnumFromProto("describe.descriptor_type", describe.descriptor_type(),
                                         Descriptor::kBFrost256, out.options.describe.descriptor));
  // Last: its range depends on the rest.
  if (select.has_border_px()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("select.border_px", select.border_px(),
                                          BorderRange(out.options), out.options.select.border_px));
  }

  ORBSERVE_RETURN_IF_ERROR(out.options.Validate());
  ORBSERVE_RETURN_IF_ERROR(out.frame.Validate());
  ORBSERVE_ASSIGN_OR_RETURN(out.match, MatchOptionsFromProto(proto.match(), out.match));
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
  v1::SuppressOptions& suppress = *proto->mutable_suppress();
  suppress.set_suppression(EnumToProto<v1::Suppression>(options.suppress.suppression));
  suppress.set_window_px(static_cast<uint32_t>(options.suppress.window_px));
  suppress.set_cell_width_px(static_cast<uint32_t>(options.suppress.cell_width_px));
  suppress.set_cell_height_px(static_cast<uint32_t>(options.suppress.cell_height_px));
  suppress.set_minimum_distance_px(static_cast<uint32_t>(options.suppress.minimum_distance_px));
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
}

absl::StatusOr<FrameParameters> FrameParametersFromProto(const v1::FrameParameters& proto,
                                                         const FrameParameters& base) {
  FrameParameters out = base;
  if (proto.has_max_features()) {
    ORBSERVE_RETURN_IF_ERROR(
        IntFromProto("max_features", proto.max_features(), kFeatureRange, out.max_features));
  }
  if (proto.has_fast_threshold()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("fast_threshold", proto.fast_threshold(),
                                          kFastThresholdRange, out.fast_threshold_grey));
  }
  if (proto.has_quality_level()) out.quality_level = proto.quality_level();
  ORBSERVE_RETURN_IF_ERROR(out.Validate());
  return out;
}

absl::StatusOr<MatchOptions> FrameMatchFromProto(const v1::FrameParameters& proto,
                                                 const MatchOptions& base) {
  MatchOptions out = base;
  if (proto.has_match_ratio()) out.ratio = proto.match_ratio();
  if (proto.has_match_max_distance()) {
    ORBSERVE_RETURN_IF_ERROR(IntFromProto("match.max_distance", proto.match_max_distance(),
                                          kMatchDistanceRange, out.max_distance));
  }
  ORBSERVE_RETURN_IF_ERROR(out.Validate());
  return out;
}

absl::StatusOr<std::shared_ptr<const GivenKeypoints>> GivenKeypointsFromProto(
    const v1::GivenKeypoints& proto, const PyramidOptions& pyramid) {
  const int count = proto.x_size();
  ORBSERVE_RETURN_IF_ERROR(CheckCount("keypoints", count));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("keypoints.y", proto.y_size(), count, false));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("keypoints.angle", proto.angle_size(), count, false));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("keypoints.octave", proto.octave_size(), count, false));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("keypoints.size", proto.size_size(), count, true));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("keypoints.response", proto.response_size(), count, true));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("keypoints.x", proto.x()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("keypoints.y", proto.y()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("keypoints.angle", proto.angle()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("keypoints.size", proto.size()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("keypoints.response", proto.response()));
  for (int i = 0; i < count; ++i) {
    if (proto.octave(i) < 0 || proto.octave(i) >= pyramid.levels) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("keypoints.octave[", i,
                                    "] must be a level of the pyramid, in "
                                    "[0, ",
                                    pyramid.levels - 1, "]; got ", proto.octave(i)));
    }
    if (std::abs(proto.angle(i)) > algo::kMaxAngleDegrees) {
      return MakeError(
          ErrorReason::kBadOptions,
          absl::StrCat("keypoints.angle[", i, "] must be in [", -algo::kMaxAngleDegrees, ", ",
                       algo::kMaxAngleDegrees, "] degrees; got ", proto.angle(i)));
    }
  }
  auto given = std::make_shared<GivenKeypoints>();
  given->x = ToVector<float>(proto.x());
  given->y = ToVector<float>(proto.y());
  given->angle_deg = ToVector<float>(proto.angle());
  given->octave = ToVector<int32_t>(proto.octave());
  given->size = ToVector<float>(proto.size());
  if (given->size.empty()) {
    given->size.reserve(static_cast<size_t>(count));
    for (const int octave : given->octave) {
      given->size.push_back(
          static_cast<float>(31.0 * std::pow(static_cast<double>(pyramid.scale_factor), octave)));
    }
  }
  given->response = ToVector<float>(proto.response());
  if (given->response.empty()) given->response.assign(static_cast<size_t>(count), 0.0f);
  return given;
}

absl::StatusOr<EncodedImage> ImageFromProto(const v1::Frame& frame,
                                            absl::Span<const BytePiece> pieces) {
  if (frame.payload_case() == v1::Frame::kSharedMemory) {
    return MakeError(ErrorReason::kUnsupported,
                     "frame.shared_memory is not available in this version; send frame.pixels");
  }
  if (frame.payload_case() != v1::Frame::kPixels || (frame.pixels().empty() && pieces.empty())) {
    return BadRequest("frame.pixels is empty; it must hold the image");
  }
  EncodedImage image;
  image.bytes = absl::Span<const uint8_t>(reinterpret_cast<const uint8_t*>(frame.pixels().data()),
                                          frame.pixels().size());
  image.pieces = pieces;
  image.width_px = frame.width_px();
  image.height_px = frame.height_px();
  image.stride_bytes = frame.stride_bytes();
  switch (frame.format()) {
    case v1::PIXEL_FORMAT_UNSPECIFIED:
      if (!LooksLikeJpeg(image.bytes)) {
        return BadRequest(
            "frame.format is not set and the pixels are not a JPEG file; raw pixels need a format");
      }
      image.format = PixelFormat::kJpeg;
      return image;
    case v1::PIXEL_FORMAT_GRAY16:
      return MakeError(ErrorReason::kUnsupported,
                       "frame.format GRAY16 is not available in this version; send GRAY8");
    case v1::PIXEL_FORMAT_JPEG:
    case v1::PIXEL_FORMAT_GRAY8:
    case v1::PIXEL_FORMAT_RGB8:
    case v1::PIXEL_FORMAT_BGR8:
    case v1::PIXEL_FORMAT_BGRA8:
    case v1::PIXEL_FORMAT_NV12:
    case v1::PIXEL_FORMAT_I420:
    case v1::PIXEL_FORMAT_YUYV:
      image.format = static_cast<PixelFormat>(static_cast<int>(frame.format()) - 1);
      return image;
    default:
      return BadRequest(
          absl::StrCat("frame.format must be one of the values known to this server, "
                       "1 to 9; got ",
                       static_cast<int>(frame.format())));
  }
}

absl::Status CheckMask(const v1::Mask& mask, int width_px, int height_px) {
  const auto bad = [](absl::string_view message) {
    return MakeError(ErrorReason::kBadImage, message);
  };
  if (mask.width_px() != static_cast<uint32_t>(width_px) ||
      mask.height_px() != static_cast<uint32_t>(height_px)) {
    return bad(absl::StrCat("mask is ", mask.width_px(), "x", mask.height_px(),
                            " and the frame is ", width_px, "x", height_px,
                            "; they must be equal"));
  }
  if (mask.stride_bytes() != 0 && mask.stride_bytes() < mask.width_px()) {
    return bad(absl::StrCat("mask.stride_bytes must be 0 or at least mask.width_px = ",
                            mask.width_px(), "; got ", mask.stride_bytes()));
  }
  const int64_t stride = mask.stride_bytes() != 0 ? mask.stride_bytes() : mask.width_px();
  const int64_t full = stride * height_px;
  const int64_t least = full - stride + width_px;
  const int64_t size = static_cast<int64_t>(mask.pixels().size());
  if (size < least || size > full) {
    return bad(absl::StrCat("mask.pixels must have ", least, " to ", full, " bytes for ", height_px,
                            " rows of ", stride, "; got ", size));
  }
  return absl::OkStatus();
}

void CopyMask(const v1::Mask& mask, const MutableImageView& out) {
  const size_t stride = mask.stride_bytes() != 0 ? mask.stride_bytes() : mask.width_px();
  for (int y = 0; y < out.height_px; ++y) {
    std::memcpy(out.Row(y), mask.pixels().data() + static_cast<size_t>(y) * stride,
                static_cast<size_t>(out.width_px));
  }
}

absl::StatusOr<std::shared_ptr<const Features>> FeaturesFromProto(const v1::FeatureSet& proto) {
  const int count = proto.x_size();
  ORBSERVE_RETURN_IF_ERROR(CheckCount("features", count));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("features.y", proto.y_size(), count, false));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("features.size", proto.size_size(), count, true));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("features.angle", proto.angle_size(), count, true));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("features.response", proto.response_size(), count, true));
  ORBSERVE_RETURN_IF_ERROR(CheckColumn("features.octave", proto.octave_size(), count, true));
  ORBSERVE_RETURN_IF_ERROR(
      CheckColumn("features.source_index", proto.source_index_size(), count, true));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("features.x", proto.x()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("features.y", proto.y()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("features.size", proto.size()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("features.angle", proto.angle()));
  ORBSERVE_RETURN_IF_ERROR(CheckFinite("features.response", proto.response()));
  const uint32_t descriptor_bytes = proto.descriptor_bytes();
  if (descriptor_bytes != 32 && descriptor_bytes != 4) {
    return BadRequest(absl::StrCat("features.descriptor_bytes must be 32 or 4 for matching; got ",
                                   descriptor_bytes));
  }
  const uint64_t bytes = uint64_t{descriptor_bytes} * static_cast<uint64_t>(count);
  if (proto.descriptors().size() != bytes) {
    return BadRequest(absl::StrCat("features.descriptors must have ", bytes, " bytes, ",
                                   descriptor_bytes, " for each of ", count, " keypoints; got ",
                                   proto.descriptors().size()));
  }
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = static_cast<int>(descriptor_bytes);
  features->Resize(static_cast<size_t>(count));
  std::copy(proto.x().begin(), proto.x().end(), features->x.begin());
  std::copy(proto.y().begin(), proto.y().end(), features->y.begin());
  std::copy(proto.size().begin(), proto.size().end(), features->size.begin());
  std::copy(proto.angle().begin(), proto.angle().end(), features->angle_deg.begin());
  if (proto.angle().empty()) {
    std::fill(features->angle_deg.begin(), features->angle_deg.end(), -1.0f);
  }
  std::copy(proto.response().begin(), proto.response().end(), features->response.begin());
  std::copy(proto.octave().begin(), proto.octave().end(), features->octave.begin());
  features->source_index = ToVector<uint32_t>(proto.source_index());
  std::copy(proto.descriptors().begin(), proto.descriptors().end(), features->descriptors.begin());
  features->truncated = proto.truncated();
  features->image_width_px = ToInt(proto.image_width_px());
  features->image_height_px = ToInt(proto.image_height_px());
  return features;
}

void FeaturesToProto(const Features& features, v1::FeatureSet* proto) {
  ToColumn(features.x, proto->mutable_x());
  ToColumn(features.y, proto->mutable_y());
  ToColumn(features.size, proto->mutable_size());
  ToColumn(features.angle_deg, proto->mutable_angle());
  ToColumn(features.response, proto->mutable_response());
  ToColumn(features.octave, proto->mutable_octave());
  ToColumn(features.source_index, proto->mutable_source_index());
  proto->set_descriptor_bytes(static_cast<uint32_t>(features.descriptor_bytes));
  proto->set_truncated(features.truncated);
  proto->set_image_width_px(static_cast<uint32_t>(features.image_width_px));
  proto->set_image_height_px(static_cast<uint32_t>(features.image_height_px));
  proto->set_descriptors(features.descriptors.data(), features.descriptors.size());
}

int64_t MostWireBytes(int64_t features, Descriptor descriptor) {
  // Five floats, the octave and three bytes of a source index.
  constexpr int64_t kFeatureBytes = 5 * 4 + 1 + 3;
  return features * (kFeatureBytes + DescriptorBytes(descriptor));
}

int64_t ExpectedFeatures(const v1::Frame& frame, const ResolvedPipeline& pipeline) {
  if (frame.has_keypoints()) return std::min<int64_t>(frame.keypoints().x_size(), kMaxFeatures);
  const int64_t wanted = frame.parameters().has_max_features()
                             ? int64_t{frame.parameters().max_features()}
                             : int64_t{pipeline.frame.max_features};
  return std::min<int64_t>(wanted, pipeline.options.select.capacity);
}

void MatchesToProto(const Matches& matches, v1::MatchSet* proto) {
  ToColumn(matches.query_index, proto->mutable_query_index());
  ToColumn(matches.train_index, proto->mutable_train_index());
  ToColumn(matches.distance, proto->mutable_distance());
  proto->set_ratio_undefined(matches.ratio_undefined);
}

absl::Status CheckReferenceName(absl::string_view name) {
  if (name.empty() || name.size() > 128) {
    return BadRequest(absl::StrCat("reference name must have 1 to 128 bytes; got ", name.size()));
  }
  for (const char c : name) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) {
      return BadRequest("reference name must be printable ASCII");
    }
  }
  return absl::OkStatus();
}

}  // namespace orbserve
