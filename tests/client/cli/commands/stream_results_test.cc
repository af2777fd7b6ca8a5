// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Output of `orbserve stream` for results and events made by hand.

#include "client/cli/commands/stream_results.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Kind = client::StreamEvent::Kind;

v1::FrameResult Result(uint64_t sequence, absl::StatusCode code = absl::StatusCode::kOk) {
  v1::FrameResult result;
  result.set_sequence(sequence);
  if (code != absl::StatusCode::kOk) result.mutable_status()->set_code(static_cast<int>(code));
  result.mutable_features()->add_x(4);
  result.mutable_features()->add_y(4);
  result.mutable_features()->add_octave(0);
  result.mutable_features()->add_angle(-1);
  result.mutable_features()->add_size(7);
  return result;
}

// Keeps the pictures, or refuses them.
class KeptPictures : public StreamPictures {
 public:
  absl::StatusOr<std::string> Write(const std::string& name, const Picture& picture) override {
    if (!status.ok()) return status;
    pictures.push_back(picture.pixels);
    return name;
  }
  absl::Status Finish() override { return absl::OkStatus(); }

  absl::Status status;
  std::vector<std::string> pictures;
};

class StreamResultsTest : public ::testing::Test {
 protected:
  // Returns the lines that `act` prints on standard output.
  std::vector<std::string> Printed(const std::function<void(StreamResults* results)>& act) {
    ::testing::internal::CaptureStdout();
    StreamResults results(&listing_, &pictures_, /*tracks=*/false, /*frame_count=*/0, &console_);
    act(&results);
    totals_ = results.totals();
    std::vector<std::string> lines = absl::StrSplit(::testing::internal::GetCapturedStdout(), '\n');
    lines.pop_back();  // behind the last line
    return lines;
  }

  static FrameSender::Sent Sent(bool with_picture = false) {
    FrameSender::Sent sent{.name = "frame"};
    if (with_picture) {
      sent.picture =
          Picture{.width_px = 20, .height_px = 20, .channels = 1, .pixels = std::string(400, 'p')};
    }
    return sent;
  }

  Console console_{/*quiet=*/true};
  const StreamListing listing_{StreamListing::Kind::kJson, {}};
  KeptPictures pictures_;
  StreamTotals totals_;
};

// A connection may be lost again before it has answered a frame.
TEST_F(StreamResultsTest, ARowTellsOfEveryLossBeforeIt) {
  const auto lines = Printed([](StreamResults* results) {
    results->Take(client::StreamEvent{.kind = Kind::kLost, .lost_sequences = {1}});
    results->Take(Sent(), Result(1, absl::StatusCode::kUnavailable), {}, {});
    results->Take(client::StreamEvent{.kind = Kind::kReconnected, .attempts = 1});
    results->Take(client::StreamEvent{.kind = Kind::kLost, .lost_sequences = {2}});
    results->Take(Sent(), Result(2, absl::StatusCode::kUnavailable), {}, {});
    results->Take(client::StreamEvent{.kind = Kind::kReconnected, .attempts = 3});
    results->Take(Sent(), Result(3), {}, {});
    results->Take(Sent(), Result(4), {}, {});
  });
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0], Not(HasSubstr("reconnected")));
  EXPECT_THAT(lines[1], Not(HasSubstr("reconnected")));
  EXPECT_THAT(lines[2], HasSubstr("\"reconnected\":{\"attempts\":3,\"lost\":[1,2]}"));
  EXPECT_THAT(lines[3], Not(HasSubstr("reconnected")));
  EXPECT_EQ(totals_.lost, 2);
  EXPECT_EQ(totals_.done, 2);
}

TEST_F(StreamResultsTest, AFrameWhosePictureFailsHasItsRow) {
  pictures_.status = absl::ResourceExhaustedError("the disk is full");
  const auto lines =
      Printed([](StreamResults* results) { results->Take(Sent(true), Result(5), {}, {}); });
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("\"sequence\":5,"));
  EXPECT_THAT(lines[0], HasSubstr("\"features\":1,"));
  EXPECT_THAT(lines[0], Not(HasSubstr("overlay")));
  EXPECT_EQ(totals_.failed, 1);
}

// The server may have matched with a frame that this program has no features of, because the answer
// came too late. Lines to the features of another frame would be wrong.
TEST_F(StreamResultsTest, MotionIsDrawnFromTheFrameThatWasMatchedOnly) {
  const auto matched = [](uint64_t with) {
    v1::FrameResult result = Result(with + 1);
    result.mutable_features()->set_x(0, 15);
    v1::FrameMatches& matches = *result.add_matches();
    matches.set_target(v1::MATCH_TARGET_PREVIOUS);
    matches.set_target_sequence(with);
    matches.mutable_matches()->add_query_index(0);
    matches.mutable_matches()->add_train_index(0);
    matches.mutable_matches()->add_distance(0);
    return result;
  };
  for (const uint64_t with : {1, 2}) {
    Printed([&](StreamResults* results) {
      results->Take(Sent(true), Result(1), {}, {});
      results->Take(Sent(true), matched(with), {}, {});
    });
  }
  ASSERT_THAT(pictures_.pictures, SizeIs(4));
  // The middle of the line, in the row of the feature.
  const auto between = [](const std::string& pixels) { return pixels.substr((4 * 20 + 9) * 3, 3); };
  EXPECT_NE(between(pictures_.pictures[1]), between(pictures_.pictures[0]));
  EXPECT_EQ(between(pictures_.pictures[3]), between(pictures_.pictures[0]));
}

}  // namespace
}  // namespace orbserve::cli
