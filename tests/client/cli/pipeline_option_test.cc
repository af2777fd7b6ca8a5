// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/pipeline_option.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;

TEST(PipelineOptionTest, NameIsAPreset) {
  const auto pipeline = ParsePipeline("orb-slam");
  ASSERT_TRUE(pipeline.ok());
  EXPECT_EQ(pipeline->preset(), "orb-slam");
}

TEST(PipelineOptionTest, FileIsTextFormat) {
  const orbserve::testing::TemporaryFolder folder;
  const auto pipeline = ParsePipeline(folder.Write(
      "p.textproto", "preset: \"orb\" pyramid { levels: 4 scale_factor: 2 } # comment\n"));
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->pyramid().levels(), 4u);
  EXPECT_EQ(pipeline->pyramid().scale_factor(), 2.0f);
}

TEST(PipelineOptionTest, UnknownKeyIsAnErrorWithItsPlace) {
  const auto pipeline = ParsePipelineText("preset: \"orb\"\npyramid { level: 4 }", "p.textproto");
  ASSERT_FALSE(pipeline.ok());
  EXPECT_THAT(std::string(pipeline.status().message()), HasSubstr("p.textproto:2:"));
  EXPECT_THAT(std::string(pipeline.status().message()), HasSubstr("level"));
}

TEST(PipelineOptionTest, WrongTypeAndMissingFileAreErrors) {
  EXPECT_FALSE(ParsePipelineText("pyramid { levels: many }", "p").ok());
  EXPECT_FALSE(ParsePipelineText("pyramid {", "p").ok());
  EXPECT_EQ(ParsePipeline("./not-there").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PipelineOptionTest, PresetsOfTheServerDecide) {
  v1::GetServerInfoResponse server;
  v1::PresetInfo* preset = server.add_presets();
  preset->set_name("orb");
  preset->set_available(true);
  server.add_presets()->set_name("vio");
  v1::Pipeline pipeline;
  EXPECT_TRUE(CheckPreset(pipeline, server).ok());
  pipeline.set_preset("orb");
  EXPECT_TRUE(CheckPreset(pipeline, server).ok());
  pipeline.set_preset("vio");
  EXPECT_EQ(CheckPreset(pipeline, server).code(), absl::StatusCode::kUnimplemented);
  pipeline.set_preset("orbb");
  EXPECT_EQ(CheckPreset(pipeline, server).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(CheckPreset(pipeline, server).message()),
            "no preset is called \"orbb\"; available are: orb; not available in this version: vio");
  server.mutable_presets()->RemoveLast();
  EXPECT_EQ(std::string(CheckPreset(pipeline, server).message()),
            "no preset is called \"orbb\"; available are: orb");
}

}  // namespace
}  // namespace orbserve::cli
