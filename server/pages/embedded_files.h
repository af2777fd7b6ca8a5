// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Files of this folder that the program carries with it.

#ifndef ORBSERVE_SERVER_PAGES_EMBEDDED_FILES_H_
#define ORBSERVE_SERVER_PAGES_EMBEDDED_FILES_H_

#include "absl/strings/string_view.h"

namespace orbserve {

extern const absl::string_view kLiveHtml;
extern const absl::string_view kLiveCss;
extern const absl::string_view kLiveJs;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PAGES_EMBEDDED_FILES_H_
