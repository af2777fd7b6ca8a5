// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Malformed, rare and hostile files, each with what must become of it (index.csv of the folder):
// `ok`, `error`, or `ok-or-error`, for which docs/odd-images.md says what was decided.

#include <png.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "features/algo/grey.h"
#include "gtest/gtest.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_oracle.h"

namespace orbserve {
namespace {

using Clock = std::chrono::steady_clock;

const char kFolder[] = ORBSERVE_TEST_DATA_DIR "/odd-jpegs/";

// These files may be decoded or refused (docs/odd-images.md), and are decoded.
const std::set<std::string> kRareButDecoded = {"no_dht.jpg", "quant_16bit.jpg"};
const std::set<std::string> kRgbCoded = {"rgb_adobe.jpg", "rgb_ids_no_adobe.jpg"};

struct OddFile {
  std::string name;
  std::string expected;
  int width_px = 0;
  int height_px = 0;
  std::vector<uint8_t> bytes;
};

class OddJpegsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream index(std::string(kFolder) + "index.csv");
    if (!index) {
      GTEST_SKIP() << "the odd JPEGs are not here: " << kFolder
                   << "; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
    }
    std::string line;
    std::getline(index, line);
    while (std::getline(index, line)) {
      const std::vector<std::string> fields = absl::StrSplit(line, ',');
      ASSERT_GT(fields.size(), 5u) << line;
      OddFile file{fields[0], fields[2]};
      file.bytes = ReadFile(kFolder + file.name);
      ASSERT_EQ(std::to_string(file.bytes.size()), fields[1]) << file.name;
      if (!fields[3].empty()) {
        ASSERT_TRUE(absl::SimpleAtoi(fields[3], &file.width_px)) << line;
        ASSERT_TRUE(absl::SimpleAtoi(fields[4], &file.height_px)) << line;
      }
      files_.push_back(std::move(file));
    }
    ASSERT_GT(files_.size(), 100u);
  }

  bool MustDecode(const OddFile& file) const {
    return file.expected == "ok" || kRareButDecoded.contains(file.name);
  }

  std::vector<OddFile> files_;
};

// The grey picture that most of the files hold.
GreyImage ReadBase() {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const std::string path = std::string(kFolder) + "base.png";
  GreyImage base;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0) return base;
  png.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> rgb(PNG_IMAGE_SIZE(png));
  if (png_image_finish_read(&png, nullptr, rgb.data(), 0, nullptr) == 0) return base;
  base.width_px = static_cast<int>(png.width);
  base.height_px = static_cast<int>(png.height);
  for (size_t i = 0; i < rgb.size(); i += 3) {
    base.pixels.push_back(GreyFromRgb(rgb[i], rgb[i + 1], rgb[i + 2]));
  }
  return base;
}

TEST_F(OddJpegsTest, EachEndsAsExpectedWithinASecondAndWithAReason) {
  int decoded = 0;
  int refused = 0;
  double slowest_s = 0;
  for (const OddFile& file : files_) {
    SCOPED_TRACE(file.name);
    const Clock::time_point begin = Clock::now();
    const auto image = Decode(Jpeg(file.bytes));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    slowest_s = std::max(slowest_s, seconds);
    EXPECT_LT(seconds, 1.0);
    EXPECT_EQ(image.ok(), MustDecode(file)) << file.expected << ": " << image.status();
    if (image.ok()) {
      ++decoded;
      EXPECT_EQ(image->width_px, file.width_px);
      EXPECT_EQ(image->height_px, file.height_px);
    } else {
      ++refused;
      const ErrorReason reason = ReasonOf(image.status());
      EXPECT_TRUE(reason == ErrorReason::kBadImage || reason == ErrorReason::kUnsupported ||
                  reason == ErrorReason::kTooLarge)
          << image.status();
      EXPECT_GT(image.status().message().size(), 20u) << "a reason in words";
    }
  }
  std::cout << files_.size() << " files: " << decoded << " decoded, " << refused
            << " refused; the slowest took " << slowest_s * 1e3 << " ms\n";
}

TEST_F(OddJpegsTest, PixelsAreTheLibrarysOwnGrey) {
  int compared = 0;
  for (const OddFile& file : files_) {
    if (!MustDecode(file) || kRgbCoded.contains(file.name)) continue;
    const auto image = Decode(Jpeg(file.bytes));
    ASSERT_TRUE(image.ok()) << file.name << " " << image.status();
    ASSERT_EQ(image->pixels, DecodeByLibrary(file.bytes).pixels) << file.name;
    ++compared;
  }
  EXPECT_GE(compared, 60);
}

TEST_F(OddJpegsTest, RgbCodedFilesGoThroughTheGreyFormula) {
  for (const OddFile& file : files_) {
    if (!kRgbCoded.contains(file.name)) continue;
    const auto image = Decode(Jpeg(file.bytes));
    ASSERT_TRUE(image.ok()) << file.name << " " << image.status();
    const GreyImage rgb = DecodeByLibrary(file.bytes, /*rgb=*/true);
    for (size_t i = 0; i < image->pixels.size(); ++i) {
      ASSERT_EQ(image->pixels[i],
                GreyFromRgb(rgb.pixels[3 * i], rgb.pixels[3 * i + 1], rgb.pixels[3 * i + 2]))
          << file.name << " pixel " << i;
    }
  }
}

TEST_F(OddJpegsTest, PictureIsTheOriginal) {
  const GreyImage base = ReadBase();
  ASSERT_EQ(base.width_px, 641);
  ASSERT_EQ(base.height_px, 427);
  int compared = 0;
  for (const OddFile& file : files_) {
    // Other pictures, and one that keeps little of it.
    if (!MustDecode(file) || absl::StartsWith(file.name, "size_") ||
        absl::StartsWith(file.name, "content_") || file.name == "quality_1.jpg") {
      continue;
    }
    const auto image = Decode(Jpeg(file.bytes));
    ASSERT_TRUE(image.ok()) << file.name << " " << image.status();
    ASSERT_EQ(image->pixels.size(), base.pixels.size()) << file.name;
    double sum = 0;
    for (size_t i = 0; i < base.pixels.size(); ++i) {
      sum += std::abs(int{image->pixels[i]} - int{base.pixels[i]});
    }
    // Coarse by construction: luma at half resolution; 16-bit tables with few steps left.
    const double tolerance =
        file.name == "quant_16bit.jpg" ? 16 : (file.name == "luma_subsampled.jpg" ? 8 : 2);
    EXPECT_LT(sum / static_cast<double>(base.pixels.size()), tolerance) << file.name;
    ++compared;
  }
  EXPECT_GE(compared, 45);
}

TEST_F(OddJpegsTest, NothingOfAnEarlierImageRemains) {
  for (const OddFile& file : files_) {
    if (!MustDecode(file)) continue;
    const auto header = ReadImageHeader(Jpeg(file.bytes), {});
    ASSERT_TRUE(header.ok()) << file.name;
    TestSlot dark(header->width_px, header->height_px, 0x00);
    TestSlot bright(header->width_px, header->height_px, 0xFF);
    ASSERT_TRUE(DecodeToGrey(Jpeg(file.bytes), *header, {}, dark.view()).ok());
    ASSERT_TRUE(DecodeToGrey(Jpeg(file.bytes), *header, {}, bright.view()).ok());
    ASSERT_EQ(dark.Pixels(), bright.Pixels()) << file.name;
    EXPECT_TRUE(dark.PaddingIs(0x00)) << file.name;
    EXPECT_TRUE(bright.PaddingIs(0xFF)) << file.name;
  }
}

// The greatest memory of the process does not grow with what a header claims.
TEST_F(OddJpegsTest, HostileHeadersTakeNoMemory) {
  const auto peak_bytes = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} * 1024;
  };
  const int64_t before = peak_bytes();
  int hostile = 0;
  for (const OddFile& file : files_) {
    if (absl::StartsWith(file.name, "bomb_") || absl::StartsWith(file.name, "pixels_") ||
        file.name == "scan_bomb.jpg" || file.name == "taller_than_data.jpg") {
      EXPECT_FALSE(ReadImageHeader(Jpeg(file.bytes), {}).ok() &&
                   file.name != "taller_than_data.jpg")
          << file.name;
      EXPECT_FALSE(Decode(Jpeg(file.bytes)).ok()) << file.name;
      ++hostile;
    }
  }
  EXPECT_GE(hostile, 7);
  EXPECT_LT(peak_bytes() - before, 8 << 20);
}

// With the limit on scans out of the way, the one on time ends the costly file.
TEST_F(OddJpegsTest, TimeLimitEndsAScanBomb) {
  for (const OddFile& file : files_) {
    if (file.name != "scan_bomb.jpg") continue;
    ImageLimits limits;
    limits.max_scans = 1'000'000;
    limits.max_decode_time = std::chrono::milliseconds(100);
    const Clock::time_point begin = Clock::now();
    const auto image = Decode(Jpeg(file.bytes), limits);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(ReasonOf(image.status()), ErrorReason::kDeadlineExceeded) << image.status();
  }
}

}  // namespace
}  // namespace orbserve
