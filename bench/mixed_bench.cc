// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Many streams with different presets and image sizes at once, through a running server. Every
// answer is compared with that of a second server, which computes on the CPU: both must give the
// same bytes.
//
//   orbserve-server --backend cpu --listen 127.0.0.1:50052 --http-listen "" &
//   orbserve-server --backend cuda &
//   mixed_bench --reference 127.0.0.1:50052 --image A.pgm --image B.pgm

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "bench/pgm_frame.h"
#include "grpcpp/grpcpp.h"
#include "orbserve/v1/orbserve.grpc.pb.h"

namespace orbserve::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Different frames of one stream, all of one size.
constexpr int kFramesOfStream = 4;
// Pixels by which one frame of a stream is moved against the one before it.
constexpr uint32_t kShiftPx = 8;

struct Settings {
  std::string server = "127.0.0.1:50051";
  std::string reference = "127.0.0.1:50052";
  std::vector<std::string> images;
  std::vector<std::string> presets;
  int streams = 16;
  int in_flight = 8;
  double seconds = 5;
};

std::unique_ptr<v1::Features::Stub> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetMaxReceiveMessageSize(-1);
  return v1::Features::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

// Part of `frame`, `shift` pixels from its left side, `margin` pixels narrower than it.
v1::Frame Shifted(const v1::Frame& frame, uint32_t shift, uint32_t margin) {
  v1::Frame part = frame;
  part.set_width_px(frame.width_px() - margin);
  std::string& pixels = *part.mutable_pixels();
  pixels.clear();
  for (uint32_t y = 0; y < frame.height_px(); ++y) {
    pixels.append(frame.pixels(), size_t{y} * frame.width_px() + shift, part.width_px());
  }
  return part;
}

// Nearest-rank percentile, `share` in [0, 1]. `samples` must not be empty.
double Percentile(std::vector<double> samples, double share) {
  const auto rank = static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5);
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(rank), samples.end());
  return samples[rank];
}

// One robot: sends its frames in turn, at most `in_flight` unanswered, and compares the answers.
class Robot {
 public:
  Robot(const Settings& settings, int number, std::string preset_name, const v1::Frame& image)
      : preset(std::move(preset_name)),
        width_px(image.width_px() - kMarginPx),
        height_px(image.height_px()),
        in_flight_limit_(settings.in_flight),
        stub_(Connect(settings.server)) {
    context_.AddMetadata("x-client-id", "robot-" + std::to_string(number));
    for (int i = 0; i < kFramesOfStream; ++i) {
      v1::StreamFramesRequest& request = requests_.emplace_back();
      *request.mutable_frame() = Shifted(image, static_cast<uint32_t>(i) * kShiftPx, kMarginPx);
    }
  }

  // Asks the reference for the expected answers and opens the stream. False with a message on
  // standard error when either fails.
  bool Open(const std::string& reference) {
    const std::unique_ptr<v1::Features::Stub> cpu = Connect(reference);
    for (const v1::StreamFramesRequest& request : requests_) {
      v1::ExtractRequest extract;
      extract.mutable_pipeline()->set_preset(preset);
      *extract.mutable_frame() = request.frame();
      v1::ExtractResponse response;
      grpc::ClientContext context;
      const grpc::Status status = cpu->Extract(&context, extract, &response);
      if (!status.ok()) return Complain("reference", status.error_message());
      expected_.push_back(response.features().SerializeAsString());
      features += static_cast<double>(response.features().x_size()) / kFramesOfStream;
    }
    stream_ = stub_->StreamFrames(&context_);
    v1::StreamFramesRequest open;
    open.mutable_open()->mutable_pipeline()->set_preset(preset);
    v1::StreamFramesResponse opened;
    if (!stream_->Write(open) || !stream_->Read(&opened) || !opened.has_opened()) {
      context_.TryCancel();
      return Complain("server", stream_->Finish().error_message());
    }
    return true;
  }

  void Start() {
    sender_ = std::thread([this] { Send(); });
    receiver_ = std::thread([this] { Receive(); });
  }
  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  void Join() {
    sender_.join();
    receiver_.join();
    const grpc::Status status = stream_->Finish();
    if (!status.ok()) Complain("server", status.error_message());
  }

  const std::string preset;
  const uint32_t width_px;
  const uint32_t height_px;
  double features = 0;  // of a frame, in the mean
  // Counted while the robot runs; to be read after Join().
  std::vector<double> latencies_ms;
  int64_t batch_frames = 0;  // sum of the batch sizes of all answers
  int64_t failed = 0;
  int64_t wrong = 0;

 private:
  static constexpr uint32_t kMarginPx = (kFramesOfStream - 1) * kShiftPx;

  bool Complain(const char* who, const std::string& message) const {
    std::fprintf(stderr, "mixed_bench: %s, %s: %s\n", preset.c_str(), who, message.c_str());
    return false;
  }

  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || sent_at_.size() < static_cast<size_t>(in_flight_limit_);
  }

  void Send() {
    for (uint64_t sequence = 0;; ++sequence) {
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &Robot::MaySend));
        if (stopping_) break;
        sent_at_.push_back(Clock::now());
      }
      v1::StreamFramesRequest& request = requests_[sequence % kFramesOfStream];
      request.mutable_frame()->set_sequence(sequence);
      if (!stream_->Write(request)) break;
    }
    stream_->WritesDone();
  }

  void Receive() {
    v1::StreamFramesResponse response;
    while (stream_->Read(&response)) {
      if (!response.has_result()) continue;
      const v1::FrameResult& result = response.result();
      {
        absl::MutexLock lock(&mutex_);
        const std::chrono::duration<double, std::milli> latency = Clock::now() - sent_at_.front();
        sent_at_.pop_front();
        latencies_ms.push_back(latency.count());
      }
      if (result.status().code() != 0) {
        if (failed++ == 0) Complain("server", result.status().message());
        continue;
      }
      batch_frames += result.execution().batch_size();
      if (result.features().SerializeAsString() != expected_[result.sequence() % kFramesOfStream]) {
        ++wrong;
      }
    }
    Stop();
  }

  const int in_flight_limit_;
  std::unique_ptr<v1::Features::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::StreamFramesRequest, v1::StreamFramesResponse>>
      stream_;
  std::vector<v1::StreamFramesRequest> requests_;
  std::vector<std::string> expected_;  // serialised features, one for each request
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Clock::time_point> sent_at_ ABSL_GUARDED_BY(mutex_);  // of frames in flight
  std::thread sender_;
  std::thread receiver_;
};

std::vector<std::string> AvailablePresets(const std::string& server) {
  v1::GetServerInfoRequest request;
  v1::GetServerInfoResponse response;
  grpc::ClientContext context;
  const grpc::Status status = Connect(server)->GetServerInfo(&context, request, &response);
  if (!status.ok()) std::fprintf(stderr, "mixed_bench: %s\n", status.error_message().c_str());
  std::vector<std::string> names;
  for (const v1::PresetInfo& preset : response.presets()) {
    if (preset.available()) names.push_back(preset.name());
  }
  return names;
}

int Run(const Settings& settings) {
  std::vector<v1::Frame> images;
  for (const std::string& path : settings.images) {
    if (!ReadPgmFrame(path, &images.emplace_back())) {
      std::fprintf(stderr, "mixed_bench: %s is no binary PGM of 8 bits\n", path.c_str());
      return 2;
    }
  }
  const std::vector<std::string> presets =
      settings.presets.empty() ? AvailablePresets(settings.server) : settings.presets;
  if (presets.empty()) return 3;

  // Neighbouring robots differ in preset; each round of presets has the next image.
  std::vector<std::unique_ptr<Robot>> robots;
  for (int i = 0; i < settings.streams; ++i) {
    const auto n = static_cast<size_t>(i);
    robots.push_back(std::make_unique<Robot>(settings, i, presets[n % presets.size()],
                                             images[(n + n / presets.size()) % images.size()]));
    if (!robots.back()->Open(settings.reference)) return 3;
  }
  const Clock::time_point begin = Clock::now();
  for (const auto& robot : robots) robot->Start();
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.seconds));
  for (const auto& robot : robots) robot->Stop();
  for (const auto& robot : robots) robot->Join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();

  std::printf("%-15s %11s %9s %10s %8s %8s %8s %7s %7s\n", "preset", "size", "features", "frames/s",
              "p50 ms", "p99 ms", "batch", "failed", "wrong");
  int64_t frames = 0;
  int64_t bad = 0;
  for (const auto& robot : robots) {
    const auto answered = static_cast<int64_t>(robot->latencies_ms.size());
    frames += answered;
    bad += robot->failed + robot->wrong;
    if (answered == 0) {
      ++bad;
      continue;
    }
    const std::string size =
        std::to_string(robot->width_px) + " x " + std::to_string(robot->height_px);
    std::printf("%-15s %11s %9.0f %10.0f %8.2f %8.2f %8.1f %7lld %7lld\n", robot->preset.c_str(),
                size.c_str(), robot->features, static_cast<double>(answered) / seconds,
                Percentile(robot->latencies_ms, 0.5), Percentile(robot->latencies_ms, 0.99),
                static_cast<double>(robot->batch_frames) / static_cast<double>(answered),
                static_cast<long long>(robot->failed), static_cast<long long>(robot->wrong));
  }
  std::printf("%zu streams, %d in flight each: %lld frames in %.1f s, %.0f frames/s, %lld bad\n",
              robots.size(), settings.in_flight, static_cast<long long>(frames), seconds,
              static_cast<double>(frames) / seconds, static_cast<long long>(bad));
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app("Streams of mixed presets and sizes through a server, checked against a CPU server");
  app.add_option("--server", settings.server, "HOST:PORT to measure")->capture_default_str();
  app.add_option("--reference", settings.reference, "HOST:PORT of a server on the CPU")
      ->capture_default_str();
  app.add_option("--image", settings.images, "Binary PGM of 8 bits; one or more")->required();
  app.add_option("--preset", settings.presets, "Presets to use; default: all available ones");
  app.add_option("--streams", settings.streams)->capture_default_str()->check(CLI::Range(1, 256));
  app.add_option("--in-flight", settings.in_flight, "Unanswered frames of a stream")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--seconds", settings.seconds)
      ->capture_default_str()
      ->check(CLI::Range(0.1, 600.0));
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
