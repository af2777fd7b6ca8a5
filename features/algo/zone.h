// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Zones: rectangles of a level in which ORB-SLAM3 searches FAST corners one by one. A corner stays
// if it exceeds its neighbours in its own zone, whatever those in other zones are; a zone without a
// corner of the threshold keeps those of the second one.

#ifndef ORBSERVE_FEATURES_ALGO_ZONE_H_
#define ORBSERVE_FEATURES_ALGO_ZONE_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

inline constexpr int kZoneLeastPx = 35;   // of a side
inline constexpr int kZoneBorderPx = 19;  // zones begin at (19, 19)
inline constexpr int kZoneFramePx = 16;   // origin of the area that zones and tree divide

// The zones of a level; none where it is too small for one.
struct Zones {
  int columns = 0;
  int rows = 0;
  int width_px = 0;   // of each but the last of a row, which may be narrower or missing
  int height_px = 0;  // likewise

  ORBSERVE_HOST_DEVICE constexpr int ColumnOf(int x) const {
    return static_cast<int>(static_cast<uint32_t>(x - kZoneBorderPx) /
                            static_cast<uint32_t>(width_px));
  }
  ORBSERVE_HOST_DEVICE constexpr int RowOf(int y) const {
    return static_cast<int>(static_cast<uint32_t>(y - kZoneBorderPx) /
                            static_cast<uint32_t>(height_px));
  }
  // Most corners of a zone: no two of them are neighbours.
  ORBSERVE_HOST_DEVICE constexpr int MostCorners() const {
    return ((width_px + 1) / 2) * ((height_px + 1) / 2);
  }
  // Number of a pixel in the order of zone row, zone column, y, x. Below 2^32 for levels up to
  // 32767 pixels a side.
  ORBSERVE_HOST_DEVICE constexpr uint32_t OrderOf(int x, int y) const {
    const int column = ColumnOf(x);
    const int row = RowOf(y);
    const int in_zone =
        (y - kZoneBorderPx - row * height_px) * width_px + (x - kZoneBorderPx - column * width_px);
    return static_cast<uint32_t>(row * columns + column) *
               static_cast<uint32_t>(width_px * height_px) +
           static_cast<uint32_t>(in_zone);
  }
};

// `width_px` and `height_px`: of the level.
ORBSERVE_HOST_DEVICE constexpr Zones ZonesOf(int width_px, int height_px) {
  const int width = width_px - 2 * kZoneFramePx;
  const int height = height_px - 2 * kZoneFramePx;
  if (width < kZoneLeastPx || height < kZoneLeastPx) return {};
  const int columns = width / kZoneLeastPx;
  const int rows = height / kZoneLeastPx;
  return {columns, rows, DivUp(width, columns), DivUp(height, rows)};
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_ZONE_H_
