// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The client library refuses answers that break the wire contract. Its error names the field, and
// the call or the stream ends.

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/client/lying_server.h"

namespace orbserve::client {
namespace {

using ::orbserve::testing::LyingServer;
using ::orbserve::testing::RightReference;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

v1::Frame MakeFrame(uint64_t sequence = 7) {
  v1::Frame frame;
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(320);
  frame.set_height_px(240);
  frame.set_sequence(sequence);
  frame.set_timestamp_ns(static_cast<int64_t>(sequence) * 1000);
  return frame;
}

// An answer was refused, and the text names the field.
void ExpectWrong(const absl::Status& status, const std::string& text, const std::string& what) {
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << what << ": " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the server's answer is wrong: ")) << what;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text)) << what;
}

struct FeatureLie {
  const char* what;
  std::function<void(v1::FeatureSet*)> tell;
  const char* text;  // behind the name of the set
};

std::vector<FeatureLie> FeatureLies() {
  return {
      {"short y", [](v1::FeatureSet* f) { f->mutable_y()->Truncate(3); },
       ".y is a list of 3; allowed: 12"},
      {"long x", [](v1::FeatureSet* f) { f->add_x(1); }, ".y is a list of 12; allowed: 13"},
      {"no size", [](v1::FeatureSet* f) { f->clear_size(); }, ".size is a list of 0; allowed: 12"},
      {"no angle", [](v1::FeatureSet* f) { f->clear_angle(); }, ".angle is a list of 0"},
      {"no response", [](v1::FeatureSet* f) { f->clear_response(); }, ".response is a list of 0"},
      {"no octave", [](v1::FeatureSet* f) { f->clear_octave(); }, ".octave is a list of 0"},
      {"rows of nothing", [](v1::FeatureSet* f) { f->add_source_index(0); },
       ".source_index is a list of 1; allowed: 0"},
      {"short descriptors", [](v1::FeatureSet* f) { f->mutable_descriptors()->resize(100); },
       ".descriptors is a text of 100 bytes; allowed: 384, for 12 rows of 32"},
      {"no descriptors", [](v1::FeatureSet* f) { f->clear_descriptors(); },
       ".descriptors is a text of 0 bytes"},
      {"odd descriptors", [](v1::FeatureSet* f) { f->set_descriptor_bytes(7); },
       ".descriptor_bytes is 7; allowed: 0, 4, 32, 64 or 128"},
      {"huge descriptors", [](v1::FeatureSet* f) { f->set_descriptor_bytes(1u << 31); },
       ".descriptor_bytes is 2147483648"},
      {"another kind",
       [](v1::FeatureSet* f) { f->set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_32); },
       ".descriptor_bytes is 32; allowed: 4, those of DESCRIPTOR_TYPE_RBRIEF_32"},
      {"far x", [](v1::FeatureSet* f) { f->set_x(2, 1e30f); }, ".x[2] is 1e+30; allowed: 0 to 320"},
      {"negative y", [](v1::FeatureSet* f) { f->set_y(3, -1); }, ".y[3] is -1; allowed: 0 to 240"},
      {"x is no number", [](v1::FeatureSet* f) { f->set_x(2, kNan); }, ".x[2] is nan"},
      {"endless size", [](v1::FeatureSet* f) { f->set_size(0, kInfinity); }, ".size[0] is inf"},
      {"negative size", [](v1::FeatureSet* f) { f->set_size(0, -2); }, ".size[0] is -2"},
      {"angle of 360", [](v1::FeatureSet* f) { f->set_angle(1, 360); },
       ".angle[1] is 360; allowed: -1, or 0 to below 360"},
      {"response is no number", [](v1::FeatureSet* f) { f->set_response(1, kNan); },
       ".response[1] is nan; allowed: finite numbers"},
      {"level 16", [](v1::FeatureSet* f) { f->set_octave(4, 16); },
       ".octave[4] is 16; allowed: 0 to 15"},
      {"level -1", [](v1::FeatureSet* f) { f->set_octave(4, -1); }, ".octave[4] is -1"},
      {"another width", [](v1::FeatureSet* f) { f->set_image_width_px(100'000); },
       ".image_width_px is 100000; allowed: 320 to 320"},
      {"no height", [](v1::FeatureSet* f) { f->set_image_height_px(0); }, ".image_height_px is 0"},
      {"no pass", [](v1::FeatureSet* f) { f->set_suppression_passes(0); },
       ".suppression_passes is 0"},
  };
}

TEST(WrongServerTest, RightAnswersPass) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  v1::ExtractRequest extract;
  *extract.mutable_frame() = MakeFrame();
  EXPECT_TRUE(client->Extract(extract).ok()) << client->Extract(extract).status();
  v1::MatchRequest match;
  *match.mutable_query_frame() = MakeFrame();
  *match.mutable_train_frame() = MakeFrame();
  EXPECT_TRUE(client->Match(match).ok()) << client->Match(match).status();
  v1::PutReferenceRequest put;
  put.set_name("door");
  EXPECT_TRUE(client->PutReference(put).ok());
  const auto references = client->ListReferences();
  ASSERT_TRUE(references.ok()) << references.status();
  EXPECT_EQ(references->references_size(), 6);
  EXPECT_TRUE(client->GetServerInfo().ok());
  v1::StreamOpen open;
  open.set_match_previous(true);
  open.set_track(true);
  auto stream = *client->OpenStream(open);
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Send(MakeFrame(i)).ok());
    const auto result = stream->Receive();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ((*result)->matches_size(), i == 0 ? 0 : 1);
  }
  ASSERT_TRUE(stream->Reopen(open).ok());
  ASSERT_TRUE(stream->Send(MakeFrame(9)).ok());
  EXPECT_TRUE(stream->Receive().ok());
}

TEST(WrongServerTest, FeaturesAreCheckedInEveryAnswer) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  v1::ExtractRequest extract;
  *extract.mutable_frame() = MakeFrame();
  v1::MatchRequest match;
  *match.mutable_query_frame() = MakeFrame();
  *match.mutable_train_frame() = MakeFrame();
  for (const FeatureLie& lie : FeatureLies()) {
    server.extract = [&](v1::ExtractResponse* r) {
      lie.tell(r->mutable_features());
      return grpc::Status::OK;
    };
    ExpectWrong(client->Extract(extract).status(), absl::StrCat("features", lie.text), lie.what);
    {
      ExtractPipeline pipeline(client.get(), {});
      absl::Status status;
      pipeline.Submit(extract, [&](absl::StatusOr<v1::ExtractResponse> r) { status = r.status(); });
      pipeline.Drain();
      ExpectWrong(status, absl::StrCat("features", lie.text), lie.what);
    }
    server.match = [&](v1::MatchResponse* r) { lie.tell(r->mutable_query_features()); };
    ExpectWrong(client->Match(match).status(), absl::StrCat("query_features", lie.text), lie.what);
    server.match = [&](v1::MatchResponse* r) { lie.tell(r->mutable_train_features()); };
    ExpectWrong(client->Match(match).status(), absl::StrCat("train_features", lie.text), lie.what);
    server.result = [&](v1::FrameResult* r) { lie.tell(r->mutable_features()); };
    const auto stream = *client->OpenStream({}, {.reconnect_for = absl::Seconds(60)});
    ASSERT_TRUE(stream->Send(MakeFrame()).ok());
    ExpectWrong(stream->Receive().status(), absl::StrCat("result.features", lie.text), lie.what);
    EXPECT_FALSE(stream->Send(MakeFrame()).ok());
  }
}

// A server may leave out keypoints that the caller gave, and says which ones are left.
TEST(WrongServerTest, RowsOfGivenKeypointsMustExist) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame();
  for (int i = 0; i < 12; ++i) request.mutable_frame()->mutable_keypoints()->add_x(1);
  server.extract = [](v1::ExtractResponse* r) {
    for (uint32_t i = 0; i < 12; ++i) r->mutable_features()->add_source_index(i);
    return grpc::Status::OK;
  };
  EXPECT_TRUE(client->Extract(request).ok()) << client->Extract(request).status();
  server.extract = [](v1::ExtractResponse* r) {
    for (uint32_t i = 1; i <= 12; ++i) r->mutable_features()->add_source_index(i);
    return grpc::Status::OK;
  };
  ExpectWrong(client->Extract(request).status(), "features.source_index[11] is 12", "row 12");
  request.mutable_frame()->mutable_keypoints()->mutable_x()->Truncate(11);
  ExpectWrong(client->Extract(request).status(), "features.x is a list of 12; allowed: 0 to 11",
              "more than given");
}

TEST(WrongServerTest, AnswersOfCallsAreChecked) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  v1::ExtractRequest extract;
  *extract.mutable_frame() = MakeFrame();
  const std::vector<std::pair<std::function<void(v1::ExtractResponse*)>, const char*>> answers = {
      {[](auto* r) { r->set_sequence(8); }, "sequence is 8; allowed: 7"},
      {[](auto* r) { r->set_timestamp_ns(1); }, "timestamp_ns is 1; allowed: 7000"},
      {[](auto* r) { r->clear_features(); }, "features is not set"},
      {[](auto* r) { r->mutable_execution()->set_batch_size(257); }, "execution.batch_size is 257"},
      {[](auto* r) { r->mutable_execution()->set_lane(16); }, "execution.lane is 16"},
      {[](auto* r) { r->mutable_execution()->set_energy_joules(-1); },
       "execution.energy_joules is -1"},
      {[](auto* r) { r->mutable_execution()->set_energy_joules(std::nan("")); },
       "execution.energy_joules is nan; allowed: a finite number"},
      {[](auto* r) { r->mutable_execution()->set_backend(std::string(5000, 'x')); },
       "execution.backend is a text of 5000 bytes; allowed: up to 4096"},
      {[](auto* r) {
         for (int i = 0; i < 2000; ++i) r->mutable_timings()->add_stages();
       },
       "timings.stages is a list of 2001; allowed: 0 to 1024"},
  };
  for (const auto& [lie, text] : answers) {
    server.extract = [&lie = lie](v1::ExtractResponse* r) {
      lie(r);
      return grpc::Status::OK;
    };
    ExpectWrong(client->Extract(extract).status(), text, text);
  }

  const std::vector<std::pair<std::function<void(v1::GetServerInfoResponse*)>, const char*>> infos =
      {
          {[](auto* r) { r->mutable_limits()->set_max_side_px(40'000); },
           "limits.max_side_px is 40000; allowed: 0 to 32767"},
          {[](auto* r) { r->mutable_limits()->set_max_pixels(uint64_t{1} << 63); },
           "limits.max_pixels is"},
          {[](auto* r) { r->mutable_limits()->set_max_batch(~0u); }, "limits.max_batch is"},
          {[](auto* r) { r->add_power_rails()->set_watts(kInfinity); }, "power_rails.watts is inf"},
          {[](auto* r) { r->mutable_devices(0)->set_name(std::string(1 << 20, 'x')); },
           "devices.name is a text of 1048576 bytes"},
          {[](auto* r) {
             for (int i = 0; i < 2000; ++i) r->add_presets();
           },
           "presets is a list of 2004"},
      };
  for (const auto& [lie, text] : infos) {
    server.info = lie;
    ExpectWrong(client->GetServerInfo().status(), text, text);
  }

  v1::PutReferenceRequest put;
  put.set_name("door");
  const std::vector<std::pair<std::function<void(v1::PutReferenceResponse*)>, const char*>> puts = {
      {[](auto* r) { r->mutable_reference()->set_name("gate"); }, "reference.name is gate"},
      {[](auto* r) { r->mutable_reference()->set_version(0); }, "reference.version is 0"},
      {[](auto* r) { r->clear_reference(); }, "reference.name is a text of 0 bytes"},
      {[](auto* r) { r->add_evicted("\033[2J"); },
       "evicted[0] is a text of 4 bytes with others than printable ASCII"},
  };
  for (const auto& [lie, text] : puts) {
    server.put = lie;
    ExpectWrong(client->PutReference(put).status(), text, text);
  }
}

TEST(WrongServerTest, MatchesAreChecked) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  const std::vector<std::pair<std::function<void(v1::MatchSet*)>, const char*>> lies = {
      {[](auto* m) { m->mutable_train_index()->Truncate(2); },
       "train_index is a list of 2; allowed: 12"},
      {[](auto* m) { m->clear_distance(); }, "distance is a list of 0; allowed: 12"},
      {[](auto* m) { m->set_query_index(11, 12); }, "query_index[11] is 12; allowed: below 12"},
      {[](auto* m) { m->set_train_index(4, ~0u); },
       "train_index[4] is 4294967295; allowed: below 12"},
      {[](auto* m) { m->set_distance(4, 8323201); },
       "distance[4] is 8323201; allowed: 0 to 8323200"},
      {[](auto* m) { m->set_query_index(3, 1); }, "query_index[3] is 1; allowed: 2 or more"},
      {[](auto* m) {
         m->set_query_index(3, 2);
         m->set_distance(3, 1);
       },
       "distance[3] is 1; allowed: 2 or more"},
      {[](auto* m) {
         m->Clear();
         for (int i = 0; i < 17; ++i) {
           m->add_query_index(0);
           m->add_train_index(0);
           m->add_distance(0);
         }
       },
       "query_index[16] is the 17th match of row 0; allowed: up to 16"},
  };
  v1::MatchRequest match;
  *match.mutable_query_features() = testing::RightFeatures(320, 240, 12);
  *match.mutable_train_features() = testing::RightFeatures(320, 240, 12);
  for (const auto& [lie, text] : lies) {
    server.match = [&lie = lie](v1::MatchResponse* r) { lie(r->mutable_matches()); };
    ExpectWrong(client->Match(match).status(), absl::StrCat("matches.", text), text);
    server.result = [&lie = lie](v1::FrameResult* r) {
      if (r->matches_size() > 0) lie(r->mutable_matches(0)->mutable_matches());
    };
    v1::StreamOpen open;
    open.set_match_previous(true);
    const auto stream = *client->OpenStream(open);
    for (const uint64_t i : {1, 2}) ASSERT_TRUE(stream->Send(MakeFrame(i)).ok());
    ASSERT_TRUE(stream->Receive().ok());
    ExpectWrong(stream->Receive().status(), absl::StrCat("result.matches[0].matches.", text), text);
  }
  server.match = [](v1::MatchResponse* r) { r->mutable_query_features(); };
  ExpectWrong(client->Match(match).status(), "query_features is set", "features of no image");
  *match.mutable_query_frame() = MakeFrame();
  server.match = [](v1::MatchResponse* r) { r->clear_query_features(); };
  ExpectWrong(client->Match(match).status(), "query_features is not set", "no features");
}

TEST(WrongServerTest, PagesOfReferencesComeToAnEnd) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  const std::vector<std::pair<std::function<void(v1::ListReferencesResponse*)>, const char*>> lies =
      {
          // The server sends one page again and again, or an empty one.
          {[](auto* r) {
             r->clear_references();
             *r->add_references() = RightReference("a");
             r->set_next_page_token("a");
           },
           "references[0].name is a; allowed: names behind a"},
          {[](auto* r) {
             r->clear_references();
             r->set_next_page_token("a");
           },
           "next_page_token is set on a page without references"},
          {[](auto* r) { r->mutable_references()->SwapElements(0, 1); },
           "references[1].name is a1; allowed: names behind a2"},
          {[](auto* r) {
             for (int i = 0; i < 2000; ++i) *r->add_references() = RightReference("x");
           },
           "references is a list of 2002; allowed: 0 to 1000"},
          {[](auto* r) { r->mutable_references(1)->set_name("a\033[31mb"); },
           "references[1].name is a text of 7 bytes with others than printable ASCII"},
          {[](auto* r) { r->mutable_references(1)->set_name(std::string(129, 'n')); },
           "references[1].name is a text of 129 bytes; allowed: 1 to 128 bytes"},
          {[](auto* r) { r->mutable_references(0)->set_feature_count(100'001); },
           "references[0].feature_count is 100001; allowed: 0 to 100000"},
          {[](auto* r) { r->mutable_references(0)->set_descriptor_bytes(5); },
           "references[0].descriptor_bytes is 5; allowed: 4, 32 or 64"},
          {[](auto* r) { r->set_next_page_token(std::string(1 << 20, 't')); },
           "next_page_token is a text of 1048576 bytes"},
      };
  for (const auto& [lie, text] : lies) {
    server.list = lie;
    ExpectWrong(client->ListReferences().status(), text, text);
  }
}

// Writes `response` until the client has gone.
void WriteForEver(LyingServer::Stream* stream, const v1::StreamFramesResponse& response) {
  while (stream->Write(response)) {
  }
}

TEST(WrongServerTest, MessagesOfAStreamAnswerWhatWasSentOnceAndInOrder) {
  v1::StreamFramesResponse opened;
  opened.mutable_opened()->set_stream_id(1);
  opened.mutable_opened()->set_max_in_flight(4);
  v1::StreamFramesResponse going_away;
  going_away.mutable_going_away()->mutable_status()->set_code(14);
  const auto result = [](uint64_t sequence) {
    v1::StreamFramesResponse response;
    *response.mutable_result() = testing::RightResult(MakeFrame(sequence));
    return response;
  };
  struct Row {
    std::function<void(LyingServer::Stream*)> lie;
    int good_results;  // before the lie
    const char* text;
  };
  const std::vector<Row> rows = {
      {[&](auto* s) { WriteForEver(s, opened); }, 0, "message is opened; allowed: "},
      {[&](auto* s) { WriteForEver(s, going_away); }, 0, "message is a second going_away"},
      {[&](auto* s) { WriteForEver(s, {}); }, 0, "message is not set"},
      {[&](auto* s) { WriteForEver(s, result(1)); }, 1, "result.sequence is 1; allowed: 2"},
      {[&](auto* s) { WriteForEver(s, result(2)); }, 0, "result.sequence is 2; allowed: 1"},
      {[&](auto* s) {
         s->Write(result(1));
         s->Write(result(2));
         WriteForEver(s, result(3));
       },
       2, "message is the result of frame 3; allowed: none, as every frame is answered"},
  };
  for (const Row& row : rows) {
    for (const bool reconnects : {false, true}) {
      LyingServer server;
      server.after_opened = [&](LyingServer::Stream* stream) {
        v1::StreamFramesRequest request;
        for (int i = 0; i < 2; ++i) stream->Read(&request);
        row.lie(stream);
      };
      const auto client = *Client::Connect(server.address(), {});
      const auto stream = *client->OpenStream(
          {}, {.reconnect_for = reconnects ? absl::Seconds(60) : absl::ZeroDuration()});
      for (const uint64_t i : {1, 2}) ASSERT_TRUE(stream->Send(MakeFrame(i)).ok()) << row.text;
      for (int i = 0; i < row.good_results; ++i) {
        const auto good = stream->Receive();
        ASSERT_TRUE(good.ok()) << row.text << ": " << good.status();
      }
      ExpectWrong(stream->Receive().status(), row.text, row.text);
      EXPECT_FALSE(stream->Send(MakeFrame(3)).ok()) << row.text;
    }
  }
}

TEST(WrongServerTest, TheFirstMessageOfAStreamIsChecked) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  server.opened = [](v1::StreamOpened* r) { r->set_max_in_flight(0); };
  ExpectWrong(client->OpenStream({}).status(), "opened.max_in_flight is 0; allowed: 1 to 256", "0");
  server.opened = [](v1::StreamOpened* r) { r->set_max_in_flight(1u << 31); };
  ExpectWrong(client->OpenStream({}).status(), "opened.max_in_flight is 2147483648", "2^31");
}

TEST(WrongServerTest, ResultsOfAStreamAreChecked) {
  LyingServer server;
  const auto client = *Client::Connect(server.address(), {});
  const std::vector<std::pair<std::function<void(v1::FrameResult*)>, const char*>> lies = {
      {[](auto* r) { r->set_timestamp_ns(5); }, "result.timestamp_ns is 5; allowed: 1000"},
      {[](auto* r) { r->mutable_status()->set_code(-3); }, "result.status.code is -3"},
      {[](auto* r) { r->mutable_status()->set_message(std::string(1 << 20, 'x')); },
       "result.status.message is a text of 1048576 bytes"},
      {[](auto* r) { r->mutable_tracks(1)->set_id(1); },
       "result.tracks[1].id is 1; allowed: above 1, as ids go up"},
      {[](auto* r) { r->mutable_tracks(0)->set_id(0); }, "result.tracks[0].id is 0"},
      {[](auto* r) { r->mutable_tracks(2)->set_x(1e30f); },
       "result.tracks[2].x is 1e+30; allowed: 0 to 320"},
      {[](auto* r) { r->mutable_tracks(2)->set_y(kNan); }, "result.tracks[2].y is nan"},
      {[](auto* r) { r->mutable_tracks(2)->set_residual(129); }, "result.tracks[2].residual is"},
      {[](auto* r) { r->mutable_tracks(2)->set_gain(kInfinity); }, "result.tracks[2].gain is inf"},
      {[](auto* r) { r->mutable_tracks(2)->set_offset(kNan); }, "result.tracks[2].offset is nan"},
      {[](auto* r) { r->add_ended_tracks()->set_id(1); },
       "result.ended_tracks[0].reason is not set"},
      {[](auto* r) { r->add_matches()->set_target(v1::MATCH_TARGET_PREVIOUS); },
       "result.matches[0].target is 1 (MATCH_TARGET_PREVIOUS)"},
      {[](auto* r) {
         r->add_matches()->set_target(v1::MATCH_TARGET_REFERENCE);
         r->mutable_matches(0)->set_reference("gate");
       },
       "result.matches[0].target is 3 (MATCH_TARGET_REFERENCE)"},
      {[](auto* r) {
         for (const char* name : {"door", "door"}) {
           r->add_matches()->set_target(v1::MATCH_TARGET_REFERENCE);
           r->mutable_matches(r->matches_size() - 1)->set_reference(name);
         }
       },
       "result.matches[1].target is 3 (MATCH_TARGET_REFERENCE)"},
  };
  v1::StreamOpen open;
  open.set_track(true);
  open.add_references("door");
  for (const auto& [lie, text] : lies) {
    server.result = lie;
    const auto stream = *client->OpenStream(open);
    ASSERT_TRUE(stream->Send(MakeFrame(1)).ok());
    ExpectWrong(stream->Receive().status(), text, text);
  }
  open.set_track(false);
  server.result = [](v1::FrameResult* r) { r->add_tracks()->set_id(1); };
  const auto stream = *client->OpenStream(open);
  ASSERT_TRUE(stream->Send(MakeFrame(1)).ok());
  ExpectWrong(stream->Receive().status(), "result.tracks is a list of 1; allowed: 0", "tracks");
}

// 49 days, and more than a number of 32 bits after a few tries.
TEST(WrongServerTest, AnEndlessAdviceToWaitIsBoundedAndCanBeCancelled) {
  LyingServer server;
  server.extract = [](v1::ExtractResponse*) {
    v1::Status entry;
    entry.set_code(grpc::RESOURCE_EXHAUSTED);
    entry.set_reason("QUEUE_FULL");
    entry.set_retry_after_ms(~0u);
    v1::CallStatus call;
    call.set_code(grpc::RESOURCE_EXHAUSTED);
    call.add_details()->PackFrom(entry);
    return grpc::Status(grpc::RESOURCE_EXHAUSTED, "", call.SerializeAsString());
  };
  const auto client = *Client::Connect(server.address(), {});
  ExtractPipeline pipeline(client.get(), {});
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame();
  absl::Status status;
  pipeline.Submit(request, [&](absl::StatusOr<v1::ExtractResponse> r) { status = r.status(); });
  while (server.calls() == 0) absl::SleepFor(absl::Milliseconds(1));
  pipeline.Cancel();
  pipeline.Drain();
  EXPECT_FALSE(status.ok());
}

TEST(WrongClientIdTest, IsRefusedBeforeACall) {
  for (const char* id : {"caf\xC3\xA9", "a\nb", "a\tb", "\x7f"}) {
    const absl::Status status = Client::Connect("127.0.0.1:1", {.client_id = id}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the client id must be printable ASCII; got "));
  }
  EXPECT_EQ(Client::Connect("127.0.0.1:1", {.client_id = std::string(2000, 'a')}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Client::Connect("caf\xC3\xA9:1", {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Client::Connect("unix:/tmp/caf\xC3\xA9", {}).ok());
  LyingServer server;
  const auto client = Client::Connect(server.address(), {.client_id = "robot 7/left ~!"});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE((*client)->GetServerInfo().ok());
}

}  // namespace
}  // namespace orbserve::client
