// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/faults/faulty_backend.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "tests/faults/fault_kernels.h"

namespace orbserve::faults {
namespace {

constexpr std::chrono::seconds kHangTime{30};
constexpr std::array<const char*, 4> kNames = {"trap", "hang", "error", "silence"};

const char* NameOf(Fault fault) { return kNames[static_cast<size_t>(fault)]; }

absl::Status BreakDevice(Fault fault, const FeatureBackend& backend) {
  const std::string device = backend.devices().front().device;
  constexpr absl::string_view kPrefix = "cuda:";
  int ordinal = 0;
  if (device.rfind(kPrefix.data(), 0) != 0 ||
      !absl::SimpleAtoi(device.substr(kPrefix.size()), &ordinal)) {
    return absl::FailedPreconditionError(
        absl::StrCat("this fault needs a CUDA device; got ", device));
  }
  return fault == Fault::kTrap ? LaunchTrap(ordinal) : LaunchHang(ordinal, kHangTime);
}

}  // namespace

absl::StatusOr<Fault> FaultByName(absl::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Fault>(i);
  }
  return absl::InvalidArgumentError("the fault must be trap, hang, error or silence");
}

FaultyBackend::FaultyBackend(std::unique_ptr<FeatureBackend> backend, Fault fault,
                             int64_t after_frames, const std::atomic<bool>* requested)
    : ForwardingBackend(std::move(backend)),
      fault_(fault),
      after_frames_(after_frames),
      requested_(*requested),
      // A processor is not lost: a server makes no provision for it. What simulates is no
      // processor.
      name_(Simulates() ? absl::StrCat("faulty-", inner().name())
                        : std::string(inner().name().data(), inner().name().size())) {}

void FaultyBackend::Inject() {
  if (failed_.exchange(true)) return;
  const absl::Status status = Simulates() ? absl::OkStatus() : BreakDevice(fault_, inner());
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (status.ok()) {
    std::fprintf(stderr, "event=fault_injected fault=%s monotonic_ns=%lld\n", NameOf(fault_),
                 static_cast<long long>(std::chrono::nanoseconds(now).count()));
  } else {
    std::fprintf(stderr, "event=fault_failed fault=%s message=\"%s\"\n", NameOf(fault_),
                 std::string(status.message()).c_str());
  }
}

void FaultyBackend::Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
                           FrameBatchDone done) {
  const auto count = static_cast<int64_t>(jobs.size());
  const int64_t frames = frames_.fetch_add(count) + count;
  if (requested_ || (after_frames_ >= 0 && frames > after_frames_)) Inject();
  inner().Submit(std::move(plan), std::move(jobs),
                 WithFault(std::move(done), &FrameBatchAnswer::frames, &unanswered_frames_));
}

void FaultyBackend::SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) {
  inner().SubmitMatches(std::move(jobs),
                        WithFault(std::move(done), &MatchBatchAnswer::pairs, &unanswered_matches_));
}

void FaultyBackend::SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) {
  inner().SubmitTracks(std::move(jobs),
                       WithFault(std::move(done), &TrackBatchAnswer::jobs, &unanswered_tracks_));
}

template <typename Answer, typename Item>
absl::AnyInvocable<void(Answer) &&> FaultyBackend::WithFault(
    absl::AnyInvocable<void(Answer) &&> done, std::vector<Item> Answer::*items,
    std::vector<absl::AnyInvocable<void(Answer) &&>>* unanswered) {
  if (!Simulates()) return done;
  return [this, items, unanswered, done = std::move(done)](Answer answer) mutable {
    if (failed_ && fault_ == Fault::kSilence) {
      absl::MutexLock lock(&mutex_);
      unanswered->push_back(std::move(done));
      return;
    }
    for (Item& item : answer.*items) {
      if (!failed_) break;
      item = {};
      item.status = MakeError(ErrorReason::kDeviceLost, "a simulated error");
    }
    std::move(done)(std::move(answer));
  };
}

}  // namespace orbserve::faults
