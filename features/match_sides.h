// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_MATCH_SIDES_H_
#define ORBSERVE_FEATURES_MATCH_SIDES_H_

#include "absl/status/status.h"
#include "features/backend.h"

namespace orbserve {

// Checks that the two sides of a match can be compared. INVALID_ARGUMENT (BAD_OPTIONS) unless both
// have descriptors of the same kind.
absl::Status CheckMatchSides(const FrameState& query, const FrameState& train);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_MATCH_SIDES_H_
