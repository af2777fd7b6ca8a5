// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/colmap_camera.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ColmapCamera Parsed(const ColmapCameraOptions& options) {
  const auto camera = ParseColmapCamera(options);
  EXPECT_TRUE(camera.ok()) << camera.status();
  return camera.value_or(ColmapCamera());
}

std::string Refused(const ColmapCameraOptions& options) {
  const auto camera = ParseColmapCamera(options);
  EXPECT_EQ(camera.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(camera.status().message());
}

TEST(ColmapCameraTest, WithoutOptionsItIsTheGuessOfColmap) {
  const ColmapCamera camera = Parsed({});
  EXPECT_EQ(camera.model, 2);
  EXPECT_FALSE(camera.has_focal());
  EXPECT_THAT(camera.ParamsFor(640, 480), ElementsAre(768, 320, 240, 0));
  EXPECT_THAT(camera.ParamsFor(480, 641), ElementsAre(1.2 * 641, 240, 320.5, 0));
}

TEST(ColmapCameraTest, AFocalLengthStandsInEveryPlaceOfTheModel) {
  const ColmapCamera simple = Parsed({.focal_px = 700.5});
  EXPECT_TRUE(simple.has_focal());
  EXPECT_THAT(simple.ParamsFor(640, 480), ElementsAre(700.5, 320, 240, 0));
  const ColmapCamera pinhole = Parsed({.focal_px = 700.5, .model = "PINHOLE"});
  EXPECT_EQ(pinhole.model, 1);
  EXPECT_THAT(pinhole.ParamsFor(640, 480), ElementsAre(700.5, 700.5, 320, 240));
  const ColmapCamera fov = Parsed({.model = "FOV"});
  EXPECT_FALSE(fov.has_focal());
  EXPECT_THAT(fov.ParamsFor(100, 50), ElementsAre(120, 120, 50, 25, 0.01));
}

TEST(ColmapCameraTest, ParametersAreTakenAsTheyAre) {
  const ColmapCamera camera =
      Parsed({.model = "OPENCV", .params = "718.856,718.9,607.19,185.2,-0.1,0.02,0,1e-3"});
  EXPECT_EQ(camera.model, 4);
  EXPECT_TRUE(camera.has_focal());
  EXPECT_THAT(camera.ParamsFor(1, 1),
              ElementsAre(718.856, 718.9, 607.19, 185.2, -0.1, 0.02, 0, 1e-3));
  EXPECT_THAT(Parsed({.params = "700,320,240,0"}).ParamsFor(1, 1), ElementsAre(700, 320, 240, 0));
}

TEST(ColmapCameraTest, WhatCannotBeIsRefusedWithTheNamesOfTheParameters) {
  EXPECT_THAT(Refused({.model = "PINHOLES"}), HasSubstr("did you mean PINHOLE?"));
  EXPECT_THAT(Refused({.model = "pinhole"}), HasSubstr("SIMPLE_PINHOLE, PINHOLE, SIMPLE_RADIAL"));
  EXPECT_THAT(Refused({.model = "PINHOLE", .params = "700,320,240"}),
              HasSubstr("of PINHOLE are the 4 numbers fx,fy,cx,cy; got 700,320,240"));
  EXPECT_THAT(Refused({.params = "700,320,240,k"}), HasSubstr("the 4 numbers f,cx,cy,k"));
  EXPECT_THAT(Refused({.params = "700,320,nan,0"}), HasSubstr("4 numbers"));
  EXPECT_THAT(Refused({.params = "0,320,240,0"}), HasSubstr("f must be above 0; got 0"));
  EXPECT_THAT(Refused({.focal_px = 700, .params = "700,320,240,0"}), HasSubstr("give one of them"));
}

TEST(ColmapCameraTest, OptionsOfACameraNeedADatabase) {
  EXPECT_TRUE(CameraFor({}, /*to_colmap=*/false).ok());
  EXPECT_TRUE(CameraFor({.focal_px = 700}, /*to_colmap=*/true).ok());
  for (const auto& [options, name] :
       {std::pair(ColmapCameraOptions{.focal_px = 700}, "--focal "),
        std::pair(ColmapCameraOptions{.model = "PINHOLE"}, "--camera-model "),
        std::pair(ColmapCameraOptions{.params = "700,320,240,0"}, "--camera-params ")}) {
    const auto camera = CameraFor(options, /*to_colmap=*/false);
    EXPECT_THAT(std::string(camera.status().message()), HasSubstr(name));
    EXPECT_THAT(std::string(camera.status().message()), HasSubstr("--format colmap"));
  }
}

}  // namespace
}  // namespace orbserve::cli
