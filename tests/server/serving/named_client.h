// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_SERVING_NAMED_CLIENT_H_
#define ORBSERVE_TESTS_SERVER_SERVING_NAMED_CLIENT_H_

#include <string>

#include "server/clients/client_id.h"

namespace orbserve {

// A client that is the only one of its owner.
inline ClientId Named(const std::string& name) { return {.owner = name, .name = name}; }

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_SERVING_NAMED_CLIENT_H_
