// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_sequential.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/image_decoder.h"
#include "decode/libjpeg_decoder.h"
#include "gtest/gtest.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_kinds.h"
#include "tests/decode/jpeg_oracle.h"
#include "tests/decode/strict_jpeg.h"

namespace orbserve {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kSeed = 20261123;

std::chrono::steady_clock::time_point Later() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

struct Outcome {
  std::optional<absl::Status> end;
  Bytes pixels;
};

Outcome DecodeWith(DecodeHelpers* helpers, const Bytes& bytes, int width_px, int height_px) {
  TestSlot slot(width_px, height_px);
  JpegFile file{bytes, slot.view(), std::nullopt};
  DecodeSequentialJpeg(Later(), &file, helpers);
  EXPECT_TRUE(slot.PaddingIs(0xA5));
  return {file.end, slot.Pixels()};
}

void ExpectEqual(const Outcome& got, const Outcome& expected) {
  EXPECT_EQ(got.end, expected.end);
  if (expected.end.has_value() && expected.end->ok()) {
    EXPECT_TRUE(got.pixels == expected.pixels);
  }
}

// With helpers, the outcome is the same.
Outcome Decode(const Bytes& bytes, int width_px, int height_px) {
  const Outcome outcome = DecodeWith(nullptr, bytes, width_px, height_px);
  for (const int64_t least_piece_bytes : {100, 700, 5000}) {
    SCOPED_TRACE(absl::StrCat("with pieces of ", least_piece_bytes, " bytes"));
    HelperAtOnce helper(least_piece_bytes);
    ExpectEqual(DecodeWith(&helper, bytes, width_px, height_px), outcome);
  }
  return outcome;
}

// Decoded here, with the pixels of libjpeg-turbo.
void ExpectTheLibrarysPixels(const std::vector<JpegKind>& kinds) {
  for (const JpegKind& kind : kinds) {
    SCOPED_TRACE(NameOf(kind));
    const Bytes file = WriteJpeg(kind);
    const Outcome outcome = Decode(file, kind.width_px, kind.height_px);
    ASSERT_TRUE(outcome.end.has_value()) << "left to libjpeg-turbo";
    ASSERT_TRUE(outcome.end->ok()) << *outcome.end;
    ASSERT_TRUE(outcome.pixels == DecodeByLibrary(file).pixels);
    ASSERT_EQ(ReadStrictly(file).flaw, "");
  }
}

TEST(JpegSequentialTest, PixelsOfAllSamplingsAndQualitiesAreTheLibrarys) {
  ExpectTheLibrarysPixels(KindsOfAllQualities());
}

TEST(JpegSequentialTest, PixelsOfAllSizesAreTheLibrarys) {
  std::mt19937 random(kSeed);
  std::vector<JpegKind> kinds;
  for (int i = 0; i < 150; ++i) kinds.push_back(RandomKind(random, i));
  ExpectTheLibrarysPixels(kinds);
}

TEST(JpegSequentialTest, PixelsBetweenRestartMarkersAreTheLibrarys) {
  std::vector<JpegKind> kinds;
  for (const JpegSampling& sampling : kJpegSamplings) {
    for (const int interval : {1, 2, 3, 7, 8, 9, 16, 50, 499, 500, 1000, 65535}) {
      kinds.push_back({.width_px = 200,
                       .height_px = 160,
                       .components = sampling.components,
                       .luma_across = sampling.luma_across,
                       .luma_down = sampling.luma_down,
                       .restart_interval = interval});
    }
  }
  ExpectTheLibrarysPixels(kinds);
}

// Large enough for several rounds of lanes.
TEST(JpegSequentialTest, PixelsOfLargeImagesAreTheLibrarys) {
  ExpectTheLibrarysPixels(LargeKinds());
}

// As many threads as may help, and one call more when the image is gone.
class HelpingThreads final : public DecodeHelpers {
 public:
  ~HelpingThreads() override {
    Join();
    if (help_ != nullptr) help_();
  }
  void Ask(int most, const std::function<void()>& help) override {
    help_ = help;
    for (int i = 0; i < std::min(most, 4); ++i) threads_.emplace_back(help);
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
  std::function<void()> help_;
};

TEST(JpegSequentialTest, ThreadsMayHelpAtAnyTime) {
  for (JpegKind kind : LargeKinds()) {
    kind.own_tables = false;
    SCOPED_TRACE(NameOf(kind));
    HelpingThreads helpers;
    auto file = std::make_unique<Bytes>(WriteJpeg(kind));
    const Outcome alone = DecodeWith(nullptr, *file, kind.width_px, kind.height_px);
    for (int i = 0; i < 3; ++i) {
      ExpectEqual(DecodeWith(&helpers, *file, kind.width_px, kind.height_px), alone);
      if (i == 0) helpers.Join();
    }
    file = nullptr;  // helpers may still be at work
  }
}

TEST(JpegSequentialTest, SmallFilesAndThoseWithTablesOfTheirOwnAreNotShared) {
  const JpegKind large{.width_px = 640, .height_px = 480};
  JpegKind own = large;
  own.own_tables = true;
  const JpegKind small{.width_px = 64, .height_px = 48};
  const auto asked = [](const JpegKind& kind) {
    HelperAtOnce helper(DecodeHelpers::kLeastPieceBytes);
    EXPECT_TRUE(DecodeWith(&helper, WriteJpeg(kind), kind.width_px, kind.height_px).end->ok());
    return helper.asked();
  };
  EXPECT_EQ(asked(large), 1);
  EXPECT_EQ(asked(own), 0);
  EXPECT_EQ(asked(small), 0);
}

TEST(JpegSequentialTest, OtherKindsAreLeftToTheLibrary) {
  const Bytes files[] = {WriteJpeg({.progressive = true}), WriteJpeg({.keep_rgb = true}),
                         WriteJpeg({.width_px = 64, .height_px = 48, .quality = 50})};
  EXPECT_FALSE(Decode(files[0], 64, 48).end.has_value());
  EXPECT_FALSE(Decode(files[1], 64, 48).end.has_value());
  EXPECT_TRUE(Decode(files[2], 64, 48).end.has_value());
}

// Place of the first segment of this kind.
size_t Find(const Bytes& bytes, uint8_t marker) {
  size_t at = 2;
  while (bytes[at + 1] != marker) at += 2 + (size_t{bytes[at + 2]} << 8 | bytes[at + 3]);
  return at;
}

// Refused, with these words.
void ExpectDamage(const Bytes& bytes, int width_px, int height_px, const std::string& words) {
  const Outcome outcome = Decode(bytes, width_px, height_px);
  ASSERT_TRUE(outcome.end.has_value());
  EXPECT_EQ(ReasonOf(*outcome.end), ErrorReason::kBadImage) << *outcome.end;
  EXPECT_NE(std::string(outcome.end->message()).find(words), std::string::npos)
      << *outcome.end << "; wanted: " << words;
}

TEST(JpegDamageTest, EachFlawIsRefusedWithItsPlace) {
  const Bytes plain = WriteJpeg({.width_px = 640, .height_px = 480});
  const size_t end = plain.size() - 2;
  Bytes bytes = plain;
  bytes.insert(bytes.end() - 2, {0, 0});
  ExpectDamage(bytes, 640, 480, "bytes left over after MCU 1200 of 1200");
  bytes = plain;
  bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(end) - 300, bytes.end() - 2);
  ExpectDamage(bytes, 640, 480, "the data end in MCU 1");
  bytes = plain;
  bytes.insert(bytes.end() - 2, {0xFF, 0xD0});
  ExpectDamage(bytes, 640, 480, "a marker that does not belong after MCU 1200 of 1200");
  bytes = plain;
  bytes[Find(plain, 0xDB) + 30] = 0;
  ExpectDamage(bytes, 640, 480, "a quantiser of 0 in table 0");
  bytes = plain;
  const size_t scan = Find(plain, 0xDA) + 14;
  for (size_t i = 0; i < 16; i += 2) {
    bytes[scan + 5000 + i] = 0xFF;
    bytes[scan + 5001 + i] = 0;
  }
  ExpectDamage(bytes, 640, 480, "a code that is in no table in MCU ");

  const Bytes restarts = WriteJpeg({.width_px = 640, .height_px = 480, .restart_interval = 40});
  size_t marker = Find(restarts, 0xDA) + 14;
  while (restarts[marker] != 0xFF || restarts[marker + 1] != 0xD3) ++marker;
  bytes = restarts;
  bytes[marker + 1] = 0xD4;
  ExpectDamage(bytes, 640, 480, "no restart marker of the right number after MCU 160 of 1200");
  bytes = restarts;
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(marker), 0x55);
  ExpectDamage(bytes, 640, 480, "bytes left over after MCU 160 of 1200");
  bytes = restarts;
  bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(marker),
              bytes.begin() + static_cast<ptrdiff_t>(marker) + 2);
  ExpectDamage(bytes, 640, 480, "after MCU 160 of 1200");
}

// Wherever lanes begin, none goes on behind the last MCU of the image.
TEST(JpegDamageTest, BytesBehindTheLastMcuAreNotRead) {
  std::mt19937 random(kSeed);
  for (int i = 0; i < 600; ++i) {
    const JpegSampling& sampling = kJpegSamplings[random() % std::size(kJpegSamplings)];
    const JpegKind kind{.width_px = 61,
                        .height_px = 40,
                        .components = sampling.components,
                        .quality = 99,
                        .luma_across = sampling.luma_across,
                        .luma_down = sampling.luma_down,
                        .noise = true};
    SCOPED_TRACE(absl::StrCat("file ", i, " ", NameOf(kind)));
    Bytes bytes = WriteJpeg(kind);
    Bytes more(1 + random() % 3000);
    for (uint8_t& byte : more) byte = static_cast<uint8_t>(random() % 255);
    bytes.insert(bytes.end() - 2, more.begin(), more.end());
    const std::string flaw = ReadStrictly(bytes).flaw;
    ASSERT_TRUE(flaw.starts_with("bytes left over after MCU ")) << flaw;
    ExpectDamage(bytes, 61, 40, flaw);
  }
}

// The bytes begin with a fill byte that no marker follows, so that the data end before them. Also
// where one lane's part of the file ends and the next one's begins.
TEST(JpegDamageTest, BytesBeforeARestartMarkerAreRefusedEverywhere) {
  const Bytes whole = WriteJpeg({.width_px = 640, .height_px = 480, .restart_interval = 40});
  int restarts = 0;
  for (size_t at = Find(whole, 0xDA) + 14; at + 2 < whole.size(); ++at) {
    if (whole[at] != 0xFF || whole[at + 1] == 0) continue;
    ++restarts;
    Bytes bytes = whole;
    const Bytes more = {0xFF, 0xFF, 0, 0x55};
    bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), more.begin(), more.end());
    const std::string words =
        absl::StrCat("no restart marker of the right number after MCU ", 40 * restarts, " of 1200");
    EXPECT_EQ(ReadStrictly(bytes).flaw, words);
    ExpectDamage(bytes, 640, 480, words);
  }
  EXPECT_EQ(restarts, 29);
}

// A restart marker where the file announces none ends the data, also for helpers that have decoded
// what is behind it. In an even picture MCUs begin with a byte every 3 bytes, and so do some
// pieces.
TEST(JpegDamageTest, NobodyGoesOnBehindAMarkerInTheData) {
  const JpegKind even{.width_px = 320, .height_px = 240, .components = 1};
  const JpegKind noise{.width_px = 320, .height_px = 240, .quality = 60, .noise = true};
  const std::pair<Bytes, size_t> files[] = {
      {EncodeJpeg(even, Bytes(320 * 240, 128)), 1},
      {WriteJpeg(noise), 97},
  };
  for (const auto& [whole, step] : files) {
    const StrictVerdict healthy = ReadStrictly(whole);
    ASSERT_EQ(healthy.flaw, "");
    for (auto at = static_cast<size_t>(healthy.scan_begin) + 1;
         at < static_cast<size_t>(healthy.scan_end); at += step) {
      if (whole[at - 1] == 0xFF) continue;
      Bytes bytes = whole;
      bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), {0xFF, 0xD0});
      SCOPED_TRACE(absl::StrCat("marker at ", at));
      ExpectDamage(bytes, 320, 240, ReadStrictly(bytes).flaw);
    }
  }
}

// Damaged AC tables have symbols that sequential files have not: a whole code for one of them is a
// bad code, however few bits follow it, and half a code is the end of the data.
TEST(JpegDamageTest, VerdictsAtTheEndOfTheDataAreThoseOfAStrictReading) {
  std::mt19937 random(kSeed);
  std::map<std::string, int> flaws;
  for (int i = 0; i < 4000; ++i) {
    const JpegKind kind{.width_px = 8 + static_cast<int>(random() % 17),
                        .height_px = 8 + static_cast<int>(random() % 17),
                        .components = random() % 2 == 0 ? 1 : 3,
                        .quality = 70 + static_cast<int>(random() % 29),
                        .luma_across = 1,
                        .luma_down = 1,
                        .restart_interval = random() % 2 == 0 ? 2 : 0};
    SCOPED_TRACE(absl::StrCat("file ", i, " ", NameOf(kind)));
    Bytes bytes = WriteJpeg(kind);
    // An AC symbol of luma, or of chroma, becomes a run without a value.
    const bool chroma = kind.components == 3 && random() % 2 == 0;
    const Bytes head = {0xFF, 0xC4, 0, 181, static_cast<uint8_t>(chroma ? 0x11 : 0x10)};
    auto table = std::search(bytes.begin(), bytes.end(), head.begin(), head.end());
    ASSERT_NE(table, bytes.end());
    table[static_cast<ptrdiff_t>(head.size() + 16 + random() % 30)] = 0x10;
    const StrictVerdict healthy = ReadStrictly(bytes);
    ASSERT_TRUE(healthy.known);
    // Often the bad code is close to where the data are cut.
    const auto data = static_cast<size_t>(healthy.scan_end - healthy.scan_begin);
    bytes.resize(static_cast<size_t>(healthy.scan_begin) + 1 + random() % data);
    bytes.insert(bytes.end(), {0xFF, 0xD9});
    if (!ReadImageHeader(Jpeg(bytes), {}).ok()) continue;
    const StrictVerdict verdict = ReadStrictly(bytes);
    const Outcome outcome = Decode(bytes, kind.width_px, kind.height_px);
    if (verdict.flaw.empty()) continue;
    ASSERT_TRUE(outcome.end.has_value()) << verdict.flaw;
    ASSERT_EQ(std::string(outcome.end->message()), "JPEG: corrupt, " + verdict.flaw);
    ++flaws[verdict.flaw.substr(0, verdict.flaw.find(" in MCU"))];
  }
  EXPECT_GT(flaws["the data end"], 500);
  EXPECT_GT(flaws["a code that is in no table"], 500);
}

// Also where libjpeg-turbo decodes.
TEST(JpegDamageTest, SequentialFilesForTheLibraryAreChecked) {
  for (const JpegKind& kind :
       {JpegKind{.keep_rgb = true}, JpegKind{.luma_across = 1, .luma_down = 1}}) {
    Bytes bytes = WriteJpeg(kind);
    if (!kind.keep_rgb) {
      // Luma at half of the sampling of chroma: of the same number of blocks as 4:2:2.
      const size_t frame = Find(bytes, 0xC0);
      bytes[frame + 14] = 0x21;
    }
    bytes.insert(bytes.end() - 2, {0, 0});
    const auto image = Decode(Jpeg(bytes));
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(ReasonOf(image.status()), ErrorReason::kBadImage) << image.status();
  }
}

// The verdict is that of reading bit by bit, with the same words.
TEST(JpegDamageTest, VerdictsOnRandomDamageAreThoseOfAStrictReading) {
  std::mt19937 random(kSeed);
  std::map<std::string, int> outcomes;
  for (int i = 0; i < 3000; ++i) {
    const JpegSampling& sampling = kJpegSamplings[random() % 5];
    const JpegKind kind{.width_px = 60 + static_cast<int>(random() % 120),
                        .height_px = 60 + static_cast<int>(random() % 90),
                        .components = sampling.components,
                        .quality = 70 + static_cast<int>(random() % 29),
                        .luma_across = sampling.luma_across,
                        .luma_down = sampling.luma_down,
                        .restart_interval = random() % 4 == 0 ? 10 : 0,
                        .own_tables = random() % 4 == 0};
    SCOPED_TRACE(absl::StrCat("file ", i, " ", NameOf(kind)));
    const Bytes whole = WriteJpeg(kind);
    Bytes bytes = whole;
    const StrictVerdict healthy = ReadStrictly(whole);
    ASSERT_TRUE(healthy.known);
    ASSERT_EQ(healthy.flaw, "");
    for (uint32_t damage = 1 + random() % 4; damage > 0; --damage) {
      const auto scan_bytes = static_cast<uint32_t>(healthy.scan_end - healthy.scan_begin - 2);
      const size_t at = static_cast<size_t>(healthy.scan_begin) + random() % scan_bytes;
      if (random() % 2 == 0) {
        bytes[at] ^= static_cast<uint8_t>(1 << random() % 8);
      } else {
        bytes[at] = static_cast<uint8_t>(random());
      }
    }
    if (!ReadImageHeader(Jpeg(bytes), {}).ok()) {
      ++outcomes["refused by its markers"];
      continue;
    }
    const StrictVerdict verdict = ReadStrictly(bytes);
    const Outcome outcome = Decode(bytes, kind.width_px, kind.height_px);
    if (!verdict.flaw.empty()) {
      ASSERT_TRUE(outcome.end.has_value()) << verdict.flaw;
      EXPECT_EQ(ReasonOf(*outcome.end), ErrorReason::kBadImage);
      EXPECT_EQ(std::string(outcome.end->message()), "JPEG: corrupt, " + verdict.flaw);
      TestSlot slot(kind.width_px, kind.height_px);
      ++outcomes[DecodeJpeg(bytes, {}, Later(), slot.view()).ok() ? "refused, the library is silent"
                                                                  : "refused, by the library, too"];
      continue;
    }
    if (!outcome.end.has_value()) {
      ++outcomes["undecided"];
      continue;
    }
    // After the scan there may be damage that only libjpeg-turbo sees.
    ASSERT_TRUE(outcome.end->ok()) << *outcome.end;
    ++outcomes[bytes == whole ? "not damaged" : "valid code, decoded"];
    EXPECT_TRUE(outcome.pixels == DecodeByLibrary(bytes).pixels);
  }
  for (const auto& [outcome, count] : outcomes) std::cout << outcome << ": " << count << "\n";
}

}  // namespace
}  // namespace orbserve
