// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SUPPORT_FEATURE_COMPARE_H_
#define ORBSERVE_TESTS_SUPPORT_FEATURE_COMPARE_H_

#include <string>

#include "features/types.h"

namespace orbserve::testing {

// The rows of `features` in the order of a detection (octave up, response down, y up, x up), so
// that features of any origin compare as sets. `source_index` is dropped.
Features Sorted(const Features& features);

// Empty when both are equal bit for bit in every column, row by row; else a sentence with the first
// row that differs and both its values.
std::string FirstDifference(const Features& expected, const Features& actual);

// Compares the answers to a search for tracks in the same way, with a row for each point.
std::string FirstDifference(const TrackedPoints& expected, const TrackedPoints& actual);

// Bytes in which equally long features differ over all columns; the bytes of the longer one's rows
// when their lengths differ.
size_t DifferingBytes(const Features& expected, const Features& actual);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_FEATURE_COMPARE_H_
