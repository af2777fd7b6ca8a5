// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/identity.h"
#include "server/process/log.h"
#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/rpc/conversion/timings.h"
#include "server/rpc/reference_name.h"
#include "server/rpc/response_size.h"
#include "server/rpc/unary_call.h"

namespace orbserve {
namespace {

// Most references on one page.
constexpr uint32_t kMaxListed = 1000;
// Most bytes of one of them: a name of 128 bytes and five numbers, with their tags.
constexpr int64_t kMaxListedWireBytes = 192;

void ReferenceToProto(const Reference& reference, v1::ReferenceInfo* proto) {
  proto->set_name(reference.name());
  proto->set_version(reference.version());
  proto->set_feature_count(static_cast<uint32_t>(reference.features().count()));
  proto->set_descriptor_bytes(static_cast<uint32_t>(reference.features().descriptor_bytes));
  proto->set_descriptor_type(DescriptorTypeToProto(reference.features().descriptor_kind()));
  proto->set_size_bytes(reference.size_bytes());
}

// Stores features, sent as such or extracted from an image, under a name.
class PutReferenceCall final
    : public MessageCall<v1::PutReferenceRequest, v1::PutReferenceResponse> {
 public:
  using MessageCall::MessageCall;

 private:
  absl::Status ReadOptions(std::shared_ptr<const ResolvedPipeline>& pipeline) {
    ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
    ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(request_.name()));
    if (request_.content_case() == v1::PutReferenceRequest::CONTENT_NOT_SET) {
      return MakeError(ErrorReason::kBadRequest,
                       "content is missing; features or frame must be set");
    }
    ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline resolved, PipelineFromProto(request_.pipeline()));
    if (request_.has_frame() && DescriptorBytes(resolved.options.describe.descriptor) == 0) {
      return MakeError(ErrorReason::kBadOptions,
                       "a reference needs descriptors; describe.descriptor_type is NONE");
    }
    pipeline = std::make_shared<const ResolvedPipeline>(std::move(resolved));
    return absl::OkStatus();
  }

  void Start() override {
    std::shared_ptr<const ResolvedPipeline> pipeline;
    const absl::Status refusal = ReadOptions(pipeline);
    if (request_.has_frame()) {
      SubmitFrame(Share(&request_.frame()), std::move(pipeline), KeepState::kNone,
                  request_.ByteSizeLong(), refusal,
                  [this](FrameRecord& record) { Guard([&] { OnExtracted(record.outcome); }); });
      return;
    }
    if (!refusal.ok()) {
      FinishWith(refusal);
      return;
    }
    auto features = FeaturesFromProto(request_.features());
    FinishWith(features.ok() ? Put(*std::move(features)) : features.status());
  }

  void OnExtracted(const FrameOutcome& outcome) {
    absl::Status status = outcome.status;
    if (status.ok()) {
      // The store gets a copy of the exact size. The backend's own object belongs to its pool and
      // may have room for many more features.
      status = Put(std::make_shared<const Features>(*outcome.features));
    }
    if (status.ok()) {
      ExecutionToProto(outcome, response_.mutable_execution());
      TimingsToProto(outcome, response_.mutable_timings());
      AddKeypoints(outcome.features->count());
    }
    FinishWith(status);
  }

  // Stores the features and fills in the response.
  absl::Status Put(std::shared_ptr<const Features> features) {
    ORBSERVE_ASSIGN_OR_RETURN(
        ReferenceStore::PutResult result,
        services_.references->Put(client_, request_.name(), std::move(features)));
    const Reference& reference = *result.reference;
    LogClientEvent(ClientEvent::kReference, [&] {
      return absl::StrCat("event=reference_put ", CallerForLog(client_, context_->peer()),
                          " version=", reference.version(),
                          " features=", reference.features().count(),
                          " bytes=", reference.size_bytes(), " evicted=", result.evicted.size());
    });
    ReferenceToProto(reference, response_.mutable_reference());
    for (std::string& name : result.evicted) response_.add_evicted(std::move(name));
    return absl::OkStatus();
  }
};

class DeleteReferenceCall final
    : public MessageCall<v1::DeleteReferenceRequest, v1::DeleteReferenceResponse> {
 public:
  using MessageCall::MessageCall;

 private:
  void Start() override {
    FinishWith([&]() -> absl::Status {
      ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
      ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(request_.name()));
      ORBSERVE_ASSIGN_OR_RETURN(const uint64_t version,
                                services_.references->Delete(client_, request_.name()));
      LogClientEvent(ClientEvent::kReference, [&] {
        return absl::StrCat("event=reference_deleted ", CallerForLog(client_, context_->peer()),
                            " version=", version);
      });
      return absl::OkStatus();
    }());
  }
};

// One page of the references of the caller. CallServices::lists builds it, so that many calls do
// not take gRPC's threads.
class ListReferencesCall final
    : public MessageCall<v1::ListReferencesRequest, v1::ListReferencesResponse> {
 public:
  using MessageCall::MessageCall;

 private:
  absl::Status ReadOptions() {
    ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
    if (request_.page_size() > kMaxListed) {
      return MakeError(ErrorReason::kBadRequest,
                       absl::StrCat("page_size must be in [1, ", kMaxListed,
                                    "], or 0 for the largest; got ", request_.page_size()));
    }
    page_size_ = request_.page_size() == 0 ? kMaxListed : request_.page_size();
    // A token is the name of the last reference of the page before.
    if (!request_.page_token().empty() && !CheckReferenceName(request_.page_token()).ok()) {
      return MakeError(ErrorReason::kBadRequest,
                       "page_token must be the next_page_token of an earlier answer");
    }
    after_ = request_.page_token();
    return absl::OkStatus();
  }

  void Start() override {
    if (const absl::Status status = ReadOptions(); !status.ok()) {
      FinishWith(status);
      return;
    }
    services_.lists->Run(client_, {},
                         [this] { FinishWith(WithoutBadAlloc([this] { return List(); })); });
  }

  absl::Status List() {
    ORBSERVE_RETURN_IF_ERROR(
        ExpectResponse(kOtherWireBytes + static_cast<int64_t>(page_size_) * kMaxListedWireBytes));
    const ReferenceStore::Page page = services_.references->List(client_, after_, page_size_);
    for (const auto& reference : page.references) {
      ReferenceToProto(*reference, response_.add_references());
    }
    if (!page.is_last) response_.set_next_page_token(page.references.back()->name());
    const ReferenceStoreUse use = services_.references->use();
    response_.set_used_bytes(static_cast<uint64_t>(use.bytes));
    response_.set_capacity_bytes(static_cast<uint64_t>(use.max_bytes));
    return absl::OkStatus();
  }

  std::string after_;
  size_t page_size_ = 0;
};

}  // namespace

std::array<UnaryMethod, 3> ReferenceMethods() {
  return {MethodOfCall<PutReferenceCall>(), MethodOfCall<DeleteReferenceCall>(),
          MethodOfCall<ListReferencesCall>()};
}

}  // namespace orbserve
