// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Streams of a running server: order, matches, bad frames, backpressure, and what a stream leaves
// behind however it ends.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "features/algo/grey.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

class StreamTest : public ServerTest {
 protected:
  // The reason with which a stream ends that sends only this.
  std::string RefusalOf(const v1::StreamFramesRequest& request) {
    grpc::ClientContext context;
    SetLimit(context);
    auto stream = stub_->StreamFrames(&context);
    stream->Write(request);
    v1::StreamFramesResponse response;
    EXPECT_FALSE(stream->Read(&response));
    return Details(stream->Finish()).reason();
  }

  bool NothingIsLeft() {
    return Eventually([this] {
      return Metric("orbserve_streams") == 0 && Metric("orbserve_queue_frames") == 0 &&
             Metric("orbserve_stream_response_bytes") == 0;
    });
  }
};

TEST_F(StreamTest, ResultsComeInOrderWithMatchesAgainstTheFrameBefore) {
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.set_match_previous(true);
  v1::StreamOpened opened;
  const auto stream = Open(context, open, &opened);
  EXPECT_GT(opened.stream_id(), 0u);
  EXPECT_EQ(opened.pipeline().preset(), "orb");
  constexpr int kFrames = 30;
  std::jthread sender([&] {
    for (int i = 0; i < kFrames; ++i) {
      v1::Frame frame = MakeFrame(320 + 64 * (i % 3), 240, 1);
      frame.set_sequence(static_cast<uint64_t>(1000 + i));
      EXPECT_TRUE(Send(*stream, frame));
    }
    stream->WritesDone();
  });
  const absl::Cleanup end_sender = [&] { context.TryCancel(); };  // also when something fails
  for (int i = 0; i < kFrames; ++i) {
    v1::StreamFramesResponse response;
    ASSERT_TRUE(stream->Read(&response)) << i;
    const v1::FrameResult& result = response.result();
    EXPECT_EQ(result.sequence(), static_cast<uint64_t>(1000 + i));
    EXPECT_EQ(result.status().code(), 0) << result.status().message();
    EXPECT_GT(result.features().x_size(), 50);
    ASSERT_EQ(result.matches_size(), i == 0 ? 0 : 1);
    if (i > 0) {
      EXPECT_EQ(result.matches(0).target(), v1::MATCH_TARGET_PREVIOUS);
      EXPECT_EQ(result.matches(0).target_sequence(), static_cast<uint64_t>(1000 + i - 1));
      EXPECT_EQ(result.matches(0).matches().query_index_size(), result.features().x_size());
      ExpectMatchIsTheLastStage(result.timings());
    }
  }
  v1::StreamFramesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  sender.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, ABadFrameFailsItselfAndTheStreamGoesOn) {
  grpc::ClientContext context;
  const auto stream = Open(context, {});
  v1::Frame broken = MakeFrame(320, 240, 2);
  broken.set_pixels("short");
  v1::Frame late = MakeFrame(320, 240, 4);
  late.mutable_parameters()->set_match_ratio(7);
  for (const v1::Frame& frame :
       {MakeFrame(320, 240, 1), broken, MakeFrame(320, 240, 3), late, MakeFrame(320, 240, 5)}) {
    ASSERT_TRUE(Send(*stream, frame));
  }
  stream->WritesDone();
  const char* const reasons[] = {"", "BAD_IMAGE", "", "BAD_OPTIONS", ""};
  for (uint64_t i = 0; i < 5; ++i) {
    v1::StreamFramesResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.result().sequence(), i + 1);
    EXPECT_EQ(response.result().status().reason(), reasons[i]);
    EXPECT_EQ(response.result().has_features(), reasons[i][0] == '\0');
  }
  EXPECT_TRUE(stream->Finish().ok());
}

// Some are decoded from where they were received, some copied first, some by another thread: by
// format, size, what comes with them, and whether their plan is there.
TEST_F(StreamTest, FramesOfEveryKindAreAnsweredAsByExtract) {
  const auto colours = [](int width_px, int height_px) {
    v1::Frame frame = MakeFrame(3 * width_px, height_px, 4);
    frame.set_format(v1::PIXEL_FORMAT_RGB8);
    frame.set_width_px(static_cast<uint32_t>(width_px));
    return frame;
  };
  v1::Frame masked = MakeFrame(320, 240, 5);
  masked.mutable_mask()->set_width_px(320);
  masked.mutable_mask()->set_height_px(240);
  masked.mutable_mask()->set_pixels(std::string(320 * 120, '\xff') + std::string(320 * 120, '\0'));
  v1::Frame padded = MakeFrame(700, 240, 6);
  padded.set_width_px(640);
  padded.set_stride_bytes(700);
  const std::vector<v1::Frame> frames = {MakeFrame(640, 480, 1),
                                         MakeFrame(640, 480, 2),
                                         MakeFrame(2000, 1000, 3),
                                         colours(320, 240),
                                         colours(320, 240),
                                         colours(1280, 720),
                                         masked,
                                         padded,
                                         padded};
  std::vector<v1::FeatureSet> expected;
  for (const v1::Frame& frame : frames) {
    v1::ExtractRequest request;
    *request.mutable_frame() = frame;
    v1::ExtractResponse response;
    ASSERT_TRUE(Extract(request, &response).ok());
    EXPECT_GT(response.features().x_size(), 50);
    expected.push_back(response.features());
  }
  StartServer({});  // one that has no plans
  grpc::ClientContext context;
  const auto stream = Open(context, {});
  for (size_t i = 0; i < 3 * frames.size(); ++i) {
    const size_t which = i % frames.size();
    ASSERT_TRUE(Send(*stream, frames[which]));
    v1::StreamFramesResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.result().features().SerializeAsString(), expected[which].SerializeAsString())
        << which << " " << response.result().status().message();
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Pixels that hold given grey levels, and mosaics whose grey levels follow from the formula.
TEST_F(StreamTest, FramesOfEveryRawFormatAreAnsweredAsTheirGreyPixels) {
  constexpr int kWidth = 322;
  constexpr int kHeight = 241;
  const v1::Frame grey = MakeFrame(kWidth, kHeight, 11);
  const std::string& levels = grey.pixels();
  // `bytes`: of a pixel with a grey level; `padding`: after each row.
  const auto packed = [&](v1::PixelFormat format, int padding, auto bytes) {
    v1::Frame frame = grey;
    frame.set_format(format);
    frame.clear_pixels();
    for (size_t y = 0; y < kHeight; ++y) {
      for (size_t x = 0; x < kWidth; ++x) {
        *frame.mutable_pixels() += bytes(static_cast<uint8_t>(levels[y * kWidth + x]));
      }
      frame.mutable_pixels()->append(static_cast<size_t>(padding), '\xEE');
    }
    if (padding > 0) {
      frame.set_stride_bytes(static_cast<uint32_t>(frame.pixels().size() / kHeight));
    }
    return frame;
  };
  const auto text = [](std::initializer_list<int> bytes) {
    std::string joined;
    for (const int byte : bytes) joined.push_back(static_cast<char>(byte));
    return joined;
  };
  // Wanted: the features of the second of each pair.
  std::vector<std::pair<v1::Frame, v1::Frame>> pairs;
  for (const int padding : {0, 6}) {
    pairs.emplace_back(packed(v1::PIXEL_FORMAT_RGBA8, padding,
                              [&](int v) {
                                return text({v, v, v, 255 - v});
                              }),
                       grey);
    pairs.emplace_back(packed(v1::PIXEL_FORMAT_UYVY, padding,
                              [&](int v) {
                                return text({255 - v, v});
                              }),
                       grey);
    pairs.emplace_back(packed(v1::PIXEL_FORMAT_GRAY16, padding,
                              [&](int v) {
                                return text({v, v});
                              }),
                       grey);
    v1::Frame window = packed(v1::PIXEL_FORMAT_GRAY16, padding, [&](int v) {
      const int value = 7000 + 3 * v;
      return text({value & 255, value >> 8});
    });
    window.mutable_window()->set_low(7000);
    window.mutable_window()->set_high(7000 + 3 * 255);
    pairs.emplace_back(window, grey);
  }
  const std::pair<v1::PixelFormat, BayerFilters> mosaics[] = {
      {v1::PIXEL_FORMAT_BAYER_RGGB8, {.green_first = false, .red = true}},
      {v1::PIXEL_FORMAT_BAYER_BGGR8, {.green_first = false, .red = false}},
      {v1::PIXEL_FORMAT_BAYER_GBRG8, {.green_first = true, .red = false}},
      {v1::PIXEL_FORMAT_BAYER_GRBG8, {.green_first = true, .red = true}}};
  for (const auto& [format, filters] : mosaics) {
    v1::Frame mosaic = grey;
    mosaic.set_format(format);
    v1::Frame expected = grey;
    const auto row = [&](int y) {
      return reinterpret_cast<const uint8_t*>(levels.data()) + y * kWidth;
    };
    for (int y = 0; y < kHeight; ++y) {
      const BayerRows rows = {row(y == 0 ? 1 : y - 1), row(y),
                              row(y + 1 == kHeight ? y - 1 : y + 1)};
      for (int x = 0; x < kWidth; ++x) {
        (*expected.mutable_pixels())[static_cast<size_t>(y * kWidth + x)] =
            static_cast<char>(GreyFromBayer(rows, filters.OfRow(y), x, kWidth));
      }
    }
    pairs.emplace_back(mosaic, expected);
  }
  grpc::ClientContext context;
  const auto stream = Open(context, {});
  for (const auto& [frame, wanted] : pairs) {
    SCOPED_TRACE(v1::PixelFormat_Name(frame.format()));
    v1::ExtractRequest request;
    *request.mutable_frame() = wanted;
    v1::ExtractResponse expected;
    ASSERT_TRUE(Extract(request, &expected).ok());
    EXPECT_GT(expected.features().x_size(), 50);
    *request.mutable_frame() = frame;
    v1::ExtractResponse extracted;
    const grpc::Status status = Extract(request, &extracted);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(extracted.features().SerializeAsString(), expected.features().SerializeAsString());
    ASSERT_TRUE(Send(*stream, frame));
    v1::StreamFramesResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.result().features().SerializeAsString(),
              expected.features().SerializeAsString())
        << response.result().status().message();
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Their matches go to the backend together; nobody gets those of another.
TEST_F(StreamTest, MatchesOfManyStreamsAreThoseOfEachAlone) {
  constexpr size_t kStreams = 8;
  constexpr size_t kFrames = 16;
  using Results = std::vector<std::string>;
  // Each stream has pictures of its own, three in turn.
  const auto run = [this](size_t number, Results* results) {
    grpc::ClientContext context;
    context.AddMetadata("x-client-id", absl::StrCat("robot-", number));
    v1::StreamOpen open;
    open.set_match_previous(true);
    const auto stream = Open(context, open);
    for (size_t i = 0; i < kFrames; ++i) {
      v1::Frame frame = MakeFrame(320, 240, static_cast<uint32_t>(10 * number + i % 3));
      frame.set_sequence(i);
      EXPECT_TRUE(Send(*stream, frame));
    }
    stream->WritesDone();
    v1::StreamFramesResponse response;
    while (stream->Read(&response)) {
      ASSERT_EQ(response.result().matches_size(), results->empty() ? 0 : 1);
      results->push_back(results->empty() ? "" : response.result().matches(0).SerializeAsString());
    }
    EXPECT_TRUE(stream->Finish().ok());
  };
  std::vector<Results> alone(kStreams);
  for (size_t i = 0; i < kStreams; ++i) run(i, &alone[i]);
  std::vector<Results> together(kStreams);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kStreams; ++i) {
    threads.emplace_back([&, i] { run(i, &together[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kStreams; ++i) {
    EXPECT_EQ(alone[i].size(), kFrames);
    EXPECT_EQ(together[i], alone[i]) << i;
    EXPECT_TRUE(i == 0 || alone[i] != alone[0]) << i;
  }
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, ReferencesAreMatchedAndFeaturesMayBeLeftOut) {
  v1::PutReferenceRequest put;
  put.set_name("marker");
  *put.mutable_frame() = MakeFrame(320, 240, 1);
  {
    grpc::ClientContext put_context;
    put_context.AddMetadata("x-client-id", "robot");
    v1::PutReferenceResponse stored;
    ASSERT_TRUE(stub_->PutReference(&put_context, put, &stored).ok());
  }
  grpc::ClientContext context;
  context.AddMetadata("x-client-id", "robot");
  v1::StreamOpen open;
  open.add_references("marker");
  open.add_references("none");
  open.set_omit_features(true);
  const auto stream = Open(context, open);
  ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
  v1::StreamFramesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.result().matches_size(), 2);
  EXPECT_GT(response.result().matches(0).matches().query_index_size(), 50);
  EXPECT_EQ(response.result().matches(1).status().reason(), "REFERENCE_NOT_FOUND");
  EXPECT_FALSE(response.result().has_features());
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// A frame's window is that of its match with the frame before; references keep the pipeline's.
TEST_F(StreamTest, AFrameIsMatchedRoundTheMotionThatItPredicts) {
  v1::PutReferenceRequest put;
  put.set_name("marker");
  *put.mutable_frame() = MakeFrame(320, 240, 1);
  {
    grpc::ClientContext put_context;
    put_context.AddMetadata("x-client-id", "robot");
    v1::PutReferenceResponse stored;
    ASSERT_TRUE(stub_->PutReference(&put_context, put, &stored).ok());
  }
  grpc::ClientContext context;
  context.AddMetadata("x-client-id", "robot");
  v1::StreamOpen open;
  open.set_match_previous(true);
  open.add_references("marker");
  open.mutable_pipeline()->mutable_match()->set_window_px(2.0f);
  v1::StreamOpened opened;
  const auto stream = Open(context, open, &opened);
  EXPECT_EQ(opened.pipeline().match().window_px(), 2.0f);
  v1::Frame moved = MakeFrame(320, 240, 1);
  moved.mutable_parameters()->set_match_window_px(5.0f);
  moved.mutable_parameters()->set_match_offset_x(40.0f);
  moved.mutable_parameters()->set_match_offset_y(-9.0f);
  v1::Frame bad = MakeFrame(320, 240, 1);
  bad.mutable_parameters()->set_match_window_px(-5.0f);
  for (const v1::Frame& frame : {MakeFrame(320, 240, 1), moved, bad}) {
    ASSERT_TRUE(Send(*stream, frame));
  }
  stream->WritesDone();
  v1::StreamFramesResponse first;
  ASSERT_TRUE(stream->Read(&first));
  v1::StreamFramesResponse second;
  ASSERT_TRUE(stream->Read(&second));
  const v1::FeatureSet& features = second.result().features();
  ASSERT_EQ(second.result().matches_size(), 2);
  for (const v1::FrameMatches& target : second.result().matches()) {
    ASSERT_EQ(target.status().code(), 0) << target.status().message();
    const bool is_reference = target.target() == v1::MATCH_TARGET_REFERENCE;
    const v1::MatchSet& matches = target.matches();
    EXPECT_GT(matches.query_index_size(), is_reference ? features.x_size() - 1 : 5);
    for (int i = 0; i < matches.query_index_size(); ++i) {
      // All sides show the same picture, and so have the same rows.
      const auto query = static_cast<int>(matches.query_index(i));
      const auto train = static_cast<int>(matches.train_index(i));
      const float dx = features.x(train) - features.x(query) - (is_reference ? 0.0f : 40.0f);
      const float dy = features.y(train) - features.y(query) - (is_reference ? 0.0f : -9.0f);
      EXPECT_LE(std::max(std::abs(dx), std::abs(dy)), is_reference ? 2.01f : 5.01f);
      if (is_reference) {
        EXPECT_EQ(matches.distance(i), 0u);
      }
    }
  }
  v1::StreamFramesResponse third;
  ASSERT_TRUE(stream->Read(&third));
  EXPECT_EQ(third.result().status().reason(), "BAD_OPTIONS");
  EXPECT_TRUE(stream->Finish().ok());
}

// Frames without descriptors are answered, and have nothing to match.
TEST_F(StreamTest, AStreamWithoutDescriptorsIsAnswered) {
  v1::StreamOpen open;
  open.mutable_pipeline()->mutable_describe()->set_descriptor_type(v1::DESCRIPTOR_TYPE_NONE);
  grpc::ClientContext context;
  const auto stream = Open(context, open);
  for (const uint32_t seed : {1u, 2u}) ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, seed)));
  stream->WritesDone();
  for (int i = 0; i < 2; ++i) {
    v1::StreamFramesResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.result().status().code(), 0);
    EXPECT_GT(response.result().features().x_size(), 50);
    EXPECT_EQ(response.result().features().descriptor_type(), v1::DESCRIPTOR_TYPE_NONE);
    EXPECT_FALSE(response.result().features().has_suppression_passes());
    EXPECT_EQ(response.result().matches_size(), 0);
  }
  EXPECT_TRUE(stream->Finish().ok());
  // Asking for matches contradicts the pipeline.
  open.set_match_previous(true);
  v1::StreamFramesRequest request;
  *request.mutable_open() = open;
  EXPECT_EQ(RefusalOf(request), "BAD_OPTIONS");
}

TEST_F(StreamTest, OpeningsThatCannotBeServedAreRefused) {
  v1::StreamFramesRequest request;
  *request.mutable_frame() = MakeFrame(64, 64, 1);
  EXPECT_EQ(RefusalOf(request), "BAD_REQUEST");
  request.mutable_open()->set_track(true);  // of "orb", whose pyramid does not suit tracks
  EXPECT_EQ(RefusalOf(request), "BAD_OPTIONS");
  request.mutable_open()->Clear();
  request.mutable_open()->set_drop_policy(static_cast<v1::DropPolicy>(4));
  EXPECT_EQ(RefusalOf(request), "BAD_OPTIONS");
  request.mutable_open()->Clear();
  for (int i = 0; i < 17; ++i) request.mutable_open()->add_references("r");
  EXPECT_EQ(RefusalOf(request), "BAD_REQUEST");
  request.mutable_open()->Clear();
  request.mutable_open()->mutable_pipeline()->set_preset("none such");
  EXPECT_EQ(RefusalOf(request), "BAD_OPTIONS");
  request.mutable_open()->Clear();
  request.mutable_open()->set_match_previous(true);
  request.mutable_open()->mutable_pipeline()->mutable_describe()->set_descriptor_type(
      v1::DESCRIPTOR_TYPE_NONE);
  EXPECT_EQ(RefusalOf(request), "BAD_OPTIONS");
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, AStreamThatIsNotOpenedDoesNotKeepItsPlace) {
  server::Config config;
  config.mutable_limits()->set_max_streams(1);
  StartServer(config, WithLimits([](DerivedLimits* limits) {
                limits->stream_open_timeout = std::chrono::milliseconds(200 * kSlower);
              }));
  grpc::ClientContext silent_context;
  SetLimit(silent_context);
  const auto silent = stub_->StreamFrames(&silent_context);
  ASSERT_TRUE(Eventually([&] { return Metric("orbserve_streams") == 1; }));
  v1::StreamFramesResponse response;
  EXPECT_FALSE(silent->Read(&response));
  const grpc::Status status = silent->Finish();
  EXPECT_EQ(Details(status).reason(), "DEADLINE_EXCEEDED");
  EXPECT_NE(status.error_message().find("not opened within"), std::string::npos);
  EXPECT_TRUE(NothingIsLeft());
  // One that is opened may send nothing for longer.
  grpc::ClientContext context;
  const auto stream = Open(context);
  std::this_thread::sleep_for(std::chrono::milliseconds(300 * kSlower));
  ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
  EXPECT_TRUE(stream->Read(&response));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StreamTest, ARobotThatReadsNothingIsHeldBack) {
  grpc::ClientContext context;
  v1::StreamOpened opened;
  const auto stream = Open(context, {}, &opened);
  // Answers are far smaller than HTTP/2's window here, so frames are what fills up: ask for large
  // answers instead, many keypoints of a large frame.
  std::atomic<int> sent{0};
  std::jthread sender([&] {
    v1::Frame frame = MakeFrame(1280, 960, 1);
    frame.mutable_parameters()->set_max_features(20'000);
    while (sent < 400 && Send(*stream, frame)) ++sent;
  });
  int before = -1;
  // Nothing moves any more: the server has stopped reading.
  EXPECT_TRUE(Eventually([&] {
    const int now = sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    before = sent;
    return now > 0 && before == now;
  }));
  EXPECT_LT(before, 400);
  context.TryCancel();
  sender.join();
  stream->Finish();
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, AnswersThatNobodyReadsAreBounded) {
  constexpr int kStreams = 6;
  constexpr uint64_t kFrames = 24;
  constexpr int kCapacity = 20'000;
  constexpr int kMaxResponseBytes = kCapacity * 56 + 4096;
  server::Config config;
  config.mutable_limits()->set_send_timeout_ms(600'000);  // they are read in the end, one by one
  StartServer(config, WithLimits([](DerivedLimits* limits) {
                limits->stream_response_bytes = 4 * kMaxResponseBytes;
                limits->response_bytes = 10 * kMaxResponseBytes;
              }));
  stub_ = NewStub(/*fixed_window=*/true);
  v1::StreamOpen open;
  open.mutable_pipeline()->mutable_select()->set_capacity(kCapacity);
  open.mutable_pipeline()->mutable_select()->set_max_features(kCapacity);
  v1::Frame frame = MakeFrame(1280, 960, 1);

  std::array<grpc::ClientContext, kStreams> contexts;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::jthread> senders;
  // They wait for ever for a server that does not read, also when something below fails.
  const absl::Cleanup end_senders = [&] {
    for (grpc::ClientContext& context : contexts) context.TryCancel();
  };
  for (grpc::ClientContext& context : contexts) {
    streams.push_back(Open(context, open, nullptr, 100 * kSlower));
    senders.emplace_back([&, stream = streams.back().get()] {
      v1::Frame own = frame;
      for (uint64_t i = 0; i < kFrames; ++i) {
        own.set_sequence(i);
        if (!Send(*stream, own)) return;
      }
      stream->WritesDone();
    });
  }
  // Nothing moves any more, and what is held is what the limits allow and one answer a stream.
  double most = 0;
  double received = -1;
  EXPECT_TRUE(Eventually([&] {
    for (int i = 0; i < 50; ++i) {
      most = std::max(most, Metric("orbserve_stream_response_bytes"));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const double before = std::exchange(received, Metric("orbserve_frames_received_total"));
    return received == before;
  }));
  EXPECT_LT(received, kStreams * static_cast<double>(kFrames));
  EXPECT_GT(most, kMaxResponseBytes);
  EXPECT_LE(most, (10 + kStreams) * kMaxResponseBytes);

  // Others are served.
  v1::ExtractResponse extracted;
  v1::ExtractRequest extract;
  *extract.mutable_frame() = MakeFrame(320, 240, 1);
  EXPECT_TRUE(Extract(extract, &extracted).ok());
  grpc::ClientContext other_context;
  const auto other = Open(other_context, open);
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(Send(*other, MakeFrame(320, 240, 1)));
    v1::StreamFramesResponse response;
    ASSERT_TRUE(other->Read(&response));
    EXPECT_EQ(response.result().status().code(), 0);
  }
  other->WritesDone();
  EXPECT_TRUE(other->Finish().ok());

  // Who reads in the end gets everything in order.
  int features = 0;
  for (const auto& stream : streams) {
    for (uint64_t i = 0; i < kFrames; ++i) {
      v1::StreamFramesResponse response;
      ASSERT_TRUE(stream->Read(&response)) << i;
      EXPECT_EQ(response.result().sequence(), i);
      EXPECT_EQ(response.result().status().code(), 0) << response.result().status().message();
      if (features == 0) features = response.result().features().x_size();
      EXPECT_GT(features, kCapacity / 2);
      EXPECT_EQ(response.result().features().x_size(), features);
    }
    v1::StreamFramesResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_TRUE(stream->Finish().ok());
  }
  for (std::jthread& sender : senders) sender.join();
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, FeaturesThatAreMatchedAndNotSentCountAsAnswers) {
  constexpr int kCapacity = 20'000;
  server::Config config;
  config.mutable_batching()->set_max_queue_delay_us(1'000'000);  // the frame waits to be seen
  StartServer(config);
  v1::StreamOpen open;
  open.set_omit_features(true);
  open.mutable_pipeline()->mutable_select()->set_capacity(kCapacity);
  for (const bool match : {false, true}) {
    open.set_match_previous(match);
    grpc::ClientContext context;
    const auto stream = Open(context, open);
    ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
    ASSERT_TRUE(Eventually([&] { return Metric("orbserve_queue_frames") == 1; }));
    EXPECT_EQ(Metric("orbserve_stream_response_bytes") > 56 * kCapacity, match);
    context.TryCancel();
    EXPECT_TRUE(NothingIsLeft());
  }
}

TEST_F(StreamTest, BytesThatAreNoMessageEndTheStreamWithAReason) {
  const auto channel = server_->InProcessChannel({});
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  SetLimit(context);
  grpc::CompletionQueue queue;
  const auto stream = stub.PrepareCall(&context, "/orbserve.v1.Features/StreamFrames", &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto write = [&](const std::string& bytes) {
    const grpc::Slice slice(bytes);
    stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    return wait();
  };
  stream->StartCall(nullptr);
  ASSERT_TRUE(wait());
  v1::StreamFramesRequest request;
  request.mutable_open();
  ASSERT_TRUE(write(request.SerializeAsString()));
  *request.mutable_frame() = MakeFrame(320, 240, 1);
  ASSERT_TRUE(write(request.SerializeAsString()));
  ASSERT_TRUE(write("\xff\xff\xff"));
  // What was sent before is answered.
  for (const bool is_result : {false, true}) {
    grpc::ByteBuffer buffer;
    stream->Read(&buffer, nullptr);
    ASSERT_TRUE(wait());
    v1::StreamFramesResponse response;
    ASSERT_TRUE(
        grpc::SerializationTraits<v1::StreamFramesResponse>::Deserialize(&buffer, &response).ok());
    EXPECT_EQ(response.has_result(), is_result);
  }
  grpc::Status status;
  stream->Finish(&status, nullptr);
  ASSERT_TRUE(wait());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Details(status).reason(), "BAD_REQUEST");
  queue.Shutdown();
  EXPECT_FALSE(wait());
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, ACancelledStreamLeavesNothing) {
  for (int round = 0; round < 10; ++round) {
    grpc::ClientContext context;
    v1::StreamOpen open;
    open.set_match_previous(true);
    const auto stream = Open(context, open);
    for (uint32_t i = 0; i < 4; ++i) Send(*stream, MakeFrame(1280, 960, i));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(NothingIsLeft());
  EXPECT_TRUE(Eventually([this] {
    double finished = 0;
    for (const char* outcome : {"ok", "CANCELLED"}) {
      finished += Metric(absl::StrCat("orbserve_frames_total{outcome=\"", outcome, "\"}"));
    }
    return finished == Metric("orbserve_frames_received_total");
  }));
}

TEST_F(StreamTest, ADeadlineIsAnsweredInTheFramesResult) {
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.mutable_pipeline()->mutable_select()->set_max_features(20'000);
  const auto stream = Open(context, open);
  v1::Frame hurried = MakeFrame(4096, 4096, 1);
  hurried.set_deadline_ms(1);
  ASSERT_TRUE(Send(*stream, hurried));
  ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 2)));
  stream->WritesDone();
  v1::StreamFramesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.result().status().reason(), "DEADLINE_EXCEEDED");
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.result().status().reason(), "");
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StreamTest, AStreamThatSendsNothingForLongEnds) {
  server::Config config;
  config.mutable_limits()->set_stream_idle_timeout_ms(500 * kSlower);
  StartServer(config);
  grpc::ClientContext context;
  const auto stream = Open(context);
  v1::StreamFramesResponse response;
  for (uint64_t i = 0; i < 4; ++i) {  // each in time, all together not
    std::this_thread::sleep_for(std::chrono::milliseconds(200 * kSlower));
    ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
    ASSERT_TRUE(stream->Read(&response));
  }
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(Details(status).reason(), "DEADLINE_EXCEEDED");
  EXPECT_NE(status.error_message().find("has sent nothing for"), std::string::npos);
  EXPECT_EQ(Metric("orbserve_calls_aborted_total{cause=\"idle_stream\"}"), 1);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, AStreamWhoseResultsAreNotReadEnds) {
  server::Config config;
  config.mutable_limits()->set_send_timeout_ms(300 * kSlower);
  StartServer(config);
  v1::StreamOpen open;
  open.mutable_pipeline()->mutable_select()->set_capacity(20'000);
  open.mutable_pipeline()->mutable_select()->set_max_features(20'000);
  v1::StreamFramesRequest request;
  *request.mutable_open() = open;
  grpc::GenericStub generic(NewChannel(/*fixed_window=*/true));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = generic.PrepareCall(&context, "/orbserve.v1.Features/StreamFrames", &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return ok;
  };
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const auto send = [&] {
    const grpc::Slice slice(request.SerializeAsString());
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    return wait();
  };
  ASSERT_TRUE(send());
  *request.mutable_frame() = MakeFrame(1280, 960, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send());
  EXPECT_TRUE(Eventually(
      [&] { return Metric("orbserve_calls_aborted_total{cause=\"send_timeout\"}") == 1; }));
  EXPECT_TRUE(NothingIsLeft());
  grpc::ByteBuffer response;
  do {
    call->Read(&response, nullptr);
  } while (wait());
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(wait());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(StreamTest, AClientWithoutAStreamGetsAPlaceOfTheOneThatHasThemAll) {
  constexpr size_t kStreams = 8;
  server::Config config;
  config.mutable_limits()->set_max_streams(kStreams);
  StartServer(config);
  std::array<grpc::ClientContext, kStreams> contexts;
  std::vector<std::unique_ptr<Stream>> greedy;
  for (grpc::ClientContext& context : contexts) greedy.push_back(Open(context));
  // The first one works. The others send nothing.
  ASSERT_TRUE(Send(*greedy[0], MakeFrame(320, 240, 1)));
  v1::StreamFramesResponse response;
  ASSERT_TRUE(greedy[0]->Read(&response));

  grpc::ClientContext context;
  context.AddMetadata("x-client-id", "other");
  const auto other = Open(context);
  EXPECT_FALSE(greedy[1]->Read(&response));
  const grpc::Status status = greedy[1]->Finish();
  EXPECT_EQ(Details(status).reason(), "QUOTA_EXCEEDED");
  EXPECT_NE(status.error_message().find("made room"), std::string::npos);
  EXPECT_EQ(Metric("orbserve_calls_aborted_total{cause=\"preempted\"}"), 1);
  v1::StreamFramesRequest request;
  request.mutable_open();
  EXPECT_EQ(RefusalOf(request), "QUOTA_EXCEEDED") << "the greedy one does not get it back";

  for (Stream* const stream : {greedy[0].get(), other.get()}) {
    ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.result().status().code(), 0);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  for (size_t i = 2; i < kStreams; ++i) {
    greedy[i]->WritesDone();
    EXPECT_TRUE(greedy[i]->Finish().ok());
  }
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamTest, TheNumberOfStreamsIsBounded) {
  server::Config config;
  config.mutable_limits()->set_max_streams(1);
  StartServer(config);
  grpc::ClientContext context;
  const auto stream = Open(context, {});
  v1::StreamFramesRequest second;
  second.mutable_open();
  EXPECT_EQ(RefusalOf(second), "QUOTA_EXCEEDED");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(NothingIsLeft());
  grpc::ClientContext next;
  const auto third = Open(next, {});
  third->WritesDone();
  EXPECT_TRUE(third->Finish().ok());
}

}  // namespace
}  // namespace orbserve
