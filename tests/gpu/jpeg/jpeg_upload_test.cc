// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Uploads of JPEG files on the host; no device takes part.

#include "gpu/jpeg/jpeg_upload.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/host_device.h"
#include "gtest/gtest.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_oracle.h"

namespace orbserve::gpu {
namespace {

constexpr uint32_t kUploadSeed = 20261128;
constexpr int kUploadWidth = 200;
constexpr int kUploadHeight = 150;

// The upload of a file, in memory that is aligned as pinned memory is.
class HostUpload {
 public:
  explicit HostUpload(const std::vector<uint8_t>& file)
      : room_((size_t{64} << 10) + 2 * file.size()) {
    constexpr size_t kAlignment = 64;
    auto* const aligned = reinterpret_cast<uint8_t*>(
        RoundUp<uintptr_t>(reinterpret_cast<uintptr_t>(room_.data()), kAlignment));
    upload_ = MakeJpegUpload(file, kUploadWidth, kUploadHeight,
                             absl::MakeSpan(aligned, room_.size() - kAlignment));
  }
  const JpegUpload* get() const { return upload_; }

 private:
  std::vector<uint8_t> room_;
  const JpegUpload* upload_;
};

// Looks at several symbols at a time stop at the same places as looks at single ones.
TEST(JpegUploadTest, WalksOverPiecesAreOneWalk) {
  for (const auto& [across, down] : {std::pair(1, 1), {2, 1}, {2, 2}, {4, 2}}) {
    for (const int quality : {10, 75, 90, 100}) {
      SCOPED_TRACE(absl::StrCat(across, "x", down, " quality ", quality));
      const HostUpload made(WriteJpeg({.width_px = kUploadWidth,
                                       .height_px = kUploadHeight,
                                       .quality = quality,
                                       .luma_across = across,
                                       .luma_down = down,
                                       .own_tables = quality % 2 == 1}));
      const JpegUpload* const upload = made.get();
      ASSERT_NE(upload, nullptr);
      const auto* const data = reinterpret_cast<const uint32_t*>(upload) + upload->words_offset;
      const auto words = [data](uint32_t word) { return data[word]; };
      const auto walk = [&](uint32_t end_bit, JpegPlace* place) {
        return WalkJpeg(words, upload->tables, upload->mcu, end_bit, place);
      };
      const std::pair<int, const uint32_t*> cuts[] = {
          {upload->pieces, upload->piece_begins()},
          {upload->short_pieces,
           reinterpret_cast<const uint32_t*>(upload) + upload->short_begins_offset}};
      for (const auto& [pieces, begins] : cuts) {
        JpegPlace place = {};
        int blocks = 0;
        uint32_t end_bit = 0;
        for (int piece = 0; piece < pieces; ++piece) {
          end_bit = (begins[piece + 1] & ~kJpegFirstPiece) * 8;
          blocks += walk(end_bit, &place);
        }
        JpegPlace of_one_walk = {};
        EXPECT_EQ(walk(end_bit, &of_one_walk), blocks);
        EXPECT_TRUE(of_one_walk == place);
        // The bits that fill up the last byte may look like another block.
        EXPECT_GE(blocks, upload->blocks);
        EXPECT_LE(blocks, upload->blocks + 1);
      }
    }
  }
}

// The host decodes the restored file, or refuses it, as it does the file that came.
TEST(JpegUploadTest, RestoredFilesHaveTheSameVerdictAndPixels) {
  for (const int restarts : {0, 1, 9}) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
      std::vector<uint8_t> file = WriteJpeg({.width_px = kUploadWidth,
                                             .height_px = kUploadHeight,
                                             .restart_interval = restarts,
                                             .own_tables = true});
      std::mt19937 random(kUploadSeed + seed);
      if (seed > 0) file[file.size() / 2 + random() % (file.size() / 2)] ^= 1 << random() % 8;
      const HostUpload upload(file);
      if (upload.get() == nullptr) continue;
      const std::vector<uint8_t> restored_file = RestoreJpeg(*upload.get());
      const auto expected = Decode(Jpeg(file));
      const auto restored = Decode(Jpeg(restored_file));
      ASSERT_EQ(restored.status(), expected.status());
      if (!expected.ok()) continue;
      EXPECT_EQ(restored->pixels, expected->pixels);
    }
  }
}

}  // namespace
}  // namespace orbserve::gpu
