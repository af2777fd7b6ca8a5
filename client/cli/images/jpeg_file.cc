// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/jpeg_file.h"

#include <turbojpeg.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/images/picture_size.h"

namespace orbserve::cli {

absl::StatusOr<Picture> DecodeJpeg(absl::string_view bytes, const PictureLimits& limits) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (decoder == nullptr) return absl::ResourceExhaustedError("the JPEG decoder cannot start");
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  int width_px = 0;
  int height_px = 0;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width_px, &height_px, &subsampling,
                          &colours) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JPEG file is damaged: ", tjGetErrorStr2(decoder.get())));
  }
  if (const absl::Status size = CheckPictureSize(width_px, height_px, limits); !size.ok()) {
    return size;
  }
  Picture picture;
  picture.width_px = width_px;
  picture.height_px = height_px;
  picture.channels = colours == TJCS_GRAY ? 1 : 3;
  picture.pixels.resize(picture.row_bytes() * height_px);
  if (tjDecompress2(decoder.get(), data, bytes.size(), picture.Row(0), width_px, 0, height_px,
                    picture.channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_LIMITSCANS) != 0 &&
      tjGetErrorCode(decoder.get()) != TJERR_WARNING) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JPEG file is damaged: ", tjGetErrorStr2(decoder.get())));
  }
  return picture;
}

absl::StatusOr<std::string> EncodeJpeg(const Picture& picture, int quality) {
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // the library's type
  const bool grey = picture.channels == 1;
  const bool done =
      encoder != nullptr && tjCompress2(encoder.get(), picture.Row(0), picture.width_px, 0,
                                        picture.height_px, grey ? TJPF_GRAY : TJPF_RGB, &bytes,
                                        &size, grey ? TJSAMP_GRAY : TJSAMP_444, quality, 0) == 0;
  std::string jpeg(reinterpret_cast<const char*>(bytes), done ? size : 0);
  tjFree(bytes);
  if (!done) return absl::InternalError("a picture cannot be written as JPEG");
  return jpeg;
}

// Source: ITU-T T.81, annex B.
size_t JpegPixels(absl::string_view bytes) {
  const auto byte = [bytes](size_t at) {
    return static_cast<size_t>(static_cast<uint8_t>(bytes[at]));
  };
  const auto number = [byte](size_t at) { return byte(at) << 8 | byte(at + 1); };
  constexpr size_t kFrameHeaderBytes = 9;  // marker, length, precision, height, width
  for (size_t at = 2; at + kFrameHeaderBytes <= bytes.size() && byte(at) == 0xFF;) {
    const size_t marker = byte(at + 1);
    if (marker == 0xFF) {
      ++at;  // a fill byte
    } else if (marker == 0xDA || marker == 0xD9) {
      return 0;  // pixels without a frame header, or the end
    } else if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
               marker != 0xCC) {
      return number(at + 5) * number(at + 7);
    } else {
      at += 2 + number(at + 2);
    }
  }
  return 0;
}

}  // namespace orbserve::cli
