// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_DOCTOR_FINDING_H_
#define ORBSERVE_CLIENT_CLI_DOCTOR_FINDING_H_

#include <string>

namespace orbserve::cli {

// Result of one check of `orbserve doctor`.
struct Finding {
  enum class Kind {
    kGood,
    kNote,  // works, but less than it could
    kBad,   // something that is there does not work
  };
  std::string subject;  // "gpu", "power", ...
  Kind kind = Kind::kGood;
  std::string text;
  std::string advice;  // the next step; empty if there is none
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_DOCTOR_FINDING_H_
