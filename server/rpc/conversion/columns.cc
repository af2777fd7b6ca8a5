// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/columns.h"

#include "features/options.h"

namespace orbserve {

absl::Status CheckCount(absl::string_view name, int count) {
  if (count <= kMaxFeatures) return absl::OkStatus();
  return MakeError(
      ErrorReason::kTooLarge,
      absl::StrCat(name, " has ", count, " keypoints; at most ", kMaxFeatures, " are allowed"));
}

absl::Status CheckColumn(absl::string_view name, int size, int count, bool may_be_empty) {
  if (size == count || (may_be_empty && size == 0)) return absl::OkStatus();
  return MakeError(
      ErrorReason::kBadRequest,
      absl::StrCat(name, " has ", size, " values and x has ", count,
                   "; the columns must have one length", may_be_empty ? ", or be left out" : ""));
}

}  // namespace orbserve
