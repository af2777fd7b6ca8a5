// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_ARRIVAL_H_
#define ORBSERVE_SERVER_EDGE_ARRIVAL_H_

namespace orbserve {

enum class Arrival { kIncomplete, kComplete, kEnded };

// Says whether a client has sent what it sends at once: the preface of HTTP/2 and the header of its
// SETTINGS, or the first message of TLS. Anything else is complete, too: gRPC refuses it.
Arrival ArrivalOf(int socket, bool is_plain);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_ARRIVAL_H_
