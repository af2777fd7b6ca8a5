// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/frame.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "features/algo/pyramid.h"
#include "features/algo/sincos.h"
#include "features/errors.h"
#include "features/pipeline/reach.h"
#include "server/rpc/conversion/columns.h"

namespace orbserve {
namespace {

absl::StatusOr<GreyWindow> WindowFromProto(const v1::Frame& frame) {
  const v1::GreyWindow& window = frame.window();
  if (frame.has_window() && frame.format() != v1::PIXEL_FORMAT_GRAY16) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("frame.window is for the format GRAY16; got format ",
                                  static_cast<int>(frame.format())));
  }
  if (window.low() == 0 && window.high() == 0) return GreyWindow();
  if (window.low() >= window.high() || window.high() > GreyWindow().high) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("frame.window must have low < high <= ", GreyWindow().high,
                                  ", or 0 and 0 for the whole range; got low ", window.low(),
                                  " and high ", window.high()));
  }
  return GreyWindow{static_cast<uint16_t>(window.low()), static_cast<uint16_t>(window.high())};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GivenKeypoints>> GivenKeypointsFromProto(
    const v1::GivenKeypoints& proto, const PipelineOptions& pipeline) {
  const PyramidOptions& pyramid = pipeline.pyramid;
  const int count = proto.x_size();
  ORBSERVE_RETURN_IF_ERROR(CheckCount("keypoints", count));
  auto given = std::make_shared<GivenKeypoints>();
  const auto read = [&](absl::string_view name, const auto& column, bool may_be_empty, auto* out) {
    return ReadColumn(name, column, count, may_be_empty, out);
  };
  ORBSERVE_RETURN_IF_ERROR(read("keypoints.x", proto.x(), false, &given->x));
  ORBSERVE_RETURN_IF_ERROR(read("keypoints.y", proto.y(), false, &given->y));
  ORBSERVE_RETURN_IF_ERROR(read("keypoints.angle", proto.angle(), false, &given->angle_deg));
  ORBSERVE_RETURN_IF_ERROR(read("keypoints.octave", proto.octave(), false, &given->octave));
  ORBSERVE_RETURN_IF_ERROR(read("keypoints.size", proto.size(), true, &given->size));
  ORBSERVE_RETURN_IF_ERROR(read("keypoints.response", proto.response(), true, &given->response));
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
  if (given->size.empty()) {
    const float base = Reach::Of(pipeline).patch_size_px;
    given->size.reserve(static_cast<size_t>(count));
    for (const int octave : given->octave) {
      given->size.push_back(base * algo::LevelScale(pyramid.scale_factor, octave));
    }
  }
  given->response.resize(static_cast<size_t>(count));
  return given;
}

absl::StatusOr<EncodedImage> ImageFromProto(const v1::Frame& frame,
                                            absl::Span<const BytePiece> pieces) {
  if (frame.payload_case() == v1::Frame::kSharedMemory) {
    return MakeError(ErrorReason::kUnsupported,
                     "frame.shared_memory is not available in this version; send frame.pixels");
  }
  if (frame.payload_case() != v1::Frame::kPixels || (frame.pixels().empty() && pieces.empty())) {
    return MakeError(ErrorReason::kBadRequest, "frame.pixels is empty; it must hold the image");
  }
  EncodedImage image;
  image.bytes = absl::Span<const uint8_t>(reinterpret_cast<const uint8_t*>(frame.pixels().data()),
                                          frame.pixels().size());
  image.pieces = pieces;
  image.width_px = frame.width_px();
  image.height_px = frame.height_px();
  image.stride_bytes = frame.stride_bytes();
  ORBSERVE_ASSIGN_OR_RETURN(image.window, WindowFromProto(frame));
  switch (frame.format()) {
    case v1::PIXEL_FORMAT_UNSPECIFIED:
      if (!LooksLikeJpeg(image.bytes)) {
        return MakeError(
            ErrorReason::kBadRequest,
            "frame.format is not set and the pixels are not a JPEG file; raw pixels need a format");
      }
      image.format = PixelFormat::kJpeg;
      return image;
    default:
      if (!v1::PixelFormat_IsValid(frame.format())) {
        return MakeError(ErrorReason::kBadRequest,
                         absl::StrCat("frame.format must be one of the values known to this "
                                      "server, 1 to ",
                                      static_cast<int>(v1::PixelFormat_MAX), "; got ",
                                      static_cast<int>(frame.format())));
      }
      // The wire's formats are ours with UNSPECIFIED = 0 in front, in the same order.
      image.format = static_cast<PixelFormat>(static_cast<int>(frame.format()) - 1);
      return image;
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
    return bad(absl::StrCat("mask.pixels must have ", least,
                            full > least ? absl::StrCat(" to ", full) : "", " bytes for ",
                            height_px, " rows of ", stride, "; got ", size));
  }
  return absl::OkStatus();
}

ImageView MaskFromProto(const v1::Mask& mask) {
  const uint32_t stride = mask.stride_bytes() != 0 ? mask.stride_bytes() : mask.width_px();
  return {reinterpret_cast<const uint8_t*>(mask.pixels().data()), static_cast<int>(mask.width_px()),
          static_cast<int>(mask.height_px()), static_cast<ptrdiff_t>(stride)};
}

}  // namespace orbserve
