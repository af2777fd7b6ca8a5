// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/extract_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/images/image_file.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

constexpr size_t kMaxBytesInFlight = 192u << 20;
constexpr int kMinInFlight = 8;
constexpr int kMaxInFlight = 256;
// For each thread that computes: frames that are read, decoded, computed and written, and some that
// wait. More of them take fresh memory, which the system clears first, and leave the caches.
constexpr int kInFlightPerThread = 8;
// Files that may be read ahead of the oldest file that is not reported, in windows of calls.
constexpr size_t kReorderWindows = 8;
constexpr int kMaxLoaders = 4;

int CpuThreadsOf(const Engine& engine) {
  const bool is_here = engine.embedded() && engine.info().active_backend() == "cpu";
  return is_here ? std::max(1, static_cast<int>(std::thread::hardware_concurrency())) : 0;
}

}  // namespace

int ExtractCallsInFlight(const v1::ServerLimits& limits, int cpu_threads) {
  const int most = cpu_threads > 0
                       ? std::clamp(cpu_threads * kInFlightPerThread, kMinInFlight, kMaxInFlight)
                       : kMaxInFlight;
  const int wanted = std::clamp(static_cast<int>(limits.max_batch()) * 2, kMinInFlight, most);
  const int queue =
      static_cast<int>(std::min<uint32_t>(limits.max_queue_frames_per_client(), kMaxInFlight));
  return queue > 0 ? std::min(wanted, queue) : wanted;
}

namespace {

bool EndsTheRun(const absl::Status& status, bool with_mask) {
  if (status.code() == absl::StatusCode::kUnavailable ||
      status.code() == absl::StatusCode::kUnauthenticated) {
    return true;
  }
  // The server refuses these options for every image. A mask, however, may fit only some images.
  return !with_mask && client::WireStatusOf(status).reason() == "BAD_OPTIONS";
}

}  // namespace

ExtractRun::ExtractRun(Engine* engine, Console* console, const RequestSetup* setup, Write write,
                       Report report)
    : engine_(engine),
      console_(console),
      setup_(setup),
      write_(std::move(write)),
      report_(std::move(report)),
      limits_(engine->picture_limits()),
      max_in_flight_(ExtractCallsInFlight(engine->info().limits(), CpuThreadsOf(*engine))) {}

bool ExtractRun::Stopping() const { return stop_ || Interrupted(); }

ExtractTotals ExtractRun::Run(const std::vector<InputFile>& files) {
  files_ = &files;
  const int threads =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, kMaxLoaders);
  {
    absl::MutexLock lock(&mutex_);
    loaders_ = threads;
  }
  client::ExtractPipeline pipeline(engine_->client(), {.max_in_flight = max_in_flight_});
  std::vector<std::thread> loaders;
  std::vector<std::thread> writers;
  for (int i = 0; i < threads; ++i) {
    loaders.emplace_back([this, &pipeline] { LoadLoop(&pipeline); });
    writers.emplace_back([this] { WriteLoop(); });
  }

  absl::Time give_up = absl::InfiniteFuture();
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto finished = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return loaders_ == 0 && unanswered_ == 0;
    };
    while (!mutex_.AwaitWithTimeout(absl::Condition(&finished), kInterruptPoll)) {
      if (cancelled || !Stopping()) continue;
      if (give_up == absl::InfiniteFuture()) {
        give_up = absl::Now() + kInterruptGrace;
        if (Interrupted() && unanswered_ > 0) {
          console_->Note(absl::StrCat(
              "stopping: waiting up to ", absl::ToInt64Milliseconds(kInterruptGrace), " ms for ",
              unanswered_, " images that are under way; Ctrl-C again ends at once"));
        }
      }
      if (totals_.lost.ok() && absl::Now() < give_up) continue;
      cancelled = true;
      mutex_.Unlock();
      pipeline.Cancel();
      mutex_.Lock();
    }
    loaders_done_ = true;
  }
  for (std::thread& thread : loaders) thread.join();
  for (std::thread& thread : writers) thread.join();
  absl::MutexLock lock(&mutex_);
  // Files behind one without an answer.
  for (const auto& [index, outcome] : ready_) report_(files[index], outcome);
  totals_.interrupted = Interrupted();
  return totals_;
}

bool ExtractRun::TakeNext(size_t* index) {
  absl::MutexLock lock(&mutex_);
  const auto may_take = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Stopping() || next_ == files_->size() ||
           (bytes_in_flight_ < kMaxBytesInFlight &&
            next_ - reported_ < kReorderWindows * static_cast<size_t>(max_in_flight_));
  };
  // An interrupt does not wake this thread: the wait checks for it periodically.
  while (!mutex_.AwaitWithTimeout(absl::Condition(&may_take), kInterruptPoll)) {
  }
  if (Stopping() || next_ == files_->size()) return false;
  *index = next_++;
  ++unanswered_;
  return true;
}

void ExtractRun::LoadLoop(client::ExtractPipeline* pipeline) {
  for (size_t index = 0; TakeNext(&index);) {
    const InputFile& file = (*files_)[index];
    absl::StatusOr<v1::Frame> frame =
        file.problem.ok() ? LoadMaskedFrame(file.path, *setup_, limits_, &stop_loading_)
                          : absl::StatusOr<v1::Frame>(file.problem);
    if (!frame.ok()) {
      Answered({.index = index, .bytes = 0, .response = frame.status()});
      continue;
    }
    const size_t bytes = WorkingBytes(*frame);
    v1::ExtractRequest request;
    *request.mutable_pipeline() = setup_->pipeline;
    *request.mutable_frame() = *std::move(frame);
    const absl::Status size = CheckMessageSize(request, engine_->info().limits());
    if (!size.ok()) {
      Answered({.index = index, .bytes = 0, .response = size});
      continue;
    }
    {
      absl::MutexLock lock(&mutex_);
      bytes_in_flight_ += bytes;
    }
    pipeline->Submit(std::move(request),
                     [this, index, bytes](absl::StatusOr<v1::ExtractResponse> response) {
                       Answered({.index = index, .bytes = bytes, .response = std::move(response)});
                     });
  }
  absl::MutexLock lock(&mutex_);
  --loaders_;
}

void ExtractRun::Answered(Answer answer) {
  absl::MutexLock lock(&mutex_);
  bytes_in_flight_ -= answer.bytes;
  answers_.push_back(std::move(answer));
}

void ExtractRun::WriteLoop() {
  for (;;) {
    absl::StatusOr<v1::ExtractResponse> response;
    size_t index = 0;
    {
      absl::MutexLock lock(&mutex_);
      const auto work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return loaders_done_ || !answers_.empty();
      };
      mutex_.Await(absl::Condition(&work));
      if (answers_.empty()) return;
      index = answers_.front().index;
      response = std::move(answers_.front().response);
      answers_.pop_front();
    }
    if (!response.ok()) {
      const absl::Status& error = response.status();
      bool skip = false;
      {
        absl::MutexLock lock(&mutex_);
        // A call that this run cancelled is not a failure of its image.
        skip = Stopping() && error.code() == absl::StatusCode::kCancelled;
        if (!skip && EndsTheRun(error, setup_->mask.has_value())) {
          skip = true;
          stop_ = true;
          stop_loading_ = true;
          if (totals_.lost.ok()) totals_.lost = error;
        }
        if (skip) --unanswered_;
      }
      if (!skip) Deliver(index, {.text = error, .picture = absl::OkStatus()}, 0);
      continue;
    }
    Deliver(index, write_((*files_)[index], *response), response->features().x_size());
  }
}

void ExtractRun::Deliver(size_t index, Outcome outcome, int64_t features) {
  absl::MutexLock lock(&mutex_);
  if (outcome.text.ok() && outcome.picture.ok()) {
    ++totals_.done;
    totals_.features += features;
  } else {
    ++totals_.failed;
  }
  console_->Progress(totals_.done + totals_.failed, totals_.failed);
  ready_.emplace(index, std::move(outcome));
  // One thread reports at a time, also the outcomes that other threads have stored.
  if (!reporting_) {
    reporting_ = true;
    // A run that ends early reports every outcome, and skips the files that have none.
    while (!ready_.empty() && (ready_.begin()->first == reported_ || stop_)) {
      auto first = ready_.extract(ready_.begin());
      mutex_.Unlock();
      report_((*files_)[first.key()], first.mapped());
      mutex_.Lock();
      reported_ = first.key() + 1;
    }
    reporting_ = false;
  }
  --unanswered_;
}

}  // namespace orbserve::cli
