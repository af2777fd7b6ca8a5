// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/http2_guard.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

constexpr uint8_t kData = 0, kHeaders = 1, kPriority = 2, kReset = 3, kSettings = 4, kPing = 6,
                  kWindowUpdate = 8, kContinuation = 9;
constexpr uint8_t kEndStream = 1, kAcknowledge = 1, kEndHeaders = 4;

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>(length >> shift));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(stream >> shift));
  return frame + std::string(length, '\0');
}

// A message of gRPC with its prefix.
std::string Message(uint32_t length) {
  std::string message(1, '\0');
  for (const int shift : {24, 16, 8, 0}) message.push_back(static_cast<char>(length >> shift));
  return message + std::string(length, '\xee');
}

std::string DataFrame(uint8_t flags, uint32_t stream, const std::string& payload) {
  std::string frame = Frame(kData, flags, stream, payload.size());
  frame.replace(9, payload.size(), payload);
  return frame;
}

class Http2GuardTest : public ::testing::Test {
 protected:
  Http2GuardTest() {
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    Send(Frame(kSettings, 0, 0, 6));
  }

  CloseReason Send(const std::string& bytes) {
    return guard_.Received(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), now_ms_);
  }
  CloseReason Acknowledge() { return Send(Frame(kSettings, kAcknowledge, 0, 0)); }
  // The frames of one call with a message of `bytes`.
  CloseReason Call(uint32_t bytes) {
    constexpr size_t kMaxInFrame = 16384;
    stream_ += 2;
    Send(Frame(kHeaders, kEndHeaders, stream_, 60));
    const std::string message = Message(bytes);
    for (size_t at = 0;; at += kMaxInFrame) {
      const bool is_last = at + kMaxInFrame >= message.size();
      const CloseReason violation =
          Send(DataFrame(is_last ? kEndStream : 0, stream_, message.substr(at, kMaxInFrame)));
      if (is_last) return violation;
    }
  }
  // Sends `frame` until a bound is broken; the number that were sent, `most` at most.
  int CountUntilViolation(const std::string& frame, int most) {
    for (int i = 0; i < most; ++i) {
      if (Send(frame) != CloseReason::kEnded) return i;
    }
    return most;
  }

  const Http2GuardLimits limits_;
  Http2Guard guard_{&limits_, nullptr, 256, 0};
  int64_t now_ms_ = 0;
  // The server's part: an answer of `bytes`, or the cancellation of a call.
  void Answer(size_t bytes) {
    SendBack(Frame(kHeaders, kEndHeaders, stream_, 20) + Frame(kData, 0, stream_, bytes) +
             Frame(kHeaders, kEndHeaders | kEndStream, stream_, 20));
  }
  void Cancel() {
    std::string frame = Frame(kReset, 0, stream_, 4);
    frame.back() = '\x8';
    SendBack(frame);
  }
  void SendBack(const std::string& bytes) {
    guard_.Sent(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }

  uint32_t stream_ = 1;
};

TEST_F(Http2GuardTest, CallsOfAnHonestClientPass) {
  Acknowledge();
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(Call(300'000), CloseReason::kEnded) << i;
    // A client that updates both windows for each 16 KiB of an answer, and probes the path.
    Answer(30'000);
    for (int k = 0; k < 4; ++k) ASSERT_EQ(Send(Frame(kWindowUpdate, 0, 0, 4)), CloseReason::kEnded);
    ASSERT_EQ(Send(Frame(kPing, 0, 0, 8)), CloseReason::kEnded);
  }
  EXPECT_EQ(guard_.calls(), 5000);
  EXPECT_EQ(guard_.unfinished_bytes(), 0);
}

TEST_F(Http2GuardTest, SmallCallsWithoutPausePass) {
  Acknowledge();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(Call(5), CloseReason::kEnded) << i;
    Answer(10);
    ASSERT_EQ(Send(Frame(kWindowUpdate, 0, 0, 4)), CloseReason::kEnded);
    ASSERT_EQ(Send(Frame(kPing, 0, 0, 8)), CloseReason::kEnded);
  }
}

TEST_F(Http2GuardTest, PiecesOfAnySizeAreFollowed) {
  std::string bytes = Frame(kSettings, kAcknowledge, 0, 0);
  for (uint32_t stream = 1; stream < 200; stream += 2) {
    bytes += Frame(kHeaders, 0, stream, 10) + Frame(kContinuation, kEndHeaders, stream, 3) +
             Frame(kData, 0, stream, 333) + Frame(kData, kEndStream, stream, 0);
  }
  for (const size_t size : {1, 2, 7, 9, 10, 100, 4096}) {
    Http2Guard guard(&limits_, nullptr, 256, 0);
    std::string all = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, 0) + bytes;
    for (size_t at = 0; at < all.size(); at += size) {
      const std::string piece = all.substr(at, size);
      ASSERT_EQ(guard.Received(reinterpret_cast<const uint8_t*>(piece.data()), piece.size(), 0),
                CloseReason::kEnded);
    }
    EXPECT_EQ(guard.calls(), 100) << size;
  }
}

TEST_F(Http2GuardTest, AHeaderBlockWithoutEndIsBroken) {
  Acknowledge();
  Send(Frame(kHeaders, 0, 1, 1000));
  const int passed = CountUntilViolation(Frame(kContinuation, 0, 1, 16'000), 100);
  EXPECT_EQ(passed, (64 * 1024 - 1000) / 16'000);
  EXPECT_EQ(Send(""), CloseReason::kHeaderBlock);
}

TEST_F(Http2GuardTest, EmptyContinuationsWithoutEndAreBroken) {
  Acknowledge();
  Send(Frame(kHeaders, 0, 1, 10));
  EXPECT_EQ(CountUntilViolation(Frame(kContinuation, 0, 1, 0), 1000), 64);
  EXPECT_EQ(Send(""), CloseReason::kHeaderBlock);
}

TEST_F(Http2GuardTest, AViolationIsSeenBeforeTheBytesOfTheFrame) {
  Acknowledge();
  EXPECT_EQ(Send(Frame(kHeaders, 0, 1, 1'000'000).substr(0, 9)), CloseReason::kHeaderBlock);
}

TEST_F(Http2GuardTest, CallsThatAreCancelledAtOnceAreBroken) {
  Acknowledge();
  int calls = 0;
  while (calls < 100'000) {
    stream_ += 2;
    if (Send(Frame(kHeaders, kEndHeaders, stream_, 60) + Frame(kReset, 0, stream_, 4)) !=
        CloseReason::kEnded) {
      break;
    }
    ++calls;
  }
  // Each call earns a quarter of a reset.
  EXPECT_NEAR(calls, 256 * 4 / 3, 2);
  EXPECT_EQ(Send(""), CloseReason::kResets);
}

TEST_F(Http2GuardTest, AllCallsOfAConnectionMayBeCancelledNowAndThen) {
  Acknowledge();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 256; ++i) Call(1000);
    for (uint32_t i = 0; i < 256; ++i) {
      ASSERT_EQ(Send(Frame(kReset, 0, stream_ - 2 * i, 4)), CloseReason::kEnded)
          << round << " " << i;
    }
    now_ms_ += 5000;  // 256 calls were cancelled
  }
}

TEST_F(Http2GuardTest, ConnectionsOfAnAddressShareABudgetOfResets) {
  const std::string start =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, kAcknowledge, 0, 0);
  ResetBudget budget;
  // The calls that a new connection may cancel at `now_ms`, a hundred at most.
  const auto resets_at = [&](int64_t now_ms) {
    Http2Guard guard(&limits_, &budget, 256, now_ms);
    const auto send = [&](const std::string& bytes) {
      return guard.Received(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), now_ms);
    };
    send(start);
    for (int resets = 0; resets < 100; ++resets) {
      const auto stream = static_cast<uint32_t>(2 * resets + 1);
      if (send(Frame(kHeaders, kEndHeaders, stream, 60) + Frame(kReset, 0, stream, 4)) !=
          CloseReason::kEnded) {
        return resets;
      }
    }
    return 100;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(resets_at(1000), 100);
  resets_at(1000);
  EXPECT_LE(resets_at(1000), 32);
  EXPECT_GE(resets_at(1000), 16);
  // The budget is back soon after the flood.
  EXPECT_EQ(resets_at(10'000), 100);
}

TEST_F(Http2GuardTest, FramesThatCarryNothingAreBroken) {
  for (const uint8_t type : {kData, kPriority, kWindowUpdate, uint8_t{0xbe}}) {
    Http2Guard guard(&limits_, nullptr, 256, 0);
    std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    CloseReason violation = CloseReason::kEnded;
    int frames = 0;
    for (; frames < 100'000 && violation == CloseReason::kEnded; ++frames) {
      bytes += Frame(type, 0, 1, type == kData ? 1 : 5);
      violation = guard.Received(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), 0);
      bytes.clear();
    }
    EXPECT_EQ(violation, CloseReason::kFrames) << int{type};
    EXPECT_NEAR(frames, 10'000, 100) << int{type};
  }
}

TEST_F(Http2GuardTest, FramesThatCarryNothingMayComeSlowly) {
  for (int i = 0; i < 100'000; ++i) {
    now_ms_ += 1;
    ASSERT_EQ(Send(Frame(kWindowUpdate, 0, 0, 4)), CloseReason::kEnded) << i;
  }
}

TEST_F(Http2GuardTest, FramesThatWantAnAnswerAreBrokenWithoutTraffic) {
  for (const uint8_t type : {kPing, kSettings}) {
    Http2Guard guard(&limits_, nullptr, 256, 0);
    std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (int i = 0; i < 64; ++i) bytes += Frame(type, 0, 0, 6);
    const auto send = [&guard](const std::string& some) {
      return guard.Received(reinterpret_cast<const uint8_t*>(some.data()), some.size(), 0);
    };
    EXPECT_EQ(send(bytes), CloseReason::kEnded) << int{type};
    EXPECT_EQ(send(Frame(type, 0, 0, 6)), CloseReason::kPings) << int{type};
  }
}

TEST_F(Http2GuardTest, AnswersToOurPingsAndSettingsAreNotPings) {
  EXPECT_EQ(CountUntilViolation(Frame(kPing, kAcknowledge, 0, 8), 1000), 1000);
  EXPECT_EQ(CountUntilViolation(Frame(kSettings, kAcknowledge, 0, 0), 1000), 1000);
}

TEST_F(Http2GuardTest, CallsBeforeTheAcknowledgementOfOurSettingsAreBounded) {
  int calls = 0;
  while (calls < 1000 && Call(10) == CloseReason::kEnded) ++calls;
  EXPECT_EQ(calls, 32);
  EXPECT_EQ(Send(""), CloseReason::kUnacknowledged);
}

TEST_F(Http2GuardTest, HeadersBeforeTheAcknowledgementOfOurSettingsAreBounded) {
  for (int i = 0; i < 2; ++i) {
    stream_ += 2;
    EXPECT_EQ(Send(Frame(kHeaders, kEndHeaders, stream_, 32 << 10)), CloseReason::kEnded);
  }
  stream_ += 2;
  EXPECT_EQ(Send(Frame(kHeaders, kEndHeaders, stream_, 32 << 10)), CloseReason::kUnacknowledged);
}

TEST_F(Http2GuardTest, HeadersThatOpenNoCallCountAsFrames) {
  Acknowledge();
  Call(10);
  EXPECT_NEAR(CountUntilViolation(Frame(kHeaders, kEndHeaders, 1, 1), 100'000), 10'000, 100);
  EXPECT_EQ(guard_.calls(), 1);
}

TEST_F(Http2GuardTest, CallsThatTheServerCancelsAtOnceAreBroken) {
  Acknowledge();
  int calls = 0;
  while (calls < 100'000 && Call(10) == CloseReason::kEnded) {
    Cancel();
    ++calls;
  }
  EXPECT_NEAR(calls, 256 * 4 / 3, 2);
  EXPECT_EQ(Send(""), CloseReason::kResets);
}

TEST_F(Http2GuardTest, CallsThatAreAnsweredBeforeTheyEndAreBroken) {
  Acknowledge();
  // Its deadline has passed when it comes.
  const auto expired_call = [this] {
    stream_ += 2;
    const CloseReason violation = Send(Frame(kHeaders, kEndHeaders, stream_, 60));
    SendBack(Frame(kHeaders, kEndHeaders | kEndStream, stream_, 20) + Frame(kReset, 0, stream_, 4));
    return violation;
  };
  int calls = 0;
  while (calls < 100'000 && expired_call() == CloseReason::kEnded) ++calls;
  EXPECT_EQ(Send(""), CloseReason::kResets);
  // The burst, and one for each four calls.
  EXPECT_NEAR(calls, 256 * 4 / 3, 8);
}

TEST_F(Http2GuardTest, CallsThatAreForgottenWithoutAnAnswerAreBroken) {
  Acknowledge();
  int calls = 0;
  while (calls < 100'000 && Call(10) == CloseReason::kEnded) ++calls;
  EXPECT_EQ(calls, 256 + 64);
}

TEST_F(Http2GuardTest, MessagesThatCannotBeOfGrpcAreBroken) {
  Acknowledge();
  Send(Frame(kHeaders, kEndHeaders, 1, 60));
  EXPECT_EQ(Send(DataFrame(0, 1, Message(100))), CloseReason::kEnded);
  std::string compressed = Message(10);
  compressed[0] = '\1';
  EXPECT_EQ(Send(DataFrame(0, 1, compressed)), CloseReason::kEnded);
  std::string broken = Message(10);
  broken[0] = '\2';
  EXPECT_EQ(Send(DataFrame(0, 1, broken)), CloseReason::kMalformed);
}

TEST_F(Http2GuardTest, PaddedDataIsRefusedAsGrpcDoes) {
  Acknowledge();
  Send(Frame(kHeaders, kEndHeaders, 1, 60));
  EXPECT_EQ(Send(Frame(kData, 8, 1, 10)), CloseReason::kMalformed);
}

TEST_F(Http2GuardTest, BytesOfUnfinishedMessagesAreKnown) {
  Acknowledge();
  Send(Frame(kHeaders, kEndHeaders, 1, 60));
  Send(Frame(kHeaders, kEndHeaders, 3, 60));
  const std::string message = Message(100'000);
  // Two messages side by side, in frames whose borders are those of nothing else.
  for (size_t at = 0; at < 50'000; at += 1000) {
    Send(DataFrame(0, 1, message.substr(at, 1000)));
    Send(DataFrame(0, 3, message.substr(at, 1000)));
  }
  EXPECT_EQ(guard_.unfinished_bytes(), 2 * (50'000 - 5));
  // The first message ends, and the next begins in the same frame.
  EXPECT_EQ(Send(DataFrame(
                0, 1, message.substr(50'000) + Message(10) + Message(0) + message.substr(0, 105))),
            CloseReason::kEnded);
  EXPECT_EQ(guard_.unfinished_bytes(), 50'000 - 5 + 100);
  Send(Frame(kReset, 0, 3, 4));
  EXPECT_EQ(guard_.unfinished_bytes(), 100);
  Send(Frame(kData, kEndStream, 1, 0));
  EXPECT_EQ(guard_.unfinished_bytes(), 0);
}

TEST_F(Http2GuardTest, WhatLargeMessagesLackIsKnown) {
  Acknowledge();
  for (const uint32_t stream : {1u, 3u, 5u}) Send(Frame(kHeaders, kEndHeaders, stream, 60));
  const std::string large = Message(Http2GuardLimits().large_message_bytes);
  const std::string small = Message(Http2GuardLimits().large_message_bytes - 1);
  const auto bytes = static_cast<int64_t>(large.size());
  Send(DataFrame(0, 1, large.substr(0, 4)));
  EXPECT_EQ(guard_.missing_bytes(), 0);  // its length is not known yet
  Send(DataFrame(0, 1, large.substr(4, 1000)));
  Send(DataFrame(0, 3, large.substr(0, 10'000)));
  Send(DataFrame(0, 5, small.substr(0, 10'000)));
  EXPECT_EQ(guard_.large_bytes(), 1004 - 5 + 10'000 - 5);
  EXPECT_EQ(guard_.missing_bytes(), 2 * bytes - 1004 - 10'000);
  for (size_t at = 1004; at < large.size(); at += 16'384) {
    Send(DataFrame(0, 1, large.substr(at, 16'384)));
  }
  EXPECT_EQ(guard_.large_bytes(), 10'000 - 5);
  EXPECT_EQ(guard_.missing_bytes(), bytes - 10'000);
  Send(Frame(kReset, 0, 3, 4));
  EXPECT_EQ(guard_.large_bytes(), 0);
  EXPECT_EQ(guard_.missing_bytes(), 0);
  EXPECT_EQ(guard_.unfinished_bytes(), 10'000 - 5);
}

TEST_F(Http2GuardTest, OpenCallsAreThoseThatNeitherSideHasEnded) {
  Acknowledge();
  EXPECT_FALSE(guard_.is_answered());
  for (int i = 0; i < 3; ++i) Call(10);
  EXPECT_EQ(guard_.open_calls(), 3);
  EXPECT_FALSE(guard_.is_answered());
  SendBack(Frame(kHeaders, kEndHeaders, stream_, 20));
  EXPECT_TRUE(guard_.is_answered());
  EXPECT_EQ(guard_.open_calls(), 3);
  Answer(10);
  EXPECT_EQ(guard_.open_calls(), 2);
  // The end of a call that has ended already.
  Send(Frame(kReset, 0, stream_, 4));
  EXPECT_EQ(guard_.open_calls(), 2);
  Send(Frame(kReset, 0, stream_ - 2, 4));
  EXPECT_EQ(guard_.open_calls(), 1);
}

TEST_F(Http2GuardTest, WhatComesAfterTheServersAnswerIsNotLookedAt) {
  Acknowledge();
  Call(0);
  stream_ += 2;
  Send(Frame(kHeaders, kEndHeaders, stream_, 60));
  const std::string message = Message(100'000);
  Send(DataFrame(0, stream_, message.substr(0, 20'000)));
  EXPECT_EQ(guard_.unfinished_bytes(), 20'000 - 5);
  Answer(0);
  EXPECT_EQ(guard_.unfinished_bytes(), 0);
  EXPECT_EQ(Send(DataFrame(0, stream_, message.substr(20'000, 10'000))), CloseReason::kEnded);
  EXPECT_EQ(guard_.unfinished_bytes(), 0);
}

TEST_F(Http2GuardTest, CountsHowTheServerEndsCallsHoweverItsBytesAreCut) {
  Acknowledge();
  Call(10);
  Answer(10);
  const int64_t begin_ns = guard_.cost_ns();
  Call(10);
  const int64_t call_ns = guard_.cost_ns() - begin_ns;
  Answer(10);
  for (const size_t size : {1, 3, 9, 100, 100'000}) {
    const uint32_t first = stream_ + 2;
    for (int i = 0; i < 4; ++i) Call(10);
    EXPECT_EQ(guard_.open_calls(), 4) << size;
    std::string bytes = Frame(kSettings, 0, 0, 12);
    bytes += Frame(kHeaders, kEndHeaders, first, 20) + Frame(kData, 0, first, 5000);
    bytes += Frame(kHeaders, kEndHeaders | kEndStream, first, 20);
    bytes += Frame(kReset, 0, first, 4);  // without an error
    bytes += Frame(kHeaders, kEndHeaders | kEndStream, first + 2, 20);
    bytes += Frame(kReset, 0, first + 4, 4);
    bytes.back() = '\x8';
    bytes += Frame(kPing, kAcknowledge, 0, 8);
    for (size_t at = 0; at < bytes.size(); at += size) SendBack(bytes.substr(at, size));
    EXPECT_EQ(guard_.open_calls(), 1) << size;
    const int64_t before_ns = guard_.cost_ns();
    Call(10);
    EXPECT_EQ(guard_.cost_ns() - before_ns, call_ns + 100'000) << size << ": one was cancelled";
    Answer(10);
    stream_ = first + 6;
    Cancel();
    stream_ = first + 8;
  }
}

TEST_F(Http2GuardTest, TheTimeOfTheLastCallIsKnown) {
  Acknowledge();
  now_ms_ = 700;
  Call(10);
  now_ms_ = 900;
  Send(Frame(kPing, 0, 0, 8));
  EXPECT_EQ(guard_.last_call_ms(), 700);
}

}  // namespace
}  // namespace orbserve
