// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/match_sides.h"

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {

absl::Status CheckMatchSides(const FrameState& query, const FrameState& train) {
  const int query_bytes = query.descriptor_bytes();
  const int train_bytes = train.descriptor_bytes();
  if (query_bytes != 0 && query_bytes == train_bytes) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("both sides of a match must have descriptors of one kind; got ",
                                query_bytes, " bytes and ", train_bytes, " bytes each"));
}

}  // namespace orbserve
