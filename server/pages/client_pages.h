// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The busiest clients, for the people who run the server: a page at /clients, which is brought up
// to date every two seconds, with and without scripts, and /clients.json. `?n=20` says how many.

#ifndef ORBSERVE_SERVER_PAGES_CLIENT_PAGES_H_
#define ORBSERVE_SERVER_PAGES_CLIENT_PAGES_H_

#include <vector>

#include "server/edge/http/http_endpoint.h"
#include "server/serving/client_activity.h"

namespace orbserve {

// `activity` outlives the pages. `most`: clients that are shown unless the query says another
// number, >= 1.
std::vector<HttpPage> ClientPages(const ClientActivity* activity, size_t most);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PAGES_CLIENT_PAGES_H_
