// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/camera/camera_calls.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace orbserve::cli {
namespace {

class SystemCalls : public CameraCalls {
 public:
  int Open(const std::string& path) override {
    return open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  }
  int Close(int fd) override { return close(fd); }
  int Ioctl(int fd, unsigned long request, void* argument) override {
    return ioctl(fd, request, argument);
  }
  void* Map(int fd, size_t size_bytes, int64_t offset_bytes) override {
    return mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset_bytes);
  }
  int Unmap(void* start, size_t size_bytes) override { return munmap(start, size_bytes); }
  int PollReadable(int fd, int timeout_ms) override {
    pollfd input = {.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&input, 1, timeout_ms);
  }
};

}  // namespace

CameraCalls* CameraCalls::System() {
  static SystemCalls* const calls = new SystemCalls();
  return calls;
}

}  // namespace orbserve::cli
