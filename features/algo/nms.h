// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Non-maximum suppression in the 3x3 neighbourhood of a map of responses.

#ifndef ORBSERVE_FEATURES_ALGO_NMS_H_
#define ORBSERVE_FEATURES_ALGO_NMS_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

// Whether the response at `centre` is strictly greater than its eight neighbours', rows
// `pitch` elements apart. Equal neighbours remove each other.
// Source: A. Neubeck & L. Van Gool, "Efficient non-maximum suppression", ICPR 2006, sec. 1.
template <typename T>
ORBSERVE_HOST_DEVICE inline bool IsLocalMaximum3x3(const T* centre, ptrdiff_t pitch) {
  const T value = *centre;
  for (int y = -1; y <= 1; ++y) {
    for (int x = -1; x <= 1; ++x) {
      if ((x != 0 || y != 0) && centre[y * pitch + x] >= value) return false;
    }
  }
  return true;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_NMS_H_
