// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_FRAME_INTEGRAL_VIEW_H_
#define ORBSERVE_CPU_FRAME_INTEGRAL_VIEW_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::cpu {

// Entries before entry (0, y) of a row, so that entry (1, y), which belongs to the first pixel, has
// the alignment of a vector.
inline constexpr int kIntegralLead = 15;

// Entries of one row: the lead, entry 0 and one entry for each pixel, rounded up to whole vectors.
constexpr ptrdiff_t IntegralRowEntries(int width_px) {
  return kIntegralLead + 1 + RoundUp(width_px, 64);
}

// A borrowed integral image modulo 2^32: (width + 1) x (height + 1) entries. Entry (x, y) is the
// sum of all pixels above and left of (x, y), exclusive.
struct IntegralView {
  uint32_t* data = nullptr;  // entry (0, 0); its lead lies before it
  ptrdiff_t pitch = 0;       // entries between rows

  uint32_t* Row(int y) const { return data + y * pitch; }
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_INTEGRAL_VIEW_H_
