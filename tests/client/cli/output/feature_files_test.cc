// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/feature_files.h"

#include "client/cli/output/files/npz_file.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

v1::FeatureSet Sample() {
  v1::FeatureSet features;
  for (const float value : {10.5f, 0.1f}) features.add_x(value);
  for (const float value : {20.0f, 1e-5f}) features.add_y(value);
  for (const float value : {31.0f, 37.2f}) features.add_size(value);
  for (const float value : {359.99997f, -1.0f}) features.add_angle(value);
  for (const float value : {0.0012345678f, 3.0f}) features.add_response(value);
  for (const int32_t value : {0, 1}) features.add_octave(value);
  features.set_descriptor_bytes(4);
  features.set_descriptors(std::string("\x00\x01\xAB\xFF\x10\x20\x30\x40", 8));
  features.set_image_width_px(640);
  features.set_image_height_px(480);
  return features;
}

TEST(FeatureFilesTest, NpzKeepsEveryBit) {
  const auto read = DecodeFeatures(EncodeFeatures(Sample(), FeatureFormat::kNpz, "a.png"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), Sample().SerializeAsString());
}

TEST(FeatureFilesTest, ANpzOfFourBytesADescriptorIsReadAsItWasWritten) {
  v1::FeatureSet features = Sample();
  features.set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_32);
  const auto read = DecodeFeatures(EncodeFeatures(features, FeatureFormat::kNpz, "a.png"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->descriptor_bytes(), 4u);
  EXPECT_EQ(read->descriptors(), features.descriptors());
  // The server takes 4 bytes without a name as RBRIEF_32.
  EXPECT_EQ(read->descriptor_type(), v1::DESCRIPTOR_TYPE_UNSPECIFIED);
}

TEST(FeatureFilesTest, NpzNamesDescriptorsThatTheirNumberOfBytesDoesNotTell) {
  v1::FeatureSet features = Sample();
  const std::string unnamed = EncodeFeatures(features, FeatureFormat::kNpz, "a.png");
  features.set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_32);
  EXPECT_EQ(EncodeFeatures(features, FeatureFormat::kNpz, "a.png"), unnamed);
  features.set_descriptor_bytes(32);
  features.set_descriptors(std::string(64, 'd'));
  features.set_descriptor_type(v1::DESCRIPTOR_TYPE_BFROST_256);
  const std::string named = EncodeFeatures(features, FeatureFormat::kNpz, "a.png");
  const auto arrays = DecodeNpz(named, 1 << 20);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->size(), 8u);
  EXPECT_EQ((*arrays)[7].name, "descriptor_type");
  const auto read = DecodeFeatures(named);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), features.SerializeAsString());
}

TEST(FeatureFilesTest, LayersOfSiftAreWrittenAndRead) {
  v1::FeatureSet features = Sample();
  const std::string without = EncodeFeatures(features, FeatureFormat::kNpz, "a.png");
  features.set_octave(0, -1);
  for (const uint32_t value : {1u, 3u}) {
    features.add_layer(value);
    features.add_layer_fraction(100 * value - 50);
  }
  const std::string with = EncodeFeatures(features, FeatureFormat::kNpz, "a.png");
  auto arrays = *DecodeNpz(with, 1 << 20);
  ASSERT_EQ(arrays.size(), 9u);
  EXPECT_EQ(arrays[7].name, "layer");
  EXPECT_EQ(arrays[8].name, "layer_fraction");
  EXPECT_EQ(DecodeFeatures(with)->SerializeAsString(), features.SerializeAsString());
  arrays[8].type = "<f4";
  EXPECT_FALSE(DecodeFeatures(EncodeNpz(arrays)).ok());
  EXPECT_EQ(DecodeFeatures(without)->layer_size(), 0);

  const std::string line = EncodeFeatures(features, FeatureFormat::kJsonLines, "a.png");
  EXPECT_NE(line.find("\"octave\":[-1,1],\"layer\":[1,3],\"layer_fraction\":[50,250],\"desc"),
            std::string::npos)
      << line;
}

TEST(FeatureFilesTest, PassesAreWrittenWhereThereWereAnyAndRead) {
  v1::FeatureSet features = Sample();
  const std::string without = EncodeFeatures(features, FeatureFormat::kNpz, "a.png");
  features.set_suppression_passes(9);
  const std::string with = EncodeFeatures(features, FeatureFormat::kNpz, "a.png");
  auto arrays = *DecodeNpz(with, 1 << 20);
  ASSERT_EQ(arrays.size(), 8u);
  EXPECT_EQ(arrays[7].name, "suppression_passes");
  EXPECT_EQ(DecodeFeatures(with)->SerializeAsString(), features.SerializeAsString());
  arrays[7].type = "<f4";
  EXPECT_FALSE(DecodeFeatures(EncodeNpz(arrays)).ok());
  arrays.pop_back();
  EXPECT_EQ(EncodeNpz(arrays), without);

  const std::string line = EncodeFeatures(features, FeatureFormat::kJsonLines, "a.png");
  EXPECT_NE(line.find("\"image_size\":[640,480],\"suppression_passes\":9,\"xy\""),
            std::string::npos)
      << line;
}

TEST(FeatureFilesTest, NpzOfNoFeaturesHasEveryArray) {
  v1::FeatureSet none;
  none.set_descriptor_bytes(32);
  none.set_image_width_px(10);
  none.set_image_height_px(10);
  const auto arrays = DecodeNpz(EncodeFeatures(none, FeatureFormat::kNpz, "a.png"), 1 << 20);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->size(), 7u);
  EXPECT_EQ((*arrays)[0].shape, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ((*arrays)[5].shape, (std::vector<int64_t>{0, 32}));
}

TEST(FeatureFilesTest, JsonLineIsOneLineWithTheDocumentedKeys) {
  EXPECT_EQ(EncodeFeatures(Sample(), FeatureFormat::kJsonLines, "a/\"1\".png"),
            "{\"image\":\"a/\\\"1\\\".png\",\"image_size\":[640,480],"
            "\"xy\":[[10.5,20],[0.1,1e-05]],\"size\":[31,37.2],\"angle\":[359.99997,-1],"
            "\"response\":[0.0012345678,3],\"octave\":[0,1],"
            "\"descriptors\":[\"0001abff\",\"10203040\"]}\n");
}

TEST(FeatureFilesTest, CsvHasOneLineAFeatureAndQuotesNamesThatNeedIt) {
  EXPECT_EQ(EncodeFeatures(Sample(), FeatureFormat::kCsv, "a,\"b\".png"),
            "image,x,y,size,angle,response,octave,descriptor\n"
            "\"a,\"\"b\"\".png\",10.5,20,31,359.99997,0.0012345678,0,0001abff\n"
            "\"a,\"\"b\"\".png\",0.1,1e-05,37.2,-1,3,1,10203040\n");
}

TEST(FeatureFilesTest, EveryFormatGivesTheSameBytesAgain) {
  for (const FeatureFormat format :
       {FeatureFormat::kNpz, FeatureFormat::kJsonLines, FeatureFormat::kCsv}) {
    EXPECT_EQ(EncodeFeatures(Sample(), format, "a"), EncodeFeatures(Sample(), format, "a"));
  }
}

TEST(FeatureFilesTest, FormatsAreNamedAndOthersExplained) {
  EXPECT_EQ(*ParseFormat("jsonl"), FeatureFormat::kJsonLines);
  EXPECT_EQ(*ParseFormat("hdf5"), FeatureFormat::kHdf5);
  EXPECT_EQ(*ParseFormat("colmap"), FeatureFormat::kColmap);
  EXPECT_EQ(ParseFormat("xml").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FeatureFilesTest, ColumnsOfAnotherShapeOrTypeAreRefused) {
  const auto arrays = *DecodeNpz(EncodeFeatures(Sample(), FeatureFormat::kNpz, ""), 1 << 20);
  for (size_t i = 0; i < 6; ++i) {
    std::vector<NpzArray> bad = arrays;
    bad[i].type = bad[i].type == "<f8" ? "<f4" : "<f8";
    bad[i].data.resize(bad[i].data.size() * 8 / (bad[i].name == "descriptors" ? 1 : 4));
    EXPECT_FALSE(DecodeFeatures(EncodeNpz(bad)).ok()) << bad[i].name;
    bad = arrays;
    bad[i].data.resize(bad[i].data.size() / 2);
    bad[i].shape[0] = 1;
    EXPECT_FALSE(DecodeFeatures(EncodeNpz(bad)).ok()) << bad[i].name;
  }
  EXPECT_FALSE(DecodeFeatures(EncodeNpz({arrays[1]})).ok());
}

}  // namespace
}  // namespace orbserve::cli
