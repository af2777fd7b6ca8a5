// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_DECODE_DECODE_SUPPORT_H_
#define ORBSERVE_TESTS_DECODE_DECODE_SUPPORT_H_

#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "decode/decode_helpers.h"
#include "decode/image_decoder.h"
#include "features/errors.h"
#include "features/host_device.h"
#include "features/image_view.h"

namespace orbserve {

inline std::vector<uint8_t> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A slot as a backend leases it: 64-byte rows in a block that is filled with `fill`, so that a test
// sees which bytes were written.
class TestSlot {
 public:
  TestSlot(int width_px, int height_px, uint8_t fill = 0xA5)
      : pitch_(RoundUp(width_px, kRowAlignmentBytes)),
        bytes_(static_cast<size_t>(pitch_) * height_px, fill),
        view_{bytes_.data(), width_px, height_px, pitch_} {}

  const MutableImageView& view() const { return view_; }
  // The pixels, row after row without padding.
  std::vector<uint8_t> Pixels() const {
    std::vector<uint8_t> pixels;
    for (int y = 0; y < view_.height_px; ++y) {
      pixels.insert(pixels.end(), view_.Row(y), view_.Row(y) + view_.width_px);
    }
    return pixels;
  }
  // Returns true if every byte of the padding still is `fill`.
  bool PaddingIs(uint8_t fill) const {
    for (int y = 0; y < view_.height_px; ++y) {
      for (int64_t x = view_.width_px; x < pitch_; ++x) {
        if (view_.Row(y)[x] != fill) return false;
      }
    }
    return true;
  }

 private:
  int pitch_;
  std::vector<uint8_t> bytes_;
  MutableImageView view_;
};

struct GreyImage {
  int width_px = 0;
  int height_px = 0;
  std::vector<uint8_t> pixels;
};

// Helps at once, in the thread that asks, with pieces of any size: it decodes all pieces that it
// may.
class HelperAtOnce final : public DecodeHelpers {
 public:
  explicit HelperAtOnce(int64_t least_piece_bytes) : least_piece_bytes_(least_piece_bytes) {}
  void Ask(int most, const std::function<void()>& help) override {
    ++asked_;
    if (most > 0) help();
  }
  int64_t LeastPieceBytes() const override { return least_piece_bytes_; }
  int asked() const { return asked_; }

 private:
  const int64_t least_piece_bytes_;
  int asked_ = 0;
};

// Both steps of decoding, as the server does them.
inline absl::StatusOr<GreyImage> Decode(const EncodedImage& image, const ImageLimits& limits = {},
                                        DecodeHelpers* helpers = nullptr) {
  ORBSERVE_ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(image, limits));
  TestSlot slot(header.width_px, header.height_px);
  ORBSERVE_RETURN_IF_ERROR(DecodeToGrey(image, header, limits, slot.view(), helpers));
  return GreyImage{header.width_px, header.height_px, slot.Pixels()};
}

inline EncodedImage Jpeg(const std::vector<uint8_t>& bytes) {
  EncodedImage image;
  image.format = PixelFormat::kJpeg;
  image.bytes = bytes;
  return image;
}

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_DECODE_DECODE_SUPPORT_H_
