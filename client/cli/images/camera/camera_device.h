// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_DEVICE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_DEVICE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/images/camera/camera_calls.h"
#include "decode/image_decoder.h"

namespace orbserve::cli {

struct CameraOptions {
  int width_px = 0;  // 0, 0 = as the camera is set
  int height_px = 0;
  double fps = 0;      // frames per second; 0 = as the camera is set
  std::string format;  // "mjpeg", "yuyv", "uyvy", "grey", "bayer", "y16"; "" = the first it has
  GreyWindow window;   // of "y16"
};

// A camera of Video4Linux 2, with memory-mapped buffers. Used by one thread.
class CameraDevice {
 public:
  struct Frame {
    std::string bytes;         // JPEG: one file; otherwise rows of `stride_bytes`, the last cut
    int64_t timestamp_ns = 0;  // of the camera's clock
    bool is_steady = false;    // which is the machine's steady clock
    uint32_t lost_before = 0;  // frames that the camera dropped since the frame before
    absl::Status status;       // not OK: the camera marked the frame as damaged
  };

  // Opens the camera at `path` and starts it. `calls` must outlive the camera.
  // INVALID_ARGUMENT: not a camera, or it lacks the format or the size. Other codes: as the system
  // call that failed (PERMISSION_DENIED, NOT_FOUND, ...; FAILED_PRECONDITION: it is busy).
  static absl::StatusOr<std::unique_ptr<CameraDevice>> Open(const std::string& path,
                                                            const CameraOptions& options,
                                                            CameraCalls* calls);
  ~CameraDevice();
  CameraDevice(const CameraDevice&) = delete;
  CameraDevice& operator=(const CameraDevice&) = delete;

  PixelFormat format() const { return format_; }
  int width_px() const { return width_px_; }
  int height_px() const { return height_px_; }
  int stride_bytes() const { return stride_bytes_; }
  // Frames per second; 0 if the camera does not say.
  double fps() const { return fps_; }

  // Waits for the next frame. No value: `stop` was set or the command was interrupted.
  // UNAVAILABLE: the camera was unplugged. DEADLINE_EXCEEDED: it gave no frame for five seconds.
  absl::StatusOr<std::optional<Frame>> Next(const std::atomic<bool>& stop);

 private:
  struct Buffer {
    void* start = nullptr;
    size_t size_bytes = 0;
  };

  CameraDevice(std::string path, CameraCalls* calls) : path_(std::move(path)), calls_(calls) {}

  // Calls ioctl again while a signal interrupts it. 0, or the error number.
  int Control(unsigned long request, void* argument);
  // Status for the error number of a call that has failed.
  absl::Status Failed(const char* what, int error) const;
  absl::Status CheckCamera();
  absl::Status SetFormat(const CameraOptions& options);
  absl::Status SetRate(double fps);
  absl::Status MapBuffers();
  absl::Status Start();
  // Sizes that the camera offers for `pixel_format`, as text; "" if it does not list them.
  std::string Sizes(uint32_t pixel_format);

  const std::string path_;
  CameraCalls* const calls_;
  int fd_ = -1;
  std::string name_;  // of the camera, as its driver has it
  PixelFormat format_ = PixelFormat::kJpeg;
  int width_px_ = 0;
  int height_px_ = 0;
  int stride_bytes_ = 0;
  double fps_ = 0;
  std::vector<Buffer> buffers_;
  bool streaming_ = false;
  std::optional<uint32_t> last_sequence_;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_DEVICE_H_
