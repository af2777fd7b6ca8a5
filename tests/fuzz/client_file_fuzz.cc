// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Files that the command line reads. The first byte chooses the reader. Pictures must keep to the
// limits, and a video must come to its end.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/images/jpeg_file.h"
#include "client/cli/images/picture.h"
#include "client/cli/images/png_file.h"
#include "client/cli/images/pnm_file.h"
#include "client/cli/images/video/mjpeg_reader.h"
#include "client/cli/images/video/y4m_reader.h"
#include "client/cli/output/files/npz_file.h"
#include "tests/fuzz/require.h"

namespace orbserve::cli {
namespace {

constexpr PictureLimits kLimits = {.max_side_px = 512, .max_pixels = 1 << 17};

void Check(const absl::StatusOr<Picture>& picture) {
  RequireReason(picture.status());
  if (!picture.ok()) return;
  Require(picture->width_px >= 1 && picture->width_px <= kLimits.max_side_px, "width");
  Require(picture->height_px >= 1 && picture->height_px <= kLimits.max_side_px, "height");
  Require(picture->pixels.size() == picture->row_bytes() * static_cast<size_t>(picture->height_px),
          "all pixels are there");
}

void FuzzNpz(absl::string_view bytes) {
  constexpr size_t kMaxBytes = 1 << 20;
  const auto arrays = DecodeNpz(bytes, kMaxBytes);
  RequireReason(arrays.status());
  if (!arrays.ok()) return;
  size_t sum = 0;
  for (const NpzArray& array : *arrays) sum += array.data.size();
  Require(sum <= kMaxBytes, "no more is unpacked than allowed");
}

// Frames and errors of a video of so many bytes are fewer than its bytes.
template <typename Reader>
void ReadAll(Reader& reader, size_t bytes) {
  for (size_t i = 0; i <= bytes; ++i) {
    const auto next = reader.Next();
    RequireReason(next.status());
    if (next.ok() && !next->has_value()) return;
    if (absl::IsDataLoss(next.status())) return;
  }
  Require(false, "a video ends");
}

void FuzzY4m(FILE* file, size_t bytes) {
  const auto reader = Y4mReader::Create(file, kLimits);
  RequireReason(reader.status());
  if (!reader.ok()) return;
  // Without a next whole frame the reader stays where the damage is.
  for (size_t i = 0; i <= bytes; ++i) {
    const auto next = (*reader)->Next();
    RequireReason(next.status());
    if (!next.ok() || !next->has_value()) return;
    Check(**next);
  }
  Require(false, "a video ends");
}

void Fuzz(uint8_t kind, absl::string_view bytes) {
  switch (kind % 6) {
    case 0:
      FuzzNpz(bytes);
      return;
    case 1:
      Check(DecodePng(bytes, kLimits));
      return;
    case 2:
      Check(DecodePnm(std::string(bytes), kLimits));
      return;
    case 3:
      if (JpegPixels(bytes) <= static_cast<size_t>(kLimits.max_pixels)) {
        Check(DecodeJpeg(bytes, kLimits));
      }
      return;
    default:
      break;
  }
  FILE* const file =
      bytes.empty() ? nullptr : fmemopen(const_cast<char*>(bytes.data()), bytes.size(), "r");
  if (file == nullptr) return;
  if (kind % 6 == 4) {
    FuzzY4m(file, bytes.size());
  } else {
    MjpegReader reader(file);
    ReadAll(reader, bytes.size());
  }
}

}  // namespace
}  // namespace orbserve::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  orbserve::cli::Fuzz(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
