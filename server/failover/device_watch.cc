// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/device_watch.h"

#include <algorithm>
#include <utility>

namespace orbserve {
namespace {

// Answers before stalls are judged: the first ones are slow, as code is loaded when it is first
// used.
constexpr int kFirstAnswers = 16;
// A silence of so many times the usual one is a stall. The usual one keeps so much of its length at
// each answer: it is about the longest of the latest hundred.
constexpr int kStallFactor = 4;
constexpr double kUsualDecay = 0.99;

}  // namespace

DeviceWatch::DeviceWatch(Clock* clock, DeviceWatchOptions options)
    : clock_(clock),
      options_(std::move(options)),
      alarm_(clock->MakeAlarm([this] { OnAlarm(); })) {}

void DeviceWatch::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

void DeviceWatch::Close() {
  Stop();
  alarm_.reset();
}

void DeviceWatch::Begin(DeviceWork work) {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) {
    if (working_ == 0) Hear(clock_->Now());
    // Set once in a while and not once per batch: OnAlarm() looks how old the last answer is.
    if (!armed_) Arm(heard_at_);
    ++working_;  // after the alarm, for which there may be no memory
  }
  if (work == DeviceWork::kPlan) ++plans_in_making_;
}

void DeviceWatch::BatchRefused() {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) --working_;
}

void DeviceWatch::End(DeviceWork work) {
  absl::MutexLock lock(&mutex_);
  // Plans are slow, and so is what waits for them; that is not usual.
  const bool is_usual = plans_in_making_ == 0;
  if (work == DeviceWork::kPlan) --plans_in_making_;
  if (stopped_) return;
  --working_;
  const SteadyTime now = clock_->Now();
  if (is_usual && answers_ < kFirstAnswers) {
    ++answers_;
  } else if (is_usual && !stalled_) {
    usual_ = std::max(now - heard_at_,
                      std::chrono::duration_cast<SteadyTime::duration>(usual_ * kUsualDecay));
  }
  Hear(now);
  if (stalled_) SetStalled(false);
}

void DeviceWatch::Hear(SteadyTime now) {
  heard_at_ = now;
  progress_ = options_.progress();
}

SteadyTime::duration DeviceWatch::StallLimit() const {
  return std::max<SteadyTime::duration>(options_.stall, kStallFactor * usual_);
}

void DeviceWatch::Arm(SteadyTime now) {
  const SteadyTime silent_at = heard_at_ + options_.silence;
  const SteadyTime next = std::min(heard_at_ + StallLimit(), silent_at);
  // It stalls already: progress has to be looked for.
  due_ = next > now ? next : std::min(now + StallLimit(), silent_at);
  alarm_->Set(due_);
  armed_ = true;
}

void DeviceWatch::SetStalled(bool stalled) {
  stalled_ = stalled;
  options_.on_stall(stalled);
}

void DeviceWatch::OnAlarm() {
  {
    absl::MutexLock lock(&mutex_);
    armed_ = false;
    if (stopped_ || working_ == 0) return;
    const SteadyTime now = clock_->Now();
    // An alarm that comes late means that this whole process stood still (a debugger, a freezer of
    // containers): nothing could be heard in that time, so it does not count.
    if (now > due_ + options_.stall) heard_at_ = std::min(now, heard_at_ + (now - due_));
    if (options_.progress() != progress_) {
      Hear(now);
      if (stalled_) SetStalled(false);
    }
    if (now < heard_at_ + options_.silence) {
      const bool may_judge = plans_in_making_ == 0 && answers_ == kFirstAnswers;
      if (!stalled_ && may_judge && now >= heard_at_ + StallLimit()) SetStalled(true);
      return Arm(now);
    }
  }
  options_.on_silence();
}

}  // namespace orbserve
