// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/camera/camera_device.h"

#include <linux/videodev2.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

constexpr uint32_t kBuffers = 4;  // enough for a hiccup of 100 ms at 30 frames a second
constexpr int kPollMs = 100;
constexpr int kSilenceMs = 5000;
constexpr uint32_t kMaxListed = 64;  // entries of a driver's list that are looked at
constexpr double kMaxFps = 1000;

struct KnownFormat {
  const char* name;
  PixelFormat format;
  std::array<uint32_t, 2> pixel_formats;  // of the driver
};

// In the order of preference: a JPEG is small on the way to a server, and cameras on USB reach
// their full rate with it.
constexpr KnownFormat kKnownFormats[] = {
    {"mjpeg", PixelFormat::kJpeg, {V4L2_PIX_FMT_MJPEG, V4L2_PIX_FMT_JPEG}},
    {"yuyv", PixelFormat::kYuyv, {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_YUYV}},
    {"uyvy", PixelFormat::kUyvy, {V4L2_PIX_FMT_UYVY, V4L2_PIX_FMT_UYVY}},
    {"grey", PixelFormat::kGray8, {V4L2_PIX_FMT_GREY, V4L2_PIX_FMT_GREY}},
    {"bayer", PixelFormat::kBayerRggb8, {V4L2_PIX_FMT_SRGGB8, V4L2_PIX_FMT_SRGGB8}},
    {"bayer", PixelFormat::kBayerBggr8, {V4L2_PIX_FMT_SBGGR8, V4L2_PIX_FMT_SBGGR8}},
    {"bayer", PixelFormat::kBayerGbrg8, {V4L2_PIX_FMT_SGBRG8, V4L2_PIX_FMT_SGBRG8}},
    {"bayer", PixelFormat::kBayerGrbg8, {V4L2_PIX_FMT_SGRBG8, V4L2_PIX_FMT_SGRBG8}},
    {"y16", PixelFormat::kGray16, {V4L2_PIX_FMT_Y16, V4L2_PIX_FMT_Y16}},
};

// These are the formats of raw frames.
int BytesPerPixel(PixelFormat format) {
  const bool has_two = format == PixelFormat::kYuyv || format == PixelFormat::kUyvy ||
                       format == PixelFormat::kGray16;
  return has_two ? 2 : 1;
}

std::string FourCharacters(uint32_t pixel_format) {
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) {
    const char c = static_cast<char>(pixel_format >> shift & 0x7F);
    text.push_back(absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : '?');
  }
  return text;
}

v4l2_buffer EmptyBuffer(uint32_t index) {
  v4l2_buffer buffer = {};
  buffer.index = index;
  buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  buffer.memory = V4L2_MEMORY_MMAP;
  return buffer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CameraDevice>> CameraDevice::Open(const std::string& path,
                                                                 const CameraOptions& options,
                                                                 CameraCalls* calls) {
  std::unique_ptr<CameraDevice> camera(new CameraDevice(path, calls));
  camera->fd_ = calls->Open(path);
  if (camera->fd_ < 0) return camera->Failed("cannot be opened", errno);
  if (absl::Status status = camera->CheckCamera(); !status.ok()) return status;
  if (absl::Status status = camera->SetFormat(options); !status.ok()) return status;
  if (absl::Status status = camera->SetRate(options.fps); !status.ok()) return status;
  if (absl::Status status = camera->MapBuffers(); !status.ok()) return status;
  if (absl::Status status = camera->Start(); !status.ok()) return status;
  return camera;
}

CameraDevice::~CameraDevice() {
  if (streaming_) {
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    (void)Control(VIDIOC_STREAMOFF, &type);
  }
  for (const Buffer& buffer : buffers_) (void)calls_->Unmap(buffer.start, buffer.size_bytes);
  if (fd_ >= 0) (void)calls_->Close(fd_);
}

int CameraDevice::Control(unsigned long request, void* argument) {
  while (calls_->Ioctl(fd_, request, argument) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

absl::Status CameraDevice::Failed(const char* what, int error) const {
  if (error == EBUSY) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": ", what, ": another program uses the camera"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(path_, ": ", what));
}

absl::Status CameraDevice::CheckCamera() {
  v4l2_capability capability = {};
  if (const int error = Control(VIDIOC_QUERYCAP, &capability); error != 0) {
    if (error == ENOTTY || error == EINVAL) {
      return absl::InvalidArgumentError(absl::StrCat(path_, " is not a camera"));
    }
    return Failed("does not tell what it is", error);
  }
  name_ =
      std::string(reinterpret_cast<const char*>(capability.card),
                  strnlen(reinterpret_cast<const char*>(capability.card), sizeof(capability.card)));
  // A camera may have several nodes. `capabilities` speaks of all of them.
  const uint32_t able = (capability.capabilities & V4L2_CAP_DEVICE_CAPS) != 0
                            ? capability.device_caps
                            : capability.capabilities;
  if ((able & V4L2_CAP_VIDEO_CAPTURE) == 0 || (able & V4L2_CAP_STREAMING) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, " (", name_, ") gives no frames: it has no single-plane video capture with mapped ",
        "buffers; `v4l2-ctl --list-devices` shows the nodes of a camera"));
  }
  return absl::OkStatus();
}

std::string CameraDevice::Sizes(uint32_t pixel_format) {
  std::vector<std::string> sizes;
  for (uint32_t i = 0; i < kMaxListed; ++i) {
    v4l2_frmsizeenum size = {};
    size.index = i;
    size.pixel_format = pixel_format;
    if (Control(VIDIOC_ENUM_FRAMESIZES, &size) != 0) break;
    if (size.type == V4L2_FRMSIZE_TYPE_DISCRETE) {
      sizes.push_back(absl::StrCat(size.discrete.width, "x", size.discrete.height));
      continue;
    }
    return absl::StrCat(size.stepwise.min_width, "x", size.stepwise.min_height, " to ",
                        size.stepwise.max_width, "x", size.stepwise.max_height);
  }
  return absl::StrJoin(sizes, ", ");
}

absl::Status CameraDevice::SetFormat(const CameraOptions& options) {
  std::vector<uint32_t> offered;
  for (uint32_t i = 0; i < kMaxListed; ++i) {
    v4l2_fmtdesc description = {};
    description.index = i;
    description.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (Control(VIDIOC_ENUM_FMT, &description) != 0) break;
    offered.push_back(description.pixelformat);
  }
  uint32_t wanted = 0;
  for (const KnownFormat& known : kKnownFormats) {
    if (wanted != 0 || (!options.format.empty() && options.format != known.name)) continue;
    for (const uint32_t pixel_format : known.pixel_formats) {
      if (std::find(offered.begin(), offered.end(), pixel_format) == offered.end()) continue;
      wanted = pixel_format;
      format_ = known.format;
      break;
    }
  }
  if (wanted == 0) {
    const std::string needs = options.format.empty() ? "MJPEG, YUYV, UYVY, GREY, BAYER or Y16"
                                                     : absl::AsciiStrToUpper(options.format);
    return absl::InvalidArgumentError(absl::StrCat(
        path_, " (", name_, ") does not offer ", needs, "; it offers ",
        offered.empty() ? "nothing"
                        : absl::StrJoin(offered, ", ", [](std::string* out, uint32_t f) {
                            absl::StrAppend(out, FourCharacters(f));
                          })));
  }

  v4l2_format format = {};
  format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  if (const int error = Control(VIDIOC_G_FMT, &format); error != 0) {
    return Failed("does not tell its format", error);
  }
  if (options.width_px > 0) {
    format.fmt.pix.width = static_cast<uint32_t>(options.width_px);
    format.fmt.pix.height = static_cast<uint32_t>(options.height_px);
  }
  format.fmt.pix.pixelformat = wanted;
  format.fmt.pix.field = V4L2_FIELD_ANY;
  format.fmt.pix.bytesperline = 0;
  format.fmt.pix.sizeimage = 0;
  if (const int error = Control(VIDIOC_S_FMT, &format); error != 0) {
    return Failed("does not take the format", error);
  }
  // A driver answers what it does instead of what it cannot do.
  const v4l2_pix_format& taken = format.fmt.pix;
  if (taken.pixelformat != wanted) {
    return absl::InvalidArgumentError(absl::StrCat(path_, " (", name_, ") gives ",
                                                   FourCharacters(taken.pixelformat),
                                                   " instead of ", FourCharacters(wanted)));
  }
  width_px_ = static_cast<int>(taken.width);
  height_px_ = static_cast<int>(taken.height);
  if (options.width_px > 0 && (width_px_ != options.width_px || height_px_ != options.height_px)) {
    const std::string sizes = Sizes(wanted);
    return absl::InvalidArgumentError(absl::StrCat(
        path_, " (", name_, ") gives no frames of ", options.width_px, "x", options.height_px,
        ", but of ", sizes.empty() ? absl::StrCat(width_px_, "x", height_px_) : sizes));
  }
  const int bytes_per_pixel = BytesPerPixel(format_);
  stride_bytes_ = static_cast<int>(taken.bytesperline);
  if (format_ == PixelFormat::kJpeg) {
    stride_bytes_ = 0;
  } else if (stride_bytes_ < width_px_ * bytes_per_pixel) {
    stride_bytes_ = width_px_ * bytes_per_pixel;  // some drivers leave it 0
  }
  if (width_px_ < 1 || height_px_ < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " (", name_, ") gives frames without pixels"));
  }
  return absl::OkStatus();
}

absl::Status CameraDevice::SetRate(double fps) {
  v4l2_streamparm parameters = {};
  parameters.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  const bool tells = Control(VIDIOC_G_PARM, &parameters) == 0;
  v4l2_captureparm& capture = parameters.parm.capture;
  const bool settable = tells && (capture.capability & V4L2_CAP_TIMEPERFRAME) != 0;
  if (fps > 0 && settable) {
    capture.timeperframe.numerator = 1000;
    capture.timeperframe.denominator =
        static_cast<uint32_t>(std::lround(std::min(fps, kMaxFps) * 1000));
    if (const int error = Control(VIDIOC_S_PARM, &parameters); error != 0) {
      return Failed("does not take the frame rate", error);
    }
  } else if (fps > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " (", name_, ") has a fixed frame rate; leave --fps away"));
  }
  if (tells && capture.timeperframe.numerator > 0) {
    fps_ = static_cast<double>(capture.timeperframe.denominator) / capture.timeperframe.numerator;
  }
  return absl::OkStatus();
}

absl::Status CameraDevice::MapBuffers() {
  v4l2_requestbuffers request = {};
  request.count = kBuffers;
  request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  request.memory = V4L2_MEMORY_MMAP;
  if (const int error = Control(VIDIOC_REQBUFS, &request); error != 0) {
    return Failed("lends no buffers", error);
  }
  if (request.count < 2) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path_, " lends ", request.count, " buffers; 2 are needed"));
  }
  for (uint32_t i = 0; i < request.count; ++i) {
    v4l2_buffer buffer = EmptyBuffer(i);
    if (const int error = Control(VIDIOC_QUERYBUF, &buffer); error != 0) {
      return Failed("does not describe a buffer", error);
    }
    void* const start = calls_->Map(fd_, buffer.length, buffer.m.offset);
    if (start == MAP_FAILED) return Failed("a buffer cannot be mapped", errno);
    buffers_.push_back({start, buffer.length});
  }
  return absl::OkStatus();
}

absl::Status CameraDevice::Start() {
  for (uint32_t i = 0; i < buffers_.size(); ++i) {
    v4l2_buffer buffer = EmptyBuffer(i);
    if (const int error = Control(VIDIOC_QBUF, &buffer); error != 0) {
      return Failed("does not take a buffer", error);
    }
  }
  int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  if (const int error = Control(VIDIOC_STREAMON, &type); error != 0) {
    return Failed("does not start", error);
  }
  streaming_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CameraDevice::Frame>> CameraDevice::Next(
    const std::atomic<bool>& stop) {
  v4l2_buffer buffer = {};
  for (int waited_ms = 0;;) {
    if (stop.load(std::memory_order_relaxed) || Interrupted()) return std::optional<Frame>();
    const int ready = calls_->PollReadable(fd_, kPollMs);
    if (ready < 0 && errno != EINTR) return Failed("cannot be waited for", errno);
    if (ready <= 0) {
      if (ready == 0) waited_ms += kPollMs;
      if (waited_ms < kSilenceMs) continue;
      return absl::DeadlineExceededError(absl::StrCat(
          path_, " (", name_, ") has given no frame for ", kSilenceMs / 1000, " seconds"));
    }
    buffer = EmptyBuffer(0);
    const int error = Control(VIDIOC_DQBUF, &buffer);
    if (error == 0) break;
    if (error == EAGAIN) continue;
    if (error == ENODEV) {
      return absl::UnavailableError(absl::StrCat(path_, " (", name_, ") was unplugged"));
    }
    return Failed("gives no frame", error);
  }
  if (buffer.index >= buffers_.size()) {
    return absl::InternalError(
        absl::StrCat(path_, ": its driver names buffer ", buffer.index, " of ", buffers_.size()));
  }
  Frame frame;
  frame.timestamp_ns =
      int64_t{buffer.timestamp.tv_sec} * 1'000'000'000 + int64_t{buffer.timestamp.tv_usec} * 1000;
  frame.is_steady =
      (buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  if (last_sequence_.has_value()) {
    const uint32_t step = buffer.sequence - *last_sequence_;
    // Drivers that do not count leave the number as it is.
    frame.lost_before = step > 1 && step < 1u << 31 ? step - 1 : 0;
  }
  last_sequence_ = buffer.sequence;
  const Buffer& memory = buffers_[buffer.index];
  const size_t used = std::min<size_t>(buffer.bytesused, memory.size_bytes);
  const int bytes_per_pixel = BytesPerPixel(format_);
  const size_t whole = format_ == PixelFormat::kJpeg
                           ? 1
                           : static_cast<size_t>(stride_bytes_) * (height_px_ - 1) +
                                 static_cast<size_t>(width_px_) * bytes_per_pixel;
  if ((buffer.flags & V4L2_BUF_FLAG_ERROR) != 0) {
    frame.status = absl::InvalidArgumentError("the camera marked the frame as damaged");
  } else if (used < whole) {
    frame.status = absl::InvalidArgumentError(
        absl::StrCat("the frame is cut off: ", used, " bytes; ", whole, " are needed"));
  } else {
    frame.bytes.assign(static_cast<const char*>(memory.start),
                       format_ == PixelFormat::kJpeg ? used : whole);
  }
  if (const int error = Control(VIDIOC_QBUF, &buffer); error != 0) {
    if (error == ENODEV) {
      return absl::UnavailableError(absl::StrCat(path_, " (", name_, ") was unplugged"));
    }
    return Failed("does not take a buffer back", error);
  }
  return std::optional<Frame>(std::move(frame));
}

}  // namespace orbserve::cli
