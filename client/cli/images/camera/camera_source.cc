// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/camera/camera_source.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/picture_size.h"
#include "client/cli/images/video/mjpeg_reader.h"
#include "client/cli/images/video/mjpeg_source.h"
#include "decode/image_decoder.h"
#include "features/errors.h"

namespace orbserve::cli {
namespace {

constexpr unsigned kVideoMajor = 81;  // number of Video4Linux among the devices of Linux

// The JPEG in a buffer of a camera, without the padding behind it.
absl::StatusOr<std::string> JpegIn(std::string* bytes) {
  MjpegReader reader(fmemopen(bytes->data(), bytes->size(), "rb"));
  absl::StatusOr<std::optional<std::string>> jpeg = reader.Next();
  if (!jpeg.ok()) return jpeg.status();
  if (!jpeg->has_value()) return absl::InvalidArgumentError("the camera gave no JPEG");
  return **std::move(jpeg);
}

// The grey pixels of a raw frame, as a server decodes it.
absl::StatusOr<Picture> GreyPicture(const std::string& bytes, const CameraDevice& camera,
                                    GreyWindow window) {
  Picture picture{.width_px = camera.width_px(), .height_px = camera.height_px(), .channels = 1};
  picture.pixels.resize(picture.row_bytes() * picture.height_px);
  const EncodedImage image{.format = camera.format(),
                           .width_px = picture.width_px,
                           .height_px = picture.height_px,
                           .stride_bytes = camera.stride_bytes(),
                           .bytes = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                           .window = window};
  const ImageLimits limits{.max_side_px = std::max(picture.width_px, picture.height_px),
                           .max_pixels = int64_t{picture.width_px} * picture.height_px};
  ORBSERVE_ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(image, limits));
  ORBSERVE_RETURN_IF_ERROR(
      DecodeToGrey(image, header, limits,
                   {picture.Row(0), picture.width_px, picture.height_px, picture.width_px}));
  return picture;
}

class CameraSource : public FrameSource {
 public:
  CameraSource(std::unique_ptr<CameraDevice> camera, GreyWindow window, const PictureLimits& limits,
               bool keep_pictures)
      : camera_(std::move(camera)),
        window_(window),
        limits_(limits),
        keep_pictures_(keep_pictures) {}

  std::optional<Item> Next() override {
    if (ended_) return std::nullopt;
    absl::StatusOr<std::optional<CameraDevice::Frame>> frame = camera_->Next(stop_);
    if (frame.ok() && !frame->has_value()) {
      ended_ = true;
      return std::nullopt;
    }
    std::string name = absl::StrFormat("%06d", next_++);
    if (!frame.ok()) {
      ended_ = true;
      return Item{.name = std::move(name), .frame = frame.status()};
    }
    Item item = ItemOf(std::move(name), &**frame);
    item.timestamp_ns = (*frame)->timestamp_ns;
    if ((*frame)->is_steady) {
      item.captured.emplace(std::chrono::nanoseconds((*frame)->timestamp_ns));
    }
    item.lost_before = (*frame)->lost_before;
    return item;
  }

  void Stop() override { stop_ = true; }
  double fps() const override { return camera_->fps(); }
  bool live() const override { return true; }

 private:
  Item ItemOf(std::string name, CameraDevice::Frame* frame) const {
    if (!frame->status.ok()) return {.name = std::move(name), .frame = frame->status};
    if (camera_->format() == PixelFormat::kJpeg) {
      absl::StatusOr<std::string> jpeg = JpegIn(&frame->bytes);
      if (!jpeg.ok()) return {.name = std::move(name), .frame = jpeg.status()};
      return ItemOfJpeg(std::move(name), *std::move(jpeg), limits_, keep_pictures_);
    }
    absl::StatusOr<Picture> picture = GreyPicture(frame->bytes, *camera_, window_);
    if (!picture.ok()) return {.name = std::move(name), .frame = picture.status()};
    Item item{.name = std::move(name), .frame = v1::Frame()};
    if (keep_pictures_) item.picture = *picture;
    item.frame = FrameOfPicture(*std::move(picture));
    return item;
  }

  const std::unique_ptr<CameraDevice> camera_;
  const GreyWindow window_;
  const PictureLimits limits_;
  const bool keep_pictures_;
  std::atomic<bool> stop_ = false;
  int64_t next_ = 0;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> MakeCameraSource(const std::string& path,
                                                              const CameraOptions& options,
                                                              const PictureLimits& limits,
                                                              bool keep_pictures,
                                                              CameraCalls* calls) {
  absl::StatusOr<std::unique_ptr<CameraDevice>> camera = CameraDevice::Open(path, options, calls);
  if (!camera.ok()) return camera.status();
  const absl::Status size = CheckPictureSize((*camera)->width_px(), (*camera)->height_px(), limits);
  if (!size.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::string(size.message())));
  }
  return std::make_unique<CameraSource>(*std::move(camera), options.window, limits, keep_pictures);
}

bool IsCamera(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return absl::StartsWith(path, "/dev/video");
  return S_ISCHR(info.st_mode) && major(info.st_rdev) == kVideoMajor;
}

}  // namespace orbserve::cli
