// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/mjpeg_source.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "client/cli/images/jpeg_file.h"
#include "client/cli/images/video/mjpeg_reader.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

class MjpegSource : public FrameSource {
 public:
  MjpegSource(VideoFile video, const PictureLimits& limits, bool keep_pictures)
      : name_(std::move(video.name)),
        reader_(video.file),
        stop_(std::move(video.stop)),
        limits_(limits),
        keep_pictures_(keep_pictures) {}

  std::optional<Item> Next() override {
    if (ended_) return std::nullopt;
    absl::StatusOr<std::optional<std::string>> jpeg = reader_.Next();
    // Stopping cuts the current frame off, which is not an error of the video.
    if (*stop_ || Interrupted()) {
      ended_ = true;
      return std::nullopt;
    }
    if (jpeg.ok() && !jpeg->has_value()) {
      ended_ = true;
      if (next_ > 0) return std::nullopt;
      return Item{.name = name_,
                  .frame = absl::InvalidArgumentError("the MJPEG video has no frames")};
    }
    std::string name = absl::StrFormat("%06d", next_++);
    if (!jpeg.ok()) return Item{.name = std::move(name), .frame = jpeg.status()};
    return ItemOfJpeg(std::move(name), **std::move(jpeg), limits_, keep_pictures_);
  }

  void Stop() override { *stop_ = true; }

 private:
  const std::string name_;
  MjpegReader reader_;
  const StopFlag stop_;
  const PictureLimits limits_;
  const bool keep_pictures_;
  int64_t next_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<FrameSource> MakeMjpegSource(VideoFile video, const PictureLimits& limits,
                                             bool keep_pictures) {
  return std::make_unique<MjpegSource>(std::move(video), limits, keep_pictures);
}

bool HoldsManyJpegs(const std::string& path) {
  FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  MjpegReader reader(file);
  const auto first = reader.Next();
  if (first.ok() && (!first->has_value() || HasPreviews(**first))) return false;
  // Bytes behind the only frame are none: some cameras add their own data to a photograph.
  while (reader.begun() < 2) {
    const auto next = reader.Next();
    if (next.ok() && !next->has_value()) return false;
  }
  return true;
}

FrameSource::Item ItemOfJpeg(std::string name, std::string jpeg, const PictureLimits& limits,
                             bool keep_picture) {
  FrameSource::Item item{.name = std::move(name), .frame = v1::Frame()};
  if (keep_picture) {
    absl::StatusOr<Picture> picture = DecodeJpeg(jpeg, limits);
    if (!picture.ok()) {
      item.frame = picture.status();
      return item;
    }
    item.picture = *std::move(picture);
  }
  item.frame->set_format(v1::PIXEL_FORMAT_JPEG);
  item.frame->set_pixels(std::move(jpeg));
  return item;
}

}  // namespace orbserve::cli
