// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/status.h"

#include "gtest/gtest.h"
#include "orbserve/client.h"

namespace orbserve::client {
namespace {

v1::Status Entry(int code, const std::string& message) {
  v1::Status entry;
  entry.set_code(code);
  entry.set_reason("QUEUE_FULL");
  entry.set_message(message);
  entry.set_retry_after_ms(50);
  return entry;
}

v1::CallStatus Call(const std::string& message) {
  v1::CallStatus call;
  call.set_code(grpc::RESOURCE_EXHAUSTED);
  call.set_message(message);
  return call;
}

absl::Status FromDetails(const std::string& details) {
  return FromGrpc(grpc::Status(grpc::RESOURCE_EXHAUSTED, "full", details));
}

void ExpectEntry(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "QUEUE_FULL: full");
  EXPECT_EQ(WireStatusOf(status).reason(), "QUEUE_FULL");
  EXPECT_EQ(WireStatusOf(status).retry_after_ms(), 50u);
}

void ExpectNoEntry(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(WireStatusOf(status).reason(), "");
}

TEST(ClientStatusTest, AnErrorHasWordsAlsoIfTheServerGivesNone) {
  EXPECT_EQ(StatusFromWire(Entry(8, "")).message(), "QUEUE_FULL: the server gives no reason");
  v1::Status bare;
  bare.set_code(8);
  EXPECT_EQ(StatusFromWire(bare).message(), "the server gives no reason");
}

TEST(ClientStatusTest, OnlyAConnectionThatDoesNotBeginIsGivenAdvice) {
  const auto text = [](const char* message) {
    return std::string(FromGrpc(grpc::Status(grpc::UNAVAILABLE, message)).message());
  };
  EXPECT_EQ(text("Socket closed"), "Socket closed");
  const std::string refused =
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:192.0.2.1:5: Failed to "
      "connect "
      "to remote host: Connection refused";
  EXPECT_EQ(text(refused.c_str()), refused);
  // gRPC with BoringSSL.
  EXPECT_NE(text("failed to connect to all addresses; last error: UNKNOWN: Ssl handshake failed: "
                 "SSL_ERROR_SSL: error:1000007d:SSL "
                 "routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED")
                .find("--tls-ca"),
            std::string::npos);
  // The port of the HTTP pages.
  EXPECT_NE(text("failed to connect to all addresses; last error: UNKNOWN: ipv4:192.0.2.1:9464: "
                 "Trying to connect an http1.x server")
                .find("give the port of its service (--listen)"),
            std::string::npos);
}

TEST(ClientStatusTest, TheEntryIsADetailOfTheCallsStatus) {
  v1::CallStatus call = Call("full");
  call.add_details()->PackFrom(Entry(grpc::RESOURCE_EXHAUSTED, "full"));
  ExpectEntry(FromDetails(call.SerializeAsString()));
}

TEST(ClientStatusTest, TheEntryIsFoundAmongOtherDetails) {
  v1::CallStatus call = Call("full");
  call.add_details()->PackFrom(v1::FrameTimings());
  call.add_details()->set_type_url("type.example.com/some.other.Message");
  call.add_details()->PackFrom(Entry(grpc::RESOURCE_EXHAUSTED, "full"));
  ExpectEntry(FromDetails(call.SerializeAsString()));
}

TEST(ClientStatusTest, ABareEntryOfAnEarlierServerIsRead) {
  ExpectEntry(FromDetails(Entry(grpc::RESOURCE_EXHAUSTED, "full").SerializeAsString()));
}

TEST(ClientStatusTest, DetailsWithoutAnEntryAreNotTakenForOne) {
  ExpectNoEntry(FromDetails(""));
  ExpectNoEntry(FromDetails("no message at all"));
  ExpectNoEntry(FromDetails(Call("full").SerializeAsString()));
  v1::CallStatus call = Call("full");
  call.add_details()->PackFrom(v1::FrameTimings());
  ExpectNoEntry(FromDetails(call.SerializeAsString()));
}

TEST(ClientStatusTest, AnEntryOfAnotherCodeIsNotTheCallsOwn) {
  v1::CallStatus call = Call("full");
  call.add_details()->PackFrom(Entry(grpc::UNAVAILABLE, "full"));
  ExpectNoEntry(FromDetails(call.SerializeAsString()));
  ExpectNoEntry(FromDetails(Entry(grpc::UNAVAILABLE, "full").SerializeAsString()));
}

TEST(ClientStatusTest, CancelledWithoutAnEntryIsAServerThatGoesUnlessTheCallerDidIt) {
  const grpc::Status status(grpc::CANCELLED, "shutting down");
  EXPECT_EQ(FromGrpc(status).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(FromGrpc(status, true).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

}  // namespace
}  // namespace orbserve::client
