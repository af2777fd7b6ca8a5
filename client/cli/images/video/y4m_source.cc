// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/y4m_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/video/y4m_reader.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

class Y4mSource : public FrameSource {
 public:
  Y4mSource(std::string name, std::unique_ptr<Y4mReader> reader, StopFlag stop, bool keep_pictures)
      : name_(std::move(name)),
        reader_(std::move(reader)),
        stop_(std::move(stop)),
        keep_pictures_(keep_pictures) {}

  std::optional<Item> Next() override {
    if (ended_) return std::nullopt;
    absl::StatusOr<std::optional<Picture>> picture = reader_->Next();
    // Stopping cuts the current frame off, which is not an error of the video.
    if (*stop_ || Interrupted()) {
      ended_ = true;
      return std::nullopt;
    }
    if (picture.ok() && !picture->has_value()) {
      ended_ = true;
      if (next_ > 0) return std::nullopt;
      return Item{.name = name_,
                  .frame = absl::InvalidArgumentError("the Y4M video has no frames")};
    }
    Item item{.name = absl::StrFormat("%06d", next_++), .frame = v1::Frame()};
    if (!picture.ok()) {
      // The beginning of the next frame is unknown.
      ended_ = true;
      item.frame = picture.status();
      return item;
    }
    if (keep_pictures_) item.picture = **picture;
    item.frame = FrameOfPicture(**std::move(picture));
    return item;
  }

  void Stop() override { *stop_ = true; }

  double fps() const override { return reader_->fps(); }

 private:
  const std::string name_;
  const std::unique_ptr<Y4mReader> reader_;
  const StopFlag stop_;
  const bool keep_pictures_;
  int64_t next_ = 0;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> MakeY4mSource(VideoFile video,
                                                           const PictureLimits& limits,
                                                           bool keep_pictures) {
  absl::StatusOr<std::unique_ptr<Y4mReader>> reader = Y4mReader::Create(video.file, limits);
  if (!reader.ok()) {
    // A damaged video is a failed input; one of another colour space is asked for by mistake.
    const bool other_kind = absl::IsUnimplemented(reader.status());
    return absl::Status(other_kind ? absl::StatusCode::kUnimplemented : absl::StatusCode::kDataLoss,
                        absl::StrCat(video.name, ": ", std::string(reader.status().message())));
  }
  return std::make_unique<Y4mSource>(std::move(video.name), *std::move(reader),
                                     std::move(video.stop), keep_pictures);
}

}  // namespace orbserve::cli
