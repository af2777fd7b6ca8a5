// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/simulation/simulated_source.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/picture_size.h"
#include "client/cli/images/simulation/simulated_flight.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

constexpr int kDefaultWidthPx = 640;
constexpr int kDefaultHeightPx = 480;
constexpr double kDefaultFps = 30;
constexpr int kSmallestSidePx = 16;

class SimulatedSource : public FrameSource {
 public:
  SimulatedSource(SimulatedFlight flight, int64_t frames, double fps, bool keep_pictures)
      : flight_(std::move(flight)), frames_(frames), fps_(fps), keep_pictures_(keep_pictures) {}

  std::optional<Item> Next() override {
    if (next_ == frames_ || stop_ || Interrupted()) return std::nullopt;
    const int64_t index = next_++;
    Picture picture = flight_.Frame(index);
    Item item{.name = absl::StrFormat("%06d", index), .frame = v1::Frame()};
    item.truth = TrueMotion{.to_photo = flight_.ToPhoto(index)};
    if (index > 0) item.truth->from_previous = flight_.Motion(index - 1, index);
    if (keep_pictures_) item.picture = picture;
    item.frame = FrameOfPicture(std::move(picture));
    return item;
  }

  void Stop() override { stop_ = true; }
  int64_t count() const override { return frames_; }
  double fps() const override { return fps_; }
  bool simulated() const override { return true; }

 private:
  const SimulatedFlight flight_;
  const int64_t frames_;
  const double fps_;
  const bool keep_pictures_;
  std::atomic<bool> stop_ = false;
  int64_t next_ = 0;
};

absl::Status CheckSides(absl::string_view what, int width_px, int height_px) {
  if (width_px >= kSmallestSidePx && height_px >= kSmallestSidePx) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(what), " must have ", kSmallestSidePx,
                                                 " pixels or more on each side; got ", width_px,
                                                 "x", height_px));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> MakeSimulatedSource(const FrameSourceOptions& options,
                                                                 const PictureLimits& limits) {
  const int width_px = options.width_px > 0 ? options.width_px : kDefaultWidthPx;
  const int height_px = options.width_px > 0 ? options.height_px : kDefaultHeightPx;
  if (absl::Status sides = CheckSides("a frame of --simulate", width_px, height_px); !sides.ok()) {
    return sides;
  }
  if (absl::Status size = CheckPictureSize(width_px, height_px, limits); !size.ok()) return size;
  absl::StatusOr<Picture> photo = LoadPicture(options.photo, kWidestPictureLimits);
  absl::Status status = photo.status();
  if (status.ok()) status = CheckSides("a photograph", photo->width_px, photo->height_px);
  if (!status.ok()) {
    // This is an input that has failed, and no wrong usage.
    return absl::DataLossError(
        absl::StrCat("--simulate ", options.photo, ": ", std::string(status.message())));
  }
  TurnGrey(&*photo);
  return std::make_unique<SimulatedSource>(
      SimulatedFlight(*std::move(photo), width_px, height_px), options.simulated_frames,
      options.fps > 0 ? options.fps : kDefaultFps, options.keep_pictures);
}

}  // namespace orbserve::cli
