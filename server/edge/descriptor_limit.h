// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_DESCRIPTOR_LIMIT_H_
#define ORBSERVE_SERVER_EDGE_DESCRIPTOR_LIMIT_H_

#include <cstdint>

namespace orbserve {

// Raises the soft limit of this process's descriptors to the hard one: the soft one of a shell or a
// service manager is often 1024.
void RaiseDescriptorLimit();

// Connections for which this process has descriptors, `wanted` at most and at least 1: two for
// each, beside those that are open now and `reserve` more.
int AffordableConnections(int wanted, int reserve);

// Connections that the HTTP endpoint may have: `wanted`, or an eighth of the descriptors.
int AffordableHttpConnections(int wanted);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_DESCRIPTOR_LIMIT_H_
