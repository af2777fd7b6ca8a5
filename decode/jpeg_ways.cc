// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_ways.h"

#include <atomic>
#include <cstddef>

namespace orbserve {
namespace {

std::array<std::atomic<int64_t>, kJpegWayCount> way_counts = {};

}  // namespace

JpegWayWords WordsOf(JpegWay way) {
  switch (way) {
    case JpegWay::kHost:
      return {"host", ""};
    case JpegWay::kLibjpegProgressive:
      return {"libjpeg", "progressive"};
    case JpegWay::kLibjpegScans:
      return {"libjpeg", "scans"};
    case JpegWay::kLibjpegComponents:
      return {"libjpeg", "components"};
    case JpegWay::kLibjpegValues:
      return {"libjpeg", "values"};
    case JpegWay::kDevice:
      return {"device", ""};
  }
  return {};
}

void CountJpegWay(JpegWay way) {
  way_counts[static_cast<size_t>(way)].fetch_add(1, std::memory_order_relaxed);
}

std::array<int64_t, kJpegWayCount> JpegWayCounts() {
  std::array<int64_t, kJpegWayCount> counts = {};
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = way_counts[i].load(std::memory_order_relaxed);
  }
  return counts;
}

}  // namespace orbserve
