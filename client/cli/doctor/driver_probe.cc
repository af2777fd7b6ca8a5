// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/doctor/driver_probe.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace orbserve::cli {
namespace {

DriverProbe LoadAndInitialise(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {DriverProbe::Result::kNotLoaded, dlerror()};
  // CUresult cuInit(unsigned int flags). The backend reports errors of it better.
  using Init = int (*)(unsigned int);
  const auto init = reinterpret_cast<Init>(dlsym(handle, "cuInit"));
  if (init == nullptr) return {DriverProbe::Result::kNotLoaded, dlerror()};
  init(0);
  return {};
}

// Reads until the other end is closed; false if that takes longer than `limit`.
bool ReadAll(int pipe, absl::Duration limit, std::string* bytes) {
  const absl::Time end = absl::Now() + limit;
  std::array<char, 4096> buffer;
  for (;;) {
    const absl::Duration left = std::max(end - absl::Now(), absl::ZeroDuration());
    pollfd waited = {.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = poll(&waited, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = read(pipe, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    bytes->append(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace

DriverProbe ProbeInChild(const std::function<DriverProbe()>& probe, absl::Duration limit) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const DriverProbe found = probe();
    const std::string answer = absl::StrCat(static_cast<int>(found.result), found.text);
    const bool written =
        write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string answer;
  const bool ended = child < 0 || ReadAll(ends[0], limit, &answer);
  close(ends[0]);
  if (child < 0) return {};
  if (!ended) {
    kill(child, SIGKILL);
    // A process that hangs in the kernel does not even end then: it is not waited for.
    waitpid(child, nullptr, WNOHANG);
    return {DriverProbe::Result::kHangs,
            absl::StrCat("no answer in ", absl::FormatDuration(limit))};
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return {DriverProbe::Result::kCrashes, strsignal(WTERMSIG(status))};
  }
  if (answer.empty()) return {};
  return {static_cast<DriverProbe::Result>(answer[0] - '0'), answer.substr(1)};
}

DriverProbe ProbeDriver(const std::string& library, absl::Duration limit) {
  return ProbeInChild([&library] { return LoadAndInitialise(library); }, limit);
}

}  // namespace orbserve::cli
