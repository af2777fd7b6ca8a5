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

TEST(StatusTest, EveryReasonKeepsNameCodeAndAdvice) {
  for (const ErrorReasonInfo& info : kErrorReasons) {
    const grpc::Status status = StatusToGrpc(MakeError(info.reason, "what was wrong"), nullptr);
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(info.code));
    v1::Status details;
    ASSERT_TRUE(details.ParseFromString(status.error_details()));
    EXPECT_EQ(details.reason(), std::string(info.name));
    EXPECT_EQ(details.retry_after_ms(), static_cast<uint32_t>(info.retry_after_ms));
  }
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

}  // namespace
}  // namespace orbserve
