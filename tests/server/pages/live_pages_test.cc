// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/pages/pages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "server/telemetry/metric_page.h"
#include "server/telemetry/pages.pb.h"
#include "tests/server/serving/fake_clock.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LivePagesTest : public ::testing::Test {
 protected:
  std::vector<HttpPage> Pages(bool with_pictures) {
    return LivePages([this] { return streams_; }, &history_, with_pictures ? &pictures_ : nullptr);
  }

  static const HttpPage* Find(const std::vector<HttpPage>& pages, absl::string_view path) {
    for (const HttpPage& page : pages) {
      if (page.path == path) return &page;
    }
    return nullptr;
  }

  template <typename Message>
  Message Read(const HttpPage& page, absl::string_view query = "") {
    Message message;
    const auto text = page.render(query);
    EXPECT_TRUE(text.ok()) << text.status();
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(*text, &message).ok()) << *text;
    return message;
  }

  FakeClock clock_;
  StreamPictures pictures_{&clock_};
  MetricsHistory history_{&clock_};
  std::vector<server::StreamRow> streams_;
};

TEST_F(LivePagesTest, ThePageMayLoadNothingFromElsewhere) {
  const auto pages = Pages(false);
  for (const char* path : {"/", "/live.css", "/live.js", "/page.js", "/clients.js"}) {
    const HttpPage* const page = Find(pages, path);
    ASSERT_NE(page, nullptr) << path;
    EXPECT_THAT(page->extra_headers, HasSubstr("Content-Security-Policy: default-src 'none'; "));
    EXPECT_THAT(page->extra_headers, Not(HasSubstr("unsafe")));
    const auto text = page->render("");
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(*text, HasSubstr("SPDX-License-Identifier")) << path;
  }
  const std::string html = *Find(pages, "/")->render("");
  // What the policy forbids would not work.
  EXPECT_THAT(html, Not(HasSubstr("style=")));
  EXPECT_THAT(html, Not(HasSubstr("onclick")));
  EXPECT_THAT(html, Not(HasSubstr("://")));
}

TEST_F(LivePagesTest, TheTableHasTheStreamsWithTheMostFramesFirst) {
  for (uint64_t id = 1; id <= 60; ++id) {
    server::StreamRow stream;
    stream.set_id(static_cast<double>(id));
    stream.set_client(absl::StrCat("addr:127.0.0.1/\"robot\\ ", id));
    stream.set_received(static_cast<double>(id) * 10);
    streams_.push_back(stream);
  }
  const auto table = Read<server::StreamTable>(*Find(Pages(true), "/streams.json"));
  EXPECT_EQ(table.open(), 60u);
  EXPECT_TRUE(table.pictures());
  ASSERT_EQ(table.streams_size(), 50);
  const server::StreamRow& first = table.streams(0);
  EXPECT_EQ(first.id(), 60);
  EXPECT_EQ(first.client(), "addr:127.0.0.1/\"robot\\ 60");
  EXPECT_EQ(first.received(), 600);
  EXPECT_EQ(table.streams(49).id(), 11);
}

TEST_F(LivePagesTest, ZeroesAreWritten) {
  const std::string text = *Find(Pages(false), "/streams.json")->render("");
  EXPECT_EQ(text, R"({"open":0,"streams":[],"pictures":false})");
}

TEST_F(LivePagesTest, TheHistoryHasTheLastTwoMinutesOfWhatIsDrawn) {
  for (int i = 0; i < 100; ++i) {
    MetricPage page;
    page.Gauge("orbserve_queue_frames", "waiting", i);
    page.Gauge("orbserve_streams", "open", 3);
    page.Counter("orbserve_frames_total", "ended").Add(5, {{"outcome", "ok"}});
    page.Histogram("orbserve_stage_duration_seconds", "stages")
        .AddHistogram({.sample_count = 2, .sample_sum = 3, .bucket = {{1, 1.5}}});
    page.Histogram("orbserve_frame_duration_seconds", "frames")
        .AddHistogram({.sample_count = 2, .sample_sum = 3, .bucket = {{0, 1}, {1, 1.5}}});
    history_.Take(page.Take());
    clock_.Advance(std::chrono::seconds(2));
  }
  const auto pages = Pages(false);
  const auto history = Read<server::MetricsHistory>(*Find(pages, "/history.json"));
  ASSERT_EQ(history.samples_size(), 61);
  // Buckets of frames alone, and those that are not empty.
  EXPECT_EQ(history.samples(0).metrics(),
            "# TYPE orbserve_queue_frames gauge\n"
            "orbserve_queue_frames 39\n"
            "# TYPE orbserve_frames_total counter\n"
            "orbserve_frames_total{outcome=\"ok\"} 5\n"
            "# TYPE orbserve_stage_duration_seconds histogram\n"
            "orbserve_stage_duration_seconds_count 2\n"
            "orbserve_stage_duration_seconds_sum 3\n"
            "orbserve_stage_duration_seconds_bucket{le=\"+Inf\"} 2\n"
            "# TYPE orbserve_frame_duration_seconds histogram\n"
            "orbserve_frame_duration_seconds_count 2\n"
            "orbserve_frame_duration_seconds_sum 3\n"
            "orbserve_frame_duration_seconds_bucket{le=\"1.5\"} 1\n"
            "orbserve_frame_duration_seconds_bucket{le=\"+Inf\"} 2\n");
  EXPECT_EQ(history.samples(0).age_seconds(), 122);
  EXPECT_EQ(history.samples(60).age_seconds(), 2);
}

TEST_F(LivePagesTest, FramesAreNotThereUnlessTheyAreShown) {
  EXPECT_EQ(Find(Pages(false), "/frame.json"), nullptr);
  EXPECT_NE(Find(Pages(true), "/frame.json"), nullptr);
}

TEST_F(LivePagesTest, AFrameComesWithItsFeatures) {
  server::StreamRow stream;
  stream.set_id(3);
  streams_.push_back(stream);
  const auto pages = Pages(true);
  const HttpPage& page = *Find(pages, "/frame.json");
  EXPECT_EQ(Read<server::FramePicture>(page, "stream=3").width_px(), 0u);
  ASSERT_TRUE(pictures_.TakeRequest(3));
  auto features = std::make_shared<Features>();
  features->Resize(4001);
  for (size_t i = 0; i < 4001; ++i) features->x[i] = static_cast<float>(i);
  auto picture = std::make_shared<StreamPicture>();
  picture->sequence = 9;
  picture->frame_width_px = 2;
  picture->frame_height_px = 1;
  picture->width_px = 2;
  picture->height_px = 1;
  picture->pixels = {0, 255};
  picture->features = features;
  pictures_.Put(3, picture);
  const auto frame = Read<server::FramePicture>(page, "stream=3");
  EXPECT_EQ(frame.sequence(), 9);
  EXPECT_EQ(frame.pixels(), std::string("\0\xff", 2));
  EXPECT_EQ(frame.features(), 4001u);
  // Every third, so that at most 2,000 are drawn.
  ASSERT_EQ(frame.x_size(), 1334);
  EXPECT_EQ(frame.x(1), 3.0F);
  EXPECT_EQ(frame.y_size(), 1334);
}

TEST_F(LivePagesTest, WrongQuestionsAreToldSo) {
  const auto pages = Pages(true);
  const HttpPage& page = *Find(pages, "/frame.json");
  for (const char* query : {"", "stream=", "stream=x", "stream=-1", "id=3"}) {
    EXPECT_EQ(page.render(query).status().code(), absl::StatusCode::kInvalidArgument) << query;
  }
  EXPECT_EQ(page.render("stream=4").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace orbserve
