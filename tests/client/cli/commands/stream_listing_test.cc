// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The text of `orbserve stream` for results made by hand.

#include "client/cli/commands/stream_listing.h"

#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/commands/stream_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

v1::FrameResult Tracked() {
  v1::FrameResult result;
  result.set_sequence(7);
  result.set_keyframe(true);
  result.mutable_features()->set_image_width_px(640);
  result.mutable_features()->set_image_height_px(480);
  v1::Track& track = *result.add_tracks();
  track.set_id(3);
  track.set_x(1.5f);
  track.set_y(2.25f);
  track.set_age_frames(4);
  track.set_residual(0.5f);
  track.set_gain(1);
  track.set_offset(-2);
  v1::Track& young = *result.add_tracks();
  young.set_id(12);
  young.set_age_frames(1);
  v1::EndedTrack& ended = *result.add_ended_tracks();
  ended.set_id(2);
  ended.set_reason(v1::TRACK_END_LEFT_IMAGE);
  return result;
}

v1::FrameResult Failed(const char* reason) {
  v1::FrameResult result;
  result.mutable_status()->set_code(10);
  result.mutable_status()->set_reason(reason);
  result.mutable_status()->set_message("text");
  return result;
}

TEST(StreamListingTest, JsonHasTracksAndTheReasonsOfThoseThatEnded) {
  const v1::FrameResult result = Tracked();
  const StreamListing listing(StreamListing::Kind::kJson, {.tracks = true});
  EXPECT_EQ(listing.Heading(), "");
  const std::string row = listing.Row({.name = "000007", .result = &result});
  EXPECT_THAT(
      row, HasSubstr("\"tracks\":[{\"id\":3,\"x\":1.5,\"y\":2.25,\"age_frames\":4,\"residual\":0.5,"
                     "\"gain\":1,\"offset\":-2},{\"id\":12,"));
  EXPECT_THAT(row, HasSubstr("\"ended\":[{\"id\":2,\"reason\":\"LEFT_IMAGE\"}]"));
  EXPECT_THAT(row, HasSubstr("{\"frame\":\"000007\",\"sequence\":7,"));
  EXPECT_THAT(row, HasSubstr("\"keyframe\":true"));
  EXPECT_THAT(row, Not(HasSubstr("truth")));
  const StreamListing without(StreamListing::Kind::kJson, {});
  EXPECT_THAT(without.Row({.name = "000007", .result = &result}), Not(HasSubstr("\"tracks\"")));
}

TEST(StreamListingTest, JsonHasTheTruthAndReconnections) {
  const v1::FrameResult result = Tracked();
  const StreamListing listing(StreamListing::Kind::kJson, {.tracks = true, .truth = true});
  const std::string row =
      listing.Row({.name = "000007",
                   .result = &result,
                   .truth = TrueMotion{.to_photo = {.xx = 0.5, .x0 = 1234.123456789012},
                                       .from_previous = Affine{.x0 = -3}},
                   .track_error_px = 0.125,
                   .reconnected = Reconnection{.attempts = 2, .lost_sequences = {4, 5}}});
  EXPECT_THAT(row, HasSubstr("\"truth\":{\"to_photo\":[0.5,0,1234.123456789012,0,1,0],"
                             "\"from_previous\":[1,0,-3,0,1,0],\"median_track_error_px\":0.125}"));
  EXPECT_THAT(row, HasSubstr("\"reconnected\":{\"attempts\":2,\"lost\":[4,5]}"));
}

TEST(StreamListingTest, EveryRowHasItsAge) {
  const v1::FrameResult result = Tracked();
  const client::FrameTimes times = {.age = absl::Milliseconds(40),
                                    .round_trip = absl::Milliseconds(12),
                                    .server = absl::Microseconds(2500)};
  const StreamListing json(StreamListing::Kind::kJson, {});
  EXPECT_THAT(json.Row({.name = "7", .result = &result, .times = times}),
              HasSubstr("\"timestamp_ns\":0,\"age_ms\":40,\"round_trip_ms\":12,\"server_ms\":2.5,"
                        "\"image_size\""));
  const StreamListing table(StreamListing::Kind::kTable, {});
  EXPECT_THAT(table.Row({.name = "7", .result = &result, .times = times}),
              MatchesRegex("7 +0 +- +2.5[0]* +12.0[0]* +40.0[0]*\n"));
  const v1::FrameResult dropped = Failed(kDropped);
  const std::string row =
      json.Row({.name = "8", .result = &dropped, .times = {.age = absl::Milliseconds(33)}});
  EXPECT_THAT(row, HasSubstr("\"age_ms\":33,\"error\""));
  EXPECT_THAT(row, Not(HasSubstr("round_trip_ms")));
  const v1::FrameResult late = Failed(kLate);
  EXPECT_THAT(json.Row({.name = "9", .result = &late, .times = times}),
              HasSubstr("\"round_trip_ms\":12,\"server_ms\":2.5,\"error\""));
  const std::string late_row = table.Row({.name = "9", .result = &late, .times = times});
  EXPECT_THAT(late_row, MatchesRegex("9 +late +2.5[0]* +12.0[0]* +40.0[0]*\n"));
  EXPECT_EQ(late_row.size(), table.Heading().size());
}

TEST(StreamListingTest, JsonHasTheMatchesThemselvesIfTheyAreAskedFor) {
  v1::FrameResult result = Tracked();
  for (const float x : {1.5f, 2.5f}) {
    result.mutable_features()->add_x(x);
    result.mutable_features()->add_y(x + 10);
  }
  v1::FrameMatches& matches = *result.add_matches();
  matches.set_target(v1::MATCH_TARGET_PREVIOUS);
  matches.set_target_sequence(6);
  matches.mutable_matches()->add_query_index(1);
  matches.mutable_matches()->add_train_index(0);
  matches.mutable_matches()->add_distance(30);
  v1::FeatureSet previous;
  previous.add_x(4.5f);
  previous.add_y(5.5f);
  const StreamListing plain(StreamListing::Kind::kJson, {});
  EXPECT_THAT(plain.Row({.name = "7", .result = &result, .previous = &previous}),
              HasSubstr("\"target_sequence\":6,\"count\":1}]"));
  const StreamListing listing(StreamListing::Kind::kJson, {.matches = true});
  EXPECT_THAT(listing.Row({.name = "7", .result = &result, .previous = &previous}),
              HasSubstr("\"count\":1,\"query_index\":[1],\"train_index\":[0],\"distance\":[30],"
                        "\"query_xy\":[[2.5,12.5]],\"train_xy\":[[4.5,5.5]]}]"));
  EXPECT_THAT(listing.Row({.name = "7", .result = &result}), Not(HasSubstr("train_xy")));
}

TEST(StreamListingTest, TableHasColumnsForWhatTheStreamHas) {
  const v1::FrameResult result = Tracked();
  const StreamListing listing(StreamListing::Kind::kTable,
                              {.keyframes = true, .tracks = true, .truth = true});
  EXPECT_THAT(listing.Heading(),
              MatchesRegex("frame +features +matches +keyframe +tracks +mean-age +ended +true-dx "
                           "+true-dy +zoom +turn +error/px +answer/ms +trip/ms +age/ms\n"));
  const Affine motion{.xx = 1, .x0 = -3, .yy = 1, .y0 = 0.5};
  EXPECT_THAT(listing.Row({.name = "000007",
                           .result = &result,
                           .truth = TrueMotion{.from_previous = motion},
                           .track_error_px = 0.125}),
              MatchesRegex("000007 +0 +- +- +2 +2.5 +1 +-3.000 +0.500 +1.00000 +0.0000 +0.125 "
                           "+- +- +0.*\n"));
  const v1::FrameResult dropped = Failed(kDropped);
  EXPECT_THAT(listing.Row({.name = "8", .result = &dropped}),
              MatchesRegex("8 +dropped +- +- +0.*\n"));
  const v1::FrameResult late = Failed(kLate);
  EXPECT_THAT(listing.Row({.name = "9", .result = &late}), MatchesRegex("9 +late +- +- +0.*\n"));
  const v1::FrameResult failed = Failed("BAD_IMAGE");
  EXPECT_EQ(listing.Row({.name = "9", .result = &failed}), "");
}

TEST(StreamStatusTest, StatusHasRateLatencyTracksAndDrops) {
  StreamPace pace;
  EXPECT_EQ(pace.Rate(), 0);
  EXPECT_EQ(pace.Latency(), absl::ZeroDuration());
  absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < 300; ++i) {
    // Slow at first: only the latest frames count.
    now += i < 100 ? absl::Seconds(1) : absl::Milliseconds(40);
    pace.Take(now, i < 100 ? absl::Seconds(9) : absl::Milliseconds(i % 2 == 0 ? 7 : 9));
  }
  EXPECT_NEAR(pace.Rate(), 25, 1e-6);
  EXPECT_EQ(absl::ToDoubleMilliseconds(pace.Latency()), 8);
  StreamTotals totals{.done = 290, .failed = 1, .dropped = 6, .late = 2, .lost = 1};
  EXPECT_EQ(StatusText(totals, pace, 900, 187, {}),
            "300/900 frames, 25.0 a second, latency 8.0 ms, 187 tracks, 6 dropped, 2 late, 1 lost, "
            "1 failed");
  EXPECT_EQ(StatusText({.done = 3}, pace, 0, -1, {}), "3 frames, 25.0 a second, latency 8.0 ms");
  EXPECT_EQ(StatusText({.done = 3}, pace, 0, -1, {.way = absl::Milliseconds(123), .limits = true}),
            "3 frames, 25.0 a second, latency 8.0 ms, the link limits (123.0 ms)");
  EXPECT_EQ(StatusText({.done = 3}, pace, 0, -1, {.jpeg_quality = 60}),
            "3 frames, 25.0 a second, latency 8.0 ms, JPEG quality 60");
}

TEST(StreamStatusTest, APauseDoesNotLeaveTheRateUnknown) {
  StreamPace pace;
  pace.Take(absl::UnixEpoch(), absl::Milliseconds(1));
  pace.Take(absl::UnixEpoch() + absl::Seconds(60), absl::Milliseconds(3));
  EXPECT_NEAR(pace.Rate(), 1.0 / 60, 1e-9);
}

}  // namespace
}  // namespace orbserve::cli
