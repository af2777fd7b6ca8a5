// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/pages/page_parts.h"
#include "server/pages/pages.h"
#include "server/telemetry/pages.pb.h"

namespace orbserve {
namespace {

constexpr char kScriptType[] = "text/javascript; charset=utf-8";
constexpr size_t kMaxStreamRows = 50;
constexpr size_t kMaxDrawnFeatures = 2'000;

server::StreamTable TableOf(std::vector<server::StreamRow> streams, bool pictures) {
  server::StreamTable table;
  table.set_open(static_cast<uint32_t>(streams.size()));
  table.set_pictures(pictures);
  const size_t rows = std::min(streams.size(), kMaxStreamRows);
  std::partial_sort(streams.begin(), streams.begin() + static_cast<ptrdiff_t>(rows), streams.end(),
                    [](const server::StreamRow& a, const server::StreamRow& b) {
                      return a.received() != b.received() ? a.received() > b.received()
                                                          : a.id() < b.id();
                    });
  streams.resize(rows);
  *table.mutable_streams() = {streams.begin(), streams.end()};
  return table;
}

server::FramePicture PictureOf(const StreamPicture& picture) {
  server::FramePicture proto;
  proto.set_sequence(static_cast<double>(picture.sequence));
  proto.set_frame_width_px(static_cast<uint32_t>(picture.frame_width_px));
  proto.set_frame_height_px(static_cast<uint32_t>(picture.frame_height_px));
  proto.set_width_px(static_cast<uint32_t>(picture.width_px));
  proto.set_height_px(static_cast<uint32_t>(picture.height_px));
  proto.set_pixels(picture.pixels.data(), picture.pixels.size());
  const Features& features = *picture.features;
  proto.set_features(static_cast<uint32_t>(features.count()));
  const size_t step =
      std::max<size_t>(1, (features.count() + kMaxDrawnFeatures - 1) / kMaxDrawnFeatures);
  for (size_t i = 0; i < features.count(); i += step) {
    proto.add_x(features.x[i]);
    proto.add_y(features.y[i]);
    proto.add_size(features.size[i]);
    proto.add_angle_deg(features.angle_deg[i]);
  }
  return proto;
}

absl::StatusOr<server::FramePicture> FrameOf(StreamPictures& pictures, absl::string_view query,
                                             const std::vector<server::StreamRow>& streams) {
  uint64_t stream = 0;
  if (!absl::ConsumePrefix(&query, "stream=") || !absl::SimpleAtoi(query, &stream)) {
    return absl::InvalidArgumentError("ask for /frame.json?stream=ID, with an ID of /streams.json");
  }
  // Requests for streams that do not exist would take the place of others.
  const bool is_open = std::any_of(
      streams.begin(), streams.end(),
      [&](const server::StreamRow& each) { return each.id() == static_cast<double>(stream); });
  if (!is_open) return absl::NotFoundError(absl::StrCat("no stream ", stream, " is open"));
  const auto picture = pictures.Look(stream);
  return picture == nullptr ? server::FramePicture() : PictureOf(*picture);
}

HttpPage FilePage(const char* path, const char* type, absl::string_view text) {
  return {path, type, [text](absl::string_view) { return std::string(text); }, kPageHeaders};
}

}  // namespace

std::vector<HttpPage> LivePages(std::function<std::vector<server::StreamRow>()> streams,
                                const MetricsHistory* history, StreamPictures* pictures) {
  std::vector<HttpPage> pages = {
      FilePage("/", kHtmlType, kLiveHtml),
      FilePage("/live.css", "text/css; charset=utf-8", kLiveCss),
      FilePage("/page.js", kScriptType, kPageJs),
      FilePage("/live.js", kScriptType, kLiveJs),
      FilePage("/clients.js", kScriptType, kClientsJs),
      JsonPage("/history.json",
               [history](absl::string_view) -> absl::StatusOr<server::MetricsHistory> {
                 return history->Samples();
               }),
      JsonPage("/streams.json",
               [streams, pictures](absl::string_view) -> absl::StatusOr<server::StreamTable> {
                 return TableOf(streams(), pictures != nullptr);
               })};
  if (pictures != nullptr) {
    pages.push_back(JsonPage("/frame.json", [streams, pictures](absl::string_view query) {
      return FrameOf(*pictures, query, streams());
    }));
  }
  return pages;
}

}  // namespace orbserve
