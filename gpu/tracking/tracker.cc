// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/tracking/tracker.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace orbserve::gpu {
namespace {

// While one is on the device, another is prepared or answered.
constexpr int kLanes = 3;
constexpr int64_t kPointsPerLoad = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<Tracker>> Tracker::Create(const LaneContext& context,
                                                         Health* health) {
  std::unique_ptr<Tracker> tracker(new Tracker(context, health));
  for (int i = 0; i < kLanes; ++i) {
    auto lane = std::make_unique<LaneThread>();
    // The lists have room for as many as ever come together: later there may be no memory.
    lane->jobs.reserve(TrackLane::kMaxJobs);
    lane->empty.reserve(TrackLane::kMaxJobs);
    lane->works.reserve(TrackLane::kMaxJobs);
    ORBSERVE_ASSIGN_OR_RETURN(lane->lane, TrackLane::Create(context));
    tracker->lanes_.push_back(std::move(lane));
  }
  for (auto& lane : tracker->lanes_) {
    lane->thread = std::thread([self = tracker.get(), lane = lane.get()] { self->Run(lane); });
  }
  return tracker;
}

Tracker::~Tracker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  for (auto& lane : lanes_) {
    lane->wake.notify_one();
    if (lane->thread.joinable()) lane->thread.join();
  }
}

int64_t Tracker::LoadOf(const TrackJob& job) {
  return 1 +
         (job.points == nullptr ? 0 : static_cast<int64_t>(job.points->count()) / kPointsPerLoad);
}

void Tracker::Submit(const std::shared_ptr<TrackRequest>& request,
                     const std::vector<size_t>& indexes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t before = queue_.size();
    int64_t load = 0;
    try {
      for (const size_t index : indexes) {
        if (index < request->size()) load += LoadOf(request->job(index));
        queue_.push_back({request, index});
      }
    } catch (const std::bad_alloc&) {
      queue_.resize(before);
      throw;
    }
    load_.fetch_add(load, std::memory_order_relaxed);
  }
  while (true) {
    LaneThread* idle = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (queue_.empty()) return;
      const auto found =
          std::find_if(lanes_.begin(), lanes_.end(), [](const auto& lane) { return !lane->busy; });
      if (found == lanes_.end()) return;  // the next lane that is free takes them
      idle = found->get();
      idle->busy = true;
      Take(idle);
    }
    // The thread launches jobs that must allocate, because this call must not block.
    const bool launches = std::all_of(idle->jobs.begin(), idle->jobs.end(), [&](const Job& job) {
      return idle->lane->IsReady(job.request->job(job.index));
    });
    if (launches) Launch(idle);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      idle->launched = launches;
      idle->handed = true;
    }
    idle->wake.notify_one();
  }
}

void Tracker::Take(LaneThread* self) {
  self->jobs.clear();
  self->empty.clear();
  size_t points = 0;
  while (!queue_.empty() && self->jobs.size() + self->empty.size() < TrackLane::kMaxJobs) {
    Job& next = queue_.front();
    if (next.request->size() == 0) {
      self->empty.push_back(std::move(next));
    } else {
      const TrackJob& job = next.request->job(next.index);
      if (job.points != nullptr) points += job.points->count();
      if (!self->jobs.empty() && points > TrackLane::kMaxPoints) return;
      self->jobs.push_back(std::move(next));
    }
    queue_.pop_front();
  }
}

void Tracker::Launch(LaneThread* self) {
  self->begin = std::chrono::steady_clock::now();
  self->works.clear();
  for (const Job& job : self->jobs) {
    TrackWork& work = self->works.emplace_back();
    work.job = &job.request->job(job.index);
    work.tracked = &job.request->answer(job.index).tracked;
  }
  if (const absl::Status lost = health_.Check(); lost.ok()) {
    self->lane->Launch(&self->works);
  } else {
    for (TrackWork& work : self->works) work.status = lost;
  }
}

void Tracker::Answer(LaneThread* self) {
  for (const Job& job : self->empty) {
    const SteadyTime now = std::chrono::steady_clock::now();
    job.request->Finish(job.index, {context_.device_name, now, now});
  }
  self->empty.clear();
  auto next = self->jobs.begin();
  const auto before_round = [&] {
    health_.NoteProgress();
    return health_.Check();
  };
  self->lane->Finish(&self->works, before_round, [&](TrackWork& work) {
    const Job job = std::move(*next++);
    health_.Note(work.status);
    load_.fetch_sub(LoadOf(*work.job), std::memory_order_relaxed);
    job.request->answer(job.index).status = std::move(work.status);
    job.request->Finish(job.index, {context_.device_name, self->begin,
                                    std::chrono::steady_clock::now(), work.compute_ns});
  });
  self->jobs.clear();
}

void Tracker::Run(LaneThread* self) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    self->wake.wait(lock, [&] { return self->handed || stopping_; });
    if (!self->handed) return;
    self->handed = false;
    bool launched = self->launched;
    while (!self->jobs.empty() || !self->empty.empty()) {
      lock.unlock();
      if (!launched) Launch(self);
      Answer(self);
      launched = false;
      lock.lock();
      Take(self);
    }
    self->busy = false;
  }
}

}  // namespace orbserve::gpu
