// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/telemetry/family_builder.h"

namespace orbserve {
namespace {

// From proc(5), /proc/PID/stat.
struct ProcessStat {
  uint64_t user_ticks = 0;
  uint64_t system_ticks = 0;
  uint64_t start_ticks = 0;  // after boot
  uint64_t virtual_bytes = 0;
  int64_t resident_pages = 0;
};

std::optional<ProcessStat> ReadProcessStat() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // The second field is the program's name in brackets and may hold spaces and brackets.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  constexpr size_t kFirstField = 3;  // of those after the name; numbered from 1 as in proc(5)
  const std::vector<std::string> fields =
      absl::StrSplit(text.substr(name_end + 1), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  const auto read = [&](size_t field, auto* value) {
    return field - kFirstField < fields.size() &&
           absl::SimpleAtoi(fields[field - kFirstField], value);
  };
  ProcessStat stat;
  if (!read(14, &stat.user_ticks) || !read(15, &stat.system_ticks) ||
      !read(22, &stat.start_ticks) || !read(23, &stat.virtual_bytes) ||
      !read(24, &stat.resident_pages)) {
    return std::nullopt;
  }
  return stat;
}

// Time when the machine started, in seconds since 1970.
std::optional<double> ReadBootTime() {
  std::ifstream file("/proc/stat");
  std::string key;
  double value = 0;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() == 2 && fields[0] == "btime" && absl::SimpleAtod(fields[1], &value)) {
      return value;
    }
  }
  return std::nullopt;
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

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (const std::optional<ProcessStat> stat = ReadProcessStat(); stat.has_value()) {
    AddCounterFamily(families, "process_cpu_seconds_total",
                     "User and system CPU time of the process, in seconds.",
                     static_cast<double>(stat->user_ticks + stat->system_ticks) / ticks_per_second);
    AddGaugeFamily(
        families, "process_resident_memory_bytes", "Resident memory of the process.",
        static_cast<double>(stat->resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE)));
    AddGaugeFamily(families, "process_virtual_memory_bytes", "Virtual memory of the process.",
                   static_cast<double>(stat->virtual_bytes));
    if (const std::optional<double> boot = ReadBootTime(); boot.has_value()) {
      AddGaugeFamily(families, "process_start_time_seconds",
                     "Start of the process, in seconds since 1970 (UTC).",
                     *boot + static_cast<double>(stat->start_ticks) / ticks_per_second);
    }
  }
  if (const std::optional<double> files = CountOpenFiles(); files.has_value()) {
    AddGaugeFamily(families, "process_open_fds", "Open file descriptors of the process.", *files);
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    AddGaugeFamily(families, "process_max_fds", "Greatest allowed number of open file descriptors.",
                   static_cast<double>(limit.rlim_cur));
  }
  return families;
}

}  // namespace orbserve
