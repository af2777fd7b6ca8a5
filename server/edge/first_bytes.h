// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_FIRST_BYTES_H_
#define ORBSERVE_SERVER_EDGE_FIRST_BYTES_H_

namespace orbserve {

enum class FirstBytes { kIncomplete, kComplete, kEnded };

// Looks, without taking them, whether a client has sent the bytes that it sends at once: the
// preface of HTTP/2 and the header of its SETTINGS, or the first message of TLS. Anything else is
// complete, too: gRPC refuses it.
FirstBytes LookAtFirstBytes(int socket, bool is_plain);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_FIRST_BYTES_H_
