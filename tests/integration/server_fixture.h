// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A real server on a free port, and frames to send to it.

#ifndef ORBSERVE_TESTS_INTEGRATION_SERVER_FIXTURE_H_
#define ORBSERVE_TESTS_INTEGRATION_SERVER_FIXTURE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "server/server.h"
#include "tests/support/image_makers.h"

namespace orbserve {

// Grey blocks of two levels, seeded: plenty of corners.
inline std::string BlockPixels(int width_px, int height_px, uint32_t seed) {
  std::string pixels(static_cast<size_t>(width_px) * static_cast<size_t>(height_px), '\0');
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      uint32_t hash = seed + static_cast<uint32_t>(x / 7) * 2654435761u +
                      static_cast<uint32_t>(y / 9) * 2246822519u;
      hash = (hash ^ (hash >> 15)) * 2246822519u;
      pixels[static_cast<size_t>(y) * static_cast<size_t>(width_px) + static_cast<size_t>(x)] =
          static_cast<char>((hash >> 13) & 0xff);
    }
  }
  return pixels;
}

inline v1::Frame MakeFrame(int width_px, int height_px, uint32_t seed) {
  v1::Frame frame;
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(static_cast<uint32_t>(width_px));
  frame.set_height_px(static_cast<uint32_t>(height_px));
  frame.set_sequence(seed);
  frame.set_pixels(BlockPixels(width_px, height_px, seed));
  return frame;
}

inline v1::Frame FrameOf(const testing::TestImage& image) {
  v1::Frame frame;
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(static_cast<uint32_t>(image.width_px()));
  frame.set_height_px(static_cast<uint32_t>(image.height_px()));
  for (int y = 0; y < image.height_px(); ++y) {
    frame.mutable_pixels()->append(reinterpret_cast<const char*>(image.view().Row(y)),
                                   static_cast<size_t>(image.width_px()));
  }
  return frame;
}

// How many times slower everything may be: sanitizers cost ten times and more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSlower = 20;
#else
constexpr int kSlower = 1;
#endif

// Waits for what happens soon in another thread or process; false after ten seconds.
inline bool WaitUntil(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 * kSlower; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class ServerTest : public ::testing::Test {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::StreamFramesRequest, v1::StreamFramesResponse>;

  void SetUp() override { StartServer({}); }

  // Starts a server on the processor, also where there is a device.
  void StartServer(server::Config config, ServerHooks hooks = {}) {
    stub_.reset();
    server_.reset();
    config.mutable_backend()->set_name("cpu");
    config.set_listen("127.0.0.1:0");
    config.set_http_listen("");
    auto created = Server::Create(config, std::move(hooks));
    ASSERT_TRUE(created.ok()) << created.status();
    server_ = *std::move(created);
    stub_ = NewStub();
  }

  // Hooks of a server with other limits than those that follow from its configuration.
  static ServerHooks WithLimits(std::function<void(DerivedLimits*)> change) {
    ServerHooks hooks;
    hooks.change_limits = std::move(change);
    return hooks;
  }

  // A connection of its own. With a fixed window it takes little of what nobody reads; otherwise
  // the window grows with what gRPC finds that the connection carries.
  std::shared_ptr<grpc::Channel> NewChannel(bool fixed_window = false) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (fixed_window) arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetMaxReceiveMessageSize(-1);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                     grpc::InsecureChannelCredentials(), arguments);
  }

  std::unique_ptr<v1::Features::Stub> NewStub(bool fixed_window = false) const {
    return v1::Features::NewStub(NewChannel(fixed_window));
  }

  static void SetLimit(grpc::ClientContext& context, int seconds = 20 * kSlower) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
  }

  // Opens a stream with `open` and reads the server's answer to it.
  std::unique_ptr<Stream> Open(grpc::ClientContext& context, const v1::StreamOpen& open = {},
                               v1::StreamOpened* opened = nullptr,
                               int limit_seconds = 20 * kSlower) {
    SetLimit(context, limit_seconds);
    auto stream = stub_->StreamFrames(&context);
    v1::StreamFramesRequest request;
    *request.mutable_open() = open;
    EXPECT_TRUE(stream->Write(request));
    v1::StreamFramesResponse response;
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_TRUE(response.has_opened());
    if (opened != nullptr) *opened = response.opened();
    return stream;
  }

  static bool Send(Stream& stream, const v1::Frame& frame) {
    v1::StreamFramesRequest request;
    *request.mutable_frame() = frame;
    return stream.Write(request);
  }

  grpc::Status Extract(const v1::ExtractRequest& request, v1::ExtractResponse* response) {
    grpc::ClientContext context;
    SetLimit(context);
    return stub_->Extract(&context, request, response);
  }

  // The table entry that a failed call carries.
  static v1::Status Details(const grpc::Status& status) {
    v1::CallStatus call;
    EXPECT_TRUE(call.ParseFromString(status.error_details()));
    EXPECT_EQ(call.code(), static_cast<int>(status.error_code()));
    EXPECT_EQ(call.message(), status.error_message());
    v1::Status entry;
    EXPECT_EQ(call.details_size(), 1);
    EXPECT_TRUE(call.details_size() == 1 && call.details(0).UnpackTo(&entry));
    EXPECT_EQ(entry.code(), static_cast<int>(status.error_code()));
    EXPECT_EQ(entry.message(), status.error_message());
    return entry;
  }

  static void ExpectMatchIsTheLastStage(const v1::FrameTimings& timings) {
    ASSERT_FALSE(timings.stages().empty());
    const v1::StageTime& last = *timings.stages().rbegin();
    EXPECT_EQ(last.stage(), "match");
    EXPECT_EQ(last.duration_ns(), timings.match_ns());
    EXPECT_FALSE(last.sampled());
  }

  static bool Eventually(const std::function<bool()>& condition) { return WaitUntil(condition); }

  // A number on the metrics page: of the line that begins with `series` and a space.
  double Metric(const std::string& series) const {
    const std::string page = absl::StrCat("\n", server_->RenderMetrics());
    const size_t at = page.find(absl::StrCat("\n", series, " "));
    return at == std::string::npos ? -1 : std::stod(page.substr(at + series.size() + 2));
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::Features::Stub> stub_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_INTEGRATION_SERVER_FIXTURE_H_
