// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Columns of messages, of keypoints and of features. Errors name the column.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_COLUMNS_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_COLUMNS_H_

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "features/options.h"

namespace orbserve {

// TOO_LARGE where `count` keypoints are more than an answer can have. `name`: of their message.
inline absl::Status CheckCount(absl::string_view name, int count) {
  if (count <= kMaxFeatures) return absl::OkStatus();
  return MakeError(
      ErrorReason::kTooLarge,
      absl::StrCat(name, " has ", count, " keypoints; at most ", kMaxFeatures, " are allowed"));
}

// BAD_REQUEST where a value of a column of whole numbers is not in [`first`, `last`].
template <typename Column>
absl::Status CheckIsIn(absl::string_view name, const Column& column, int first, int last) {
  for (int i = 0; i < column.size(); ++i) {
    if (int64_t{column[i]} < first || int64_t{column[i]} > last) {
      return MakeError(ErrorReason::kBadRequest, absl::StrCat(name, "[", i, "] must be in [", first,
                                                              ", ", last, "]; got ", column[i]));
    }
  }
  return absl::OkStatus();
}

// Copies a column into `out`, which stays as it is where the column is left out. BAD_REQUEST unless
// it has `count` values, as x has, or none where `may_be_empty`, all of them finite.
template <typename T, typename Column>
absl::Status ReadColumn(absl::string_view name, const Column& column, int count, bool may_be_empty,
                        std::vector<T>* out) {
  if (may_be_empty && column.empty()) return absl::OkStatus();
  if (column.size() != count) {
    return MakeError(
        ErrorReason::kBadRequest,
        absl::StrCat(name, " has ", column.size(), " values and x has ", count,
                     "; the columns must have one length", may_be_empty ? ", or be left out" : ""));
  }
  if constexpr (std::is_floating_point_v<T>) {
    for (int i = 0; i < count; ++i) {
      if (!std::isfinite(column[i])) {
        return MakeError(ErrorReason::kBadRequest,
                         absl::StrCat(name, "[", i, "] must be a finite number; got ", column[i]));
      }
    }
  }
  out->assign(column.begin(), column.end());
  return absl::OkStatus();
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_COLUMNS_H_
