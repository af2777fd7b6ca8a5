// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A slow matcher with every option, written from the rules: all pairs, sorted.

#ifndef ORBSERVE_TESTS_SUPPORT_MATCH_ORACLE_H_
#define ORBSERVE_TESTS_SUPPORT_MATCH_ORACLE_H_

#include "features/options.h"
#include "features/types.h"

namespace orbserve::testing {

struct OracleWindow {
  float half_side = 0;  // 0 = off
  float offset_x = 0;
  float offset_y = 0;
};

// Matches of `query` in `train`, which have descriptors of one kind. `options` has all rules but
// the window.
Matches OracleMatch(const Features& query, const Features& train, const MatchOptions& options,
                    const OracleWindow& window);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_MATCH_ORACLE_H_
