// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/image_decoder.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/libjpeg_decoder.h"
#include "features/algo/grey.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_oracle.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kSeed = 20240612;

// Error with this reason and this text in its message.
void ExpectError(const absl::Status& status, ErrorReason reason, const std::string& text) {
  ASSERT_FALSE(status.ok()) << "wanted: " << text;
  EXPECT_EQ(InfoOf(ReasonOf(status)).name, InfoOf(reason).name) << status.message();
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

EncodedImage Raw(PixelFormat format, int64_t width_px, int64_t height_px, int64_t stride_bytes,
                 const std::vector<uint8_t>& bytes) {
  return {format, width_px, height_px, stride_bytes, bytes};
}

std::vector<uint8_t> RandomBytes(size_t count) {
  std::mt19937 random(kSeed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

struct RawFormat {
  PixelFormat format;
  int bytes_per_pixel;
};
constexpr RawFormat kRawFormats[] = {
    {PixelFormat::kGray8, 1},      {PixelFormat::kRgb8, 3},       {PixelFormat::kBgr8, 3},
    {PixelFormat::kBgra8, 4},      {PixelFormat::kNv12, 1},       {PixelFormat::kI420, 1},
    {PixelFormat::kYuyv, 2},       {PixelFormat::kGray16, 2},     {PixelFormat::kRgba8, 4},
    {PixelFormat::kUyvy, 2},       {PixelFormat::kBayerRggb8, 1}, {PixelFormat::kBayerBggr8, 1},
    {PixelFormat::kBayerGbrg8, 1}, {PixelFormat::kBayerGrbg8, 1}};

// Colours of the first two pixels of the first and second row, null for what is no mosaic.
const char* MosaicOf(PixelFormat format) {
  switch (format) {
    case PixelFormat::kBayerRggb8:
      return "RGGB";
    case PixelFormat::kBayerBggr8:
      return "BGGR";
    case PixelFormat::kBayerGbrg8:
      return "GBRG";
    case PixelFormat::kBayerGrbg8:
      return "GRBG";
    default:
      return nullptr;
  }
}

// Grey of a pixel of a mosaic, the slow way: the mean of all samples of a colour among the pixel
// and its nearest neighbours.
uint8_t GreyOfMosaic(const char* mosaic, const std::vector<uint8_t>& bytes, int width, int height,
                     int stride, int x, int y) {
  const auto colour_at = [&](int column, int row) {
    return mosaic[2 * ((row + 2) % 2) + (column + 2) % 2];
  };
  const auto sample = [&](int column, int row) {
    column = std::abs(column);
    row = std::abs(row);
    if (column >= width) column = 2 * (width - 1) - column;
    if (row >= height) row = 2 * (height - 1) - row;
    return int{bytes[static_cast<size_t>(row * stride + column)]};
  };
  const auto mean = [&](char colour) {
    for (const int distance : {0, 1, 2}) {  // of city blocks
      int sum = 0;
      int count = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          if (std::abs(dx) + std::abs(dy) != distance || colour_at(x + dx, y + dy) != colour) {
            continue;
          }
          sum += sample(x + dx, y + dy);
          ++count;
        }
      }
      if (count > 0) return static_cast<uint8_t>((2 * sum + count) / (2 * count));
    }
    return uint8_t{0};
  };
  return GreyFromRgb(mean('R'), mean('G'), mean('B'));
}

TEST(RawImageTest, SizeMustBeThatOfTheRows) {
  for (const RawFormat& raw : kRawFormats) {
    SCOPED_TRACE(std::string(PixelFormatName(raw.format)));
    const int64_t row = 10 * raw.bytes_per_pixel;
    for (const int64_t stride : {int64_t{0}, row, row + 1, row + 54}) {
      if (raw.format == PixelFormat::kGray16 && stride % 2 != 0) continue;
      const int64_t step = stride == 0 ? row : stride;
      const int64_t whole = 7 * step;
      const int64_t trimmed = 6 * step + row;
      for (int64_t size = 0; size <= whole + 2; ++size) {
        const std::vector<uint8_t> bytes(static_cast<size_t>(size));
        const auto header = ReadImageHeader(Raw(raw.format, 10, 7, stride, bytes), {});
        if (size == whole || size == trimmed) {
          ASSERT_TRUE(header.ok()) << size << " " << header.status();
          EXPECT_EQ(header->stride_bytes, step);
          EXPECT_EQ(header->width_px, 10);
          EXPECT_EQ(header->height_px, 7);
        } else {
          ExpectError(header.status(), ErrorReason::kBadImage, absl::StrCat("got ", size));
        }
      }
    }
  }
}

TEST(RawImageTest, StrideUnderARowIsRefused) {
  for (const RawFormat& raw : kRawFormats) {
    const int64_t row = 10 * raw.bytes_per_pixel;
    const int64_t less = row - (raw.format == PixelFormat::kGray16 ? 2 : 1);
    const std::vector<uint8_t> bytes(static_cast<size_t>(7 * less));
    ExpectError(ReadImageHeader(Raw(raw.format, 10, 7, less, bytes), {}).status(),
                ErrorReason::kBadImage, absl::StrCat("got ", less));
    ExpectError(ReadImageHeader(Raw(raw.format, 10, 7, -row, bytes), {}).status(),
                ErrorReason::kBadImage, "stride_bytes must be 0 or at least");
  }
}

TEST(RawImageTest, HugeNumbersDoNotWrapAround) {
  const std::vector<uint8_t> bytes(16);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const RawFormat& raw : kRawFormats) {
    // 65536 * 65536 is 0 in 32 bits.
    ExpectError(ReadImageHeader(Raw(raw.format, 65536, 65536, 0, bytes), {}).status(),
                ErrorReason::kTooLarge, "8192");
    ExpectError(ReadImageHeader(Raw(raw.format, huge, huge, 0, bytes), {}).status(),
                ErrorReason::kTooLarge, "8192");
    ExpectError(ReadImageHeader(Raw(raw.format, 4, 4, huge - 1, bytes), {}).status(),
                ErrorReason::kBadImage, "stride_bytes");
    ExpectError(ReadImageHeader(Raw(raw.format, 8192, 8192, 0xFFFFFFFE, bytes), {}).status(),
                ErrorReason::kBadImage, "got 16");
    ExpectError(ReadImageHeader(Raw(raw.format, -4, 4, 0, bytes), {}).status(),
                ErrorReason::kBadImage, "1x1");
    ExpectError(ReadImageHeader(Raw(raw.format, 0, 4, 0, {}), {}).status(), ErrorReason::kBadImage,
                "1x1");
  }
}

TEST(RawImageTest, LimitsAreInclusive) {
  ImageLimits limits;
  limits.max_side_px = 20;
  limits.max_pixels = 300;
  const auto read = [&](int width, int height) {
    const std::vector<uint8_t> bytes(static_cast<size_t>(width * height));
    return ReadImageHeader(Raw(PixelFormat::kGray8, width, height, 0, bytes), limits).status();
  };
  EXPECT_TRUE(read(20, 15).ok());
  EXPECT_TRUE(read(15, 20).ok());
  ExpectError(read(21, 1), ErrorReason::kTooLarge, "at most 20 pixels a side");
  ExpectError(read(1, 21), ErrorReason::kTooLarge, "at most 20 pixels a side");
  ExpectError(read(20, 16), ErrorReason::kTooLarge, "320 pixels; at most 300");
}

TEST(RawImageTest, ChromaMayFollowTheYPlane) {
  const auto read = [](PixelFormat format, int width, int height, int stride, size_t size) {
    const std::vector<uint8_t> bytes(size);
    return ReadImageHeader(Raw(format, width, height, stride, bytes), {}).ok();
  };
  for (const PixelFormat format : {PixelFormat::kNv12, PixelFormat::kI420}) {
    SCOPED_TRACE(std::string(PixelFormatName(format)));
    EXPECT_TRUE(read(format, 8, 6, 0, 8 * 6 * 3 / 2));
    EXPECT_FALSE(read(format, 8, 6, 0, 8 * 6 * 3 / 2 - 1));
    EXPECT_FALSE(read(format, 8, 6, 0, 8 * 6 * 3 / 2 + 1));
    EXPECT_TRUE(read(format, 8, 6, 16, 16 * 6 * 3 / 2));
  }
  // The last row of chroma ends after its pixels.
  EXPECT_TRUE(read(PixelFormat::kNv12, 8, 6, 16, 16 * 6 + 2 * 16 + 8));
  EXPECT_TRUE(read(PixelFormat::kI420, 8, 6, 16, 16 * 6 + 5 * 8 + 4));
  // Odd sides: chroma is rounded up.
  EXPECT_TRUE(read(PixelFormat::kNv12, 7, 5, 0, 7 * 5 + 3 * 8));
  EXPECT_TRUE(read(PixelFormat::kI420, 7, 5, 0, 7 * 5 + 2 * 3 * 4));
}

TEST(RawImageTest, YuyvAndUyvyNeedAnEvenWidth) {
  const std::vector<uint8_t> bytes(9 * 4 * 2);
  ExpectError(ReadImageHeader(Raw(PixelFormat::kYuyv, 9, 4, 0, bytes), {}).status(),
              ErrorReason::kBadImage, "YUYV: width must be even; got 9");
  ExpectError(ReadImageHeader(Raw(PixelFormat::kUyvy, 9, 4, 0, bytes), {}).status(),
              ErrorReason::kBadImage, "UYVY: width must be even; got 9");
}

TEST(RawImageTest, Gray16NeedsAnEvenStride) {
  const std::vector<uint8_t> bytes(4 * 21);
  ExpectError(ReadImageHeader(Raw(PixelFormat::kGray16, 9, 4, 21, bytes), {}).status(),
              ErrorReason::kBadImage, "GRAY16: stride_bytes must be even; got 21");
}

TEST(RawImageTest, MosaicsNeedTwoPixelsASide) {
  const std::vector<uint8_t> bytes(5);
  ExpectError(ReadImageHeader(Raw(PixelFormat::kBayerGrbg8, 5, 1, 0, bytes), {}).status(),
              ErrorReason::kBadImage, "BAYER_GRBG8: sides must be at least 2 pixels; got 5x1");
  ExpectError(ReadImageHeader(Raw(PixelFormat::kBayerRggb8, 1, 5, 0, bytes), {}).status(),
              ErrorReason::kBadImage, "BAYER_RGGB8: sides must be at least 2 pixels; got 1x5");
}

TEST(RawImageTest, MosaicsOfAnySize) {
  std::mt19937 random(kSeed);
  for (const RawFormat& raw : kRawFormats) {
    const char* const mosaic = MosaicOf(raw.format);
    if (mosaic == nullptr) continue;
    SCOPED_TRACE(mosaic);
    for (int round = 0; round < 200; ++round) {
      const int width = 2 + static_cast<int>(random() % (round % 2 == 0 ? 6 : 140));
      const int height = 2 + static_cast<int>(random() % 8);
      const int stride = width + static_cast<int>(random() % 5);
      const std::vector<uint8_t> bytes = RandomBytes(static_cast<size_t>(stride * height));
      const EncodedImage image = Raw(raw.format, width, height, stride, bytes);
      const auto header = ReadImageHeader(image, {});
      ASSERT_TRUE(header.ok()) << header.status();
      TestSlot slot(width, height, 0xA5);
      ASSERT_TRUE(DecodeToGrey(image, *header, {}, slot.view()).ok());
      EXPECT_TRUE(slot.PaddingIs(0xA5));
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          ASSERT_EQ(slot.view().Row(y)[x], GreyOfMosaic(mosaic, bytes, width, height, stride, x, y))
              << width << "x" << height << " " << x << "," << y;
        }
      }
    }
  }
}

TEST(RawImageTest, PixelsArriveAndPaddingIsLeftAlone) {
  for (const RawFormat& raw : kRawFormats) {
    SCOPED_TRACE(std::string(PixelFormatName(raw.format)));
    for (const int width : {2, 62, 64, 66, 130}) {
      const int height = 5;
      const int stride = width * raw.bytes_per_pixel + 4;
      const std::vector<uint8_t> bytes =
          RandomBytes(static_cast<size_t>(stride * (height - 1) + width * raw.bytes_per_pixel));
      EncodedImage image = Raw(raw.format, width, height, stride, bytes);
      image.window = {10'000, 60'000};
      const auto header = ReadImageHeader(image, {});
      ASSERT_TRUE(header.ok()) << header.status();
      TestSlot slot(width, height, 0xA5);
      ASSERT_TRUE(DecodeToGrey(image, *header, {}, slot.view()).ok());
      EXPECT_TRUE(slot.PaddingIs(0xA5));
      const char* const mosaic = MosaicOf(raw.format);
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          const uint8_t* p = &bytes[y * stride + x * raw.bytes_per_pixel];
          uint8_t expected = p[0];
          if (raw.format == PixelFormat::kRgb8 || raw.format == PixelFormat::kRgba8) {
            expected = GreyFromRgb(p[0], p[1], p[2]);
          }
          if (raw.format == PixelFormat::kBgr8 || raw.format == PixelFormat::kBgra8) {
            expected = GreyFromRgb(p[2], p[1], p[0]);
          }
          if (raw.format == PixelFormat::kUyvy) expected = p[1];
          if (raw.format == PixelFormat::kGray16) {
            expected = GreyFrom16Bits(static_cast<uint16_t>(p[0] | p[1] << 8), image.window);
          }
          if (mosaic != nullptr) {
            expected = GreyOfMosaic(mosaic, bytes, width, height, stride, x, y);
          }
          ASSERT_EQ(slot.view().Row(y)[x], expected) << x << "," << y;
        }
      }
    }
  }
}

TEST(RawImageTest, PiecesAreAsGoodAsTheWhole) {
  std::mt19937 random(8);
  for (const RawFormat& raw : kRawFormats) {
    SCOPED_TRACE(std::string(PixelFormatName(raw.format)));
    const int width = 66;
    const int height = 9;
    const int row = width * raw.bytes_per_pixel;
    for (int round = 0; round < 200; ++round) {
      const int stride = row + static_cast<int>(random() % 3) * 50;
      const bool trimmed = random() % 2 == 0;
      const std::vector<uint8_t> bytes =
          RandomBytes(static_cast<size_t>(stride * (height - 1) + (trimmed ? row : stride)));
      EncodedImage image = Raw(raw.format, width, height, stride, bytes);
      const auto header = ReadImageHeader(image, {});
      ASSERT_TRUE(header.ok()) << header.status();
      TestSlot whole(width, height, 0xA5);
      ASSERT_TRUE(DecodeToGrey(image, *header, {}, whole.view()).ok());

      // Up to 20 cuts, some at the same place: pieces of no bytes, and rows in several pieces. Each
      // in memory of its own, so that a sanitizer sees what is read beyond it.
      std::vector<size_t> cuts = {0, bytes.size()};
      for (uint32_t i = random() % 20; i > 0; --i) cuts.push_back(random() % (bytes.size() + 1));
      std::sort(cuts.begin(), cuts.end());
      std::vector<std::vector<uint8_t>> parts;
      for (size_t i = 1; i < cuts.size(); ++i) {
        parts.emplace_back(bytes.data() + cuts[i - 1], bytes.data() + cuts[i]);
      }
      const std::vector<BytePiece> pieces(parts.begin(), parts.end());
      image.bytes = {};
      image.pieces = pieces;
      EXPECT_EQ(image.size_bytes(), static_cast<int64_t>(bytes.size()));
      ASSERT_TRUE(ReadImageHeader(image, {}).ok());
      TestSlot slot(width, height, 0xA5);
      ASSERT_TRUE(DecodeToGrey(image, *header, {}, slot.view()).ok());
      EXPECT_TRUE(slot.PaddingIs(0xA5));
      for (int y = 0; y < height; ++y) {
        ASSERT_TRUE(std::equal(slot.view().Row(y), slot.view().Row(y) + width, whole.view().Row(y)))
            << y;
      }
    }
  }
}

TEST(RawImageTest, PiecesOfAnotherSizeAreRefused) {
  const std::vector<uint8_t> bytes(12 * 9 + 1);
  const BytePiece pieces[] = {absl::MakeConstSpan(bytes), absl::MakeConstSpan(bytes).subspan(0, 7)};
  EncodedImage image = Raw(PixelFormat::kGray8, 12, 9, 0, {});
  image.pieces = pieces;
  ExpectError(ReadImageHeader(image, {}).status(), ErrorReason::kBadImage,
              "12x9 pixels in rows of 12 bytes are 108 bytes; got 116");
}

TEST(DecodeToGreyTest, SlotOfAnotherSizeIsOurMistake) {
  const std::vector<uint8_t> bytes(12 * 9);
  const EncodedImage image = Raw(PixelFormat::kGray8, 12, 9, 0, bytes);
  const auto header = ReadImageHeader(image, {});
  ASSERT_TRUE(header.ok());
  TestSlot wrong(9, 12);
  ExpectError(DecodeToGrey(image, *header, {}, wrong.view()), ErrorReason::kInternal, "9x12");
  ExpectError(DecodeToGrey(image, *header, {}, {}), ErrorReason::kInternal, "0x0");
}

const JpegKind kKinds[] = {{},
                           {.components = 1},
                           {.width_px = 61, .height_px = 35, .progressive = true},
                           {.width_px = 33, .height_px = 17, .components = 1, .progressive = true}};

TEST(JpegTest, EqualsTheLibrarysOwnGrey) {
  for (const JpegKind& kind : kKinds) {
    const std::vector<uint8_t> bytes = WriteJpeg(kind);
    const auto image = Decode(Jpeg(bytes));
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->width_px, kind.width_px);
    EXPECT_EQ(image->height_px, kind.height_px);
    EXPECT_EQ(image->pixels, DecodeByLibrary(bytes).pixels);
  }
}

TEST(JpegTest, RgbComponentsGoThroughTheGreyFormula) {
  const std::vector<uint8_t> bytes = WriteJpeg({.width_px = 97, .height_px = 31, .keep_rgb = true});
  const auto image = Decode(Jpeg(bytes));
  ASSERT_TRUE(image.ok()) << image.status();
  const GreyImage rgb = DecodeByLibrary(bytes, /*rgb=*/true);
  ASSERT_EQ(image->pixels.size() * 3, rgb.pixels.size());
  for (size_t i = 0; i < image->pixels.size(); ++i) {
    ASSERT_EQ(image->pixels[i],
              GreyFromRgb(rgb.pixels[3 * i], rgb.pixels[3 * i + 1], rgb.pixels[3 * i + 2]))
        << i;
  }
}

TEST(JpegTest, NothingOfTheSlotsEarlierImageRemains) {
  const std::vector<uint8_t> bytes = WriteJpeg({.width_px = 61, .height_px = 35});
  const auto header = ReadImageHeader(Jpeg(bytes), {});
  ASSERT_TRUE(header.ok());
  TestSlot dark(61, 35, 0x00);
  TestSlot bright(61, 35, 0xFF);
  ASSERT_TRUE(DecodeToGrey(Jpeg(bytes), *header, {}, dark.view()).ok());
  ASSERT_TRUE(DecodeToGrey(Jpeg(bytes), *header, {}, bright.view()).ok());
  EXPECT_EQ(dark.Pixels(), bright.Pixels());
  EXPECT_TRUE(dark.PaddingIs(0x00));
  EXPECT_TRUE(bright.PaddingIs(0xFF));
}

TEST(JpegTest, DeclaredSizeMustBeTheFiles) {
  const std::vector<uint8_t> bytes = WriteJpeg({.width_px = 64, .height_px = 48});
  EncodedImage image = Jpeg(bytes);
  image.width_px = 64;
  EXPECT_TRUE(ReadImageHeader(image, {}).ok());
  image.height_px = 48;
  EXPECT_TRUE(ReadImageHeader(image, {}).ok());
  image.height_px = 47;
  ExpectError(ReadImageHeader(image, {}).status(), ErrorReason::kBadImage,
              "declared as 64x47, the file says 64x48");
  image.height_px = 0;
  image.stride_bytes = 64;
  ExpectError(ReadImageHeader(image, {}).status(), ErrorReason::kBadImage, "got 64");
}

// Wherever a file is cut it is refused, and by the header check wherever that can know.
TEST(JpegTest, NoPrefixOfAFileIsAnImage) {
  for (const JpegKind& kind : kKinds) {
    const std::vector<uint8_t> bytes = WriteJpeg(kind);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<uint8_t> prefix(bytes.begin(), bytes.begin() + size);
      ASSERT_FALSE(ReadImageHeader(Jpeg(prefix), {}).ok()) << size << " of " << bytes.size();
    }
    EXPECT_TRUE(Decode(Jpeg(bytes)).ok());
  }
}

// Cut and closed with an end marker: the structure is right, and pixels are missing.
TEST(JpegTest, NoPrefixWithAnEndMarkerIsAnImage) {
  for (const JpegKind& kind : kKinds) {
    const std::vector<uint8_t> bytes = WriteJpeg(kind);
    // The last byte of a scan may hold nothing but padding, hence not to the very end.
    for (size_t size = 2; size + 4 < bytes.size(); ++size) {
      std::vector<uint8_t> prefix(bytes.begin(), bytes.begin() + size);
      prefix.push_back(0xFF);
      prefix.push_back(0xD9);
      const auto image = Decode(Jpeg(prefix));
      ASSERT_FALSE(image.ok()) << size << " of " << bytes.size();
      ASSERT_FALSE(image.status().message().empty());
    }
  }
}

// Whatever one byte becomes: an image of the right size or an error, in bounded time.
TEST(JpegTest, SingleByteErrorsAreSurvived) {
  std::mt19937 random(kSeed);
  for (const JpegKind& kind : kKinds) {
    const std::vector<uint8_t> bytes = WriteJpeg(kind);
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::vector<uint8_t> changed = bytes;
      changed[at] ^= static_cast<uint8_t>(1 + random() % 255);
      ImageLimits limits;
      limits.max_side_px = 512;
      const auto image = Decode(Jpeg(changed), limits);
      if (!image.ok()) {
        const ErrorReason reason = ReasonOf(image.status());
        ASSERT_TRUE(reason == ErrorReason::kBadImage || reason == ErrorReason::kUnsupported ||
                    reason == ErrorReason::kTooLarge)
            << image.status();
      }
    }
  }
}

TEST(JpegTest, LimitsAreInclusive) {
  const std::vector<uint8_t> bytes = WriteJpeg({.width_px = 64, .height_px = 48});
  ImageLimits limits;
  limits.max_side_px = 64;
  limits.max_pixels = 64 * 48;
  EXPECT_TRUE(Decode(Jpeg(bytes), limits).ok());
  limits.max_side_px = 63;
  ExpectError(ReadImageHeader(Jpeg(bytes), limits).status(), ErrorReason::kTooLarge, "64x48");
  limits.max_side_px = 64;
  limits.max_pixels = 64 * 48 - 1;
  ExpectError(ReadImageHeader(Jpeg(bytes), limits).status(), ErrorReason::kTooLarge, "3071");
}

TEST(JpegTest, TheMemoryOfTheDecoderIsKnownBeforeItIsTaken) {
  const auto bytes_of = [](bool progressive) {
    const std::vector<uint8_t> bytes =
        WriteJpeg({.width_px = 64, .height_px = 48, .progressive = progressive});
    const auto header = ReadImageHeader(Jpeg(bytes), {});
    EXPECT_TRUE(header.ok()) << header.status();
    return header.ok() ? header->decoder_bytes : -1;
  };
  EXPECT_EQ(bytes_of(/*progressive=*/false), 0);
  // Two bytes for each coefficient of the luma at least.
  EXPECT_GE(bytes_of(/*progressive=*/true), 64 * 48 * 2);
  EXPECT_LE(bytes_of(/*progressive=*/true), 3 * 64 * 48 * 2);
}

TEST(JpegTest, ScansAreLimitedByTheHeaderCheckAndAgainWhileDecoding) {
  const std::vector<uint8_t> bytes = WriteJpeg({.progressive = true});
  const auto header = ReadImageHeader(Jpeg(bytes), {});
  ASSERT_TRUE(header.ok()) << header.status();
  ImageLimits limits;
  limits.max_scans = 10;  // what jpeg_simple_progression() writes for colour
  EXPECT_TRUE(Decode(Jpeg(bytes), limits).ok());
  limits.max_scans = 9;
  ExpectError(ReadImageHeader(Jpeg(bytes), limits).status(), ErrorReason::kTooLarge, "9 scans");
  TestSlot slot(header->width_px, header->height_px);
  ExpectError(DecodeToGrey(Jpeg(bytes), *header, limits, slot.view()), ErrorReason::kTooLarge,
              "9 scans");
}

// libjpeg-turbo would hold all coefficients before it refuses the file.
TEST(JpegTest, ProgressiveFileOfOneScanIsRefusedBeforeMemoryIsTaken) {
  for (const int components : {1, 3}) {
    std::vector<uint8_t> bytes = WriteJpeg({.components = components, .progressive = true});
    const auto find = [&](uint8_t marker, size_t from) {
      while (bytes[from] != 0xFF || bytes[from + 1] != marker) ++from;
      return from;
    };
    // The second scan has tables of its own before it.
    bytes.resize(find(0xC4, find(0xDA, 0)));
    bytes.insert(bytes.end(), {0xFF, 0xD9});
    ExpectError(ReadImageHeader(Jpeg(bytes), {}).status(), ErrorReason::kBadImage,
                "scans of the progressive image are missing");
  }
}

TEST(JpegTest, DecodersMemoryIsLimitedByTheHeaderCheckAndAgainWhileDecoding) {
  const std::vector<uint8_t> bytes =
      WriteJpeg({.width_px = 1024, .height_px = 1024, .progressive = true});
  const auto header = ReadImageHeader(Jpeg(bytes), {});
  ASSERT_TRUE(header.ok()) << header.status();
  ImageLimits limits;
  limits.max_decoder_bytes = 1 << 20;  // 4:2:0 coefficients are 3 MiB
  ExpectError(ReadImageHeader(Jpeg(bytes), limits).status(), ErrorReason::kTooLarge, "3145728");
  TestSlot slot(header->width_px, header->height_px);
  ExpectError(DecodeToGrey(Jpeg(bytes), *header, limits, slot.view()), ErrorReason::kTooLarge,
              "1048576");
}

TEST(JpegTest, DecodingTimeIsLimited) {
  for (const bool progressive : {false, true}) {
    const std::vector<uint8_t> bytes = WriteJpeg({.progressive = progressive});
    const auto header = ReadImageHeader(Jpeg(bytes), {});
    ASSERT_TRUE(header.ok());
    ImageLimits limits;
    limits.max_decode_time = std::chrono::milliseconds(-1);  // over already
    TestSlot slot(header->width_px, header->height_px);
    ExpectError(DecodeToGrey(Jpeg(bytes), *header, limits, slot.view()),
                ErrorReason::kDeadlineExceeded, "limit for one image");
  }
}

// The strict decoder checks these files before libjpeg-turbo decodes them: the second one gets what
// is left of the time, and not the whole of it once more.
TEST(JpegTest, TheSecondDecoderHasTheDeadlineOfTheFirst) {
  const std::vector<uint8_t> bytes = WriteJpeg({.keep_rgb = true});
  TestSlot slot(64, 48);
  const ImageLimits limits;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_TRUE(DecodeJpeg(bytes, limits, now + limits.max_decode_time, slot.view()).ok());
  ExpectError(DecodeJpeg(bytes, limits, now - std::chrono::milliseconds(1), slot.view()),
              ErrorReason::kDeadlineExceeded, "not decoded within 10000 ms");
}

// Files that the strict decoder checks and libjpeg-turbo decodes took two to three times as long,
// in relation to their estimate, as files for the strict decoder alone.
TEST(DecodeWorkTest, FilesForTheLibraryTakeTheCheckAndTheDecoding) {
  constexpr int64_t kBytes = 1'000'000;
  const ImageHeader plain{.width_px = 2000, .height_px = 2000};
  const auto work_beside_plain = [&](bool is_rgb, bool progressive, int scans) {
    ImageHeader header = plain;
    header.is_rgb = is_rgb;
    header.progressive = progressive;
    header.scans = scans;
    header.for_library = true;
    return DecodeWork(header, kBytes) / DecodeWork(plain, kBytes);
  };
  const double subsampled = work_beside_plain(false, false, 1);
  EXPECT_GT(subsampled, 2.0);
  EXPECT_GT(work_beside_plain(true, false, 1), subsampled);
  EXPECT_GT(work_beside_plain(false, false, 3), subsampled);
  EXPECT_GT(work_beside_plain(true, true, 10), 2 * work_beside_plain(false, true, 10));
}

// A header's claim without the data for it is refused before anything is allocated.
TEST(JpegTest, FileTooShortForItsSizeIsRefused) {
  for (const bool progressive : {false, true}) {
    std::vector<uint8_t> bytes = WriteJpeg({.components = 1, .progressive = progressive});
    const std::string frame_header = {'\xFF', progressive ? '\xC2' : '\xC0', 0, 11, 8};
    const std::string text(bytes.begin(), bytes.end());
    const size_t at = text.find(frame_header);
    ASSERT_NE(at, std::string::npos);
    bytes[at + 5] = bytes[at + 7] = 0x20;  // 8192 x 8192
    bytes[at + 6] = bytes[at + 8] = 0x00;
    ExpectError(ReadImageHeader(Jpeg(bytes), {}).status(), ErrorReason::kBadImage,
                "cannot hold the 8192x8192 pixels");
  }
}

}  // namespace
}  // namespace orbserve
