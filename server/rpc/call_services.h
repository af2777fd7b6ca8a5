// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_CALL_SERVICES_H_
#define ORBSERVE_SERVER_RPC_CALL_SERVICES_H_

#include <functional>

#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/identity.h"
#include "server/process/memory/memory_watch.h"
#include "server/rpc/send_timeouts.h"
#include "server/serving/stream/stream.h"
#include "server/serving/worker_pool.h"

namespace orbserve {

// The parts of the server that calls use; all outlive every call.
struct CallServices : StreamParts {
  Executor* lists = nullptr;  // builds lists of references; may do other work, too
  const MemoryWatch* memory = nullptr;
  SendTimeouts* send_timeouts = nullptr;
  const Identity* identity = nullptr;
  v1::ServerLimits server_limits;                          // as clients are told
  std::function<v1::GetServerInfoResponse()> server_info;  // now; from any thread
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CALL_SERVICES_H_
