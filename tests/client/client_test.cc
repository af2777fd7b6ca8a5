// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "orbserve/client.h"

#include <atomic>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"
#include "tests/support/certificates.h"

namespace orbserve::client {
namespace {

namespace testing = ::orbserve::testing;

grpc::Status WireError(grpc::StatusCode code, const std::string& reason, const std::string& message,
                       uint32_t retry_after_ms = 0) {
  v1::Status entry;
  entry.set_code(code);
  entry.set_reason(reason);
  entry.set_message(message);
  entry.set_retry_after_ms(retry_after_ms);
  v1::CallStatus call;
  call.set_code(code);
  call.set_message(message);
  call.add_details()->PackFrom(entry);
  return grpc::Status(code, message, call.SerializeAsString());
}

// A service whose answers the test decides.
class FakeService : public v1::Features::Service {
 public:
  grpc::Status Extract(grpc::ServerContext* context, const v1::ExtractRequest* request,
                       v1::ExtractResponse* response) override {
    const int now = ++running;
    int seen = most_running;
    while (now > seen && !most_running.compare_exchange_weak(seen, now)) {
    }
    const auto id = context->client_metadata().find("x-client-id");
    if (id != context->client_metadata().end()) {
      absl::MutexLock lock(&mutex);
      client_id = std::string(id->second.data(), id->second.size());
    }
    const int call = ++calls;
    if (now > quota) {
      --running;
      return WireError(grpc::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", "too much is under way", 1);
    }
    while (hold && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    --running;
    if (call <= cancellations) return grpc::Status(grpc::CANCELLED, "shutting down");
    if (call <= too_large) {
      return grpc::Status(grpc::RESOURCE_EXHAUSTED, "Received message larger than max");
    }
    if (call <= refusals) {
      return WireError(grpc::RESOURCE_EXHAUSTED, "QUEUE_FULL", "the queue is full", 1);
    }
    if (request->frame().width_px() == 0) {
      return WireError(grpc::INVALID_ARGUMENT, "BAD_IMAGE", "width_px must be positive; got 0");
    }
    response->set_sequence(request->frame().sequence());
    response->mutable_features()->set_image_width_px(request->frame().width_px());
    return grpc::Status::OK;
  }

  grpc::Status StreamFrames(grpc::ServerContext* context,
                            grpc::ServerReaderWriter<v1::StreamFramesResponse,
                                                     v1::StreamFramesRequest>* stream) override {
    v1::StreamFramesRequest request;
    if (!stream->Read(&request) || !request.has_open()) return grpc::Status::CANCELLED;
    if (request.open().pipeline().preset() == "bad") {
      return WireError(grpc::INVALID_ARGUMENT, "BAD_OPTIONS", "no such preset");
    }
    while (hold && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    v1::StreamFramesResponse response;
    response.mutable_opened()->set_max_in_flight(4);
    stream->Write(response);
    response.Clear();
    response.mutable_going_away()->mutable_status()->set_code(grpc::UNAVAILABLE);
    response.mutable_going_away()->mutable_status()->set_reason("DRAINING");
    while (stream->Read(&request)) {
      if (cancellations > 0) return grpc::Status(grpc::CANCELLED, "shutting down");
      if (request.frame().sequence() == 2) stream->Write(response);
      v1::StreamFramesResponse answer;
      answer.mutable_result()->set_sequence(request.frame().sequence());
      stream->Write(answer);
    }
    return grpc::Status::OK;
  }

  std::atomic<int> running = 0;
  std::atomic<int> most_running = 0;
  std::atomic<int> calls = 0;
  std::atomic<int> refusals = 0;
  std::atomic<int> quota = 1000;       // calls at a time
  std::atomic<int> too_large = 0;      // as gRPC says it
  std::atomic<int> cancellations = 0;  // as gRPC does it while a server shuts down
  std::atomic<bool> hold = false;
  absl::Mutex mutex;
  std::string client_id ABSL_GUARDED_BY(mutex);
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }

  ~ClientTest() override {
    service_.hold = false;
    server_->Shutdown();
  }

  std::unique_ptr<Client> Connect(const ClientOptions& options = {}) {
    return *Client::Connect(server_->InProcessChannel({}), options);
  }

  static v1::ExtractRequest Request(uint64_t sequence = 0) {
    v1::ExtractRequest request;
    request.mutable_frame()->set_width_px(1);
    request.mutable_frame()->set_sequence(sequence);
    return request;
  }

  FakeService service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ClientTest, ErrorCarriesCodeReasonAndMessageOfTheServer) {
  const auto response = Connect()->Extract(v1::ExtractRequest());
  EXPECT_EQ(response.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(response.status().message(), "BAD_IMAGE: width_px must be positive; got 0");
  EXPECT_EQ(WireStatusOf(response.status()).reason(), "BAD_IMAGE");
  EXPECT_EQ(WireStatusOf(response.status()).message(), "width_px must be positive; got 0");
}

TEST_F(ClientTest, ErrorOfTheWayHasNoReason) {
  const auto client = Client::Connect("127.0.0.1:1", {});
  ASSERT_TRUE(client.ok());
  const auto info = (*client)->GetServerInfo();
  EXPECT_EQ(info.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(WireStatusOf(info.status()).reason(), "");
  EXPECT_EQ(WireStatusOf(info.status()).code(), 14);
}

TEST_F(ClientTest, ACallThatAServerOnItsWayOutCancelsIsUnavailable) {
  service_.cancellations = 1;
  const auto client = Connect();
  const auto response = client->Extract(Request());
  EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(response.status().message(), "the server is going away: shutting down");
  EXPECT_EQ(WireStatusOf(response.status()).reason(), "");

  auto stream = client->OpenStream({});
  ASSERT_TRUE(stream.ok()) << stream.status();
  (void)(*stream)->Send({});
  EXPECT_EQ((*stream)->Receive().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, PipelineTriesAgainWhenTheServerGoesAway) {
  service_.cancellations = 2;
  const auto client = Connect();
  ExtractPipeline pipeline(client.get(), {.max_in_flight = 1, .max_attempts = 3});
  absl::Status status = absl::UnknownError("no answer");
  pipeline.Submit(Request(), [&](absl::StatusOr<v1::ExtractResponse> r) { status = r.status(); });
  pipeline.Drain();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(service_.calls, 3);
}

TEST_F(ClientTest, CallsCarryTheClientsName) {
  ASSERT_TRUE(Connect({.client_id = "robot-7"})->Extract(Request()).ok());
  absl::MutexLock lock(&service_.mutex);
  EXPECT_EQ(service_.client_id, "robot-7");
}

TEST_F(ClientTest, CallEndsAtItsTimeout) {
  service_.hold = true;
  const auto response = Connect({.timeout = absl::Milliseconds(50)})->Extract(Request());
  EXPECT_EQ(response.status().code(), absl::StatusCode::kDeadlineExceeded);
}

// Before anything is sent: gRPC would say that the server cannot be reached.
TEST(ClientTlsTest, FilesThatCannotBeUsedAreNamed) {
  const testing::TemporaryFolder folder;
  const testing::CertificateAndKey own = testing::MakeCertificate();
  const testing::CertificateAndKey locked = testing::MakeCertificate({.pass_phrase = "secret"});
  const std::string good = folder.Write("cert.pem", own.certificate);
  const std::string key = folder.Write("key.pem", own.key);
  const std::string broken = folder.Write(
      "broken.pem",
      own.certificate + "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n");
  const std::string none = folder / "none.pem";
  const std::string other = folder.Write("other.pem", testing::MakeCertificate().key);
  const std::string locked_cert = folder.Write("locked.pem", locked.certificate);
  const std::string locked_key = folder.Write("locked-key.pem", locked.key);
  struct Row {
    std::string ca;
    std::string cert;
    std::string key;
    absl::StatusCode code;
    std::string message;
  };
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  constexpr auto kMissing = absl::StatusCode::kNotFound;
  for (const Row& row : std::vector<Row>{
           {good, "", "", absl::StatusCode::kOk, ""},
           {good, good, key, absl::StatusCode::kOk, ""},
           {none, "", "", kMissing, "certificate file cannot be read: " + none},
           {"/dev/null", "", "", kBad, "certificate file holds no PEM certificate: /dev/null"},
           {broken, "", "", kBad,
            "certificate file holds a certificate that cannot be read: " + broken},
           {good, good, "", kBad, "must be given together"},
           {good, "", key, kBad, "must be given together"},
           {"", good, key, kBad, "needs certificates to check the server with"},
           {good, none, key, kMissing, "certificate file cannot be read: " + none},
           {good, key, key, kBad, "certificate file holds no PEM certificate: " + key},
           {good, good, none, kMissing, "key file cannot be read: " + none},
           {good, good, good, kBad, "key file holds no private key"},
           {good, locked_cert, locked_key, kBad, "without a pass phrase: " + locked_key},
           {good, good, other, kBad, "key file is not that of the certificate in " + good}}) {
    const absl::Status status =
        Client::Connect("localhost:1",
                        {.tls_ca_file = row.ca, .tls_cert_file = row.cert, .tls_key_file = row.key})
            .status();
    EXPECT_EQ(status.code(), row.code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), row.message)) << status;
  }
}

TEST_F(ClientTest, PipelineKeepsNoMoreThanItsWindowUnderWayAndAnswersAll) {
  constexpr int kCalls = 300;
  constexpr int kWindow = 5;
  const auto client = Connect();
  std::atomic<int> answered = 0;
  std::atomic<uint64_t> sum = 0;
  {
    ExtractPipeline pipeline(client.get(), {.max_in_flight = kWindow});
    for (int i = 0; i < kCalls; ++i) {
      pipeline.Submit(Request(static_cast<uint64_t>(i)),
                      [&](absl::StatusOr<v1::ExtractResponse> r) {
                        ASSERT_TRUE(r.ok()) << r.status();
                        sum += r->sequence();
                        ++answered;
                      });
    }
    pipeline.Drain();
    EXPECT_EQ(answered, kCalls);
  }
  EXPECT_EQ(sum, kCalls * (kCalls - 1) / 2);
  EXPECT_LE(service_.most_running, kWindow);
}

TEST_F(ClientTest, PipelineTriesAgainWhenTheServerSaysSo) {
  service_.refusals = 3;
  const auto client = Connect();
  ExtractPipeline pipeline(client.get(), {.max_in_flight = 1, .max_attempts = 4});
  absl::Status status = absl::UnknownError("no answer");
  pipeline.Submit(Request(), [&](absl::StatusOr<v1::ExtractResponse> r) { status = r.status(); });
  pipeline.Drain();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(service_.calls, 4);
}

TEST_F(ClientTest, PipelineGivesUpAfterItsTriesAndNeverRepeatsWhatIsWrong) {
  service_.refusals = 1000;
  const auto client = Connect();
  ExtractPipeline pipeline(client.get(), {.max_in_flight = 1, .max_attempts = 3});
  absl::Status status;
  const auto keep = [&](absl::StatusOr<v1::ExtractResponse> r) { status = r.status(); };
  pipeline.Submit(Request(), keep);
  pipeline.Drain();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(service_.calls, 3);
  service_.refusals = 0;
  pipeline.Submit(v1::ExtractRequest(), keep);
  pipeline.Drain();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(service_.calls, 4);
}

TEST_F(ClientTest, PipelineKeepsFramesOverTheQuotaUntilAnotherOneEnds) {
  service_.quota = 2;
  service_.hold = true;
  const auto client = Connect();
  constexpr int kCalls = 20;
  std::atomic<int> answered = 0;
  std::atomic<int> failed = 0;
  ExtractPipeline pipeline(client.get(), {.max_in_flight = 8, .max_attempts = 2});
  std::thread submitter([&] {
    for (int i = 0; i < kCalls; ++i) {
      pipeline.Submit(Request(), [&](absl::StatusOr<v1::ExtractResponse> r) {
        ++(r.ok() ? answered : failed);
      });
    }
  });
  // More than two tries of each would have been made while the two are held.
  while (service_.calls < 8) absl::SleepFor(absl::Milliseconds(1));
  absl::SleepFor(absl::Milliseconds(50));
  service_.hold = false;
  submitter.join();
  pipeline.Drain();
  EXPECT_EQ(answered, kCalls);
  EXPECT_EQ(failed, 0);
}

TEST_F(ClientTest, PipelineGivesUpWhenAloneOverTheQuotaAndEndsFramesThatWait) {
  service_.quota = 0;
  const auto client = Connect();
  ExtractPipeline alone(client.get(), {.max_in_flight = 1, .max_attempts = 3});
  absl::Status status;
  alone.Submit(Request(), [&](absl::StatusOr<v1::ExtractResponse> r) { status = r.status(); });
  alone.Drain();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(service_.calls, 3);
  service_.quota = 1;
  service_.hold = true;
  std::atomic<int> ended = 0;
  ExtractPipeline pipeline(client.get(), {.max_in_flight = 3});
  for (int i = 0; i < 3; ++i) {
    pipeline.Submit(Request(), [&](absl::StatusOr<v1::ExtractResponse> r) {
      EXPECT_FALSE(r.ok());
      ++ended;
    });
  }
  while (service_.calls < 6) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(ended, 0);
  pipeline.Cancel();
  pipeline.Drain();
  EXPECT_EQ(ended, 3);
}

TEST_F(ClientTest, PipelineSendsAMessageThatIsTooLargeOnce) {
  service_.too_large = 1000;
  const auto client = Connect();
  ExtractPipeline pipeline(client.get(), {.max_in_flight = 1, .max_attempts = 3});
  absl::Status status;
  pipeline.Submit(Request(), [&](absl::StatusOr<v1::ExtractResponse> r) { status = r.status(); });
  pipeline.Drain();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(service_.calls, 1);
}

TEST_F(ClientTest, CancelledPipelineAnswersWhatIsUnderWayAndWaiting) {
  service_.hold = true;
  const auto client = Connect();
  std::atomic<int> cancelled = 0;
  ExtractPipeline pipeline(client.get(), {.max_in_flight = 2});
  const auto count = [&](absl::StatusOr<v1::ExtractResponse> r) {
    cancelled += r.status().code() == absl::StatusCode::kCancelled ? 1 : 0;
  };
  std::thread submitter([&] {
    for (int i = 0; i < 4; ++i) pipeline.Submit(Request(), count);
  });
  while (service_.running < 2) absl::SleepFor(absl::Milliseconds(1));
  pipeline.Cancel();
  submitter.join();
  pipeline.Drain();
  EXPECT_EQ(cancelled, 4);
}

TEST_F(ClientTest, StreamGivesResultsInOrderAndEndsWell) {
  const auto client = Connect();
  auto stream = client->OpenStream({});
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ((*stream)->opened().max_in_flight(), 4u);
  constexpr uint64_t kFrames = 50;
  std::jthread sender([&] {
    for (uint64_t i = 0; i < kFrames; ++i) {
      v1::Frame frame;
      frame.set_sequence(i);
      EXPECT_TRUE((*stream)->Send(std::move(frame)).ok());
    }
    EXPECT_TRUE((*stream)->CloseSend().ok());
  });
  const absl::Cleanup end_sender = [&] { (*stream)->Cancel(); };  // also when something fails
  for (uint64_t i = 0; i < kFrames; ++i) {
    const auto result = (*stream)->Receive();
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((*result)->sequence(), i);
  }
  const auto end = (*stream)->Receive();
  sender.join();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_FALSE(end->has_value());
  EXPECT_TRUE((*stream)->going_away());
}

TEST_F(ClientTest, StreamThatIsRefusedTellsWhy) {
  v1::StreamOpen open;
  open.mutable_pipeline()->set_preset("bad");
  const auto stream = Connect()->OpenStream(open);
  EXPECT_EQ(stream.status().message(), "BAD_OPTIONS: no such preset");
}

TEST_F(ClientTest, StreamThatIsNotOpenedInTimeIsGivenUp) {
  service_.hold = true;
  const auto stream = Connect({.timeout = absl::Milliseconds(50)})->OpenStream({});
  EXPECT_EQ(stream.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ClientTest, CancelWakesAReceiverAndTheStreamSaysSo) {
  const auto client = Connect();
  auto stream = client->OpenStream({});
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::thread canceller([&] { (*stream)->Cancel(); });
  const auto result = (*stream)->Receive();
  canceller.join();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE((*stream)->Send({}).ok());
}

TEST_F(ClientTest, HealthOfAServerWithoutTheServiceIsAnError) {
  EXPECT_EQ(Connect()->CheckHealth().status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace orbserve::client
