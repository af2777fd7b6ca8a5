// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/load_run.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(30);
// Calls under way are not limited: a generator that waits for room would hide the queue.
constexpr int kUnlimited = 1 << 30;

// Time of a clock that nobody sets. A step of the wall clock would look like a latency, and would
// send frames in a burst.
absl::Time SteadyNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Sleeps until `turn`; false if the command is interrupted before.
bool SleepUntil(absl::Time turn) {
  while (!Interrupted()) {
    const absl::Duration left = turn - SteadyNow();
    if (left <= absl::ZeroDuration()) return true;
    absl::SleepFor(std::min(left, kInterruptPoll));
  }
  return false;
}

LoadRecorder::Frame FrameOf(absl::Time intended, absl::Time started, const absl::Status& status,
                            const v1::FrameTimings& timings, const v1::Execution& execution) {
  LoadRecorder::Frame frame{.intended = intended,
                            .started = started,
                            .finished = SteadyNow(),
                            .status = status,
                            .server_ns = timings.total_ns(),
                            .batch = execution.batch_size()};
  if (execution.has_energy_joules()) frame.joules = execution.energy_joules();
  return frame;
}

// One kind of load. It runs from its start until Stop().
class Load {
 public:
  virtual ~Load() = default;
  // Starts no further frame, and waits for the answers until `give_up`.
  virtual void Stop(absl::Time give_up) = 0;
};

// A call for each frame.
class CallLoad : public Load {
 public:
  CallLoad(const LoadSetup& setup, const LoadShape& shape, absl::Time start, absl::Time end,
           LoadRecorder* recorder)
      : setup_(setup), start_(start), end_(end), recorder_(recorder) {
    for (client::Client* const client : setup.clients) {
      pipelines_.push_back(std::make_unique<client::ExtractPipeline>(
          client, client::ExtractPipelineOptions{.max_in_flight = kUnlimited, .max_attempts = 1}));
    }
    if (shape.closed()) {
      for (int caller = 0; caller < shape.concurrency; ++caller) SendNext(caller);
    } else {
      sender_ = std::thread([this, shape] { SendInTime(shape); });
    }
  }

  ~CallLoad() override {
    stop_ = true;
    if (sender_.joinable()) sender_.join();
    pipelines_.clear();  // cancels what is left, and waits for it
  }

  void Stop(absl::Time give_up) override {
    stop_ = true;
    if (sender_.joinable()) sender_.join();
    while (under_way_ > 0 && SteadyNow() < give_up && !Interrupted())
      absl::SleepFor(kInterruptPoll / 10);
    for (const auto& pipeline : pipelines_) pipeline->Cancel();
    for (const auto& pipeline : pipelines_) pipeline->Drain();
  }

 private:
  void Send(size_t index, absl::Time intended, int caller) {
    ++under_way_;
    const absl::Time started = SteadyNow();
    pipelines_[index % pipelines_.size()]->Submit(
        setup_.requests[index % setup_.requests.size()],
        [this, intended, started, caller](absl::StatusOr<v1::ExtractResponse> response) {
          const v1::ExtractResponse& answer =
              response.ok() ? *response : v1::ExtractResponse::default_instance();
          recorder_->Add(FrameOf(intended < absl::InfiniteFuture() ? intended : started, started,
                                 response.status(), answer.timings(), answer.execution()));
          if (caller >= 0) SendNext(caller);
          --under_way_;
        });
  }

  void SendNext(int caller) {
    if (stop_ || SteadyNow() >= end_) return;
    // A caller keeps its connection.
    const size_t turn = next_++;
    const size_t count = pipelines_.size();
    Send(turn / count * count + static_cast<size_t>(caller) % count, absl::InfiniteFuture(),
         caller);
  }

  void SendInTime(const LoadShape& shape) {
    prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds; the default is 50 microseconds
    Arrivals arrivals(shape.arrivals, shape.rate);
    for (size_t index = 0;; ++index) {
      const absl::Time turn = start_ + absl::Seconds(arrivals.Next());
      if (turn >= end_ || stop_ || !SleepUntil(turn)) return;
      Send(index, turn, /*caller=*/-1);
    }
  }

  const LoadSetup& setup_;
  const absl::Time start_;
  const absl::Time end_;
  LoadRecorder* const recorder_;
  std::vector<std::unique_ptr<client::ExtractPipeline>> pipelines_;
  std::atomic<size_t> next_ = 0;
  std::atomic<int64_t> under_way_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread sender_;
};

// Streams, each with threads of its own.
class StreamLoad : public Load {
 public:
  static absl::StatusOr<std::unique_ptr<StreamLoad>> Open(const LoadSetup& setup,
                                                          const LoadShape& shape,
                                                          LoadRecorder* recorder) {
    std::unique_ptr<StreamLoad> load(new StreamLoad(setup, shape, recorder));
    const size_t count = static_cast<size_t>(shape.closed() ? shape.concurrency : setup.streams);
    for (size_t i = 0; i < count; ++i) {
      v1::StreamOpen open;
      *open.mutable_pipeline() = setup.requests[i % setup.requests.size()].pipeline();
      auto stream = setup.clients[i % setup.clients.size()]->OpenStream(open);
      if (!stream.ok()) return stream.status();
      load->lanes_.push_back(std::make_unique<Lane>());
      load->lanes_.back()->stream = *std::move(stream);
      load->lanes_.back()->number = i;
    }
    return load;
  }

  ~StreamLoad() override { Stop(absl::InfinitePast()); }

  void Start(absl::Time start, absl::Time end) {
    start_ = start;
    end_ = end;
    for (const auto& lane : lanes_) {
      if (shape_.closed()) {
        lane->sender = std::thread([this, lane = lane.get()] { TakeTurns(lane); });
      } else {
        lane->sender = std::thread([this, lane = lane.get()] { SendInTime(lane); });
        lane->receiver = std::thread([this, lane = lane.get()] { Receive(lane); });
      }
    }
  }

  void Stop(absl::Time give_up) override {
    stop_ = true;
    while (SteadyNow() < give_up && !Interrupted() && !AllDone())
      absl::SleepFor(kInterruptPoll / 10);
    for (const auto& lane : lanes_) {
      lane->stream->Cancel();
      if (lane->sender.joinable()) lane->sender.join();
      if (lane->receiver.joinable()) lane->receiver.join();
    }
  }

 private:
  struct Sent {
    absl::Time intended;
    absl::Time started;
  };
  struct Lane {
    std::unique_ptr<client::FrameStream> stream;
    size_t number = 0;
    absl::Mutex mutex;
    std::deque<Sent> under_way ABSL_GUARDED_BY(mutex);
    std::atomic<bool> done = false;
    std::thread sender;
    std::thread receiver;
  };

  StreamLoad(const LoadSetup& setup, const LoadShape& shape, LoadRecorder* recorder)
      : setup_(setup), shape_(shape), recorder_(recorder) {}

  bool AllDone() const {
    return std::all_of(lanes_.begin(), lanes_.end(),
                       [](const auto& lane) { return lane->done.load(); });
  }

  // The frame number `index` of a stream. All frames of a stream have the pipeline of its first.
  v1::Frame FrameAt(const Lane& lane, size_t index) const {
    return setup_.requests[(lane.number + index) % setup_.requests.size()].frame();
  }

  // Records the result of the oldest frame; false at the end of the stream.
  bool TakeResult(Lane* lane) {
    absl::StatusOr<std::optional<v1::FrameResult>> result = lane->stream->Receive();
    if (result.ok() && !result->has_value()) return false;
    Sent start;
    {
      absl::MutexLock lock(&lane->mutex);
      if (lane->under_way.empty()) return false;
      start = lane->under_way.front();
      lane->under_way.pop_front();
    }
    if (!result.ok()) {
      recorder_->Add(FrameOf(start.intended, start.started, result.status(), {}, {}));
      return false;
    }
    const v1::FrameResult& answer = **result;
    recorder_->Add(FrameOf(start.intended, start.started, client::StatusFromWire(answer.status()),
                           answer.timings(), answer.execution()));
    return true;
  }

  // Sends a frame; false if the stream has ended.
  bool Send(Lane* lane, size_t index, absl::Time intended) {
    {
      absl::MutexLock lock(&lane->mutex);
      const absl::Time started = SteadyNow();
      lane->under_way.push_back({.intended = std::min(intended, started), .started = started});
    }
    return lane->stream->Send(FrameAt(*lane, index)).ok();
  }

  void TakeTurns(Lane* lane) {
    for (size_t index = 0; !stop_ && SteadyNow() < end_; ++index) {
      if (!Send(lane, index, absl::InfiniteFuture()) || !TakeResult(lane)) break;
    }
    lane->done = true;
  }

  void SendInTime(Lane* lane) {
    prctl(PR_SET_TIMERSLACK, 1000);
    Arrivals arrivals(shape_.arrivals, shape_.rate);
    for (size_t index = 0;; ++index) {
      const absl::Time turn = start_ + absl::Seconds(arrivals.Next());
      if (turn >= end_ || stop_) break;
      // The streams take turns.
      if (index % lanes_.size() != lane->number) continue;
      if (!SleepUntil(turn) || !Send(lane, index / lanes_.size(), turn)) break;
    }
    (void)lane->stream->CloseSend();
  }

  void Receive(Lane* lane) {
    while (TakeResult(lane)) {
    }
    lane->done = true;
  }

  const LoadSetup& setup_;
  const LoadShape shape_;
  LoadRecorder* const recorder_;
  absl::Time start_;
  absl::Time end_;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace

absl::StatusOr<LoadResult> RunLoad(const LoadSetup& setup, const LoadShape& shape) {
  const absl::Time start = SteadyNow() + absl::Milliseconds(20);
  const absl::Time from = start + setup.warm_up;
  const absl::Time to = from + setup.duration;
  LoadRecorder recorder(from, to, shape.closed());
  std::unique_ptr<Load> load;
  if (setup.streams > 0) {
    absl::StatusOr<std::unique_ptr<StreamLoad>> streams = StreamLoad::Open(setup, shape, &recorder);
    if (!streams.ok()) return streams.status();
    (*streams)->Start(start, to);
    load = *std::move(streams);
  } else {
    load = std::make_unique<CallLoad>(setup, shape, start, to, &recorder);
  }
  const auto server_cpu = [&setup] {
    return setup.server_cpu ? setup.server_cpu() : std::optional<double>();
  };
  SleepUntil(from);
  const double client_before = CpuSeconds();
  const std::optional<double> server_before = server_cpu();
  SleepUntil(to);
  const double client_after = CpuSeconds();
  const std::optional<double> server_after = server_cpu();
  load->Stop(SteadyNow() + kGrace);
  load.reset();
  if (Interrupted()) return absl::CancelledError("interrupted");
  LoadResult result = recorder.Take();
  const double frames = result.answered_rate * absl::ToDoubleSeconds(setup.duration);
  if (frames > 0) {
    result.client_cpu_ms = (client_after - client_before) * 1e3 / frames;
    if (server_before.has_value() && server_after.has_value()) {
      result.server_cpu_ms = (*server_after - *server_before) * 1e3 / frames;
    }
  }
  return result;
}

}  // namespace orbserve::cli
