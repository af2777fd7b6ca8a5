// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_SELF_CHECK_CALL_H_
#define ORBSERVE_SERVER_EDGE_SELF_CHECK_CALL_H_

#include <chrono>

#include "absl/status/status.h"
#include "server/edge/file_descriptor.h"

namespace orbserve {

// Asks for the server's health over `connection`, in plain text. OK when the call was answered,
// whatever the health is. Blocks until the answer or a little longer than `limit`.
absl::Status MakeSelfCheckCall(FileDescriptor connection, std::chrono::milliseconds limit);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_SELF_CHECK_CALL_H_
