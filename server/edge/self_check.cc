// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/self_check.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace orbserve {
namespace {

constexpr int kFewestFailures = 3;

}  // namespace

SelfCheck::SelfCheck(const SelfCheckOptions& options, Call call,
                     std::function<void()> on_self_check_failed)
    : options_(options),
      call_(std::move(call)),
      on_self_check_failed_(std::move(on_self_check_failed)),
      thread_([this] { Run(); }) {}

SelfCheck::~SelfCheck() {
  Stop();
  thread_.join();
}

void SelfCheck::Stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

absl::Status SelfCheck::Check() {
  std::unique_lock lock(mutex_);
  const Time now = std::chrono::steady_clock::now();
  if (calls_ > 0 && now - last_time_ <= options_.cache_time) return last_;
  const int64_t before = calls_;
  is_wanted_ = true;
  changed_.notify_all();
  if (before > 0 && last_.ok() && now - good_begin_ <= options_.good_time) return last_;
  const bool is_new = changed_.wait_until(lock, now + options_.wait_time,
                                          [this, before] { return calls_ > before || stopped_; });
  if (calls_ > before) return last_;
  if (is_new) return absl::UnavailableError("the server stops");
  return absl::UnavailableError(absl::StrCat("a call of the server to itself has no answer for ",
                                             options_.wait_time.count(), " ms"));
}

bool SelfCheck::last_failed() const {
  const std::scoped_lock lock(mutex_);
  return !last_.ok();
}

void SelfCheck::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, calls_ == 0 ? std::chrono::milliseconds(0) : options_.period,
                      [this] { return stopped_ || is_wanted_; });
    if (stopped_) return;
    is_wanted_ = false;
    lock.unlock();
    const Time begin = std::chrono::steady_clock::now();
    const absl::Status status = call_(options_.call_time);
    lock.lock();
    if (stopped_) return;
    const bool is_failed = Record(status, begin);
    changed_.notify_all();
    if (!is_failed) continue;
    lock.unlock();
    on_self_check_failed_();
    lock.lock();
  }
}

bool SelfCheck::Record(const absl::Status& status, Time begin) {
  ++calls_;
  last_ = status;
  last_time_ = std::chrono::steady_clock::now();
  if (status.ok()) good_begin_ = begin;
  if (status.ok() || absl::IsResourceExhausted(status)) {
    failures_ = 0;
    return false;
  }
  if (failures_++ == 0) first_failure_ = begin;
  if (is_failed_ || failures_ < kFewestFailures ||
      last_time_ - first_failure_ < options_.failing_time) {
    return false;
  }
  is_failed_ = true;
  return true;
}

}  // namespace orbserve
