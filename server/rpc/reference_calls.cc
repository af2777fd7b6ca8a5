// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/reference_calls.h"

#include <utility>

#include "features/errors.h"
#include "server/rpc/call_context.h"
#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/rpc/conversion/timings.h"
#include "server/rpc/reference_name.h"

namespace orbserve {
namespace {

void ReferenceToProto(const Reference& reference, v1::ReferenceInfo* proto) {
  proto->set_name(reference.name());
  proto->set_version(reference.version());
  proto->set_feature_count(static_cast<uint32_t>(reference.features().count()));
  proto->set_descriptor_bytes(static_cast<uint32_t>(reference.features().descriptor_bytes));
  proto->set_descriptor_type(DescriptorTypeToProto(reference.features().descriptor_kind()));
  proto->set_size_bytes(reference.size_bytes());
}

}  // namespace

PutReferenceCall::PutReferenceCall(const CallServices& services, CallGate& gate,
                                   grpc::CallbackServerContext* context,
                                   const v1::PutReferenceRequest* request,
                                   v1::PutReferenceResponse* response)
    : UnaryCall(services, gate, context, "PutReference"),
      request_(*request),
      response_(*response) {}

absl::Status PutReferenceCall::ReadOptions(std::shared_ptr<const ResolvedPipeline>& pipeline) {
  ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
  ORBSERVE_RETURN_IF_ERROR(Identify());
  ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(request_.name()));
  if (request_.content_case() == v1::PutReferenceRequest::CONTENT_NOT_SET) {
    return MakeError(ErrorReason::kBadRequest, "content is missing; features or frame must be set");
  }
  ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline resolved, PipelineFromProto(request_.pipeline()));
  if (request_.has_frame() && DescriptorBytes(resolved.options.describe.descriptor) == 0) {
    return MakeError(ErrorReason::kBadOptions,
                     "a reference needs descriptors; describe.descriptor_type is NONE");
  }
  pipeline = std::make_shared<const ResolvedPipeline>(std::move(resolved));
  return absl::OkStatus();
}

void PutReferenceCall::Start() {
  FrameSource source;
  source.refusal = ReadOptions(source.pipeline);
  if (request_.has_frame()) {
    CountFrame();
    source.client = client_;
    source.deadline = DeadlineOf(*context_);
    source.frame = PutReferenceMessages::Share(context_, &request_.frame());
    source.message_bytes = request_.ByteSizeLong();
    ticket_ = services_.intake->Submit(std::move(source),
                                       [this](ExtractOutcome outcome) { OnExtracted(outcome); });
    return;
  }
  if (!source.refusal.ok()) {
    FinishWith(source.refusal);
    return;
  }
  auto features = FeaturesFromProto(request_.features());
  FinishWith(features.ok() ? Put(*std::move(features)) : features.status());
}

void PutReferenceCall::OnCancel() { services_.batcher->Cancel(ticket_); }

void PutReferenceCall::OnExtracted(const ExtractOutcome& outcome) {
  absl::Status status = outcome.frame.status;
  if (status.ok()) {
    // The store gets a copy of the exact size. The backend's own object belongs to its pool and may
    // have room for many more features.
    status = Put(std::make_shared<const Features>(*outcome.frame.features));
  }
  if (status.ok()) {
    ExecutionToProto(outcome, response_.mutable_execution());
    TimingsToProto(outcome, begin_, response_.mutable_timings());
  }
  FinishWith(status);
}

absl::Status PutReferenceCall::Put(std::shared_ptr<const Features> features) {
  ORBSERVE_ASSIGN_OR_RETURN(
      ReferenceStore::PutResult result,
      services_.references->Put(client_, request_.name(), std::move(features)));
  ReferenceToProto(*result.reference, response_.mutable_reference());
  for (std::string& name : result.evicted) response_.add_evicted(std::move(name));
  return absl::OkStatus();
}

DeleteReferenceCall::DeleteReferenceCall(const CallServices& services, CallGate& gate,
                                         grpc::CallbackServerContext* context)
    : UnaryCall(services, gate, context, "DeleteReference") {}

void DeleteReferenceCall::Start(const v1::DeleteReferenceRequest& request) {
  FinishWith([&]() -> absl::Status {
    ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
    ORBSERVE_RETURN_IF_ERROR(Identify());
    ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(request.name()));
    return services_.references->Delete(client_, request.name());
  }());
}

ListReferencesCall::ListReferencesCall(const CallServices& services, CallGate& gate,
                                       grpc::CallbackServerContext* context)
    : UnaryCall(services, gate, context, "ListReferences") {}

void ListReferencesCall::Start(v1::ListReferencesResponse* response) {
  const absl::Status status = [&]() -> absl::Status {
    ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
    ORBSERVE_RETURN_IF_ERROR(Identify());
    for (const auto& reference : services_.references->List(client_)) {
      ReferenceToProto(*reference, response->add_references());
    }
    const ReferenceStoreUse use = services_.references->use();
    response->set_used_bytes(static_cast<uint64_t>(use.bytes));
    response->set_capacity_bytes(static_cast<uint64_t>(use.max_bytes));
    return absl::OkStatus();
  }();
  FinishWith(status, response->ByteSizeLong());
}

}  // namespace orbserve
