// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/features.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/reason_of_failure.h"

namespace orbserve {
namespace {

v1::FeatureSet TwoFeatures() {
  v1::FeatureSet set;
  for (int i = 0; i < 2; ++i) {
    set.add_x(static_cast<float>(i));
    set.add_y(static_cast<float>(10 + i));
  }
  set.set_descriptor_bytes(32);
  set.set_descriptors(std::string(64, 'd'));
  return set;
}

TEST(FeatureConversionTest, FeaturesSurviveTheWayToTheWireAndBack) {
  Features features;
  features.descriptor_bytes = 4;
  features.Resize(3);
  for (size_t i = 0; i < 3; ++i) {
    const auto value = static_cast<float>(i);
    features.x[i] = value + 0.25f;
    features.y[i] = -value;
    features.size[i] = 31;
    features.angle_deg[i] = 359.5f;
    features.response[i] = 1e-9f * value;
    features.octave[i] = static_cast<int32_t>(i);
    features.descriptors[4 * i] = static_cast<uint8_t>(200 + i);
  }
  features.source_index = {7, 8, 9};
  features.truncated = true;
  features.image_width_px = 640;
  features.image_height_px = 480;
  v1::FeatureSet proto;
  FeaturesToProto(features, &proto);
  const auto again = FeaturesFromProto(proto);
  ASSERT_TRUE(again.ok()) << again.status();
  v1::FeatureSet proto_again;
  FeaturesToProto(**again, &proto_again);
  EXPECT_EQ(proto_again.SerializeAsString(), proto.SerializeAsString());
}

TEST(FeatureConversionTest, TheKindOfDescriptorsIsKeptOrToldByTheNumberOfBytes) {
  v1::FeatureSet set = TwoFeatures();
  EXPECT_EQ((*FeaturesFromProto(set))->descriptor_kind(), Descriptor::kRBrief256);
  set.set_descriptor_type(v1::DESCRIPTOR_TYPE_BFROST_256);
  const auto bfrost = FeaturesFromProto(set);
  ASSERT_TRUE(bfrost.ok()) << bfrost.status();
  EXPECT_EQ((*bfrost)->descriptor_kind(), Descriptor::kBFrost256);
  v1::FeatureSet again;
  FeaturesToProto(**bfrost, &again);
  EXPECT_EQ(again.descriptor_type(), v1::DESCRIPTOR_TYPE_BFROST_256);
  FeaturesToProto(Features(), &again);
  EXPECT_EQ(again.descriptor_type(), v1::DESCRIPTOR_TYPE_NONE);
}

TEST(FeatureConversionTest, FourBytesADescriptorAreRBrief32) {
  v1::FeatureSet set = TwoFeatures();
  set.set_descriptor_bytes(4);
  set.set_descriptors("12345678");
  for (const auto type : {v1::DESCRIPTOR_TYPE_UNSPECIFIED, v1::DESCRIPTOR_TYPE_RBRIEF_32}) {
    set.set_descriptor_type(type);
    const auto features = FeaturesFromProto(set);
    ASSERT_TRUE(features.ok()) << features.status();
    EXPECT_EQ((*features)->descriptor_kind(), Descriptor::kRBrief32);
    EXPECT_EQ((*features)->descriptor_bytes, 4);
    v1::FeatureSet again;
    FeaturesToProto(**features, &again);
    EXPECT_EQ(again.descriptor_type(), v1::DESCRIPTOR_TYPE_RBRIEF_32);
    EXPECT_EQ(again.descriptors(), set.descriptors());
  }
  set.set_descriptor_type(v1::DESCRIPTOR_TYPE_BFROST_256);
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
}

TEST(FeatureConversionTest, DescriptorsOf64BytesNeedTheirKind) {
  v1::FeatureSet set = TwoFeatures();
  set.set_descriptor_bytes(64);
  set.set_descriptors(std::string(128, 'd'));
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
  for (const auto& [type, kind] :
       {std::pair{v1::DESCRIPTOR_TYPE_TEBLID_512, Descriptor::kTeblid512},
        std::pair{v1::DESCRIPTOR_TYPE_BEBLID_512, Descriptor::kBeblid512}}) {
    set.set_descriptor_type(type);
    const auto features = FeaturesFromProto(set);
    ASSERT_TRUE(features.ok()) << features.status();
    EXPECT_EQ((*features)->descriptor_kind(), kind);
    EXPECT_EQ((*features)->descriptor_bytes, 64);
  }
  set.set_descriptor_type(v1::DESCRIPTOR_TYPE_TEBLID_256);
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
}

TEST(FeatureConversionTest, DescriptorsOf128BytesAreSiftIfTheyAreNamed) {
  v1::FeatureSet set = TwoFeatures();
  set.set_descriptor_bytes(128);
  set.set_descriptors(std::string(256, 'd'));
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
  set.set_descriptor_type(v1::DESCRIPTOR_TYPE_SIFT);
  const auto features = FeaturesFromProto(set);
  ASSERT_TRUE(features.ok()) << features.status();
  EXPECT_EQ((*features)->descriptor_kind(), Descriptor::kSift);
  EXPECT_EQ((*features)->descriptor_bytes, 128);
  v1::FeatureSet again;
  FeaturesToProto(**features, &again);
  EXPECT_EQ(again.descriptor_type(), v1::DESCRIPTOR_TYPE_SIFT);
  EXPECT_EQ(again.descriptors(), set.descriptors());
}

TEST(FeatureConversionTest, AKindWithAnotherNumberOfBytesIsRefused) {
  for (const int type : {static_cast<int>(v1::DESCRIPTOR_TYPE_NONE),
                         static_cast<int>(v1::DESCRIPTOR_TYPE_RBRIEF_32), 77, -1}) {
    v1::FeatureSet set = TwoFeatures();
    set.set_descriptor_type(static_cast<v1::DescriptorType>(type));
    EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest) << type;
  }
}

TEST(FeatureConversionTest, PassesAreToldWhereThereWereAny) {
  Features features;
  v1::FeatureSet proto;
  FeaturesToProto(features, &proto);
  EXPECT_FALSE(proto.has_suppression_passes());
  features.suppression_passes = 7;
  FeaturesToProto(features, &proto);
  EXPECT_EQ(proto.suppression_passes(), 7u);
  v1::FeatureSet sent = TwoFeatures();
  sent.set_suppression_passes(4294967295u);
  EXPECT_TRUE(FeaturesFromProto(sent).ok());
}

TEST(FeatureConversionTest, FeatureSetsMustBeWhole) {
  EXPECT_TRUE(FeaturesFromProto(TwoFeatures()).ok());
  v1::FeatureSet set = TwoFeatures();
  set.add_y(1);
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
  set = TwoFeatures();
  set.add_angle(1);
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
  set = TwoFeatures();
  set.mutable_descriptors()->pop_back();
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
  set = TwoFeatures();
  set.set_descriptor_bytes(0x80000020u);
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
  set = TwoFeatures();
  set.set_x(0, std::nanf(""));
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kBadRequest);
  set = TwoFeatures();
  for (int i = 0; i < 100'000; ++i) set.add_x(0);
  EXPECT_EQ(ReasonOfFailure(FeaturesFromProto(set).status()), ErrorReason::kTooLarge);
}

TEST(FeatureConversionTest, WholeNumbersOutOfTheirRangesAreRefused) {
  v1::FeatureSet set = TwoFeatures();
  for (const int octave : {0, 15}) {
    set.clear_octave();
    set.add_octave(0);
    set.add_octave(octave);
    EXPECT_TRUE(FeaturesFromProto(set).ok()) << octave;
  }
  for (const int octave : {-1, 16, std::numeric_limits<int>::min()}) {
    set.set_octave(1, octave);
    const absl::Status status = FeaturesFromProto(set).status();
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadRequest) << octave;
    EXPECT_EQ(status.message(),
              absl::StrCat("features.octave[1] must be in [0, 15]; got ", octave));
  }
  set = TwoFeatures();
  set.add_source_index(99'999);
  set.add_source_index(100'000);
  EXPECT_EQ(FeaturesFromProto(set).status().message(),
            "features.source_index[1] must be in [0, 99999]; got 100000");
  set.set_source_index(1, 99'999);
  EXPECT_TRUE(FeaturesFromProto(set).ok());
}

TEST(FeatureConversionTest, NumbersThatAreNotFiniteAreToldAsGiven) {
  v1::FeatureSet set = TwoFeatures();
  set.set_y(1, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(FeaturesFromProto(set).status().message(),
            "features.y[1] must be a finite number; got -inf");
}

TEST(FeatureConversionTest, MatchesKeepTheirColumns) {
  Matches matches;
  matches.query_index = {1, 2};
  matches.train_index = {3, 4};
  matches.distance = {0, 256};
  matches.ratio_undefined = true;
  v1::MatchSet proto;
  MatchesToProto(matches, Descriptor::kRBrief256, &proto);
  EXPECT_EQ(proto.descriptor_type(), v1::DESCRIPTOR_TYPE_RBRIEF_256);
  EXPECT_EQ(std::vector<uint32_t>(proto.query_index().begin(), proto.query_index().end()),
            matches.query_index);
  EXPECT_EQ(std::vector<uint32_t>(proto.train_index().begin(), proto.train_index().end()),
            matches.train_index);
  EXPECT_EQ(std::vector<uint32_t>(proto.distance().begin(), proto.distance().end()),
            matches.distance);
  EXPECT_TRUE(proto.ratio_undefined());
}

}  // namespace
}  // namespace orbserve
