// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What all connections together may hold of gRPC's memory. gRPC 1.51 makes room by closing
// connections of anybody; these close the ones that hold the most.

#ifndef ORBSERVE_SERVER_EDGE_GUARD_CLOSE_HEAVIEST_H_
#define ORBSERVE_SERVER_EDGE_GUARD_CLOSE_HEAVIEST_H_

#include <cstdint>

#include "server/edge/connection_table.h"

namespace orbserve {

// Closes connections whose unfinished messages hold the most, of the address that holds the most,
// until the others have room.
void CloseUnfinished(const ConnectionTable& table, int64_t max_bytes);

// Closes unproven connections that have the most open calls, of the network and in it of the
// address that have the most, until there are few enough. Calls hold memory of gRPC, which makes
// room by closing connections of anybody.
void CloseUnproven(const ConnectionTable& table, int64_t max_calls);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_GUARD_CLOSE_HEAVIEST_H_
