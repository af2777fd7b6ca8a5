// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Images on which tests compare the arithmetic of a method with its oracle.

#ifndef ORBSERVE_TESTS_SUPPORT_METHOD_IMAGES_H_
#define ORBSERVE_TESTS_SUPPORT_METHOD_IMAGES_H_

#include <string>
#include <vector>

#include "tests/support/image_makers.h"

namespace orbserve::testing {

struct NamedImage {
  std::string name;
  TestImage image;
};

// Images made by rule from fixed seeds, which their names tell: one pixel, one row, odd sides,
// sides around the smallest that hold a keypoint, noise, scenes, massive ties, flat.
std::vector<NamedImage> SyntheticImages();

// The images of the reference values that `data_folder` holds; empty when it holds none.
std::vector<NamedImage> RealImages(const std::string& data_folder);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_METHOD_IMAGES_H_
