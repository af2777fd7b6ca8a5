// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_SYNTHETIC_IMAGE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_SYNTHETIC_IMAGE_H_

#include "client/cli/images/picture.h"

namespace orbserve::cli {

// A grey picture of 640x480 pixels: rectangles of all sizes and shades, one over the other, with
// thousands of corners. It is the same on every machine.
Picture SyntheticImage();

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_SYNTHETIC_IMAGE_H_
