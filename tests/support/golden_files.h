// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Reference outputs kept as files beside their input images.

#ifndef ORBSERVE_TESTS_SUPPORT_GOLDEN_FILES_H_
#define ORBSERVE_TESTS_SUPPORT_GOLDEN_FILES_H_

#include <string>
#include <vector>

#include "features/types.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {

// An 8-bit grey PNG. What cannot be read ends the program, here and below.
TestImage ReadGreyPng(const std::string& path);

// Features in a CSV with a header line and the columns octave, x, y, size, angle, response,
// descriptor (hex, byte 0 first), floats with digits enough to be exact. In the file's order.
Features ReadFeatureCsv(const std::string& path);

struct GoldenCorner {
  int x;
  int y;
  int score;
  bool operator==(const GoldenCorner&) const = default;
};

// Corners in a CSV with a header line and the columns x, y, score.
std::vector<GoldenCorner> ReadCornerCsv(const std::string& path);

// Paths of the files in `folder` whose names end in `suffix`, in order of name; empty when there is
// no such folder.
std::vector<std::string> FilesEndingIn(const std::string& folder, const std::string& suffix);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_GOLDEN_FILES_H_
