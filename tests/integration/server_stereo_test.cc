// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matches of a rectified stereo pair with a known disparity, through a running server.

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "tests/integration/server_fixture.h"
#include "tests/support/golden_files.h"

namespace orbserve {
namespace {

const char kFolder[] = ORBSERVE_TEST_DATA_DIR "/pairs/";

class StereoTest : public ServerTest {
 protected:
  // Matches of features whose disparity is known, and those of them that have it.
  struct Score {
    int known = 0;
    int right = 0;
    double share() const { return known == 0 ? 0.0 : static_cast<double>(right) / known; }
  };

  void SetUp() override {
    ServerTest::SetUp();
    if (!std::ifstream(std::string(kFolder) + "aloeGT.png")) {
      GTEST_SKIP() << "no stereo pair in \"" << kFolder
                   << "\"; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
    }
    disparity_ = testing::ReadGreyPng(std::string(kFolder) + "aloeGT.png");
    request_.mutable_pipeline()->mutable_select()->set_max_features(2000);
    *request_.mutable_query_frame() = JpegFrame("aloeL.jpg");
    *request_.mutable_train_frame() = JpegFrame("aloeR.jpg");
    request_.mutable_options()->set_cross_check(true);
    request_.mutable_options()->set_max_distance(50);
  }

  static v1::Frame JpegFrame(const std::string& name) {
    std::ifstream file(kFolder + name, std::ios::binary);
    v1::Frame frame;
    frame.set_pixels(
        std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
    return frame;
  }

  v1::MatchResponse Match() {
    v1::MatchResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    const grpc::Status status = stub_->Match(&context, request_, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  Score ScoreOf(const v1::MatchResponse& response) const {
    constexpr float kTolerancePx = 2.0f;
    Score score;
    const v1::MatchSet& matches = response.matches();
    for (int i = 0; i < matches.query_index_size(); ++i) {
      const auto query = static_cast<int>(matches.query_index(i));
      const auto train = static_cast<int>(matches.train_index(i));
      const float x = response.query_features().x(query);
      const float y = response.query_features().y(query);
      const int known =
          disparity_.At(static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y)));
      if (known == 0) continue;
      ++score.known;
      const float dx = x - response.train_features().x(train);
      const float dy = y - response.train_features().y(train);
      score.right += std::fabs(dx - static_cast<float>(known)) <= kTolerancePx &&
                     std::fabs(dy) <= kTolerancePx;
    }
    return score;
  }

  testing::TestImage disparity_{1, 1};
  v1::MatchRequest request_;
};

// A row search outside the server had 493 right matches of 524.
constexpr int kRowSearchRight = 493;
constexpr double kRowSearchShare = 493.0 / 524.0;

TEST_F(StereoTest, ABandFindsMoreThanASquareWindow) {
  request_.mutable_options()->set_window_px(256);
  const Score window = ScoreOf(Match());
  request_.mutable_options()->set_window_px(0);
  request_.mutable_options()->set_min_dx(0);
  request_.mutable_options()->set_max_dx(256);
  request_.mutable_options()->set_max_dy(2);
  const Score band = ScoreOf(Match());
  RecordProperty("window", std::to_string(window.right) + " of " + std::to_string(window.known));
  RecordProperty("band", std::to_string(band.right) + " of " + std::to_string(band.known));
  EXPECT_GE(band.right, kRowSearchRight);
  EXPECT_GE(band.share(), kRowSearchShare);
  EXPECT_GT(band.right, window.right);
  EXPECT_GT(band.share(), window.share());
}

TEST_F(StereoTest, TheEpipolarLinesOfARectifiedPairAreItsRows) {
  request_.mutable_options()->set_max_dy(2);
  const v1::MatchResponse rows = Match();
  request_.mutable_options()->clear_max_dy();
  for (const double value : {0, 0, 0, 0, 0, -1, 0, 1, 0}) {
    request_.mutable_options()->add_fundamental(value);
  }
  request_.mutable_options()->set_max_epipolar_px(2);
  const v1::MatchResponse lines = Match();
  EXPECT_EQ(lines.matches().SerializeAsString(), rows.matches().SerializeAsString());
  request_.mutable_options()->set_min_dx(0);
  request_.mutable_options()->set_max_dx(256);
  const Score both = ScoreOf(Match());
  EXPECT_GE(both.right, kRowSearchRight);
  EXPECT_GE(both.share(), kRowSearchShare);
}

}  // namespace
}  // namespace orbserve
