// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The scan beside the generated parser: it takes what clients send, in any layout and however it is
// cut, and refuses what would take more memory than it says, or is broken.

#include "server/rpc/wire_scan.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gtest/gtest.h"
#include "orbserve/v1/orbserve.pb.h"
#include "tests/server/rpc/wire_bytes.h"

namespace orbserve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using wire::Bytes;
using wire::Number;
using wire::Repeat;
using wire::Tag;
using wire::Varint;

// Checks the message in pieces of so many bytes.
absl::Status Check(WireScan& scan, const std::string& bytes, size_t piece_bytes) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()),
                                                static_cast<int>(piece_bytes));
  return scan.Check(&stream, bytes.size());
}

template <typename Message>
absl::Status Scan(const std::string& bytes, const WireLimits& limits = {}) {
  WireScan scan(WireRules::Of<Message>(), limits);
  return Check(scan, bytes, 1 << 16);
}

void FillFeatures(int rows, v1::FeatureSet* features) {
  for (int i = 0; i < rows; ++i) {
    features->add_x(1);
    features->add_y(2);
    features->add_size(3);
    features->add_angle(4);
    features->add_response(5);
    features->add_octave(i % 8);
    features->add_source_index(static_cast<uint32_t>(i));
  }
  features->set_descriptor_bytes(32);
  features->set_descriptors(std::string(static_cast<size_t>(rows) * 32, 'd'));
}

v1::MatchRequest LargestMatch() {
  v1::MatchRequest request;
  FillFeatures(kMaxFeatures, request.mutable_query_features());
  FillFeatures(kMaxFeatures, request.mutable_train_features());
  return request;
}

v1::StreamFramesRequest PlainFrame() {
  v1::StreamFramesRequest request;
  v1::Frame& frame = *request.mutable_frame();
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(100);
  frame.set_height_px(50);
  frame.set_timestamp_ns(-1);
  frame.mutable_parameters()->set_match_ratio(0.5f);
  frame.mutable_parameters()->set_max_features(300);
  frame.mutable_mask()->set_width_px(100);
  frame.mutable_mask()->set_pixels(std::string(5000, 'm'));
  frame.mutable_keypoints()->add_x(1);
  frame.mutable_keypoints()->add_octave(-1);  // ten bytes
  frame.set_pixels(std::string(5000, 'p'));
  return request;
}

v1::StreamFramesRequest FullOpen() {
  v1::StreamFramesRequest request;
  v1::StreamOpen& open = *request.mutable_open();
  open.mutable_pipeline()->set_preset("vio");
  open.mutable_pipeline()->mutable_match()->set_k(2);
  open.mutable_pipeline()->mutable_track()->set_epsilon_px(0.01f);
  open.mutable_keyframe_rule()->set_every_frames(3);
  for (int i = 0; i < 12; ++i) open.add_references(absl::StrCat("map ", i));
  for (const char* name : {"\x7F", "\xC3\xA4", "\xE6\x97\xA5\xEF\xBF\xBF", "\xF0\x9F\xA4\x96"}) {
    open.add_references(name);
  }
  return request;
}

// The numbers of `set` one by one, as libraries before proto3 write them.
std::string Unpacked(const v1::FeatureSet& set) {
  std::string bytes;
  const auto floats = [&](uint32_t field, const auto& column) {
    for (const float value : column) {
      bytes += Tag(field, 5);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  };
  floats(1, set.x());
  floats(2, set.y());
  floats(3, set.size());
  floats(4, set.angle());
  floats(5, set.response());
  for (const int32_t value : set.octave()) bytes += Number(6, static_cast<uint64_t>(value));
  for (const uint32_t value : set.source_index()) bytes += Number(7, value);
  return bytes + Number(8, 32) + Bytes(15, set.descriptors());
}

TEST(WireScanTest, TakesWhatClientsSendHoweverItIsCut) {
  for (const size_t piece : {1, 2, 7, 100, 1 << 20}) {
    WireScan stream(WireRules::Of<v1::StreamFramesRequest>());
    EXPECT_TRUE(Check(stream, PlainFrame().SerializeAsString(), piece).ok()) << piece;
    EXPECT_TRUE(Check(stream, FullOpen().SerializeAsString(), piece).ok()) << piece;
  }
  EXPECT_TRUE(Scan<v1::MatchRequest>(LargestMatch().SerializeAsString()).ok());
  EXPECT_TRUE(Scan<v1::ExtractRequest>("").ok());
  v1::FeatureSet features;
  FillFeatures(kMaxFeatures, &features);
  const absl::Status unpacked = Scan<v1::PutReferenceRequest>(Bytes(14, Unpacked(features)));
  EXPECT_TRUE(unpacked.ok()) << unpacked;
}

TEST(WireScanTest, FieldsOfLaterVersionsAreAllowedInModeration) {
  const std::string later = Number(1000, 1) + Bytes(1001, "text") + Tag(1002, 5) + "1234" +
                            Tag(1003, 1) + "12345678" + Bytes(2, "a number that became a text");
  EXPECT_TRUE(Scan<v1::ExtractRequest>(Bytes(15, later)).ok());
  EXPECT_TRUE(Scan<v1::ExtractRequest>(Repeat(later, 10)).ok());
  EXPECT_THAT(std::string(Scan<v1::ExtractRequest>(Repeat(later, 100)).message()),
              AllOf(HasSubstr("does not know"), HasSubstr("at most 256 with 65536")));
  const absl::Status large = Scan<v1::ExtractRequest>(Bytes(1000, std::string(70'000, 'x')));
  EXPECT_EQ(ReasonOf(large), ErrorReason::kTooLarge);
}

struct Hostile {
  const char* name;
  std::string bytes;  // of a StreamFramesRequest
  ErrorReason reason;
  const char* text;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

class HostileMessageTest : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileMessageTest, IsRefusedWithAReason) {
  for (const size_t piece : {1, 5, 1 << 20}) {
    WireScan scan(WireRules::Of<v1::StreamFramesRequest>());
    const absl::Status status = Check(scan, GetParam().bytes, piece);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(ReasonOf(status), GetParam().reason) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().text));
    EXPECT_THAT(std::string(status.message()), HasSubstr("at byte"));
    EXPECT_TRUE(Check(scan, PlainFrame().SerializeAsString(), piece).ok());  // is as new
  }
}

std::vector<Hostile> HostileMessages() {
  constexpr ErrorReason kBad = ErrorReason::kBadRequest;
  constexpr ErrorReason kLarge = ErrorReason::kTooLarge;
  const std::string keypoints = Bytes(8, Bytes(4, std::string(500'000, '\1')));
  return {
      {"EmptyTexts", Bytes(1, Repeat(Bytes(5, ""), 2000)), kLarge, "StreamOpen.references"},
      {"Groups", Repeat(Tag(100, 3) + Tag(100, 4), 10), kBad, "group"},
      {"GroupInFrame", Bytes(15, Tag(100, 3)), kBad, "Frame has a group"},
      {"AlternatingOneof", Repeat(Bytes(1, "") + Bytes(15, ""), 5000), kLarge,
       "is given more than"},
      {"PackedNumbers", Bytes(15, keypoints), kLarge, "GivenKeypoints.octave has more than 400000"},
      {"EmptyPackedBlocks", Bytes(15, Bytes(8, Repeat(Bytes(1, ""), 400'001))), kLarge,
       "GivenKeypoints.x has more than"},
      {"UnpackedNumbers", Bytes(15, Bytes(8, Repeat(Number(4, 1), 400'001))), kLarge,
       "bytes of memory"},
      {"RepeatedNumber", Bytes(15, Repeat(Number(2, 1), 1025)), kLarge, "Frame.width_px"},
      {"UnknownNumbers", Bytes(15, Repeat(Number(30, 1), 300)), kLarge, "does not know"},
      {"LongText", Bytes(1, Bytes(5, std::string(5000, 'x'))), kLarge, "StreamOpen.references has"},
      {"TextCutInACharacter", Bytes(1, Bytes(5, "abc\xC3")), kBad, "StreamOpen.references is not"},
      {"OverlongCharacter", Bytes(1, Bytes(5, "\xE0\x80\x80")), kBad, "is not UTF-8"},
      {"Surrogate", Bytes(1, Bytes(5, "\xED\xA0\x80")), kBad, "is not UTF-8"},
      {"BeyondUnicode", Bytes(1, Bytes(5, "\xF4\x90\x80\x80")), kBad, "is not UTF-8"},
      {"CutTag", "\x80", kBad, "StreamFramesRequest is cut off"},
      {"FieldZero", std::string("\0\0", 2), kBad, "cut off or broken"},
      {"CutNumber", Bytes(15, Tag(2, 0)), kBad, "Frame is cut off"},
      {"LongNumber", Bytes(15, Tag(2, 0) + std::string(11, '\x80')), kBad, "Frame is cut off"},
      {"NumberBeyondItsMessage", Bytes(15, Tag(2, 0)) + Varint(5), kBad, "Frame is cut off"},
      {"LengthBeyondItsMessage", Bytes(15, Tag(15, 2) + Varint(1)) + "x", kBad, "Frame is cut off"},
      {"LengthBeyondTheEnd", Tag(15, 2) + Varint(1 << 30), kBad, "cut off"},
      {"HalfAFloat", Bytes(15, Bytes(8, Bytes(1, "12345"))), kBad, "GivenKeypoints.x is cut off"},
      {"CutFixed", Bytes(15, Bytes(7, Tag(3, 5) + "123")), kBad, "FrameParameters is cut off"},
      {"CutPackedNumber", Bytes(15, Bytes(8, Bytes(4, "\x01\xFF"))), kBad, "octave is cut off"},
      {"WireTypeSix", Bytes(15, Tag(2, 6)), kBad, "Frame is cut off or broken"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, HostileMessageTest, ::testing::ValuesIn(HostileMessages()),
                         [](const auto& hostile) { return std::string(hostile.param.name); });

TEST(WireScanTest, MemoryIsBoundedByTheBytesOfTheMessage) {
  // Below the limits of every single field.
  std::string bytes;
  for (int i = 0; i < 500; ++i) bytes += Bytes(1, Bytes(1, "") + Bytes(9, "")) + Bytes(15, "");
  EXPECT_TRUE(Scan<v1::StreamFramesRequest>(bytes).ok());
  WireLimits limits;
  limits.free_bytes = 0;
  const absl::Status status = Scan<v1::StreamFramesRequest>(bytes, limits);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kTooLarge);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bytes of memory"));
}

// An array of one number takes more than the number.
TEST(WireScanTest, ShortArraysAreCounted) {
  v1::PutReferenceRequest request;
  v1::FeatureSet& features = *request.mutable_features();
  for (auto* const column : {features.mutable_x(), features.mutable_y(), features.mutable_size(),
                             features.mutable_angle(), features.mutable_response()}) {
    column->Add(1.0f);
  }
  features.add_octave(1);
  features.set_descriptor_bytes(4);
  features.set_descriptors("abcd");
  const std::string bytes = request.SerializeAsString();
  v1::PutReferenceRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  WireScan scan(WireRules::Of<v1::PutReferenceRequest>());
  ASSERT_TRUE(Check(scan, bytes, bytes.size()).ok());
  EXPECT_LE(parsed.SpaceUsedLong(), sizeof(parsed) + scan.memory_bytes());
}

TEST(WireScanTest, NestingIsBounded) {
  WireLimits limits;
  limits.max_depth = 2;
  EXPECT_TRUE(Scan<v1::ExtractRequest>(Bytes(1, ""), limits).ok());
  EXPECT_EQ(ReasonOf(Scan<v1::ExtractRequest>(Bytes(1, Bytes(2, "")), limits)),
            ErrorReason::kBadRequest);
}

// Changes bytes at random, as a client with a broken memory would.
std::string Damaged(std::string bytes, std::mt19937& random) {
  const size_t changes = 1 + random() % 4;
  for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, 1 + random() % 3);
        break;
      case 2:
        bytes.insert(at, 1 + random() % 3, static_cast<char>(random()));
        break;
      default:
        bytes += bytes.substr(at, random() % 50);
    }
  }
  return bytes;
}

TEST(WireScanTest, AgreesWithTheParserAndItsMemoryIsThatOfTheMessageAtMost) {
  std::mt19937 random(7);
  v1::StreamFramesRequest frame = PlainFrame();
  frame.mutable_frame()->set_pixels("few");
  frame.mutable_frame()->mutable_mask()->set_pixels("few");
  const std::string samples[] = {frame.SerializeAsString(), FullOpen().SerializeAsString(),
                                 Bytes(15, Bytes(8, Repeat(Number(4, 3), 40)))};
  WireScan scan(WireRules::Of<v1::StreamFramesRequest>());
  int taken = 0;
  int parsed = 0;
  int refused = 0;
  for (int i = 0; i < 60'000; ++i) {
    const std::string bytes = Damaged(samples[i % 3], random);
    const absl::Status status = Check(scan, bytes, 1 + random() % 40);
    v1::StreamFramesRequest message;
    const bool is_parsed = message.ParseFromString(bytes);
    if (status.ok()) {
      ++taken;
      // A packed number of more than ten bytes is left to the parser.
      parsed += is_parsed ? 1 : 0;
      if (is_parsed) {
        EXPECT_LE(message.SpaceUsedLong(), sizeof(message) + scan.memory_bytes());
      }
    } else {
      ++refused;
    }
    if (!is_parsed) continue;
    // The parser takes some messages that reach beyond the one around them. Written again, they are
    // whole. Groups are unknown fields and stay what they are.
    const std::string again = message.SerializeAsString();
    const absl::Status status_again = Check(scan, again, again.size());
    EXPECT_TRUE(status_again.ok() ||
                status_again.message().find("group") != absl::string_view::npos)
        << status_again << absl::CHexEscape(again);
  }
  EXPECT_GT(parsed, taken * 99 / 100);
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace orbserve
