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

// Sets of SIFT have octaves from -1 on.
constexpr uint32_t kSiftBytes = 128;

// Numbers that do not fit become the largest int.
int ToInt(uint32_t value) {
  return static_cast<int>(std::min<uint32_t>(value, std::numeric_limits<int>::max()));
}

template <typename T, typename Column>
void Append(const std::vector<T>& values, Column* column) {
  column->Add(values.begin(), values.end());
}

// The kind that the set names, or the one that its number of bytes stands for.
absl::StatusOr<Descriptor> DescriptorTypeOf(const v1::FeatureSet& proto) {
  const int type = proto.descriptor_type();
  const auto bytes = static_cast<int>(proto.descriptor_bytes());
  if (type == v1::DESCRIPTOR_TYPE_UNSPECIFIED) {
    const Descriptor descriptor = DescriptorOfBytes(bytes);
    if (descriptor != Descriptor::kNone) return descriptor;
    return MakeError(
        ErrorReason::kBadRequest,
        absl::StrCat("features.descriptor_type must be set for descriptors of ", bytes, " bytes"));
  }
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
  const uint32_t descriptor_bytes = proto.descriptor_bytes();
  auto features = std::make_shared<Features>();
  features->Resize(static_cast<size_t>(count));
  features->angle_deg.assign(static_cast<size_t>(count), -1.0f);
  const auto read = [&](absl::string_view name, const auto& column, bool may_be_empty, auto* out) {
    return ReadColumn(name, column, count, may_be_empty, out);
  };
  ORBSERVE_RETURN_IF_ERROR(read("features.x", proto.x(), false, &features->x));
  ORBSERVE_RETURN_IF_ERROR(read("features.y", proto.y(), false, &features->y));
  ORBSERVE_RETURN_IF_ERROR(read("features.size", proto.size(), true, &features->size));
  ORBSERVE_RETURN_IF_ERROR(read("features.angle", proto.angle(), true, &features->angle_deg));
  ORBSERVE_RETURN_IF_ERROR(read("features.response", proto.response(), true, &features->response));
  ORBSERVE_RETURN_IF_ERROR(read("features.octave", proto.octave(), true, &features->octave));
  ORBSERVE_RETURN_IF_ERROR(
      read("features.source_index", proto.source_index(), true, &features->source_index));
  ORBSERVE_RETURN_IF_ERROR(CheckIsIn("features.octave", proto.octave(),
                                     descriptor_bytes == kSiftBytes ? kSiftFirstOctaveRange.low : 0,
                                     kMaxLevels - 1));
  ORBSERVE_RETURN_IF_ERROR(
      CheckIsIn("features.source_index", proto.source_index(), 0, kMaxFeatures - 1));
  if (descriptor_bytes != 128 && descriptor_bytes != 64 && descriptor_bytes != 32 &&
      descriptor_bytes != 4) {
    return MakeError(
        ErrorReason::kBadRequest,
        absl::StrCat("features.descriptor_bytes must be 128, 64, 32 or 4 for matching; got ",
                     descriptor_bytes));
  }
  features->descriptor_bytes = static_cast<int>(descriptor_bytes);
  ORBSERVE_ASSIGN_OR_RETURN(features->descriptor_type, DescriptorTypeOf(proto));
  const uint64_t bytes = uint64_t{descriptor_bytes} * static_cast<uint64_t>(count);
  if (proto.descriptors().size() != bytes) {
    return MakeError(
        ErrorReason::kBadRequest,
        absl::StrCat("features.descriptors must have ", bytes, " bytes, ", descriptor_bytes,
                     " for each of ", count, " keypoints; got ", proto.descriptors().size()));
  }
  features->descriptors.assign(proto.descriptors().begin(), proto.descriptors().end());
  features->truncated = proto.truncated();
  features->image_width_px = ToInt(proto.image_width_px());
  features->image_height_px = ToInt(proto.image_height_px());
  return features;
}

void FeaturesToProto(const Features& features, v1::FeatureSet* proto) {
  Append(features.x, proto->mutable_x());
  Append(features.y, proto->mutable_y());
  Append(features.size, proto->mutable_size());
  Append(features.angle_deg, proto->mutable_angle());
  Append(features.response, proto->mutable_response());
  Append(features.octave, proto->mutable_octave());
  Append(features.source_index, proto->mutable_source_index());
  Append(features.layer, proto->mutable_layer());
  Append(features.layer_fraction, proto->mutable_layer_fraction());
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

void MatchesToProto(const Matches& matches, Descriptor kind, v1::MatchSet* proto) {
  proto->set_descriptor_type(DescriptorTypeToProto(kind));
  Append(matches.query_index, proto->mutable_query_index());
  Append(matches.train_index, proto->mutable_train_index());
  Append(matches.distance, proto->mutable_distance());
  proto->set_ratio_undefined(matches.ratio_undefined);
}

}  // namespace orbserve
