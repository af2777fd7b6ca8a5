// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/frame_sender.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands/failure.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {
namespace {

constexpr double kNsPerSecond = 1e9;

}  // namespace

FrameSender::FrameSender(FrameSource* source, client::FrameStream* stream,
                         const RequestSetup* setup, const v1::ServerLimits* limits, double fps,
                         int64_t frames, Console* console)
    : source_(source),
      stream_(stream),
      setup_(setup),
      limits_(limits),
      fps_(source->live() ? 0 : fps),
      frames_(frames),
      console_(console),
      thread_([this] { Loop(); }) {}

FrameSender::~FrameSender() {
  source_->Stop();
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

std::optional<FrameSender::Sent> FrameSender::TakeOldest() {
  absl::MutexLock lock(&mutex_);
  if (sent_.empty()) return std::nullopt;
  Sent oldest = std::move(sent_.front());
  sent_.pop_front();
  return oldest;
}

int64_t FrameSender::left_out() {
  absl::MutexLock lock(&mutex_);
  return left_out_;
}

int64_t FrameSender::lost_by_camera() {
  absl::MutexLock lock(&mutex_);
  return lost_by_camera_;
}

bool FrameSender::WaitForTurn(Time turn) {
  absl::MutexLock lock(&mutex_);
  while (!stop_ && !Interrupted()) {
    const absl::Duration left = absl::FromChrono(turn - std::chrono::steady_clock::now());
    if (left <= absl::ZeroDuration()) return true;
    mutex_.AwaitWithTimeout(absl::Condition(&stop_), std::min(left, kInterruptPoll));
  }
  return false;
}

void FrameSender::Loop() {
  const auto period = std::chrono::nanoseconds(fps_ > 0 ? std::llround(kNsPerSecond / fps_) : 0);
  const bool recorded = !source_->live() && !source_->simulated();
  Time turn = std::chrono::steady_clock::now() - period;
  uint64_t sequence = 0;
  for (int64_t index = 0; frames_ == 0 || index < frames_; ++index) {
    std::optional<FrameSource::Item> item = source_->Next();
    if (!item.has_value()) break;
    if (item->lost_before > 0) {
      absl::MutexLock lock(&mutex_);
      lost_by_camera_ += item->lost_before;
    }
    if (!item->frame.ok()) {
      LeaveOut(item->name, item->frame.status());
      continue;
    }
    turn += period;
    if (recorded) turn = std::max(turn, std::chrono::steady_clock::now());
    if (!WaitForTurn(turn)) break;
    std::optional<Time> captured = item->captured;
    if (source_->simulated() && fps_ > 0) captured = turn;
    v1::StreamFramesRequest request;
    v1::Frame& frame = *request.mutable_frame();
    frame = *std::move(item->frame);
    frame.set_sequence(sequence);
    frame.set_timestamp_ns(TimestampNs(*item, index));
    if (setup_->mask.has_value()) *frame.mutable_mask() = *setup_->mask;
    if (const absl::Status size = CheckMessageSize(request, *limits_); !size.ok()) {
      LeaveOut(item->name, size);
      continue;
    }
    ++sequence;
    {
      absl::MutexLock lock(&mutex_);
      sent_.push_back(
          {.name = item->name, .picture = std::move(item->picture), .truth = item->truth});
    }
    if (!stream_->Send(std::move(frame), captured).ok()) break;
  }
  (void)stream_->CloseSend();
}

void FrameSender::LeaveOut(const std::string& name, const absl::Status& error) {
  console_->Error(absl::StrCat(NameOnOneLine(name), ": ", ErrorText(error)));
  absl::MutexLock lock(&mutex_);
  ++left_out_;
}

int64_t FrameSender::TimestampNs(const FrameSource::Item& item, int64_t index) const {
  if (item.timestamp_ns.has_value()) return *item.timestamp_ns;
  const double rate = fps_ > 0 ? fps_ : source_->fps();
  if (rate > 0) return static_cast<int64_t>(static_cast<double>(index) * kNsPerSecond / rate);
  return absl::ToUnixNanos(absl::Now());
}

}  // namespace orbserve::cli
