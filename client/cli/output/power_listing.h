// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Power, energy and the condition of devices for people and as JSON: `orbserve power`.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_POWER_LISTING_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_POWER_LISTING_H_

#include <string>

#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Lists what was read `seconds` > 0 after `first`, the reading at the command's start. Joules and
// frames are those since then; a figure that cannot be read is "-", and absent in JSON.

// Lines of text, the last one with its end.
std::string PowerTable(v1::GetServerInfoResponse first, v1::GetServerInfoResponse now,
                       double seconds);
// One line without its end; docs/formats.md describes the keys.
std::string PowerJson(const v1::GetServerInfoResponse& first, const v1::GetServerInfoResponse& now,
                      double seconds);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_POWER_LISTING_H_
