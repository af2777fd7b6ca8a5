// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/status.h"

#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The table entry in a status of a call.
v1::Status EntryOf(const grpc::Status& status) {
  v1::CallStatus call;
  EXPECT_TRUE(call.ParseFromString(status.error_details()));
  EXPECT_EQ(call.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(call.message(), status.error_message());
  v1::Status entry;
  EXPECT_EQ(call.details_size(), 1);
  EXPECT_TRUE(call.details_size() == 1 && call.details(0).UnpackTo(&entry));
  return entry;
}

TEST(StatusTest, EveryReasonKeepsNameCodeAndAdvice) {
  for (const ErrorReasonInfo& info : kErrorReasons) {
    const grpc::Status status = StatusToGrpc(MakeError(info.reason, "what was wrong"), nullptr);
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(info.code));
    const v1::Status entry = EntryOf(status);
    EXPECT_EQ(entry.code(), static_cast<int>(info.code));
    EXPECT_EQ(entry.reason(), std::string(info.name));
    EXPECT_EQ(entry.message(), status.error_message());
    EXPECT_EQ(entry.retry_after_ms(), static_cast<uint32_t>(info.retry_after_ms));
  }
}

// Field numbers and types of google.rpc.Status, written by hand.
TEST(StatusTest, DetailsAreAGoogleRpcStatusOnTheWire) {
  const grpc::Status status =
      StatusToGrpc(MakeError(ErrorReason::kDraining, "try elsewhere"), nullptr);
  v1::Status entry;
  StatusToProto(MakeError(ErrorReason::kDraining, "try elsewhere"), &entry);
  const auto field = [](int number, const std::string& bytes) {
    return std::string({static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())}) +
           bytes;
  };
  const std::string any =
      field(1, "type.googleapis.com/orbserve.v1.Status") + field(2, entry.SerializeAsString());
  ASSERT_LT(any.size(), 128u);  // lengths of one byte
  EXPECT_EQ(status.error_details(),
            std::string("\x08\x0e") + field(2, "try elsewhere") + field(3, any));
}

TEST(StatusTest, OkIsEmpty) {
  v1::Status proto;
  proto.set_reason("old");
  StatusToProto(absl::OkStatus(), &proto);
  EXPECT_EQ(proto.ByteSizeLong(), 0u);
  EXPECT_TRUE(StatusToGrpc(absl::OkStatus(), nullptr).ok());
}

TEST(StatusTest, OurOwnFaultsDoNotLeakTheirText) {
  for (const absl::Status& status :
       {MakeError(ErrorReason::kInternal, "/etc/orbserve/key.pem is broken"),
        absl::InternalError("/etc/orbserve/key.pem is broken"),
        absl::UnknownError("/etc/orbserve/key.pem is broken")}) {
    v1::Status proto;
    StatusToProto(status, &proto);
    EXPECT_EQ(proto.reason(), "INTERNAL");
    EXPECT_THAT(proto.message(), Not(HasSubstr("key.pem")));
  }
}

TEST(StatusTest, LongAndUnprintableTextsAreCut) {
  v1::Status proto;
  StatusToProto(MakeError(ErrorReason::kBadOptions, std::string(5000, 'x')), &proto);
  EXPECT_LT(proto.message().size(), 1100u);
  StatusToProto(MakeError(ErrorReason::kBadOptions, "a\nb\xff"), &proto);
  EXPECT_EQ(proto.message(), "a?b?");
}

TEST(StatusTest, TheLongestErrorFitsIntoTheMetadataThatPeersAccept) {
  // gRPC writes '%' as three bytes, and the details in base64.
  const grpc::Status status =
      StatusToGrpc(MakeError(ErrorReason::kBadOptions, std::string(5000, '%')), nullptr);
  EXPECT_GT(EntryOf(status).message().size(), 1000u);
  EXPECT_LT(3 * status.error_message().size() + (status.error_details().size() + 2) / 3 * 4, 6144u);
}

}  // namespace
}  // namespace orbserve
