// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/input_limits.h"

#include <unistd.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/options.h"
#include "features/pipeline/detection.h"

namespace orbserve {

absl::Status CheckImageSize(int width_px, int height_px) {
  for (const int side : {width_px, height_px}) {
    if (side < 1 || side > kMaxSidePx) {
      return MakeError(ErrorReason::kBadImage,
                       absl::StrCat("width and height must be in [1, ", kMaxSidePx, "]; got ",
                                    width_px, " x ", height_px));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckInputBytes(int width_px, int height_px, bool has_mask, size_t needed_bytes,
                             int64_t budget_bytes) {
  if (needed_bytes <= static_cast<uint64_t>(budget_bytes)) return absl::OkStatus();
  return MakeError(ErrorReason::kTooLarge,
                   absl::StrCat("a frame of ", width_px, " x ", height_px,
                                has_mask ? " with a mask" : "", " needs ", needed_bytes,
                                " bytes of input; this server has room for ", budget_bytes));
}

int64_t MostFramePixels(int64_t most, int64_t allowed_bytes, FrameBytes needed) {
  // Images that are not square need a little more.
  const double allowed = 0.98 * static_cast<double>(allowed_bytes);
  for (const Preset& preset : Presets()) {
    // Frames of SIFT need several times as much as others; larger ones are refused by its plans.
    while (preset.available && !HasScaleSpace(preset.pipeline)) {
      const int side_px = static_cast<int>(std::sqrt(static_cast<double>(most)));
      const absl::StatusOr<size_t> bytes = needed({side_px, side_px, preset.pipeline});
      if (!bytes.ok() || static_cast<double>(*bytes) <= allowed) break;
      // Memory for a pixel grows slightly where there are fewer.
      const double part = 0.99 * allowed / static_cast<double>(*bytes);
      most = static_cast<int64_t>(part * static_cast<double>(most));
    }
  }
  return most;
}

int64_t InputBudgetBytes(int64_t asked_bytes) {
  if (asked_bytes > 0) return asked_bytes;
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_bytes = sysconf(_SC_PAGE_SIZE);
  constexpr int64_t kFallbackBytes = int64_t{1} << 30;
  return pages > 0 && page_bytes > 0 ? pages * page_bytes / 4 : kFallbackBytes;
}

}  // namespace orbserve
