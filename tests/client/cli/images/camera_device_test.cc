// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A camera without a kernel: the calls are answered from a recorded conversation. Offsets, lengths
// and timestamps of the buffers are those that strace prints for the driver vivid of Linux 6.1 at
// 640x480 in YUYV; fields that strace leaves out follow the documentation of V4L2.

#include "client/cli/images/camera/camera_device.h"

#include <linux/videodev2.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/images/camera/camera_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kLength = 614'400;  // of a buffer, 640 x 480 in YUYV

// A driver that takes the calls of V4L2 and writes them down. It refuses, as a kernel does, what
// comes in the wrong order.
class RecordedDriver : public CameraCalls {
 public:
  struct Filled {
    std::string bytes;
    uint32_t sequence = 0;
    int64_t timestamp_us = 0;
    uint32_t flags = 0;
    int error = 0;  // instead of a frame
  };

  int Open(const std::string& path) override {
    Note(absl::StrCat("open ", path));
    if (open_error != 0) return Error(open_error);
    return 3;
  }
  int Close(int fd) override {
    EXPECT_EQ(fd, 3);
    EXPECT_TRUE(mapped_.empty());
    queued_.clear();
    Note("close");
    return 0;
  }
  void* Map(int fd, size_t size_bytes, int64_t offset_bytes) override {
    EXPECT_EQ(fd, 3);
    if (map_error != 0) {
      errno = map_error;
      return MAP_FAILED;
    }
    Note(absl::StrCat("mmap ", size_bytes, " at 0x", absl::Hex(offset_bytes)));
    std::string& memory = memory_[static_cast<uint32_t>(offset_bytes)];
    memory.resize(size_bytes);
    mapped_.insert(memory.data());
    return memory.data();
  }
  int Unmap(void* start, size_t /*size_bytes*/) override {
    EXPECT_FALSE(streaming_) << "unmapped while the driver writes";
    EXPECT_EQ(mapped_.erase(static_cast<char*>(start)), 1u);
    return 0;
  }
  int PollReadable(int /*fd*/, int timeout_ms) override {
    EXPECT_TRUE(streaming_);
    EXPECT_EQ(timeout_ms, 100);
    if (interruptions > 0) {
      --interruptions;
      return Error(EINTR);
    }
    return filled.empty() ? 0 : 1;
  }

  int Ioctl(int fd, unsigned long request, void* argument) override {
    EXPECT_EQ(fd, 3);
    if (interruptions > 0) {
      --interruptions;
      return Error(EINTR);
    }
    switch (request) {
      case VIDIOC_QUERYCAP:
        return QueryCapability(static_cast<v4l2_capability*>(argument));
      case VIDIOC_ENUM_FMT: {
        auto* description = static_cast<v4l2_fmtdesc*>(argument);
        if (description->index >= formats.size()) return Error(EINVAL);
        description->pixelformat = formats[description->index];
        return 0;
      }
      case VIDIOC_ENUM_FRAMESIZES: {
        auto* size = static_cast<v4l2_frmsizeenum*>(argument);
        if (size->index >= sizes.size()) return Error(EINVAL);
        size->type = V4L2_FRMSIZE_TYPE_DISCRETE;
        size->discrete = {sizes[size->index].first, sizes[size->index].second};
        return 0;
      }
      case VIDIOC_G_FMT:
        *static_cast<v4l2_format*>(argument) = current;
        return 0;
      case VIDIOC_S_FMT:
        return SetFormat(static_cast<v4l2_format*>(argument));
      case VIDIOC_G_PARM:
        if (!has_rate) return Error(ENOTTY);
        static_cast<v4l2_streamparm*>(argument)->parm.capture = {
            .capability = V4L2_CAP_TIMEPERFRAME, .timeperframe = {1, 30}};
        return 0;
      case VIDIOC_S_PARM: {
        v4l2_fract& rate = static_cast<v4l2_streamparm*>(argument)->parm.capture.timeperframe;
        Note(absl::StrCat("S_PARM ", rate.numerator, "/", rate.denominator));
        rate = {1, 15};  // the nearest that it has
        return 0;
      }
      case VIDIOC_REQBUFS: {
        auto* buffers = static_cast<v4l2_requestbuffers*>(argument);
        EXPECT_EQ(buffers->memory, V4L2_MEMORY_MMAP);
        Note(absl::StrCat("REQBUFS ", buffers->count));
        if (busy) return Error(EBUSY);
        return 0;
      }
      case VIDIOC_QUERYBUF: {
        auto* buffer = static_cast<v4l2_buffer*>(argument);
        buffer->length = length;
        buffer->m.offset = buffer->index * ((length + 0xFFF) & ~0xFFFu);
        return 0;
      }
      case VIDIOC_QBUF:
        return Queue(static_cast<v4l2_buffer*>(argument));
      case VIDIOC_DQBUF:
        return Dequeue(static_cast<v4l2_buffer*>(argument));
      case VIDIOC_STREAMON:
        EXPECT_EQ(queued_.size(), 4u);
        Note("STREAMON");
        streaming_ = true;
        return 0;
      case VIDIOC_STREAMOFF:
        Note("STREAMOFF");
        streaming_ = false;
        return 0;
      default:
        ADD_FAILURE() << "unknown call " << request;
        return Error(ENOTTY);
    }
  }

  std::vector<std::string> log;
  int open_error = 0;
  int map_error = 0;
  int interruptions = 0;  // calls that a signal interrupts first
  bool busy = false;
  bool has_rate = true;
  uint32_t device_capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  std::vector<uint32_t> formats = {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_MJPEG};
  std::vector<std::pair<uint32_t, uint32_t>> sizes = {{640, 480}, {1280, 720}};
  v4l2_format current = Format(640, 480, V4L2_PIX_FMT_YUYV);
  uint32_t length = kLength;
  std::deque<Filled> filled;

  static v4l2_format Format(uint32_t width, uint32_t height, uint32_t pixel_format) {
    v4l2_format format = {};
    format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    format.fmt.pix.width = width;
    format.fmt.pix.height = height;
    format.fmt.pix.pixelformat = pixel_format;
    format.fmt.pix.bytesperline = pixel_format == V4L2_PIX_FMT_YUYV ? 2 * width : 0;
    return format;
  }

 private:
  void Note(const std::string& line) { log.push_back(line); }
  static int Error(int number) {
    errno = number;
    return -1;
  }

  int QueryCapability(v4l2_capability* capability) {
    std::strcpy(reinterpret_cast<char*>(capability->driver), "vivid");
    std::strcpy(reinterpret_cast<char*>(capability->card), "vivid");
    capability->capabilities = device_capabilities | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING |
                               V4L2_CAP_META_CAPTURE | V4L2_CAP_DEVICE_CAPS;
    capability->device_caps = device_capabilities;
    return 0;
  }

  int SetFormat(v4l2_format* format) {
    v4l2_pix_format& wanted = format->fmt.pix;
    Note(absl::StrCat("S_FMT ", wanted.width, "x", wanted.height));
    bool has_size = false;
    for (const auto& [width, height] : sizes) {
      has_size |= width == wanted.width && height == wanted.height;
    }
    // A driver takes the nearest size that it has.
    if (!has_size) {
      wanted.width = sizes[0].first;
      wanted.height = sizes[0].second;
    }
    *format = Format(wanted.width, wanted.height, wanted.pixelformat);
    return 0;
  }

  int Queue(v4l2_buffer* buffer) {
    EXPECT_TRUE(queued_.insert(buffer->index).second) << "queued twice";
    Note(absl::StrCat("QBUF ", buffer->index));
    buffer->bytesused = 0;  // as uvcvideo does
    buffer->timestamp = {};
    return 0;
  }

  int Dequeue(v4l2_buffer* buffer) {
    if (filled.empty()) return Error(EAGAIN);
    const Filled frame = filled.front();
    filled.pop_front();
    if (frame.error != 0) return Error(frame.error);
    EXPECT_FALSE(queued_.empty());
    const uint32_t index = *queued_.begin();
    queued_.erase(index);
    Note(absl::StrCat("DQBUF ", index));
    std::string& memory = std::next(memory_.begin(), index)->second;
    std::copy(frame.bytes.begin(), frame.bytes.end(), memory.begin());
    buffer->index = index;
    buffer->bytesused = static_cast<uint32_t>(frame.bytes.size());
    buffer->sequence = frame.sequence;
    buffer->flags = frame.flags | V4L2_BUF_FLAG_MAPPED | V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    buffer->timestamp = {frame.timestamp_us / 1'000'000, frame.timestamp_us % 1'000'000};
    return 0;
  }

  std::map<uint32_t, std::string> memory_;  // by offset
  std::set<char*> mapped_;
  std::set<uint32_t> queued_;
  bool streaming_ = false;
};

// A frame in YUYV whose luma is `grey` and whose chroma is 128.
std::string Yuyv(char grey) {
  std::string bytes(kLength, '\x80');
  for (size_t i = 0; i < bytes.size(); i += 2) bytes[i] = grey;
  return bytes;
}

class CameraDeviceTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<CameraDevice>> Open(const CameraOptions& options = {}) {
    return CameraDevice::Open("/dev/video7", options, &driver_);
  }

  absl::Status Refusal(const CameraOptions& options = {}) { return Open(options).status(); }

  RecordedDriver driver_;
  std::atomic<bool> stop_ = false;
};

TEST_F(CameraDeviceTest, TheConversationIsThatOfTheRecording) {
  driver_.filled = {{Yuyv('a'), 0, 123'000'991}, {Yuyv('b'), 1, 123'200'110}};
  {
    auto camera = Open({.format = "yuyv"});
    ASSERT_TRUE(camera.ok()) << camera.status();
    EXPECT_EQ((*camera)->width_px(), 640);
    EXPECT_EQ((*camera)->height_px(), 480);
    EXPECT_EQ((*camera)->stride_bytes(), 1280);
    EXPECT_EQ((*camera)->fps(), 30);
    for (const auto& [grey, at_ns] :
         {std::pair('a', 123'000'991'000), std::pair('b', 123'200'110'000)}) {
      const auto frame = (*camera)->Next(stop_);
      ASSERT_TRUE(frame.ok() && frame->has_value()) << frame.status();
      EXPECT_TRUE((*frame)->status.ok());
      EXPECT_EQ((*frame)->bytes, Yuyv(grey));
      EXPECT_EQ((*frame)->timestamp_ns, at_ns);
      EXPECT_TRUE((*frame)->is_steady);
      EXPECT_EQ((*frame)->lost_before, 0u);
    }
  }
  EXPECT_THAT(
      driver_.log,
      ElementsAre("open /dev/video7", "S_FMT 640x480", "REQBUFS 4", "mmap 614400 at 0x0",
                  "mmap 614400 at 0x96000", "mmap 614400 at 0x12c000", "mmap 614400 at 0x1c2000",
                  "QBUF 0", "QBUF 1", "QBUF 2", "QBUF 3", "STREAMON", "DQBUF 0", "QBUF 0",
                  "DQBUF 0", "QBUF 0", "STREAMOFF", "close"));
}

TEST_F(CameraDeviceTest, MjpegIsPreferredAndOptionsReachTheDriver) {
  auto camera = Open({.width_px = 1280, .height_px = 720, .fps = 12.5});
  ASSERT_TRUE(camera.ok()) << camera.status();
  EXPECT_EQ((*camera)->format(), PixelFormat::kJpeg);
  EXPECT_EQ((*camera)->width_px(), 1280);
  EXPECT_EQ((*camera)->fps(), 15);  // as the driver answered
  EXPECT_THAT(driver_.log, ::testing::IsSupersetOf({"S_FMT 1280x720", "S_PARM 1000/12500"}));
}

TEST_F(CameraDeviceTest, SignalsAndSpuriousWakeUpsAreNoErrors) {
  driver_.interruptions = 3;
  driver_.filled = {{.error = EAGAIN}, {Yuyv('a')}};
  auto camera = Open({.format = "yuyv"});
  ASSERT_TRUE(camera.ok()) << camera.status();
  driver_.interruptions = 2;
  const auto frame = (*camera)->Next(stop_);
  ASSERT_TRUE(frame.ok() && frame->has_value()) << frame.status();
  EXPECT_EQ((*frame)->bytes, Yuyv('a'));
}

TEST_F(CameraDeviceTest, BrokenAndLostFramesAreToldAndTheRestGoesOn) {
  driver_.filled = {{Yuyv('a'), 10},
                    {Yuyv('b'), 14, 0, V4L2_BUF_FLAG_ERROR},
                    {Yuyv('c').substr(0, 1000), 15},
                    {Yuyv('d'), 16}};
  auto camera = Open({.format = "yuyv"});
  ASSERT_TRUE(camera.ok()) << camera.status();
  std::vector<std::string> told;
  for (int i = 0; i < 4; ++i) {
    const auto frame = (*camera)->Next(stop_);
    ASSERT_TRUE(frame.ok() && frame->has_value()) << frame.status();
    told.push_back(
        absl::StrCat((*frame)->lost_before, " ",
                     (*frame)->status.ok() ? "ok" : std::string((*frame)->status.message())));
  }
  EXPECT_THAT(told, ElementsAre("0 ok", "3 the camera marked the frame as damaged",
                                "0 the frame is cut off: 1000 bytes; 614400 are needed", "0 ok"));
}

TEST_F(CameraDeviceTest, ACameraThatIsUnpluggedOrSilentEnds) {
  driver_.filled = {{.error = ENODEV}};
  auto camera = Open();
  ASSERT_TRUE(camera.ok()) << camera.status();
  const auto unplugged = (*camera)->Next(stop_);
  EXPECT_EQ(unplugged.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(unplugged.status().message()), HasSubstr("(vivid) was unplugged"));
  const auto silent = (*camera)->Next(stop_);
  EXPECT_EQ(silent.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(silent.status().message()), HasSubstr("no frame for 5 seconds"));
  stop_ = true;
  const auto stopped = (*camera)->Next(stop_);
  ASSERT_TRUE(stopped.ok());
  EXPECT_FALSE(stopped->has_value());
}

TEST_F(CameraDeviceTest, WhatIsNoCameraOrLacksWhatIsWantedIsRefusedWithWhatThereIs) {
  EXPECT_EQ(std::string(Refusal({.width_px = 1000, .height_px = 700}).message()),
            "/dev/video7 (vivid) gives no frames of 1000x700, but of 640x480, 1280x720");
  EXPECT_THAT(std::string(Refusal({.format = "grey"}).message()),
              HasSubstr("does not offer GREY; it offers YUYV, MJPG"));
  driver_.formats = {V4L2_PIX_FMT_H264};
  EXPECT_THAT(std::string(Refusal().message()),
              HasSubstr("does not offer MJPEG, YUYV, UYVY, GREY, BAYER or Y16; it offers H264"));
  driver_.formats = {V4L2_PIX_FMT_GREY};
  EXPECT_TRUE(Refusal().ok());
  driver_.has_rate = false;
  EXPECT_TRUE(Refusal().ok());
  EXPECT_THAT(std::string(Refusal({.fps = 10}).message()), HasSubstr("has a fixed frame rate"));
  driver_.busy = true;
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("another program uses the camera"));
  driver_.busy = false;
  driver_.map_error = ENOMEM;
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("a buffer cannot be mapped"));
  driver_.device_capabilities = V4L2_CAP_META_CAPTURE | V4L2_CAP_STREAMING;
  EXPECT_THAT(std::string(Refusal().message()), HasSubstr("gives no frames: it has no"));
  driver_.open_error = EACCES;
  EXPECT_EQ(Refusal().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(CameraDeviceTest, TheSourceSendsGreyPixelsAndJpegsWithoutPadding) {
  const std::string jpeg = std::string("\xFF\xD8\xFF\xDA\x00\x02 data \xFF\xD9", 14);
  driver_.filled = {{Yuyv('a'), 5, 77}};
  auto yuyv =
      MakeCameraSource("/dev/video7", {.format = "yuyv"}, {}, /*keep_pictures=*/true, &driver_);
  ASSERT_TRUE(yuyv.ok()) << yuyv.status();
  EXPECT_TRUE((*yuyv)->live());
  const auto grey = (*yuyv)->Next();
  ASSERT_TRUE(grey.has_value());
  ASSERT_TRUE(grey->frame.ok()) << grey->frame.status();
  EXPECT_EQ(grey->frame->format(), v1::PIXEL_FORMAT_GRAY8);
  EXPECT_EQ(grey->frame->pixels(), std::string(640 * 480, 'a'));
  EXPECT_EQ(grey->timestamp_ns, 77'000);
  EXPECT_EQ(grey->picture->width_px, 640);
  yuyv->reset();

  driver_.formats = {V4L2_PIX_FMT_UYVY};
  driver_.filled = {{'\x80' + Yuyv('b').substr(0, kLength - 1), 5, 77}};
  auto uyvy = MakeCameraSource("/dev/video7", {}, {}, /*keep_pictures=*/false, &driver_);
  ASSERT_TRUE(uyvy.ok()) << uyvy.status();
  const auto luma = (*uyvy)->Next();
  ASSERT_TRUE(luma->frame.ok()) << luma->frame.status();
  EXPECT_EQ(luma->frame->pixels(), std::string(640 * 480, 'b'));
  uyvy->reset();

  driver_.formats = {V4L2_PIX_FMT_Y16};
  std::string thermal;  // 29,000 + 2 * 'c', black at 29,000 and white at 29,510
  while (thermal.size() < kLength) thermal += "\x0e\x72";
  driver_.filled = {{thermal}};
  auto y16 = MakeCameraSource("/dev/video7", {.format = "y16", .window = {29'000, 29'510}}, {},
                              /*keep_pictures=*/true, &driver_);
  ASSERT_TRUE(y16.ok()) << y16.status();
  EXPECT_EQ((*y16)->Next()->frame->pixels(), std::string(640 * 480, 'c'));
  y16->reset();

  // A flat colour: 1 is red, 2 green, 3 blue.
  for (const auto& [pixel_format, rows] :
       {std::pair(V4L2_PIX_FMT_SRGGB8, "1223"), std::pair(V4L2_PIX_FMT_SBGGR8, "3221"),
        std::pair(V4L2_PIX_FMT_SGBRG8, "2312"), std::pair(V4L2_PIX_FMT_SGRBG8, "2132")}) {
    driver_.formats = {pixel_format};
    std::string mosaic(kLength / 2, ' ');
    for (size_t i = 0; i < mosaic.size(); ++i) {
      const char colour = rows[2 * (i / 640 % 2) + i % 2];
      mosaic[i] = static_cast<char>(50 * (colour - '0'));
    }
    driver_.filled = {{mosaic}};
    auto bayer = MakeCameraSource("/dev/video7", {.format = "bayer"}, {},
                                  /*keep_pictures=*/false, &driver_);
    ASSERT_TRUE(bayer.ok()) << bayer.status();
    EXPECT_EQ((*bayer)->Next()->frame->pixels(),
              std::string(640 * 480, static_cast<char>(GreyFromRgb(50, 100, 150))));
    bayer->reset();
  }
  driver_.formats = {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_MJPEG};

  driver_.filled = {{jpeg + std::string(100, '\0')}, {jpeg.substr(0, 8)}, {jpeg}};
  auto mjpeg = MakeCameraSource("/dev/video7", {}, {}, /*keep_pictures=*/false, &driver_);
  ASSERT_TRUE(mjpeg.ok()) << mjpeg.status();
  const auto first = (*mjpeg)->Next();
  ASSERT_TRUE(first->frame.ok()) << first->frame.status();
  EXPECT_EQ(first->frame->pixels(), jpeg);
  EXPECT_EQ(first->frame->format(), v1::PIXEL_FORMAT_JPEG);
  EXPECT_THAT(std::string((*mjpeg)->Next()->frame.status().message()), HasSubstr("is cut off"));
  EXPECT_TRUE((*mjpeg)->Next()->frame.ok());
  mjpeg->reset();

  EXPECT_THAT(std::string(MakeCameraSource("/dev/video7", {}, {.max_side_px = 500}, false, &driver_)
                              .status()
                              .message()),
              HasSubstr("image too large: 640 x 480"));
}

}  // namespace
}  // namespace orbserve::cli
