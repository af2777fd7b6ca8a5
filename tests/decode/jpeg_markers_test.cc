// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_markers.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

size_t ScanEnd(const std::vector<uint8_t>& bytes) { return FindJpegScanEnd(bytes, 1); }

TEST(JpegMarkersTest, ScanEndsAtAMarkerThatIsNoRestart) {
  EXPECT_EQ(ScanEnd({0xDA, 1, 2, 0xFF, kJpegEoi}), 3u);
  EXPECT_EQ(ScanEnd({0xDA, 1, 0xFF, 0, 2, 0xFF, kJpegSos, 3}), 5u);
  EXPECT_EQ(ScanEnd({0xDA, 1, 0xFF, kJpegRst0, 2, 0xFF, kJpegRst7, 0xFF, kJpegDht}), 7u);
  EXPECT_EQ(ScanEnd({0xDA, 0xFF, kJpegEoi}), 1u);
}

TEST(JpegMarkersTest, FillBytesBelongToTheScan) {
  EXPECT_EQ(ScanEnd({0xDA, 1, 0xFF, 0xFF, 0xFF, kJpegEoi}), 4u);
  EXPECT_EQ(ScanEnd({0xDA, 1, 0xFF, 0xFF, 0xFF, kJpegRst0, 2, 0xFF, kJpegEoi}), 7u);
}

TEST(JpegMarkersTest, ScanWithoutAMarkerEndsWithTheBytes) {
  EXPECT_EQ(ScanEnd({0xDA}), 1u);
  EXPECT_EQ(ScanEnd({0xDA, 1, 2}), 3u);
  EXPECT_EQ(ScanEnd({0xDA, 1, 0xFF, 0}), 4u);
  EXPECT_EQ(ScanEnd({0xDA, 1, 0xFF}), 2u);
  EXPECT_EQ(ScanEnd({0xDA, 1, 0xFF, 0xFF}), 3u);
}

TEST(JpegMarkersTest, ScanEndIsFoundAtEveryPlace) {
  constexpr size_t kSize = 200;  // several vectors
  for (size_t end = 1; end + 1 < kSize; ++end) {
    std::vector<uint8_t> bytes(kSize, 7);
    bytes[end] = 0xFF;
    bytes[end + 1] = kJpegEoi;
    EXPECT_EQ(ScanEnd(bytes), end);
    for (size_t i = 1; i + 1 < end; i += 3) {
      bytes[i] = 0xFF;
      bytes[i + 1] = i % 2 == 0 ? 0 : kJpegRst0;
    }
    EXPECT_EQ(ScanEnd(bytes), end);
    bytes.resize(end + 1);
    EXPECT_EQ(ScanEnd(bytes), end);
  }
}

TEST(JpegMarkersTest, RestartIsPassedWithItsFillBytes) {
  const std::vector<uint8_t> bytes = {0xFF, 0xFF, kJpegRst7, 1, 0xFF, 0xFF};
  const uint8_t* const end = bytes.data() + bytes.size();
  EXPECT_EQ(PassJpegRestart(bytes.data(), end, 7), &bytes[3]);
  EXPECT_EQ(PassJpegRestart(bytes.data(), end, 6), nullptr);
  EXPECT_EQ(PassJpegRestart(&bytes[3], end, 7), nullptr);
  EXPECT_EQ(PassJpegRestart(&bytes[4], end, 7), nullptr);
  EXPECT_EQ(PassJpegRestart(end, end, 7), nullptr);
  EXPECT_TRUE(AreJpegFillBytes(&bytes[4], end));
  EXPECT_TRUE(AreJpegFillBytes(end, end));
  EXPECT_FALSE(AreJpegFillBytes(&bytes[3], end));
}

TEST(JpegMarkersTest, RestartsCountToEight) {
  EXPECT_EQ(JpegRestartMarker(0), kJpegRst0);
  EXPECT_EQ(JpegRestartMarker(7), kJpegRst7);
  EXPECT_EQ(JpegRestartMarker(8), kJpegRst0);
}

}  // namespace
}  // namespace orbserve
