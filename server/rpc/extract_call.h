// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_EXTRACT_CALL_H_
#define ORBSERVE_SERVER_RPC_EXTRACT_CALL_H_

#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/unary_call.h"

namespace orbserve {

// Features of one frame.
class ExtractCall final : public MessageCall<v1::ExtractRequest, v1::ExtractResponse> {
 public:
  using MessageCall::MessageCall;

  void OnCancel() override;

 private:
  void Start() override;
  void OnExtracted(const FrameOutcome& outcome);

  Batcher::Ticket ticket_ = 0;  // set inside Start(), so before OnCancel()
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_EXTRACT_CALL_H_
