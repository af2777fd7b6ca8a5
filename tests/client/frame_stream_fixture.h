// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A service of streams that does on each connection what a test says, and a stream to it.

#ifndef ORBSERVE_TESTS_CLIENT_FRAME_STREAM_FIXTURE_H_
#define ORBSERVE_TESTS_CLIENT_FRAME_STREAM_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/client/refusing_port.h"

namespace orbserve::client {

using ServerStream = grpc::ServerReaderWriter<v1::StreamFramesResponse, v1::StreamFramesRequest>;
// The service does this after it has answered `open`.
using Connection = std::function<grpc::Status(ServerStream* stream)>;

inline const grpc::Status kGone(grpc::UNAVAILABLE, "gone");

inline grpc::Status WireError(grpc::StatusCode code, const std::string& reason,
                              uint32_t retry_after_ms = 0) {
  v1::Status entry;
  entry.set_code(code);
  entry.set_reason(reason);
  entry.set_message("text");
  entry.set_retry_after_ms(retry_after_ms);
  v1::CallStatus call;
  call.set_code(code);
  call.set_message("text");
  call.add_details()->PackFrom(entry);
  return grpc::Status(code, "text", call.SerializeAsString());
}

inline v1::FrameResult ResultOf(const v1::StreamFramesRequest& request,
                                const std::vector<uint64_t>& tracks = {},
                                const std::vector<uint64_t>& ended = {}) {
  v1::FrameResult result;
  result.set_sequence(request.frame().sequence());
  result.set_timestamp_ns(request.frame().timestamp_ns());
  for (const uint64_t id : tracks) {
    v1::Track& track = *result.add_tracks();
    track.set_id(id);
    track.set_gain(1);
  }
  for (const uint64_t id : ended) {
    v1::EndedTrack& track = *result.add_ended_tracks();
    track.set_id(id);
    track.set_reason(v1::TRACK_END_LEFT_IMAGE);
  }
  return result;
}

inline void Answer(ServerStream* stream, const v1::StreamFramesRequest& request,
                   const std::vector<uint64_t>& tracks = {}) {
  v1::StreamFramesResponse response;
  *response.mutable_result() = ResultOf(request, tracks);
  stream->Write(response);
}

// Answers `count` frames, or all.
inline grpc::Status Echo(ServerStream* stream, int count = 1 << 30) {
  v1::StreamFramesRequest request;
  for (int i = 0; i < count && stream->Read(&request); ++i) Answer(stream, request);
  return grpc::Status::OK;
}

class ScriptedService : public v1::Features::Service {
 public:
  grpc::Status StreamFrames(grpc::ServerContext*, ServerStream* stream) override {
    v1::StreamFramesRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    Connection connection;
    v1::StreamFramesResponse response;
    {
      absl::MutexLock lock(&mutex);
      opens.push_back(request.open());
      const size_t number = opens.size() - 1;
      if (number < refusals.size() && !refusals[number].ok()) return refusals[number];
      response.mutable_opened()->set_stream_id(number + 1);
      response.mutable_opened()->set_max_in_flight(4);
      connection =
          number < script.size() ? script[number] : [](ServerStream* s) { return Echo(s); };
    }
    stream->Write(response);
    return connection(stream);
  }

  absl::Mutex mutex;
  std::vector<Connection> script ABSL_GUARDED_BY(mutex);      // by connection; after them: Echo
  std::vector<grpc::Status> refusals ABSL_GUARDED_BY(mutex);  // of the opening, by connection
  std::vector<v1::StreamOpen> opens ABSL_GUARDED_BY(mutex);
};

class FrameStreamFixture : public ::testing::Test {
 protected:
  FrameStreamFixture() {
    // The in-process transport has no buffers: a service that answers would wait for a client that
    // still sends.
    StartServer();
    client_ = *Client::Connect(absl::StrCat("127.0.0.1:", port_), {});
  }
  ~FrameStreamFixture() override { server_->Shutdown(); }

  // Starts the server where it was before; the first time on any port.
  void StartServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  // Reads a frame, and is gone once its server can be reached no more: a client that connects again
  // at once finds none.
  Connection DiesWithItsServer() {
    unreachable_ = std::make_shared<absl::Notification>();
    return [unreachable = unreachable_](ServerStream* stream) {
      v1::StreamFramesRequest request;
      stream->Read(&request);
      unreachable->WaitForNotification();
      return kGone;
    };
  }

  // Ends the server that has such a connection, and takes the result that tells the loss.
  void EndServerUnder(FrameStream* stream, uint64_t sequence) {
    std::thread shutdown([this] { server_->Shutdown(); });
    while (orbserve::testing::Accepts(port_)) absl::SleepFor(absl::Milliseconds(1));
    unreachable_->Notify();
    EXPECT_EQ(Next(stream), absl::StrCat(sequence, "!"));
    shutdown.join();
  }

  void SetScript(std::vector<Connection> script, std::vector<grpc::Status> refusals = {}) {
    absl::MutexLock lock(&service_.mutex);
    service_.script = std::move(script);
    service_.refusals = std::move(refusals);
  }

  std::unique_ptr<FrameStream> Open(absl::Duration reconnect_for = absl::Seconds(60),
                                    const v1::StreamOpen& open = {}) {
    auto stream = client_->OpenStream(
        open, {.reconnect_for = reconnect_for,
               .first_delay = absl::Milliseconds(1),
               .max_delay = absl::Milliseconds(4),
               .on_event = [this](const StreamEvent& event) { events_.push_back(event); }});
    EXPECT_TRUE(stream.ok()) << stream.status();
    return stream.ok() ? *std::move(stream) : nullptr;
  }

  static v1::StreamOpen Tracking() {
    v1::StreamOpen open;
    open.set_track(true);
    return open;
  }

  static absl::Status Send(FrameStream* stream, uint64_t sequence) {
    v1::Frame frame;
    frame.set_sequence(sequence);
    frame.set_timestamp_ns(static_cast<int64_t>(sequence) * 10);
    return stream->Send(std::move(frame));
  }

  // The next result: its sequence, with "!" if it has a status; "end", or an error.
  static std::string Next(FrameStream* stream) {
    const auto result = stream->Receive();
    if (!result.ok()) return result.status().ToString();
    if (!result->has_value()) return "end";
    EXPECT_TRUE((*result)->status().code() == 0 || (*result)->timestamp_ns() > 0);
    return absl::StrCat((*result)->sequence(), (*result)->status().code() == 0 ? "" : "!");
  }

  std::vector<StreamEvent::Kind> Kinds() const {
    std::vector<StreamEvent::Kind> kinds;
    for (const StreamEvent& event : events_) kinds.push_back(event.kind);
    return kinds;
  }

  ScriptedService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  std::vector<StreamEvent> events_;
  std::shared_ptr<absl::Notification> unreachable_;
};

// Reads `frames` frames, answers `answered` of them, and is gone.
inline Connection Dies(int frames, int answered) {
  return [=](ServerStream* stream) {
    v1::StreamFramesRequest request;
    for (int i = 0; i < frames && stream->Read(&request); ++i) {
      if (i < answered) Answer(stream, request);
    }
    return kGone;
  };
}

}  // namespace orbserve::client

#endif  // ORBSERVE_TESTS_CLIENT_FRAME_STREAM_FIXTURE_H_
