// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_
#define ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_

#include <memory>

#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/unary_call.h"

namespace orbserve {

// Stores features, sent as such or extracted from an image, under a name.
class PutReferenceCall final
    : public MessageCall<v1::PutReferenceRequest, v1::PutReferenceResponse> {
 public:
  using MessageCall::MessageCall;

  void OnCancel() override;

 private:
  void Start() override;
  absl::Status ReadOptions(std::shared_ptr<const ResolvedPipeline>& pipeline);
  void OnExtracted(const FrameOutcome& outcome);
  // Stores the features and fills in the response.
  absl::Status Put(std::shared_ptr<const Features> features);

  Batcher::Ticket ticket_ = 0;  // set inside Start()
};

class DeleteReferenceCall final
    : public MessageCall<v1::DeleteReferenceRequest, v1::DeleteReferenceResponse> {
 public:
  using MessageCall::MessageCall;

 private:
  void Start() override;
};

// One page of the references of the caller. CallServices::lists builds it, so that many calls do
// not take gRPC's threads.
class ListReferencesCall final
    : public MessageCall<v1::ListReferencesRequest, v1::ListReferencesResponse> {
 public:
  using MessageCall::MessageCall;

 private:
  void Start() override;
  absl::Status ReadOptions();
  absl::Status List();

  std::string after_;
  size_t page_size_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_REFERENCE_CALLS_H_
