// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The splitter against the generated parser: the same messages are taken, and they say the same,
// however they are laid out and cut into slices.

#include "server/rpc/frame_splitter.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/wire_bytes.h"

namespace orbserve {
namespace {

using wire::Bytes;
using wire::Tag;
using wire::Varint;
using Random = std::mt19937;

// Enough to be worth splitting off.
constexpr size_t kPixelBytes = 5000;

std::string RandomBytes(size_t count, Random& random) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string FrameIn(const std::string& frame) { return Bytes(15, frame); }

grpc::ByteBuffer Slices(const std::string& bytes, std::vector<size_t> cuts) {
  cuts.push_back(bytes.size());
  std::sort(cuts.begin(), cuts.end());
  std::vector<grpc::Slice> slices;
  size_t from = 0;
  for (const size_t cut : cuts) {
    slices.emplace_back(bytes.data() + from, cut - from);
    from = cut;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

enum class Way { kRefused, kWhole, kSplit };

// Parses both ways and compares; says which way it went.
Way Check(FrameSplitter& splitter, const std::string& bytes, const std::vector<size_t>& cuts = {}) {
  v1::StreamFramesRequest expected;
  const bool is_message = expected.ParseFromString(bytes);
  grpc::ByteBuffer buffer = Slices(bytes, cuts);
  v1::StreamFramesRequest message;
  message.mutable_open()->set_deadline_ms(7);  // to be forgotten
  const absl::Status status = splitter.Parse(buffer, &message);
  // Groups are all that the parser takes and the scan refuses.
  const bool is_group = status.message().find("group") != absl::string_view::npos;
  EXPECT_EQ(status.ok() || is_group, is_message || is_group) << status;
  if (!status.ok()) return Way::kRefused;
  const bool is_split = !splitter.pixels().empty();
  if (is_split) {
    EXPECT_EQ(message.frame().payload_case(), v1::Frame::kPixels);
    EXPECT_THAT(message.frame().format(),
                ::testing::AllOf(::testing::Ge(v1::PIXEL_FORMAT_GRAY8),
                                 ::testing::Le(v1::PIXEL_FORMAT_BAYER_GRBG8)));
    EXPECT_TRUE(message.frame().pixels().empty());
    std::string& pixels = *message.mutable_frame()->mutable_pixels();
    for (const BytePiece piece : splitter.pixels()) pixels.append(piece.begin(), piece.end());
  }
  EXPECT_EQ(message.SerializeAsString(), expected.SerializeAsString());
  return is_split ? Way::kSplit : Way::kWhole;
}

v1::StreamFramesRequest PlainRequest(Random& random) {
  v1::StreamFramesRequest request;
  v1::Frame& frame = *request.mutable_frame();
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(100);
  frame.set_height_px(50);
  frame.set_sequence(1'000'000'007);
  frame.set_timestamp_ns(-1);
  frame.mutable_parameters()->set_match_ratio(0.5f);
  frame.set_pixels(RandomBytes(kPixelBytes, random));
  return request;
}

TEST(FrameSplitterTest, PixelsOfRawFormatsStayWhereTheyAre) {
  Random random(1);
  FrameSplitter splitter;
  for (int format = v1::PixelFormat_MIN; format <= v1::PixelFormat_MAX + 1; ++format) {
    v1::StreamFramesRequest request = PlainRequest(random);
    request.mutable_frame()->set_format(static_cast<v1::PixelFormat>(format));
    const bool is_raw = format >= v1::PIXEL_FORMAT_GRAY8 && format <= v1::PIXEL_FORMAT_BAYER_GRBG8;
    EXPECT_EQ(Check(splitter, request.SerializeAsString()), is_raw ? Way::kSplit : Way::kWhole)
        << format;
  }
  // Not a copy: the bytes are those of the buffer.
  grpc::ByteBuffer buffer = Slices(PlainRequest(random).SerializeAsString(), {});
  grpc::Slice slice;
  ASSERT_TRUE(buffer.TrySingleSlice(&slice).ok());
  v1::StreamFramesRequest message;
  ASSERT_TRUE(splitter.Parse(buffer, &message).ok());
  ASSERT_EQ(splitter.pixels().size(), 1u);
  EXPECT_EQ(splitter.pixels()[0].data() + kPixelBytes, slice.end());
}

TEST(FrameSplitterTest, ACutMayBeAnywhere) {
  Random random(2);
  FrameSplitter splitter;
  const std::string bytes = PlainRequest(random).SerializeAsString();
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ASSERT_EQ(Check(splitter, bytes, {cut}), Way::kSplit) << cut;
  }
  for (int i = 0; i < 2000; ++i) {
    std::vector<size_t> cuts(random() % 9);  // some of them in the beginning, some alike
    for (size_t& cut : cuts) cut = random() % (random() % 2 == 0 ? 40 : bytes.size());
    ASSERT_EQ(Check(splitter, bytes, cuts), Way::kSplit);
  }
  std::vector<size_t> everywhere(bytes.size());
  for (size_t i = 0; i < everywhere.size(); ++i) everywhere[i] = i;
  EXPECT_EQ(Check(splitter, bytes, everywhere), Way::kWhole);
}

TEST(FrameSplitterTest, WhatIsNotWorthItIsParsedAsUsual) {
  Random random(3);
  FrameSplitter splitter;
  v1::StreamFramesRequest request;
  EXPECT_EQ(Check(splitter, ""), Way::kWhole);
  request.mutable_open()->mutable_pipeline()->set_preset(std::string(4000, 'x'));
  EXPECT_EQ(Check(splitter, request.SerializeAsString()), Way::kWhole);
  request = PlainRequest(random);
  request.mutable_frame()->set_pixels("few");
  EXPECT_EQ(Check(splitter, request.SerializeAsString()), Way::kWhole);
  request = PlainRequest(random);
  request.mutable_frame()->clear_pixels();
  EXPECT_EQ(Check(splitter, request.SerializeAsString()), Way::kWhole);
  request = PlainRequest(random);
  request.mutable_frame()->mutable_mask()->set_pixels(RandomBytes(kPixelBytes, random));
  EXPECT_EQ(Check(splitter, request.SerializeAsString()), Way::kWhole);
}

TEST(FrameSplitterTest, EveryTruncationIsRefusedOrSaysTheSame) {
  Random random(4);
  FrameSplitter splitter;
  const std::string bytes = PlainRequest(random).SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(Check(splitter, bytes.substr(0, size), {size / 2}),
              size == 0 ? Way::kWhole : Way::kRefused)
        << size;
  }
}

TEST(FrameSplitterTest, OddEncodingsSayTheSame) {
  Random random(5);
  FrameSplitter splitter;
  const std::string format = Tag(1, 0) + Varint(v1::PIXEL_FORMAT_GRAY8);
  const std::string pixels = RandomBytes(kPixelBytes, random);
  const std::string others = RandomBytes(kPixelBytes, random);
  const std::string plain = format + Bytes(15, pixels);
  const std::string memory = Bytes(14, Bytes(1, "region"));
  const std::string open = Bytes(1, Tag(3, 0) + Varint(5));
  // A field that is not known, of each wire type.
  const std::string unknown = Tag(900, 0) + Varint(77) + Tag(901, 1) + "12345678" + Tag(902, 5) +
                              "1234" + Bytes(903, "bytes");
  const std::string group = Tag(904, 3) + Tag(1, 0) + Varint(1) + Tag(904, 4);

  // Laid out plainly, in other orders and with fields of later versions.
  EXPECT_EQ(Check(splitter, FrameIn(plain)), Way::kSplit);
  EXPECT_EQ(Check(splitter, FrameIn(Bytes(15, pixels) + format)), Way::kSplit);
  EXPECT_EQ(Check(splitter, FrameIn(unknown + plain + unknown)), Way::kSplit);
  EXPECT_EQ(Check(splitter, unknown + FrameIn(plain) + unknown), Way::kSplit);
  // One of `open` and `frame`, of pixels and memory: the last one counts.
  EXPECT_EQ(Check(splitter, open + FrameIn(plain)), Way::kSplit);
  EXPECT_EQ(Check(splitter, FrameIn(plain) + open), Way::kWhole);
  EXPECT_EQ(Check(splitter, FrameIn(memory + plain)), Way::kSplit);
  EXPECT_EQ(Check(splitter, FrameIn(plain + memory)), Way::kWhole);
  // The format may come twice: JPEG last.
  EXPECT_EQ(Check(splitter, FrameIn(plain + Tag(1, 0) + Varint(v1::PIXEL_FORMAT_JPEG))),
            Way::kWhole);
  // A field given twice, a frame in two parts.
  EXPECT_EQ(Check(splitter, FrameIn(plain + Bytes(15, others))), Way::kWhole);
  EXPECT_EQ(Check(splitter, FrameIn(plain + Bytes(15, ""))), Way::kWhole);
  EXPECT_EQ(Check(splitter, FrameIn(plain) + FrameIn(Bytes(15, others))), Way::kWhole);
  EXPECT_EQ(Check(splitter, FrameIn(format) + FrameIn(Bytes(15, pixels))), Way::kWhole);
  EXPECT_EQ(Check(splitter, FrameIn(plain) + FrameIn("")), Way::kWhole);
  // Groups, whole and not.
  EXPECT_EQ(Check(splitter, FrameIn(group + plain)), Way::kRefused);
  EXPECT_EQ(Check(splitter, group + FrameIn(plain)), Way::kRefused);
  EXPECT_EQ(Check(splitter, FrameIn(plain + Tag(904, 3))), Way::kRefused);
  EXPECT_EQ(Check(splitter, FrameIn(plain + Tag(904, 4))), Way::kRefused);
  EXPECT_EQ(Check(splitter, FrameIn(plain) + Tag(904, 4)), Way::kRefused);
  // The number of the pixels with another wire type is another field.
  EXPECT_EQ(Check(splitter, FrameIn(plain + Tag(15, 0) + Varint(3))), Way::kSplit);
  EXPECT_EQ(Check(splitter, FrameIn(plain) + Tag(15, 5) + "1234"), Way::kSplit);
  // No field has the number 0, none the wire types 6 and 7.
  for (const std::string& bad : {Tag(0, 0) + Varint(1), Bytes(0, "x"), Tag(5, 6), Tag(5, 7)}) {
    EXPECT_EQ(Check(splitter, FrameIn(bad + plain)), Way::kRefused);
    EXPECT_EQ(Check(splitter, FrameIn(plain) + bad), Way::kRefused);
  }
  // More bytes than a number needs: up to 5 in a tag and a length, up to 10 in a value.
  for (int padding = 0; padding < 11; ++padding) {
    SCOPED_TRACE(padding);
    const std::string value = Tag(2, 0) + Varint(3, padding);
    EXPECT_EQ(Check(splitter, FrameIn(value + plain)), padding < 10 ? Way::kSplit : Way::kRefused);
    const Way short_number = padding < 5 ? Way::kSplit : Way::kRefused;
    EXPECT_EQ(Check(splitter, FrameIn(format + Bytes(15, pixels, padding, 0))), short_number);
    EXPECT_EQ(Check(splitter, Bytes(15, plain, padding, 0)), short_number);
    // The length of the pixels takes two bytes anyway.
    const Way length = padding < 4 ? Way::kSplit : Way::kRefused;
    EXPECT_EQ(Check(splitter, FrameIn(format + Bytes(15, pixels, 0, padding))), length);
    EXPECT_EQ(Check(splitter, Bytes(15, plain, 0, padding)), length);
  }
  // Lengths that lie: into the rest, beyond the frame, beyond the message, beyond anything.
  const std::string& p = pixels;
  for (const uint64_t length : {p.size() - 1, p.size() + 1, size_t{1} << 31, size_t{1} << 34}) {
    Check(splitter, FrameIn(format + Tag(15, 2) + Varint(length) + p));
    Check(splitter, FrameIn(format + Tag(15, 2) + Varint(length) + p) + unknown);
    Check(splitter, Tag(15, 2) + Varint(length) + plain);
  }
}

// Some field of a frame or of a request, or none of any.
std::string RandomField(bool in_frame, Random& random) {
  const int padding = random() % 8 == 0 ? static_cast<int>(random() % 4) : 0;
  switch (random() % 12) {
    case 0:
      return Bytes(15, RandomBytes(random() % 3 == 0 ? 5 : kPixelBytes, random), 0, padding);
    case 1:
      return Bytes(14, Bytes(1, "region"), padding);
    case 2:
      return Bytes(in_frame ? 7 : 1, Tag(1, 0) + Varint(random()));
    case 3:
      return Bytes(8, Bytes(1, RandomBytes(4 * (random() % 5), random)));
    case 4:
      return Bytes(10, Tag(1, 0) + Varint(3) + Bytes(15, RandomBytes(random() % 90, random)));
    case 5:
      return Tag(random() % 2000, 3) + Tag(random() % 2000, 4);
    case 6:
      return Tag(random() % 2000, random() % 8, padding);
    default: {
      const uint64_t value =
          random() % 3 == 0 ? uint64_t{random()} << (random() % 33) : random() % 9;
      return Tag(1 + random() % 9, 0, padding) + Varint(value, padding);
    }
  }
}

TEST(FrameSplitterTest, RandomMessagesSayTheSame) {
  Random random(6);
  FrameSplitter splitter;
  int ways[3] = {};
  for (int i = 0; i < 10'000; ++i) {
    std::string frame = Bytes(15, RandomBytes(kPixelBytes, random));
    for (uint32_t fields = random() % 6; fields > 0; --fields) {
      const std::string field = RandomField(true, random);
      frame = random() % 2 == 0 ? frame + field : field + frame;
    }
    std::string bytes = FrameIn(frame);
    if (random() % 4 == 0) bytes += RandomField(false, random);
    if (random() % 4 == 0) bytes = RandomField(false, random) + bytes;
    std::vector<size_t> cuts(random() % 6);
    for (size_t& cut : cuts) cut = random() % bytes.size();
    ++ways[static_cast<int>(Check(splitter, bytes, cuts))];
    if (HasFailure()) FAIL() << i;
  }
  for (const int count : ways) EXPECT_GT(count, 100);
}

TEST(FrameSplitterTest, FlippedBitsAreTakenAndRefusedAlike) {
  Random random(7);
  FrameSplitter splitter;
  const std::string plain = PlainRequest(random).SerializeAsString();
  const size_t head = plain.size() - kPixelBytes;
  int ways[3] = {};
  for (int i = 0; i < 30'000; ++i) {
    std::string bytes = plain;
    for (uint32_t flips = 1 + random() % 3; flips > 0; --flips) {
      const size_t most = random() % 8 == 0 ? bytes.size() : head;
      const size_t at = random() % most;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    ++ways[static_cast<int>(Check(splitter, bytes, {random() % bytes.size()}))];
    if (HasFailure()) FAIL() << i;
  }
  for (const int count : ways) EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace orbserve
