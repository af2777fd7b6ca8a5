// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/rpc/conversion/timings.h"
#include "server/rpc/reference_name.h"
#include "server/rpc/response_size.h"
#include "server/rpc/unary_call.h"

namespace orbserve {
namespace {

// Matches between two sides, each an image, a feature set, or (train only) a stored reference.
// Images are extracted first, both at the same time.
class MatchCall final : public MessageCall<v1::MatchRequest, v1::MatchResponse> {
 public:
  using MessageCall::MessageCall;

  void OnCancel() override {
    cancelled_ = true;
    UnaryCall::OnCancel();
    services_.matcher->Cancel(match_ticket_);
  }

 private:
  struct Side {
    absl::Status status;
    std::shared_ptr<const FrameState> state;
    FrameOutcome outcome;  // set for an image
    bool is_image = false;
  };

  absl::Status ReadOptions() {
    ORBSERVE_RETURN_IF_ERROR(gate_.refusal());
    ORBSERVE_ASSIGN_OR_RETURN(ResolvedPipeline pipeline, PipelineFromProto(request_.pipeline()));
    ORBSERVE_ASSIGN_OR_RETURN(options_, MatchOptionsFromProto(request_.options(), pipeline.match));
    const bool has_image = request_.has_query_frame() || request_.has_train_frame();
    if (has_image && DescriptorBytes(pipeline.options.describe.descriptor) == 0) {
      return MakeError(ErrorReason::kBadOptions,
                       "matching needs descriptors; describe.descriptor_type is NONE");
    }
    if (request_.query_case() == v1::MatchRequest::QUERY_NOT_SET) {
      return MakeError(ErrorReason::kBadRequest,
                       "query is missing; query_features or query_frame must be set");
    }
    if (request_.train_case() == v1::MatchRequest::TRAIN_NOT_SET) {
      return MakeError(
          ErrorReason::kBadRequest,
          "train is missing; train_reference, train_features or train_frame must be set");
    }
    if (request_.train_case() == v1::MatchRequest::kTrainReference) {
      ORBSERVE_RETURN_IF_ERROR(CheckReferenceName(request_.train_reference()));
    }
    pipeline_ = std::make_shared<const ResolvedPipeline>(std::move(pipeline));
    return ExpectResponse(ExpectedWireBytes());
  }

  int64_t ExpectedWireBytes() const {
    const auto of_image = [this](int64_t features) {
      return MostWireBytes(features, pipeline_->options);
    };
    int64_t queries = std::min<int64_t>(request_.query_features().x_size(), kMaxFeatures);
    int64_t bytes = kOtherWireBytes;
    if (request_.has_query_frame()) {
      queries = ExpectedFeatures(request_.query_frame(), *pipeline_);
      bytes += of_image(queries);
    }
    if (request_.has_train_frame()) {
      bytes += of_image(ExpectedFeatures(request_.train_frame(), *pipeline_));
    }
    return bytes + queries * options_.k * kMatchWireBytes;
  }

  void Start() override {
    const absl::Status status = ReadOptions();
    options_read_ = status.ok();
    // Frames are submitted even if the call was refused, so that they are counted.
    query_.status = status;
    train_.status = status;
    Prepare(query_, request_.has_query_frame() ? &request_.query_frame() : nullptr,
            request_.query_features());
    Prepare(train_, request_.has_train_frame() ? &request_.train_frame() : nullptr,
            request_.train_features());
    OnePrepared();
  }

  // `frame`: the side's image; null if it is none.
  void Prepare(Side& side, const v1::Frame* frame, const v1::FeatureSet& features) {
    if (frame == nullptr) {
      if (side.status.ok()) {
        side.status = WithoutBadAlloc([&] { return SetState(side, features); });
      }
      OnePrepared();
      return;
    }
    side.is_image = true;
    const absl::Status refusal = side.status;
    SubmitFrame(Share(frame), pipeline_, KeepState::kFeatures, /*message_bytes=*/0, refusal,
                [this, &side](FrameRecord& done) {
                  // Written before OnePrepared() lowers the count, read after the count
                  // is zero.
                  side.outcome = std::move(done.outcome);
                  side.status = side.outcome.status;
                  side.state = std::move(side.outcome.state);
                  OnePrepared();
                });
  }

  // The state of a side that is no image.
  absl::Status SetState(Side& side, const v1::FeatureSet& features) {
    if (&side == &train_ && request_.train_case() == v1::MatchRequest::kTrainReference) {
      ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<const Reference> reference,
                                services_.references->Get(client_, request_.train_reference()));
      ORBSERVE_ASSIGN_OR_RETURN(
          side.state, services_.references->State(client_, *reference, *services_.backend));
      response_.set_reference_version(reference->version());
      return absl::OkStatus();
    }
    ORBSERVE_ASSIGN_OR_RETURN(std::shared_ptr<const Features> read, FeaturesFromProto(features));
    ORBSERVE_ASSIGN_OR_RETURN(side.state, services_.backend->ImportState(std::move(read)));
    return absl::OkStatus();
  }

  // Called when a side is prepared, and at the end of Start(). The last call submits the match.
  void OnePrepared() {
    if (preparing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    for (const Side* side : {&query_, &train_}) {
      if (!side->status.ok()) {
        End(options_read_ ? NamingSide(*side) : side->status);
        return;
      }
    }
    matching_begin_ = std::chrono::steady_clock::now();
    FreeRequest();  // only the states wait, and the queue counts them
    kind_ = query_.state->descriptor_kind();
    std::vector<MatchJob> jobs;
    jobs.push_back({query_.state, train_.state, options_});
    // The answer may come before Submit() returns, and with it the end of the call.
    Hold();
    const MatchQueue::Ticket ticket = services_.matcher->Submit(
        client_, deadline_, std::move(jobs),
        [this](MatchOutcome outcome) { Guard([&] { OnMatched(std::move(outcome)); }); });
    match_ticket_ = ticket;
    if (cancelled_) services_.matcher->Cancel(ticket);
    Drop();
  }

  // The error of a side, with the name of its field before a text that may be about either side.
  absl::Status NamingSide(const Side& side) const {
    const absl::Status& status = side.status;
    if (!absl::IsInvalidArgument(status) && !absl::IsUnimplemented(status)) return status;
    const bool is_query = &side == &query_;
    return MakeError(ReasonOf(status), absl::StrCat(is_query ? "query" : "train",
                                                    side.is_image ? "_frame" : "_features", ": ",
                                                    std::string(status.message())));
  }

  void OnMatched(MatchOutcome outcome) {
    absl::Status status = std::move(outcome.status);
    if (status.ok()) {
      AddPhases(outcome);
      status = outcome.pairs.front().status;
    }
    if (!status.ok()) {
      End(status);
      return;
    }
    MatchesToProto(outcome.pairs.front().matches, kind_, response_.mutable_matches());
    const auto add_features = [this](const Side& side, v1::FeatureSet* proto) {
      FeaturesToProto(*side.outcome.features, proto);
      AddKeypoints(side.outcome.features->count());
    };
    if (query_.is_image) add_features(query_, response_.mutable_query_features());
    if (train_.is_image) add_features(train_, response_.mutable_train_features());
    FillTimings(outcome);
    outcome.pairs.clear();
    End(absl::OkStatus());
  }

  void End(const absl::Status& status) {
    // Both sides are freed now, as the client may take long to read the answer.
    const absl::Status own = status;  // a copy: `status` may belong to a side
    for (Side* side : {&query_, &train_}) {
      side->state.reset();
      side->outcome = {};
    }
    FinishWith(own);
  }

  void FillTimings(const MatchOutcome& outcome) {
    v1::FrameTimings& timings = *response_.mutable_timings();
    // Energy of the matching and of every extraction; absent if one of them is unknown.
    std::optional<double> joules = outcome.energy_joules;
    int images = 0;
    for (const Side* side : {&query_, &train_}) {
      if (!side->is_image) continue;
      v1::FrameTimings one;
      TimingsToProto(side->outcome, &one);
      timings = ++images == 1 ? one : SumOfTimings(timings, one);
      ExecutionToProto(side->outcome, response_.mutable_execution());
      const std::optional<double>& part = side->outcome.energy_joules;
      joules = joules.has_value() && part.has_value() ? std::optional<double>(*joules + *part)
                                                      : std::nullopt;
    }
    v1::Execution& execution = *response_.mutable_execution();
    if (execution.backend().empty()) {  // no side was an image
      execution.set_backend(outcome.cost.backend.data(), outcome.cost.backend.size());
      execution.set_device(outcome.cost.device.data(), outcome.cost.device.size());
    }
    execution.clear_energy_joules();
    if (joules.has_value()) execution.set_energy_joules(*joules);
    const SteadyTime now = std::chrono::steady_clock::now();
    AddMatchTime(outcome.queued, now - matching_begin_ - outcome.queued, &timings);
    SetTotalTime(now - begin_, &timings);
  }

  // Adds the phases of the matching to the times of the frames, or records them if there are none.
  void AddPhases(const MatchOutcome& outcome) {
    const SteadyTime now = std::chrono::steady_clock::now();
    const bool has_image = query_.is_image || train_.is_image;
    if (!has_image) times_[0].Begin(matching_begin_);
    for (FrameTimes& times : times_) {  // the second one is not read where there is one image
      times.backend = outcome.cost.backend;
      times.device = outcome.cost.device;
      times.Spend(FramePhase::kMatch, now - matching_begin_ - outcome.queued, now);
      times.Spend(FramePhase::kMatchQueue, std::chrono::nanoseconds::max(), now);
    }
    if (!has_image) services_.metrics->ObservePhases(times_[0]);
  }

  std::shared_ptr<const ResolvedPipeline> pipeline_;
  MatchOptions options_;
  Descriptor kind_ = Descriptor::kNone;  // of the query's descriptors
  bool options_read_ = false;            // errors of sides are their own
  Side query_;
  Side train_;
  std::atomic<int> preparing_{3};  // both sides, and Start() itself
  SteadyTime matching_begin_;
  // A thread that writes one of these reads the other then, so that the request is withdrawn in
  // any case.
  std::atomic<bool> cancelled_{false};
  std::atomic<MatchQueue::Ticket> match_ticket_{0};
};

}  // namespace

UnaryMethod MatchMethod() { return MethodOfCall<MatchCall>(); }

}  // namespace orbserve
