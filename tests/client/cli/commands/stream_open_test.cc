// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Options of `orbserve stream` that contradict each other, or would change nothing.

#include "client/cli/commands/stream_open.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

std::string Refusal(const std::function<void(StreamOptions* options)>& change) {
  StreamOptions options{.source = "folder"};
  change(&options);
  CompleteStreamOptions(&options);
  const absl::Status status = CheckStreamOptions(options);
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(CompleteStreamOptionsTest, FramesWithoutAPaceGetALongKeepalive) {
  const auto keepalive_s = [](const std::function<void(StreamOptions * options)>& change) {
    StreamOptions options{.source = "folder"};
    options.common.server = "robot:1";
    change(&options);
    CompleteStreamOptions(&options);
    return options.common.keepalive_s;
  };
  EXPECT_EQ(keepalive_s([](StreamOptions*) {}), 10);
  EXPECT_EQ(keepalive_s([](StreamOptions* o) { o->drop_policy = "block"; }), 10);
  EXPECT_EQ(keepalive_s([](StreamOptions* o) { o->drop_policy = "newest"; }), std::nullopt);
  EXPECT_EQ(keepalive_s([](StreamOptions* o) { o->fps = 30; }), std::nullopt);
  EXPECT_EQ(keepalive_s([](StreamOptions* o) { o->source = "/dev/video7"; }), std::nullopt);
  EXPECT_EQ(keepalive_s([](StreamOptions* o) { o->common.keepalive_s = 5; }), 5);
  EXPECT_EQ(keepalive_s([](StreamOptions* o) { o->common.server.clear(); }), std::nullopt);
}

TEST(CheckStreamOptionsTest, OptionsWithoutAnEffectAreRefused) {
  using Change = std::function<void(StreamOptions * options)>;
  for (const auto& [change, message] : std::vector<std::pair<Change, std::string>>{
           {[](StreamOptions* o) { o->source.clear(); },
            "SOURCE is missing: a folder, a video, a camera, or --simulate PHOTO"},
           {[](StreamOptions* o) { o->photo = "p.jpg"; },
            "--simulate p.jpg and SOURCE folder exclude each other"},
           {[](StreamOptions* o) { o->size = "64x48"; },
            "--size 64x48 has no effect: it needs a camera or --simulate"},
           {[](StreamOptions* o) { o->camera_format = "yuyv"; },
            "--camera-format yuyv has no effect: it needs a camera"},
           {[](StreamOptions* o) {
              o->camera_window = {3, 4};
            },
            "--camera-window 3 4 has no effect: it needs --camera-format y16"},
           {[](StreamOptions* o) { o->matches = true; },
            "--matches has no effect: it needs --json"},
           {[](StreamOptions* o) { o->keyframe_lost_percent = 30; },
            "--keyframe-lost-percent 30 has no effect: it needs --track"},
           {[](StreamOptions* o) { o->image.flags["--track-levels"] = {"3"}; },
            "--track-levels 3 has no effect: it needs --track"},
           {[](StreamOptions* o) { o->reconnect_s = 5; },
            "--reconnect 5 has no effect: it needs --server"},
           {[](StreamOptions* o) { o->jpeg_age_s = 0.1; },
            "--jpeg-age 0.1 has no effect: it needs --server"},
           {[](StreamOptions* o) { o->drop_policy = "all"; },
            "--drop-policy must be one of block, newest, oldest; got all"}}) {
    EXPECT_EQ(Refusal(change), message);
  }
}

TEST(CheckStreamOptionsTest, OptionsWithAnEffectAreAccepted) {
  EXPECT_EQ(Refusal([](StreamOptions* o) {
              o->track = true;
              o->keyframe_lost_percent = 30;
              o->image.flags["--track-levels"] = {"3"};
            }),
            "");
  EXPECT_EQ(Refusal([](StreamOptions* o) {
              o->common.server = "robot:50051";
              o->reconnect_s = 0;
              o->jpeg_age_s = 0.1;
            }),
            "");
  // A reference implies a server.
  EXPECT_EQ(Refusal([](StreamOptions* o) {
              o->references = {"door"};
              o->reconnect_s = 0;
            }),
            "");
}

TEST(CompleteStreamOptionsTest, TracksTakeThePresetForOdometryUnlessAnotherIsNamed) {
  StreamOptions options{.source = "folder", .track = true};
  CompleteStreamOptions(&options);
  EXPECT_EQ(options.image.pipeline, "odometry");
  options.image.pipeline = "vio";
  CompleteStreamOptions(&options);
  EXPECT_EQ(options.image.pipeline, "vio");
  StreamOptions untracked{.source = "folder"};
  CompleteStreamOptions(&untracked);
  EXPECT_EQ(untracked.image.pipeline, "");
}

TEST(SourceOptionsOfTest, ASizeThatIsNoneIsRefused) {
  for (const char* size : {"640", "640x", "x480", "640x480x1", "0x480", "-640x480", "axb"}) {
    EXPECT_FALSE(SourceOptionsOf({.photo = "p.jpg", .size = size}).ok()) << size;
  }
  const auto source = SourceOptionsOf({.photo = "p.jpg", .size = "640x480"});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->width_px, 640);
  EXPECT_EQ(source->height_px, 480);
}

}  // namespace
}  // namespace orbserve::cli
