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
extern const absl::string_view kPageJs;
extern const absl::string_view kClientsJs;

// Headers of the pages: they load nothing from elsewhere, send nothing elsewhere, and are in no
// frame.
inline constexpr char kPageHeaders[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PAGES_EMBEDDED_FILES_H_
