// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What every backend allows the images that it is given.

#ifndef ORBSERVE_FEATURES_INPUT_LIMITS_H_
#define ORBSERVE_FEATURES_INPUT_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/backend.h"

namespace orbserve {

// Coordinates of corners are 16 bits wide, with a sign.
inline constexpr int kMaxSidePx = std::numeric_limits<int16_t>::max();

// BAD_IMAGE unless both sides are in [1, kMaxSidePx].
absl::Status CheckImageSize(int width_px, int height_px);

// TOO_LARGE where the slot of a frame needs more bytes than all slots may hold.
absl::Status CheckInputBytes(int width_px, int height_px, bool has_mask, size_t needed_bytes,
                             int64_t budget_bytes);

// Returns how many pixels, `most` or fewer, a frame may have so that it needs at most
// `allowed_bytes` with any preset but sift. `needed`: bytes for a frame of this size; an error: it
// needs none, as where the image is too small.
using FrameBytes = absl::FunctionRef<absl::StatusOr<size_t>(const PlanSpec& spec)>;
int64_t MostFramePixels(int64_t most, int64_t allowed_bytes, FrameBytes needed);

// Most bytes that leased input slots may hold: what is asked for, or for 0 a quarter of this
// machine's memory.
int64_t InputBudgetBytes(int64_t asked_bytes);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_INPUT_LIMITS_H_
