// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/matching/matcher.h"

#include <algorithm>
#include <new>
#include <utility>

#include "features/errors.h"

namespace orbserve::gpu {
namespace {

// Lanes of small pairs: while one is on the device, another is prepared or answered.
constexpr int kSmallLanes = 2;
// 80 microseconds of an H200, a few milliseconds of the smallest devices.
constexpr uint64_t kMaxSmallDistances = uint64_t{1} << 25;
// Most pairs computed together. More gain nothing, and the first would wait for the last.
constexpr size_t kMaxPairsTogether = 4 * kMaxMatchPairs;
constexpr uint64_t kMaxDistancesTogether = uint64_t{1} << 27;
constexpr int kDistancesPerLoadBits = 22;

}  // namespace

absl::StatusOr<std::unique_ptr<Matcher>> Matcher::Create(const LaneContext& context,
                                                         const MatchLane::Device& device,
                                                         const std::atomic<int>* frame_batches,
                                                         Health* health) {
  std::unique_ptr<Matcher> matcher(new Matcher(context, frame_batches, health));
  for (int i = 0; i <= kSmallLanes; ++i) {
    const auto priority = i < kSmallLanes ? Stream::Priority::kHigh : Stream::Priority::kLow;
    ORBSERVE_ASSIGN_OR_RETURN(auto lane, MatchLane::Create(context, device, priority));
    matcher->lanes_.push_back(std::move(lane));
  }
  for (int i = 0; i <= kSmallLanes; ++i) {
    matcher->threads_.emplace_back(
        [self = matcher.get(), is_small = i < kSmallLanes, lane = matcher->lanes_[i].get()] {
          is_small ? self->RunSmall(lane) : self->RunLarge(lane);
        });
  }
  return matcher;
}

Matcher::~Matcher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  small_wake_.notify_all();
  large_wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Matcher::IsLarge(const MatchJob& job) {
  return job.query != nullptr && job.train != nullptr &&
         (job.pair_count() > kMaxSmallDistances ||
          MatchLane::ResultsOf(job) > MatchLane::kMaxResults);
}

int64_t Matcher::LoadOf(const MatchJob& job) {
  if (job.query == nullptr || job.train == nullptr) return 1;
  return 1 + static_cast<int64_t>(job.pair_count() >> kDistancesPerLoadBits);
}

void Matcher::Submit(const std::shared_ptr<MatchRequest>& request,
                     const std::vector<size_t>& indexes) {
  bool wake_small = false;
  bool wake_large = false;
  int64_t load = 0;
  int small = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t large_before = large_.size();
    const size_t small_before = small_.size();
    try {
      for (const size_t index : indexes) {
        const bool has_pair = index < request->size();
        if (has_pair) load += LoadOf(request->job(index));
        (has_pair && IsLarge(request->job(index)) ? large_ : small_).push_back({request, index});
      }
    } catch (const std::bad_alloc&) {
      large_.resize(large_before);
      small_.resize(small_before);
      throw;
    }
    wake_large = large_.size() > large_before;
    small = static_cast<int>(small_.size() - small_before);
    wake_small = small > 0;
    // Before a thread can have answered them.
    load_.fetch_add(load, std::memory_order_relaxed);
    small_pairs_.fetch_add(small, std::memory_order_relaxed);
  }
  if (wake_small) small_wake_.notify_one();
  if (wake_large) large_wake_.notify_one();
}

void Matcher::TakeSmall(std::vector<Job>* jobs) {
  jobs->clear();
  uint64_t distances = 0;
  size_t results = 0;
  while (!small_.empty() && jobs->size() < kMaxPairsTogether) {
    const Job& next = small_.front();
    if (next.index < next.request->size()) {
      const MatchJob& pair = next.request->job(next.index);
      if (pair.query != nullptr && pair.train != nullptr) {
        distances += pair.pair_count();
        results += MatchLane::ResultsOf(pair);
      }
    }
    if (!jobs->empty() && (distances > kMaxDistancesTogether || results > MatchLane::kMaxResults)) {
      return;
    }
    jobs->push_back(std::move(small_.front()));
    small_.pop_front();
  }
}

void Matcher::RunSmall(MatchLane* lane) {
  // The lists have room for as many as ever come together: later there may be no memory.
  std::vector<Job> jobs;
  std::vector<MatchWork> works;
  jobs.reserve(kMaxPairsTogether);
  works.reserve(kMaxPairsTogether);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    small_wake_.wait(lock, [&] { return !small_.empty() || stopping_; });
    if (small_.empty()) return;
    TakeSmall(&jobs);
    const bool more = !small_.empty();
    lock.unlock();
    if (more) small_wake_.notify_one();
    AnswerSmall(lane, &jobs, &works);
    lock.lock();
  }
}

void Matcher::RunLarge(MatchLane* lane) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    large_wake_.wait(lock, [&] { return !large_.empty() || stopping_; });
    if (large_.empty()) return;
    const Job job = std::move(large_.front());
    large_.pop_front();
    lock.unlock();
    AnswerLarge(lane, job);
    lock.lock();
  }
}

void Matcher::AnswerSmall(MatchLane* lane, std::vector<Job>* jobs, std::vector<MatchWork>* works) {
  const SteadyTime begin = std::chrono::steady_clock::now();
  works->clear();
  // A request without pairs.
  const auto is_empty = [](const Job& job) { return job.request->size() == 0; };
  for (const Job& job : *jobs) {
    if (!is_empty(job)) continue;
    small_pairs_.fetch_sub(1, std::memory_order_relaxed);
    job.request->Finish(job.index, {context_.device_name, begin, begin});
  }
  jobs->erase(std::remove_if(jobs->begin(), jobs->end(), is_empty), jobs->end());
  for (const Job& job : *jobs) {
    MatchWork& work = works->emplace_back();
    work.job = &job.request->job(job.index);
    work.matches = &job.request->answer(job.index).matches;
  }
  auto next = jobs->begin();
  const auto answered = [&](MatchWork& work) {
    small_pairs_.fetch_sub(1, std::memory_order_relaxed);
    Finish(*next, std::move(work.status), begin, work.compute_ns);
    (next++)->request.reset();
  };
  if (const absl::Status lost = health_.Check(); lost.ok()) {
    lane->Compute(works, answered);
  } else {
    for (MatchWork& work : *works) {
      work.status = lost;
      answered(work);
    }
  }
}

void Matcher::AnswerLarge(MatchLane* lane, const Job& job) {
  const SteadyTime begin = std::chrono::steady_clock::now();
  MatchWork work;
  work.job = &job.request->job(job.index);
  work.matches = &job.request->answer(job.index).matches;
  work.status = health_.Check();
  if (work.status.ok()) {
    const auto& cancelled = work.job->cancelled;
    lane->ComputeInSlices(&work, [&]() -> absl::StatusOr<bool> {
      health_.NoteProgress();
      ORBSERVE_RETURN_IF_ERROR(health_.Check());
      if (IsCancelled(cancelled)) {
        return MakeError(ErrorReason::kCancelled, "cancelled while it was matched");
      }
      return frame_batches_.load(std::memory_order_relaxed) > 0 ||
             small_pairs_.load(std::memory_order_relaxed) > 0;
    });
  }
  Finish(job, std::move(work.status), begin, work.compute_ns);
}

void Matcher::Finish(const Job& job, absl::Status status, SteadyTime begin, int64_t compute_ns) {
  health_.Note(status);
  load_.fetch_sub(LoadOf(job.request->job(job.index)), std::memory_order_relaxed);
  job.request->answer(job.index).status = std::move(status);
  job.request->Finish(job.index,
                      {context_.device_name, begin, std::chrono::steady_clock::now(), compute_ns});
}

}  // namespace orbserve::gpu
