// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A gRPC server that takes the frames of Extract and StreamFrames and computes nothing: what gRPC
// itself allows on a machine, for stream_bench to compare orbserve-server with. With --service-ms
// it serves one frame of Extract at a time, in the order of their arrival, and takes that long for
// each: a queue whose waits are known, to check load generators with. Messages, interface
// (callback reactors) and flow control are the server's; an answer carries its frame's sequence
// and, if asked for, as many bytes as so many features take, or the frame's pixels.
//
//   echo_server [--listen 127.0.0.1:50052] [--features N] [--pixels] [--service-ms MS]
//
// It runs until SIGINT or SIGTERM.

#include <signal.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "orbserve/v1/orbserve.grpc.pb.h"

namespace orbserve::bench {
namespace {

// Both are orbserve-server's defaults.
constexpr int kMaxInFlight = 8;
constexpr int kMaxMessageBytes = 96 << 20;

void FillFeatures(int count, const v1::Frame& frame, v1::FeatureSet* features) {
  for (int i = 0; i < count; ++i) {
    features->add_x(1.0f);
    features->add_y(1.0f);
    features->add_size(31.0f);
    features->add_angle(1.0f);
    features->add_response(1.0f);
    features->add_octave(0);
  }
  // Clients check that rows lie in the image. A JPEG does not say its size here.
  features->set_image_width_px(std::max(frame.width_px(), 2u));
  features->set_image_height_px(std::max(frame.height_px(), 2u));
  features->set_descriptor_bytes(32);
  features->mutable_descriptors()->resize(size_t{32} * static_cast<size_t>(count));
}

struct Answers {
  int features = 0;
  bool pixels = false;
  double service_ms = 0;  // 0 = none
};

class EchoStream final
    : public grpc::ServerBidiReactor<v1::StreamFramesRequest, v1::StreamFramesResponse> {
 public:
  explicit EchoStream(const Answers& answers) : answers_(answers) {
    absl::MutexLock lock(&mutex_);
    MayRead();
  }

  void OnReadDone(bool ok) override {
    std::unique_ptr<v1::StreamFramesResponse> response;
    if (ok) {
      response = std::make_unique<v1::StreamFramesResponse>();
      if (request_->has_open()) {
        response->mutable_opened()->set_max_in_flight(kMaxInFlight);
      } else {
        v1::FrameResult& result = *response->mutable_result();
        result.set_sequence(request_->frame().sequence());
        if (answers_.features > 0) {
          FillFeatures(answers_.features, request_->frame(), result.mutable_features());
        }
        if (answers_.pixels) {
          result.mutable_features()->mutable_descriptors()->swap(
              *request_->mutable_frame()->mutable_pixels());
        }
      }
    }
    request_.reset();
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (ok) {
      outgoing_.push_back(std::move(response));
    } else {
      read_ended_ = true;
    }
    Step();
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (!ok) {
      outgoing_.clear();
      read_ended_ = true;
    }
    Step();
  }

  void OnDone() override { delete this; }

 private:
  void Step() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finished_) return;
    if (!writing_ && !outgoing_.empty()) {
      writing_ = true;
      StartWrite(outgoing_.front().get());
    }
    MayRead();
    if (read_ended_ && !reading_ && outgoing_.empty()) {
      finished_ = true;
      Finish(grpc::Status::OK);
    }
  }

  void MayRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (reading_ || read_ended_ || outgoing_.size() >= kMaxInFlight) return;
    reading_ = true;
    request_ = std::make_unique<v1::StreamFramesRequest>();
    StartRead(request_.get());
  }

  const Answers answers_;
  std::unique_ptr<v1::StreamFramesRequest> request_;  // being read
  absl::Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::unique_ptr<v1::StreamFramesResponse>> outgoing_ ABSL_GUARDED_BY(mutex_);
};

// Ends calls of Extract one after the other, `service` apart.
class OneServer {
 public:
  explicit OneServer(absl::Duration service) : service_(service), thread_([this] { Loop(); }) {}
  ~OneServer() {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
    }
    thread_.join();
  }

  // `response` gets the time from now to its end, as a server reports it.
  void Serve(grpc::ServerUnaryReactor* reactor, v1::ExtractResponse* response) {
    absl::MutexLock lock(&mutex_);
    waiting_.push_back({absl::Now(), reactor, response});
  }

 private:
  struct Waiting {
    absl::Time arrived;
    grpc::ServerUnaryReactor* reactor;
    v1::ExtractResponse* response;
  };

  void Loop() {
    prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds
    absl::Time free = absl::InfinitePast();
    for (;;) {
      Waiting next{};
      {
        absl::MutexLock lock(&mutex_);
        const auto work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return stop_ || !waiting_.empty();
        };
        mutex_.Await(absl::Condition(&work));
        if (waiting_.empty()) return;
        next = waiting_.front();
        waiting_.pop_front();
      }
      // From the times themselves: sleeping too long does not add up.
      free = std::max(free, next.arrived) + service_;
      absl::SleepFor(free - absl::Now());
      next.response->mutable_timings()->set_total_ns(
          static_cast<uint64_t>(absl::ToInt64Nanoseconds(absl::Now() - next.arrived)));
      next.reactor->Finish(grpc::Status::OK);
    }
  }

  const absl::Duration service_;
  absl::Mutex mutex_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

class EchoService final : public v1::Features::CallbackService {
 public:
  explicit EchoService(const Answers& answers) : answers_(answers) {
    if (answers.service_ms > 0) {
      server_ = std::make_unique<OneServer>(absl::Milliseconds(answers.service_ms));
    }
  }

  grpc::ServerUnaryReactor* Extract(grpc::CallbackServerContext* context,
                                    const v1::ExtractRequest* request,
                                    v1::ExtractResponse* response) override {
    response->set_sequence(request->frame().sequence());
    FillFeatures(answers_.features, request->frame(), response->mutable_features());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (server_ != nullptr) {
      server_->Serve(reactor, response);
    } else {
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest*,
                                          v1::GetServerInfoResponse* response) override {
    response->set_version("echo");
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerBidiReactor<v1::StreamFramesRequest, v1::StreamFramesResponse>* StreamFrames(
      grpc::CallbackServerContext*) override {
    return new EchoStream(answers_);
  }

 private:
  const Answers answers_;
  std::unique_ptr<OneServer> server_;
};

int Run(int argc, char** argv) {
  CLI::App app{"Answers the frames of StreamFrames with nothing", "echo_server"};
  std::string listen = "127.0.0.1:50052";
  Answers answers;
  app.add_option("--listen", listen, "HOST:PORT")->capture_default_str();
  app.add_option("--features", answers.features, "Features of an answer, to give it their size")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_flag("--pixels", answers.pixels, "Send the frame's pixels back");
  app.add_option("--service-ms", answers.service_ms, "Serve one Extract at a time, for so long")
      ->check(CLI::Range(0.0, 60'000.0));
  CLI11_PARSE(app, argc, argv);

  // Before gRPC makes threads, so that only this one gets them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  EchoService service(answers);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "echo_server: cannot serve on %s\n", listen.c_str());
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Run(argc, argv); }
