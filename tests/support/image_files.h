// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Image files that programs of the tests are given to look at.

#ifndef ORBSERVE_TESTS_SUPPORT_IMAGE_FILES_H_
#define ORBSERVE_TESTS_SUPPORT_IMAGE_FILES_H_

#include <string>
#include <vector>

namespace orbserve::testing {

// The files that `paths` mean, in order of name: of a folder all images in it and below, by the
// ending of their names; anything else as it is, whether it exists or not. Folders named
// "odd-jpegs" are left out: damaged files are the decoders' matter.
std::vector<std::string> ImageFilesOf(const std::vector<std::string>& paths);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_IMAGE_FILES_H_
