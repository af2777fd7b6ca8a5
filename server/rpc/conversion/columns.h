// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Columns of messages: checks that name the column, and copies. Used for keypoints and features.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_COLUMNS_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_COLUMNS_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {

// TOO_LARGE where `count` keypoints are more than an answer can have. `name`: of their message.
absl::Status CheckCount(absl::string_view name, int count);

// BAD_REQUEST unless a column has `count` values, as x has, or none where `may_be_empty`.
absl::Status CheckColumn(absl::string_view name, int size, int count, bool may_be_empty);

// BAD_REQUEST where a value is infinite or not a number.
template <typename Column>
absl::Status CheckFinite(absl::string_view name, const Column& column) {
  for (int i = 0; i < column.size(); ++i) {
    if (!std::isfinite(column[i])) {
      return MakeError(ErrorReason::kBadRequest,
                       absl::StrCat(name, "[", i, "] must be a finite number; got ", column[i]));
    }
  }
  return absl::OkStatus();
}

// BAD_REQUEST where a value of a column of whole numbers is not in [`first`, `last`].
template <typename Column>
absl::Status CheckEachIn(absl::string_view name, const Column& column, int64_t first,
                         int64_t last) {
  for (int i = 0; i < column.size(); ++i) {
    if (column[i] < first || column[i] > last) {
      return MakeError(ErrorReason::kBadRequest, absl::StrCat(name, "[", i, "] must be in [", first,
                                                              ", ", last, "]; got ", column[i]));
    }
  }
  return absl::OkStatus();
}

template <typename T, typename Column>
std::vector<T> ToVector(const Column& column) {
  return std::vector<T>(column.begin(), column.end());
}

// Appends `values` to `column`.
template <typename T, typename Column>
void ToColumn(const std::vector<T>& values, Column* column) {
  column->Add(values.begin(), values.end());
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_COLUMNS_H_
