// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>

#include "features/errors.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/rpc/conversion/timings.h"
#include "server/rpc/response_size.h"
#include "server/rpc/unary_call.h"

namespace orbserve {
namespace {

// Features of one frame.
class ExtractCall final : public MessageCall<v1::ExtractRequest, v1::ExtractResponse> {
 public:
  using MessageCall::MessageCall;

 private:
  void Start() override {
    if (!request_.has_frame()) {
      FinishWith(MakeError(ErrorReason::kBadRequest, "frame is missing; it must be set"));
      return;
    }
    std::shared_ptr<const ResolvedPipeline> resolved;
    const auto check = [&]() -> absl::Status {
      ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
      ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline pipeline, PipelineFromProto(request_.pipeline()));
      ORBSERVE_RETURN_IF_ERROR(ExpectResponse(
          kOtherWireBytes +
          MostWireBytes(ExpectedFeatures(request_.frame(), pipeline), pipeline.options)));
      resolved = std::make_shared<const ResolvedPipeline>(std::move(pipeline));
      return absl::OkStatus();
    };
    const absl::Status refusal = check();
    response_.set_sequence(request_.frame().sequence());
    response_.set_timestamp_ns(request_.frame().timestamp_ns());
    auto frame = Share(&request_.frame());
    const size_t message_bytes = request_.ByteSizeLong();
    FreeRequest();  // the frame shares it until its pixels are decoded
    SubmitFrame(std::move(frame), std::move(resolved), KeepState::kNone, message_bytes, refusal,
                [this](FrameRecord& record) { Guard([&] { OnExtracted(record.outcome); }); });
  }

  void OnExtracted(const FrameOutcome& outcome) {
    if (!outcome.status.ok()) {
      FinishWith(outcome.status);
      return;
    }
    FeaturesToProto(*outcome.features, response_.mutable_features());
    ExecutionToProto(outcome, response_.mutable_execution());
    TimingsToProto(outcome, response_.mutable_timings());
    AddKeypoints(outcome.features->count());
    FinishWith(absl::OkStatus());
  }
};

}  // namespace

UnaryMethod ExtractMethod() { return MethodOfCall<ExtractCall>(); }

}  // namespace orbserve
