// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/frame/frame_intake.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "decode/decode_helpers.h"
#include "features/errors.h"
#include "features/this_thread.h"
#include "features/tracking/winners.h"
#include "server/process/memory/out_of_memory.h"

namespace orbserve {
namespace {

// Largest raw image that the calling thread converts: a millisecond at 1 GB/s.
constexpr int64_t kInlineBytes = int64_t{1} << 20;

bool IsQuick(const EncodedImage& image) {
  return image.format != PixelFormat::kJpeg && image.size_bytes() <= kInlineBytes;
}

// The idle threads of an executor, for a client's image.
class IdleWorkers final : public DecodeHelpers {
 public:
  IdleWorkers(Executor* executor, const ClientId* client) : executor_(executor), client_(client) {}

  void Ask(int most, const std::function<void()>& help) override {
    const int count = std::min(most, executor_->IdleThreads());
    for (int i = 0; i < count; ++i) executor_->Run(*client_, {}, help);
    have_helped_ |= count > 0;
  }
  bool have_helped() const { return have_helped_; }

 private:
  Executor* const executor_;
  const ClientId* const client_;
  bool have_helped_ = false;
};

}  // namespace

void CopyMask(const ImageView& mask, const MutableImageView& out) {
  for (int y = 0; y < out.height_px; ++y) {
    std::memcpy(out.Row(y), mask.Row(y), static_cast<size_t>(out.width_px));
  }
}

void FrameInput::KeepPixels() {
  if (!image.pieces.empty()) {
    pixels_.reserve(static_cast<size_t>(image.size_bytes()));
    for (const BytePiece piece : image.pieces) {
      pixels_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    image.pieces = {};
    image.bytes = {reinterpret_cast<const uint8_t*>(pixels_.data()), pixels_.size()};
  }
  FreePieces();
}

FrameIntake::FrameIntake(FeatureBackend* backend, Batcher* batcher, PlanCache* plans,
                         Executor* executor, const ImageLimits& limits, CheckRoom check_room)
    : backend_(backend),
      batcher_(batcher),
      plans_(plans),
      executor_(executor),
      limits_(limits),
      check_room_(std::move(check_room)),
      decoder_(std::make_shared<const FileDecoder>(
          [limits](absl::Span<const uint8_t> file, const MutableImageView& out) -> absl::Status {
            EncodedImage image;
            image.bytes = file;
            ORBSERVE_ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(image, limits));
            return DecodeToGrey(image, header, limits, out);
          })) {}

FrameIntake::Admitted FrameIntake::Admit(const std::shared_ptr<FrameRecord>& frame,
                                         const absl::Status& refusal) {
  const InputPtr input = frame->input;  // the record's own may be freed from here on
  const int64_t message_bytes = frame->message_bytes;
  if (!batcher_->Admit(frame)) return {};
  input->ticket_ = frame->ticket;
  const absl::Status status = refusal.ok() && check_room_ ? check_room_(message_bytes) : refusal;
  if (!status.ok()) batcher_->Fail(frame->ticket, status);
  return input;
}

template <typename Work>
void FrameIntake::Guard(const Admitted& frame, const Work& work) {
  InputPtr input = frame.lock();
  if (input == nullptr) return;
  const WorkTicket ticket = input->ticket_;
  try {
    work(std::move(input));
  } catch (const std::bad_alloc&) {
    batcher_->Fail(ticket, OutOfMemoryStatus());
  }
}

void FrameIntake::Begin(const Admitted& frame) {
  Guard(frame, [this](InputPtr input) { Prepare(std::move(input)); });
}

void FrameIntake::Prepare(InputPtr input) {
  if (const absl::Status status = input->Read(limits_); !status.ok()) {
    batcher_->Fail(input->ticket_, status);
    return;
  }
  PlanSpec spec = {input->header.width_px, input->header.height_px, *input->pipeline};
  if (input->keep_state == KeepState::kPyramid) {
    spec.track_levels = input->track_levels;
    spec.pipeline = PipelineOfWinners(*input->pipeline);
    input->parameters.max_features = WinnersToAskFor(
        *input->pipeline, spec.width_px, spec.height_px, input->parameters.max_features);
  }
  if (IsQuick(input->image)) {
    input->plan_ = plans_->Find(spec);
    if (input->plan_ != nullptr) {
      Decode(std::move(input));
      return;
    }
  }
  input->KeepPixels();
  plans_->Get(spec, input->client, [this, weak = Admitted(input)](PlanCache::PlanOr plan) {
    Guard(weak, [&](InputPtr frame) { OnPlan(std::move(frame), std::move(plan)); });
  });
}

void FrameIntake::OnPlan(InputPtr input, PlanCache::PlanOr plan) {
  if (!plan.ok()) {
    batcher_->Fail(input->ticket_, plan.status());
    return;
  }
  input->plan_ = *std::move(plan);
  if (IsQuick(input->image)) {
    Decode(std::move(input));
    return;
  }
  const ImageHeader& header = input->header;
  input->decode_work_ = DecodeWork(header, input->image.size_bytes());
  const double expected_ns = DecodeRateOf(header).Expect(input->decode_work_);
  // A JPEG may be a thousand times smaller than its pixels. It waits as it came until there is room
  // for them, for what the decoder takes, and for the memory in which the backend will compute
  // them.
  const bool has_mask = !input->mask.empty();
  input->kept_bytes_ = int64_t{has_mask ? 2 : 1} * header.width_px * header.height_px +
                       static_cast<int64_t>(input->plan_->frame_bytes(has_mask));
  input->memory_ = std::make_shared<TaskMemory>(input->kept_bytes_ + header.decoder_bytes);
  const TaskNeeds needs{.time = std::chrono::nanoseconds(std::llround(expected_ns)),
                        .memory = input->memory_};
  batcher_->Enter(input->ticket_, FramePhase::kDecodeQueue);
  executor_->Run(input->client, needs, [this, weak = Admitted(input)] {
    Guard(weak, [this](InputPtr frame) { Decode(std::move(frame)); });
  });
}

absl::Status FrameIntake::FillSlot(FrameInput& input, FrameJob& job, bool* is_shared) {
  ORBSERVE_ASSIGN_OR_RETURN(
      job.input,
      backend_->LeaseInput(input.header.width_px, input.header.height_px, !input.mask.empty()));
  // A picture of the stream needs pixels at once.
  const bool is_file = input.header.format == PixelFormat::kJpeg && input.picture == nullptr;
  if (!is_file || batcher_->ShouldDecodeOnHost(input.client.owner) ||
      !job.input->TakeFile(input.image.bytes, decoder_)) {
    IdleWorkers workers(executor_, &input.client);
    const bool is_alone = batcher_->open_items() <= 1;
    ORBSERVE_RETURN_IF_ERROR(DecodeToGrey(input.image, input.header, limits_, job.input->image,
                                          is_alone ? &workers : nullptr));
    *is_shared = workers.have_helped();
  }
  if (!input.mask.empty()) CopyMask(input.mask, job.input->mask);
  if (input.picture != nullptr) DrawFrame(job.input->image, input.picture.get());
  return absl::OkStatus();
}

void FrameIntake::Decode(InputPtr input) {
  FrameJob job;
  job.parameters = input->parameters;
  job.given_keypoints = input->given_keypoints;
  job.keep_state = input->keep_state;
  const WorkTicket ticket = input->ticket_;
  // Asking for the thread's time is a call of the system: not for frames that are decoded at once.
  const bool is_rated = input->decode_work_ > 0.0;
  if (is_rated) batcher_->Enter(ticket, FramePhase::kDecode);
  const auto begin = std::chrono::steady_clock::now();
  const auto begin_of_thread = is_rated ? TimeOfThisThread() : std::chrono::nanoseconds(0);
  bool is_shared = false;
  absl::Status status = FillSlot(*input, job, &is_shared);
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
  if (is_rated && status.ok() && !is_shared) {
    const std::chrono::nanoseconds of_thread = TimeOfThisThread() - begin_of_thread;
    DecodeRateOf(input->header).Note(input->decode_work_, static_cast<double>(of_thread.count()));
  }
  if (input->header.decoder_bytes > 0) input->memory_->ShrinkTo(input->kept_bytes_);
  std::shared_ptr<FeaturePlan> plan = std::move(input->plan_);
  std::shared_ptr<TaskMemory> memory = std::move(input->memory_);
  // The pixels are in their slot or unusable. The batcher frees the record's reference.
  input.reset();
  if (status.ok()) {
    batcher_->Ready(ticket, std::move(plan), std::move(job), std::move(memory), time);
  } else {
    batcher_->Fail(ticket, status);
  }
}

}  // namespace orbserve
