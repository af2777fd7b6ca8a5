// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The system calls that a camera needs. Tests replace them by a recorded conversation.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_CALLS_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace orbserve::cli {

// Every call returns what the system call of its name returns, and sets errno as it does.
class CameraCalls {
 public:
  virtual ~CameraCalls() = default;

  // For reading and writing, without waiting.
  virtual int Open(const std::string& path) = 0;
  virtual int Close(int fd) = 0;
  virtual int Ioctl(int fd, unsigned long request, void* argument) = 0;
  // Maps `size_bytes` of the device at `offset_bytes`, shared, for reading and writing.
  virtual void* Map(int fd, size_t size_bytes, int64_t offset_bytes) = 0;
  virtual int Unmap(void* start, size_t size_bytes) = 0;
  // poll() of `fd` for reading.
  virtual int PollReadable(int fd, int timeout_ms) = 0;

  // The calls of the operating system.
  static CameraCalls* System();
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_CALLS_H_
