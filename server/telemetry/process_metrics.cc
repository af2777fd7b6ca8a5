// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/process_metrics.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include "server/telemetry/metric_page.h"

namespace orbserve {
namespace {

// Seconds since the machine started, its sleep included.
double BootSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Static objects are made before main(), some milliseconds after the start of the process.
const double start_boot_seconds = BootSeconds();

// Start of the process by the system's clock, which a machine without a clock of its own sets after
// it has started. A constant but for such steps: alerts count its changes.
double StartSeconds() {
  constexpr double kStepSeconds = 5;
  static std::atomic<double> start_seconds{0};
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const double seconds = now.count() - (BootSeconds() - start_boot_seconds);
  if (std::abs(seconds - start_seconds) > kStepSeconds) start_seconds = seconds;
  return start_seconds;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::optional<double> CountOpenFiles() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  if (error) return std::nullopt;
  double count = -1;  // the iterator's own
  for (const std::filesystem::directory_iterator end; entry != end; entry.increment(error)) {
    if (error) return std::nullopt;
    ++count;
  }
  return count;
}

}  // namespace

void CollectProcess(MetricPage& page) {
  rusage use = {};
  if (getrusage(RUSAGE_SELF, &use) == 0) {
    page.Counter("process_cpu_seconds_total",
                 "User and system CPU time of the process, in seconds.",
                 Seconds(use.ru_utime) + Seconds(use.ru_stime));
  }
  std::ifstream pages("/proc/self/statm");
  if (int64_t all = 0, resident = 0; pages >> all >> resident) {
    const int64_t page_bytes = sysconf(_SC_PAGESIZE);
    page.Gauge("process_resident_memory_bytes", "Resident memory of the process.",
               resident * page_bytes);
    page.Gauge("process_virtual_memory_bytes", "Virtual memory of the process.", all * page_bytes);
  }
  page.Gauge("process_start_time_seconds", "Start of the process, in seconds since 1970 (UTC).",
             StartSeconds());
  if (const std::optional<double> files = CountOpenFiles(); files.has_value()) {
    page.Gauge("process_open_fds", "Open file descriptors of the process.", *files);
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    page.Gauge("process_max_fds", "Greatest allowed number of open file descriptors.",
               limit.rlim_cur);
  }
}

}  // namespace orbserve
