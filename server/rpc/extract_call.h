// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_EXTRACT_CALL_H_
#define ORBSERVE_SERVER_RPC_EXTRACT_CALL_H_

#include <cstdint>

#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/arena_messages.h"
#include "server/rpc/call.h"

namespace orbserve {

using ExtractMessages = ArenaMessages<v1::ExtractRequest, v1::ExtractResponse>;

// Features of one frame.
class ExtractCall final : public UnaryCall {
 public:
  ExtractCall(const CallServices& services, CallGate& gate, grpc::CallbackServerContext* context,
              const v1::ExtractRequest* request, v1::ExtractResponse* response);

  void Start();
  void OnCancel() override;

 private:
  void OnExtracted(ExtractOutcome outcome);

  const v1::ExtractRequest& request_;
  v1::ExtractResponse& response_;
  uint64_t sequence_ = 0;
  int64_t timestamp_ns_ = 0;
  Batcher::Ticket ticket_ = 0;  // set inside Start(), so before OnCancel()
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_EXTRACT_CALL_H_
