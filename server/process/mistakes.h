// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_MISTAKES_H_
#define ORBSERVE_SERVER_PROCESS_MISTAKES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace orbserve {

// Collects the mistakes of a configuration, so that one run tells all of them.
class Mistakes {
 public:
  void Add(absl::string_view text) { absl::StrAppend(&lines_, lines_.empty() ? "" : "\n", text); }
  // Adds the message of `status`, unless it is OK.
  void Add(const absl::Status& status) {
    if (!status.ok()) Add(status.message());
  }
  // OK, or BAD_OPTIONS with one line for each mistake.
  absl::Status status() const {
    return lines_.empty() ? absl::OkStatus() : MakeError(ErrorReason::kBadOptions, lines_);
  }

 private:
  std::string lines_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_MISTAKES_H_
