// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/features.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/options.h"
#include "server/rpc/conversion/columns.h"

namespace orbserve {
namespace {

// Numbers that do not fit become the largest int.
int ToInt(uint32_t value) {
  return static_cast<int>(
      std::min<uint32_t>(value, static_cast<uint32_t>(std::numeric_limits<int>::max())));
}

// The kind that the set names, or the one that its number of bytes stands for.
absl::StatusOr<Descriptor> DescriptorTypeOf(const v1::FeatureSet& proto) {
  const int type = proto.descriptor_type();
  const auto bytes = static_cast<int>(proto.descriptor_bytes());
  if (type == v1::DESCRIPTOR_TYPE_UNSPECIFIED) return DescriptorOfBytes(bytes);
  if (!v1::DescriptorType_IsValid(type)) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("features.descriptor_type must be one of the values known to "
                                  "this server; got ",
                                  type));
  }
  const auto descriptor = static_cast<Descriptor>(type - 1);
  if (DescriptorBytes(descriptor) != bytes) {
    return MakeError(
        ErrorReason::kBadRequest,
        absl::StrCat("features.descriptor_type ", DescriptorName(descriptor), " has ",
                     DescriptorBytes(descriptor), " bytes; features.descriptor_bytes is ", bytes));
  }
  return descriptor;
}

}  // namespace

v1::DescriptorType DescriptorTypeToProto(Descriptor descriptor) {
  return static_cast<v1::DescriptorType>(static_cast<int>(descriptor) + 1);
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
  ORBSERVE_RETURN_IF_ERROR(CheckEachIn("features.octave", proto.octave(), 0, kMaxLevels - 1));
  ORBSERVE_RETURN_IF_ERROR(
      CheckEachIn("features.source_index", proto.source_index(), 0, kMaxFeatures - 1));
  const uint32_t descriptor_bytes = proto.descriptor_bytes();
  if (descriptor_bytes != 32 && descriptor_bytes != 4) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("features.descriptor_bytes must be 32 or 4 for matching; got ",
                                  descriptor_bytes));
  }
  ORBSERVE_ASSIGN_OR_RETURN(const Descriptor descriptor_type, DescriptorTypeOf(proto));
  const uint64_t bytes = uint64_t{descriptor_bytes} * static_cast<uint64_t>(count);
  if (proto.descriptors().size() != bytes) {
    return MakeError(
        ErrorReason::kBadRequest,
        absl::StrCat("features.descriptors must have ", bytes, " bytes, ", descriptor_bytes,
                     " for each of ", count, " keypoints; got ", proto.descriptors().size()));
  }
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = static_cast<int>(descriptor_bytes);
  features->descriptor_type = descriptor_type;
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
  proto->set_descriptor_type(DescriptorTypeToProto(features.descriptor_kind()));
  proto->set_truncated(features.truncated);
  proto->set_image_width_px(static_cast<uint32_t>(features.image_width_px));
  proto->set_image_height_px(static_cast<uint32_t>(features.image_height_px));
  if (features.suppression_passes > 0) {
    proto->set_suppression_passes(static_cast<uint32_t>(features.suppression_passes));
  }
  proto->set_descriptors(features.descriptors.data(), features.descriptors.size());
}

void MatchesToProto(const Matches& matches, v1::MatchSet* proto) {
  ToColumn(matches.query_index, proto->mutable_query_index());
  ToColumn(matches.train_index, proto->mutable_train_index());
  ToColumn(matches.distance, proto->mutable_distance());
  proto->set_ratio_undefined(matches.ratio_undefined);
}

}  // namespace orbserve
