// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/contact_sheet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cli/images/jpeg_file.h"
#include "client/cli/output/drawing/overlay.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {
namespace {

constexpr int kSidePx = 360;
constexpr int kQuality = 82;

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>orbserve: contact sheet</title>
<style>
body { margin: 1.5rem; font: 14px sans-serif; color: #222; background: #fafafa; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 1rem; }
figure { margin: 0; }
img { width: 100%; display: block; }
figcaption { padding: .3rem 0; overflow-wrap: anywhere; color: #555; }
figcaption b { color: #222; font-weight: 600; }
.failed { border: 1px dashed #999; padding: 2rem 1rem; }
</style>
</head>
<body>
)";

std::string Escaped(const std::string& name) {
  return absl::StrReplaceAll(NameOnOneLine(name),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace

Picture Smaller(const Picture& picture, int side_px) {
  const int longer = std::max(picture.width_px, picture.height_px);
  if (longer <= side_px) return picture;
  const auto scaled = [&](int side) {
    return std::max(static_cast<int>(static_cast<int64_t>(side) * side_px / longer), 1);
  };
  Picture small{.width_px = scaled(picture.width_px),
                .height_px = scaled(picture.height_px),
                .channels = picture.channels};
  small.pixels.resize(small.row_bytes() * static_cast<size_t>(small.height_px));
  const auto edge = [](int at, int from, int to) {
    return static_cast<int>(static_cast<int64_t>(at) * from / to);
  };
  for (int y = 0; y < small.height_px; ++y) {
    const int top = edge(y, picture.height_px, small.height_px);
    const int bottom = std::max(edge(y + 1, picture.height_px, small.height_px), top + 1);
    for (int x = 0; x < small.width_px; ++x) {
      const int left = edge(x, picture.width_px, small.width_px);
      const int right = std::max(edge(x + 1, picture.width_px, small.width_px), left + 1);
      for (int c = 0; c < picture.channels; ++c) {
        int64_t sum = 0;
        for (int row = top; row < bottom; ++row) {
          const uint8_t* const from = picture.Row(row) + c;
          for (int column = left; column < right; ++column) {
            sum += from[static_cast<size_t>(column) * picture.channels];
          }
        }
        const int64_t count = static_cast<int64_t>(bottom - top) * (right - left);
        small.Row(y)[static_cast<size_t>(x) * picture.channels + c] =
            static_cast<uint8_t>((sum + count / 2) / count);
      }
    }
  }
  return small;
}

absl::Status ContactSheet::Add(const std::string& name, const Picture& picture,
                               const v1::FeatureSet& features, double answer_ms) {
  const Picture small = Smaller(picture, kSidePx);
  const float scale = static_cast<float>(small.width_px) / static_cast<float>(picture.width_px);
  v1::FeatureSet scaled = features;
  for (auto* const column : {scaled.mutable_x(), scaled.mutable_y()}) {
    // (0, 0) is the centre of a pixel, so its corner scales.
    for (float& value : *column) value = (value + 0.5f) * scale - 0.5f;
  }
  for (float& value : *scaled.mutable_size()) value *= scale;
  absl::StatusOr<std::string> jpeg = EncodeJpeg(DrawFeatures(small, scaled), kQuality);
  if (!jpeg.ok()) return jpeg.status();
  absl::MutexLock lock(&mutex_);
  entries_[name] = {.jpeg = *std::move(jpeg),
                    .features = features.x_size(),
                    .width_px = picture.width_px,
                    .height_px = picture.height_px,
                    .answer_ms = answer_ms};
  return absl::OkStatus();
}

std::string ContactSheet::Page(absl::Span<const std::string> names) const {
  absl::MutexLock lock(&mutex_);
  std::string page = kHead;
  int64_t features = 0;
  for (const auto& [name, entry] : entries_) features += entry.features;
  absl::StrAppend(&page, "<p>", names.size(), " images, ", features, " features, ",
                  names.size() - std::min(names.size(), entries_.size()), " failed</p>\n<main>\n");
  for (const std::string& name : names) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
      absl::StrAppend(&page, "<figure class=\"failed\"><figcaption><b>", Escaped(name),
                      "</b><br>failed</figcaption></figure>\n");
      continue;
    }
    const Entry& entry = found->second;
    absl::StrAppend(&page, "<figure><img loading=\"lazy\" alt=\"", Escaped(name),
                    "\" src=\"data:image/jpeg;base64,", absl::Base64Escape(entry.jpeg),
                    "\"><figcaption><b>", Escaped(name), "</b><br>",
                    absl::StrFormat("%dx%d, %d features, answer\u00a0%.1f\u00a0ms", entry.width_px,
                                    entry.height_px, entry.features, entry.answer_ms),
                    "</figcaption></figure>\n");
  }
  absl::StrAppend(&page, "</main>\n</body>\n</html>\n");
  return page;
}

}  // namespace orbserve::cli
