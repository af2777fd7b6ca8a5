// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/match_sides.h"

#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {

absl::Status CheckMatchSides(const FrameState& query, const FrameState& train) {
  const Descriptor query_kind = query.descriptor_kind();
  const Descriptor train_kind = train.descriptor_kind();
  if (query_kind != Descriptor::kNone && query_kind == train_kind &&
      query.descriptor_bytes() == train.descriptor_bytes()) {
    return absl::OkStatus();
  }
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("both sides of a match must have descriptors of one kind; got ",
                                DescriptorName(query_kind), " of ", query.descriptor_bytes(),
                                " bytes (query) and ", DescriptorName(train_kind), " of ",
                                train.descriptor_bytes(), " bytes (train)"));
}

}  // namespace orbserve
